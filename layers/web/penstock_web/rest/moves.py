"""/v1/queues/{name}/moves: moves selected messages back to where they came from, or to another queue."""

from typing import Annotated
from uuid import UUID

import msgspec
from fastapi import APIRouter, Response

from penstock.audit import Act
from penstock.context import Context
from penstock.effects import Operation
from penstock.postgres.statements.move_tasks import MoveRow
from penstock.search import moves
from penstock.search.filters import MessageFilter

from . import operations
from .documents import decode_document, format_timestamp
from .openapi import json_answers, request_body_schema
from .rest_route import RestRoute, Runner, json_response

router = APIRouter(prefix="/queues/{name}/moves", tags=["moves"], route_class=RestRoute)

PublicId = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
PerSecond = Annotated[int, msgspec.Meta(ge=1, le=moves.MOST_PER_SECOND)]


class NewMove(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Messages to move: by `ids`, or those that pass the `filter` (all with an empty one), if they can be received.

    `to`: name of the queue; each to the queue that it came from when not given. `per_second`: at most so many.
    `canary`: after so many the move waits to be continued.
    """

    ids: Annotated[list[PublicId], msgspec.Meta(min_length=1, max_length=moves.MOST_IDS)] | None = None
    filter: MessageFilter | None = None
    to: Annotated[str, msgspec.Meta(min_length=1, max_length=80)] | None = None
    per_second: PerSecond | None = None
    canary: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None


class ContinuedMove(msgspec.Struct, forbid_unknown_fields=True):
    """`per_second`: the move's new rate; its own when not given."""

    per_second: PerSecond | None = None


class ShownMove(msgspec.Struct):
    """A move. `of`: how many messages were selected by ids, or could be received when a filter began to look.

    `looked_at`: at how many of these it has looked; `skipped`: selected, but in flight, delayed, or without a queue to
    move to (`problem` says why). `to`: null, each to the queue that it came from. `state`: running, waiting (to be
    continued), completed, cancelled, failed. Of `ids` the first 1,000; neither `ids` nor `filter`: a task of
    StartMessageMoveTask.
    """

    id: str
    state: str
    to: str | None
    per_second: int | None
    canary: int | None
    ids: list[int] | None
    filter: msgspec.Raw | None
    of: int
    looked_at: int
    moved: int
    skipped: int
    problem: str | None
    started_at: str
    continued_at: str | None
    ended_at: str | None


class MoveList(msgspec.Struct):
    """The last ten moves of a queue, the newest first."""

    moves: list[ShownMove]


_new = msgspec.json.Decoder(NewMove)
_continued = msgspec.json.Decoder(ContinuedMove)
_MOVE = json_answers(ShownMove)


def read_move(body: bytes) -> NewMove:
    """The move of a request. Raises InvalidParameterValue."""
    return decode_document(_new, body)


def read_continued(body: bytes) -> ContinuedMove:
    """How to go on; a body may be missing. Raises InvalidParameterValue."""
    return decode_document(_continued, body or b"{}")


@router.post(
    "",
    status_code=201,
    openapi_extra=request_body_schema(NewMove),
    response_class=Response,
    responses=json_answers(ShownMove, statuses=(201,)),
)
async def start_move(name: str, runner: Runner) -> Response:
    """Start to move messages; a queue has one move at a time (409 `move_conflict`)."""
    new = await runner.read(read_move)
    wanted = checked(name, new, runner.context)
    row = await runner.act(move_act(name, new), start(wanted, new.to, runner.context), count_nothing)
    response = json_response(shown_move(row), 201)
    response.headers["location"] = f"/v1/queues/{name}/moves/{row.task_id}"
    return response


@router.get("", response_class=Response, responses=json_answers(MoveList))
async def list_moves(name: str, runner: Runner) -> Response:
    """The last ten moves of a queue, those of StartMessageMoveTask too."""
    rows = await runner.run(moves.list_moves(operations.arn_of(name, runner.context)))
    return json_response(MoveList([shown_move(row) for row in rows]))


@router.get("/{id}", response_class=Response, responses=_MOVE)
async def describe_move(name: str, id: UUID, runner: Runner) -> Response:  # noqa: A002
    """How far a move is."""
    arn = operations.arn_of(name, runner.context)
    return json_response(shown_move(await runner.run(moves.describe_move(arn, id))))


@router.post(
    "/{id}/continue",
    openapi_extra=request_body_schema(ContinuedMove),
    response_class=Response,
    responses=_MOVE,
)
async def continue_move(name: str, id: UUID, runner: Runner) -> Response:  # noqa: A002
    """Let a move go on after its canary, or at another rate."""
    per_second = (await runner.read(read_continued)).per_second
    arn = operations.arn_of(name, runner.context)
    act = Act("sqs:StartMessageMoveTask", name, {"move": str(id), "per_second": per_second})
    return json_response(shown_move(await runner.act(act, moves.continue_move(arn, id, per_second), moved)))


@router.post("/{id}/cancel", response_class=Response, responses=_MOVE)
async def cancel_move(name: str, id: UUID, runner: Runner) -> Response:  # noqa: A002
    """End a move after its current step; messages that have moved stay where they are."""
    arn = operations.arn_of(name, runner.context)
    act = Act("sqs:CancelMessageMoveTask", name, {"move": str(id)})
    return json_response(shown_move(await runner.act(act, moves.cancel_move(arn, id), moved)))


def move_act(name: str, new: NewMove) -> Act:
    """What the audit says of a move that begins; how many it moved is in the move itself."""
    return Act("sqs:StartMessageMoveTask", name, msgspec.to_builtins(new))


def count_nothing(_: MoveRow) -> None:
    """How many messages will move is not known yet."""


def moved(row: MoveRow) -> int:
    """How many messages have moved so far."""
    return row.moved


def checked(name: str, new: NewMove, context: Context) -> moves.Move:
    """The move, before the audit notes it. Raises InvalidParameterValue, QueueDoesNotExist for what can be no queue."""
    source = operations.arn_of(name, context)
    destination = None if new.to is None else operations.arn_of(new.to, context)
    wanted = moves.Move(source, destination, new.ids, new.filter, new.per_second, new.canary)
    moves.check_selection(wanted, context)
    return wanted


def start(wanted: moves.Move, to: str | None, context: Context) -> Operation[MoveRow]:
    """Checks that the caller may send to the destination, and starts the move."""
    if to is not None:
        yield from operations.authorize_queues("SendMessage", [to], context)
    return (yield from moves.start_move(wanted, context))


def shown_move(row: MoveRow) -> ShownMove:
    """A move as a document; of its filter the queue from which messages came has its name."""
    return ShownMove(
        id=row.task_id,
        state=row.state,
        to=_name(row.destination_arn),
        per_second=row.maximum_per_second,
        canary=row.canary,
        ids=row.ids,
        filter=None if row.filter is None else _shown_filter(row.filter),
        of=row.to_move,
        looked_at=row.looked_at,
        moved=row.moved,
        skipped=row.skipped,
        problem=row.failure_reason,
        started_at=format_timestamp(row.started_at_ms),
        continued_at=_time(row.continued_at_ms),
        ended_at=_time(row.ended_at_ms),
    )


def _shown_filter(text: str) -> msgspec.Raw:
    members = msgspec.json.decode(text, type=dict[str, object])
    source = members.pop("source_arn", None)
    if source is not None:
        members["source_queue"] = _name(str(source))
    return msgspec.Raw(msgspec.json.encode(members))


def _name(arn: str | None) -> str | None:
    return None if arn is None else arn.rpartition(":")[2]


def _time(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else format_timestamp(milliseconds)
