"""Moves selected messages back to where they came from, or to another queue."""

from typing import Annotated, NamedTuple
from uuid import UUID

import msgspec

from penstock.audit import Act
from penstock.context import Context
from penstock.effects import Operation
from penstock.postgres.statements.move_tasks import MoveRow
from penstock.search import moves
from penstock.search.filters import MessageFilter

from .decoding import decode_document
from .queue_names import authorize_queues, build_queue_arn
from .times import format_timestamp

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


_new = msgspec.json.Decoder(NewMove)


def read_move(body: bytes) -> NewMove:
    """Returns the move of a request. Raises InvalidParameterValue."""
    return decode_document(_new, body)


class ActedMove(NamedTuple):
    """An action on a move, and its name in the audit."""

    act: Act
    operation: Operation[MoveRow]


def count_nothing(_: MoveRow) -> None:
    """The number of messages to move is unknown yet."""


def count_moved(row: MoveRow) -> int:
    """Returns how many messages have moved so far."""
    return row.moved


def start_move(name: str, new: NewMove, context: Context) -> ActedMove:
    """Returns a move that begins, checked before the audit notes it; how many messages it moved is in the move itself.

    Raises InvalidParameterValue, QueueDoesNotExist for a text that cannot be a queue; the operation raises
    MoveConflict, and AccessDenied unless the caller may send to the destination.
    """
    source = build_queue_arn(name, context)
    destination = None if new.to is None else build_queue_arn(new.to, context)
    wanted = moves.Move(source, destination, new.ids, new.filter, new.per_second, new.canary)
    moves.check_selection(wanted, context)
    act = Act("sqs:StartMessageMoveTask", name, msgspec.to_builtins(new))
    return ActedMove(act, _authorize_and_start(wanted, new.to, context))


def _authorize_and_start(wanted: moves.Move, to: str | None, context: Context) -> Operation[MoveRow]:
    if to is not None:
        yield from authorize_queues("SendMessage", [to], context)
    return (yield from moves.start_move(wanted, context))


def list_moves(name: str, context: Context) -> Operation[list[MoveRow]]:
    """Returns the last ten moves of a queue, the newest first. Raises QueueDoesNotExist."""
    return moves.list_moves(build_queue_arn(name, context))


def describe_move(name: str, move_id: UUID, context: Context) -> Operation[MoveRow]:
    """Returns a move. Raises MoveNotFound, QueueDoesNotExist."""
    return moves.describe_move(build_queue_arn(name, context), move_id)


def continue_move(name: str, move_id: UUID, per_second: int | None, context: Context) -> ActedMove:
    """Lets a move go on after its canary, or at another rate. The operation raises MoveNotFound, MoveConflict."""
    act = Act("sqs:StartMessageMoveTask", name, {"move": str(move_id), "per_second": per_second})
    return ActedMove(act, moves.continue_move(build_queue_arn(name, context), move_id, per_second))


def cancel_move(name: str, move_id: UUID, context: Context) -> ActedMove:
    """Ends a move after its current step. The operation raises MoveNotFound, MoveConflict."""
    act = Act("sqs:CancelMessageMoveTask", name, {"move": str(move_id)})
    return ActedMove(act, moves.cancel_move(build_queue_arn(name, context), move_id))


def show_move(row: MoveRow) -> ShownMove:
    """Returns a move as a document; of its filter the queue from which messages came has its name."""
    return ShownMove(
        id=row.task_id,
        state=row.state,
        to=_name(row.destination_arn),
        per_second=row.maximum_per_second,
        canary=row.canary,
        ids=row.ids,
        filter=None if row.filter is None else _show_filter(row.filter),
        of=row.to_move,
        looked_at=row.looked_at,
        moved=row.moved,
        skipped=row.skipped,
        problem=row.failure_reason,
        started_at=format_timestamp(row.started_at_ms),
        continued_at=_time(row.continued_at_ms),
        ended_at=_time(row.ended_at_ms),
    )


def _show_filter(text: str) -> msgspec.Raw:
    members = msgspec.json.decode(text, type=dict[str, object])
    source = members.pop("source_arn", None)
    if source is not None:
        members["source_queue"] = _name(str(source))
    return msgspec.Raw(msgspec.json.encode(members))


def _name(arn: str | None) -> str | None:
    return None if arn is None else arn.rpartition(":")[2]


def _time(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else format_timestamp(milliseconds)
