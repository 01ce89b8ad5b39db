"""Serves /v1/queues/{name}/moves. A move sends selected messages to their source queues or to another queue."""

from typing import Final
from uuid import UUID

import msgspec
from fastapi import Response

from penstock import errors
from penstock.documents.decoding import build_reader
from penstock.management import move_tasks
from penstock.management.messages.types import PerSecond
from penstock.management.move_tasks import MoveTaskConflict, MoveTaskNotFound, NewMoveTask, ShownMoveTask
from penstock.management.rights import right_of
from penstock_web.routing.routes import CHANGED, Routes, Runner, json_response


class ContinuedMoveTask(msgspec.Struct, forbid_unknown_fields=True):
    """`per_second` is the new rate of the move. The default is the current rate."""

    per_second: PerSecond | None = None


class MoveTaskList(msgspec.Struct):
    """Lists the last ten moves of a queue, from the newest to the oldest."""

    moves: list[ShownMoveTask]


routes = Routes("moves", prefix="/queues/{name}/moves")

UNKNOWN: Final = (errors.QueueDoesNotExist,)

_read_continued = build_reader(ContinuedMoveTask)


@routes.post(
    "",
    right=right_of(move_tasks.start_move_task),
    status=201,
    body=NewMoveTask,
    response=ShownMoveTask,
    raises=(*UNKNOWN, MoveTaskConflict),
)
async def start_move(name: str, runner: Runner) -> Response:
    """Start a move. A queue can have only one running move. If a move is already running, the response is 409
    `move_conflict`."""
    new = await runner.read(move_tasks.read_move_task)
    move = move_tasks.show_move_task(await runner.run(move_tasks.start_move_task(name, new, runner.context)))
    return json_response(move, 201, f"/v1/queues/{name}/moves/{move.id}")


@routes.get("", right=right_of(move_tasks.list_move_tasks), response=MoveTaskList, raises=UNKNOWN)
async def list_moves(name: str, runner: Runner) -> MoveTaskList:
    """List a queue's last ten moves, including moves by StartMessageMoveTask."""
    rows = await runner.run(move_tasks.list_move_tasks(name, runner.context))
    return MoveTaskList([move_tasks.show_move_task(row) for row in rows])


@routes.get(
    "/{id}", right=right_of(move_tasks.describe_move_task), response=ShownMoveTask, raises=(*UNKNOWN, MoveTaskNotFound)
)
async def describe_move(name: str, id: UUID, runner: Runner) -> ShownMoveTask:  # noqa: A002
    """Describe a move's progress."""
    return move_tasks.show_move_task(await runner.run(move_tasks.describe_move_task(name, id, runner.context)))


@routes.post(
    "/{id}/continue",
    right=right_of(move_tasks.continue_move_task),
    body=ContinuedMoveTask,
    response=ShownMoveTask,
    statuses=CHANGED,
    raises=(*UNKNOWN, MoveTaskNotFound, MoveTaskConflict),
)
async def continue_move(name: str, id: UUID, runner: Runner) -> ShownMoveTask | None:  # noqa: A002
    """Continue a move after its canary messages, or at another rate."""
    per_second = (await runner.read(lambda body: _read_continued(body or b"{}"))).per_second
    row = await runner.run(move_tasks.continue_move_task(name, id, per_second, runner.context))
    return row and move_tasks.show_move_task(row)


@routes.post(
    "/{id}/cancel",
    right=right_of(move_tasks.cancel_move_task),
    response=ShownMoveTask,
    statuses=CHANGED,
    raises=(*UNKNOWN, MoveTaskNotFound, MoveTaskConflict),
)
async def cancel_move(name: str, id: UUID, runner: Runner) -> ShownMoveTask | None:  # noqa: A002
    """Stop a move after the current step. Messages that have already moved stay in the new queue."""
    row = await runner.run(move_tasks.cancel_move_task(name, id, runner.context))
    return row and move_tasks.show_move_task(row)
