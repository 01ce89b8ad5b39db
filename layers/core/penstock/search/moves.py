"""Moves of selected messages: a message move task (penstock.sqs.move_tasks) that takes some messages and not all.

    running ──> completed            all selected messages were looked at
       │  └──> cancelled, failed
       └─ canary moved ─> waiting ─ continue ─> running

The worker `move` does each step in a transaction: a message is always in exactly one of the two queues.
"""

from typing import NamedTuple
from uuid import UUID

from penstock import errors
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.move_tasks import (
    CANCEL_MOVE_TASK,
    CONTINUE_MOVE_TASK,
    LIST_MOVES,
    START_MOVE_TASK,
    MoveRow,
)
from penstock.sqs import handles
from penstock.sqs.sql_errors import sql_error

from .filters import MessageFilter

MOST_IDS = 10_000
MOST_PER_SECOND = 500  # of StartMessageMoveTask


class MoveNotFound(errors.AwsError):
    """The queue has no move of this id: it never had, or has had ten others since."""

    json_type = query_code = "MoveNotFound"
    status = 404
    default_message = "The move does not exist."


class MoveConflict(errors.AwsError):
    """A queue has one move at a time; a move that has ended can neither go on nor be cancelled."""

    json_type = query_code = "MoveConflict"
    status = 409


class Move(NamedTuple):
    """Which messages to move, and how. `destination`: an ARN, None: each to the queue that it came from.

    `canary`: after so many the move waits to be continued.
    """

    source: str
    destination: str | None
    ids: list[int] | None
    filter: MessageFilter | None
    per_second: int | None
    canary: int | None


def start_move(move: Move, context: Context) -> Operation[MoveRow]:
    """Starts a move of the messages that are in the queue now. Raises InvalidParameterValue, MoveConflict,
    QueueDoesNotExist.
    """
    selected = check_selection(move, context)
    (row,) = yield from Call(
        START_MOVE_TASK, (move.source, move.destination, move.per_second, move.ids, selected, move.canary)
    )
    if row.error == "MoveTaskRunning":
        raise MoveConflict("A move of this queue runs already, or waits to be continued")
    if row.error == "ResourceNotFoundException":
        raise errors.QueueDoesNotExist
    if row.error is not None or row.task_id is None:
        raise sql_error(row.error or "", row.detail)
    return (yield from describe_move(move.source, UUID(row.task_id)))


def check_selection(move: Move, context: Context) -> str | None:
    """Returns the filter as JSON, where there is one. Raises InvalidParameterValue."""
    if (move.ids is None) == (move.filter is None):
        raise errors.InvalidParameterValue("either ids or filter")
    if move.filter is None:
        return None
    if move.filter.states not in (None, ["visible"]):
        raise errors.InvalidParameterValue("filter.states: only messages that are visible can move")
    return move.filter.as_json(context)


def list_moves(source: str) -> Operation[list[MoveRow]]:
    """Returns the queue's last ten moves, newest first, StartMessageMoveTask included. Raises QueueDoesNotExist."""
    rows = yield from Call(LIST_MOVES, (source, None))
    if not rows:
        yield from handles.check_queue(source)
    return rows


def describe_move(source: str, move_id: UUID) -> Operation[MoveRow]:
    """Raises MoveNotFound, QueueDoesNotExist."""
    rows = yield from Call(LIST_MOVES, (source, str(move_id)))
    if not rows:
        yield from handles.check_queue(source)
        raise MoveNotFound
    return rows[0]


def continue_move(source: str, move_id: UUID, per_second: int | None) -> Operation[MoveRow]:
    """Lets a move go on after its canary, or at another rate. Raises MoveNotFound, MoveConflict, QueueDoesNotExist."""
    (row,) = yield from Call(CONTINUE_MOVE_TASK, (str(move_id), source, per_second))
    move = yield from describe_move(source, move_id)
    if not row.continued:
        raise MoveConflict(f"The move is {move.state}")
    return move


def cancel_move(source: str, move_id: UUID) -> Operation[MoveRow]:
    """Ends a move after its current step; moved messages stay moved. Raises as `continue_move`."""
    (row,) = yield from Call(CANCEL_MOVE_TASK, (str(move_id), source))
    move = yield from describe_move(source, move_id)
    if row.error is not None:
        raise MoveConflict(f"The move is {move.state}")
    return move
