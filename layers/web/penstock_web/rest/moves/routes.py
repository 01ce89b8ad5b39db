"""Serves /v1/queues/{name}/moves: moves selected messages back to their source queues, or to another queue."""

from typing import Final
from uuid import UUID

from fastapi import Response

from penstock import errors
from penstock.management import moves
from penstock.management.decoding import build_reader
from penstock.management.moves import NewMove, ShownMove
from penstock.management.rights import require_on_queue
from penstock.search.moves import MoveConflict, MoveNotFound
from penstock_web.routing.routes import Routes, Runner, json_response

from .documents import ContinuedMove, MoveList

routes = Routes("moves", prefix="/queues/{name}/moves")

UNKNOWN: Final = (errors.QueueDoesNotExist,)
START: Final = require_on_queue("sqs:StartMessageMoveTask")
LOOK: Final = require_on_queue("sqs:ListMessageMoveTasks")

_read_continued = build_reader(ContinuedMove)


@routes.post("", right=START, status=201, body=NewMove, answer=ShownMove, raises=(*UNKNOWN, MoveConflict))
async def start_move(name: str, runner: Runner) -> Response:
    """Start to move messages. A queue has one move at a time (409 `move_conflict`)."""
    new = await runner.read(moves.read_move)
    act, operation = moves.start_move(name, new, runner.context)
    move = moves.show_move(await runner.act(act, operation, moves.count_nothing))
    return json_response(move, 201, f"/v1/queues/{name}/moves/{move.id}")


@routes.get("", right=LOOK, answer=MoveList, raises=UNKNOWN)
async def list_moves(name: str, runner: Runner) -> MoveList:
    """List the last ten moves of a queue, including those of StartMessageMoveTask."""
    rows = await runner.run(moves.list_moves(name, runner.context))
    return MoveList([moves.show_move(row) for row in rows])


@routes.get("/{id}", right=LOOK, answer=ShownMove, raises=(*UNKNOWN, MoveNotFound))
async def describe_move(name: str, id: UUID, runner: Runner) -> ShownMove:  # noqa: A002
    """Describe the progress of a move."""
    return moves.show_move(await runner.run(moves.describe_move(name, id, runner.context)))


@routes.post(
    "/{id}/continue",
    right=START,
    body=ContinuedMove,
    answer=ShownMove,
    raises=(*UNKNOWN, MoveNotFound, MoveConflict),
)
async def continue_move(name: str, id: UUID, runner: Runner) -> ShownMove:  # noqa: A002
    """Continue a move after its canary, or at another rate."""
    per_second = (await runner.read(lambda body: _read_continued(body or b"{}"))).per_second
    act, operation = moves.continue_move(name, id, per_second, runner.context)
    return moves.show_move(await runner.act(act, operation, moves.count_moved))


@routes.post(
    "/{id}/cancel",
    right=require_on_queue("sqs:CancelMessageMoveTask"),
    answer=ShownMove,
    raises=(*UNKNOWN, MoveNotFound, MoveConflict),
)
async def cancel_move(name: str, id: UUID, runner: Runner) -> ShownMove:  # noqa: A002
    """End a move after its current step. Messages that have moved stay in their new queue."""
    act, operation = moves.cancel_move(name, id, runner.context)
    return moves.show_move(await runner.act(act, operation, moves.count_moved))
