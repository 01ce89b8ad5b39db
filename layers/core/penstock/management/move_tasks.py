"""Message move tasks for selected messages. AWS's actions move all messages in a queue.

    running ──> completed            the task has examined all selected messages
       │  └──> cancelled, failed
       └─ canary moved ─> waiting ─ continue ─> running

The worker `move` does each step in a transaction, so a message is always in exactly one of the two queues.
"""

from typing import Annotated
from uuid import UUID

import msgspec

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.context import Context
from penstock.documents.decoding import decode_document
from penstock.documents.queue_names import authorize_queues, build_queue_arn
from penstock.documents.times import format_timestamp, to_timestamp
from penstock.effects import Call, Operation
from penstock.postgres.statements.move_tasks import (
    CANCEL_MOVE_TASK,
    CONTINUE_MOVE_TASK,
    COUNT_MOVE_SOURCES,
    DESCRIBE_MOVE_TASKS,
    READ_CANARY,
    START_MOVE_TASK,
    CanaryRow,
    MoveSourcesRow,
    MoveTaskRow,
)
from penstock.search.filters import MessageFilter
from penstock.sqs import handles
from penstock.sqs.sql_errors import build_sql_error

from .messages.life import may_receive
from .messages.types import PerSecond
from .rights import needs, show

MAX_IDS = 10_000
OVER = ("completed", "cancelled", "failed")
"""The states of tasks that have ended."""

PublicId = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class NewMoveTask(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Selects messages by `ids` or by `filter`. An empty filter selects all messages. Only messages that can be
    received are moved.

    `to` is the destination's name. If `to` is absent, each message returns to its source queue. `per_second` limits the
    rate. The task pauses after `canary` messages until a request continues it.
    """

    ids: Annotated[list[PublicId], msgspec.Meta(min_length=1, max_length=MAX_IDS)] | None = None
    filter: MessageFilter | None = None
    to: Annotated[str, msgspec.Meta(min_length=1, max_length=80)] | None = None
    per_second: PerSecond | None = None
    canary: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None


class ShownMoveTask(msgspec.Struct):
    """A move task. `of` counts the selected ids, or the messages that could be received when the task started. For a
    filter with conditions, `of` counts the matches. Until the task has completed, it counts those at the start, and is
    null if the queue has too many messages to count them at once.

    `looked_at` counts the examined messages. `skipped` counts selected messages that are in flight, delayed, or
    without a destination (`problem` gives the reason). If `to` is null, each message returns to its source queue.
    `state` is running, waiting (until a request continues it), completed, cancelled or failed. `ids` has the first
    1,000 ids. A task of StartMessageMoveTask has neither `ids` nor `filter`.
    """

    id: str
    state: str
    to: str | None
    per_second: int | None
    canary: int | None
    ids: list[int] | None
    filter: msgspec.Raw | None
    of: int | None
    looked_at: int
    moved: int
    skipped: int
    problem: str | None
    started_at: str
    continued_at: str | None
    ended_at: str | None


_new = msgspec.json.Decoder(NewMoveTask)


def read_move_task(body: bytes) -> NewMoveTask:
    """Decodes a move task in a request. Raises InvalidParameterValue."""
    return decode_document(_new, body)


class MoveTaskNotFound(errors.AwsError):
    """The queue has no task with this id. A queue keeps its last ten tasks."""

    json_type = query_code = "MoveTaskNotFound"
    status = 404
    default_message = "The move does not exist."


class MoveTaskConflict(errors.AwsError):
    """The queue already has a task, or the task to continue or cancel has ended."""

    json_type = query_code = "MoveTaskConflict"
    status = 409


class SourceNotKnown(errors.InvalidParameterValue):
    """No selected message can return, because none has a source queue. The client must choose a destination."""


# --- operations ------------------------------------------------------------------------------------------------------
@needs("queue", "sqs:StartMessageMoveTask")
@audited(
    lambda name, new, context, _title=None: Act(
        "sqs:StartMessageMoveTask", build_queue_arn(name, context), msgspec.to_builtins(new)
    )
)
def start_move_task(name: str, new: NewMoveTask, context: Context, title: str | None = None) -> Operation[MoveTaskRow]:
    """Starts a task and returns it. `title` is the title of the group of messages, for the list of tasks.

    Raises InvalidParameterValue, SourceNotKnown, MoveTaskConflict, QueueDoesNotExist, and AccessDenied unless the
    caller can send to the destination.
    """
    source = build_queue_arn(name, context)
    destination = None if new.to is None else build_queue_arn(new.to, context)
    selected = _check_selection(new, context)
    if destination is None:
        check_sources((yield from _count_sources(source, new.ids, selected)))
    arguments = (source, destination, new.per_second, new.ids, selected, new.canary, title)
    return (yield from _authorize_and_start(arguments, new.to, context))


@needs("queue", "sqs:StartMessageMoveTask")
def count_move_sources(name: str, new: NewMoveTask, context: Context) -> Operation[MoveSourcesRow]:
    """Returns how many of the first 10,000 selected messages can return to their source queues. Raises
    InvalidParameterValue."""
    return _count_sources(build_queue_arn(name, context), new.ids, _check_selection(new, context))


def _count_sources(source: str, ids: list[int] | None, selected: str | None) -> Operation[MoveSourcesRow]:
    (row,) = yield from Call(COUNT_MOVE_SOURCES, (source, ids, selected))
    return row


def check_sources(row: MoveSourcesRow) -> None:
    """Raises SourceNotKnown if all messages are known and none can return."""
    if row.is_complete and row.messages and row.messages == row.without_source + row.lost_source:
        raise SourceNotKnown(f"No message was moved. {explain_sources(row)} Choose the queue to which they move (to).")


def explain_sources(row: MoveSourcesRow) -> str:
    """Returns in sentences why messages cannot return, or an empty text if all can."""
    parts = []
    if row.without_source:
        parts.append(f"{_count(row.without_source, row)} no source queue, because clients sent them to this queue.")
    if row.lost_source:
        parts.append(f"{_count(row.lost_source, row)} a source queue that no longer exists.")
    return " ".join(parts)


def _count(number: int, row: MoveSourcesRow) -> str:
    of = f"{row.messages:,}{'' if row.is_complete else ' or more'}"
    return f"{number:,} of {of} {'message' if row.messages == 1 else 'messages'} {'has' if number == 1 else 'have'}"


def _check_selection(new: NewMoveTask, context: Context) -> str | None:
    """Returns the filter, if any, as JSON. Raises InvalidParameterValue."""
    if (new.ids is None) == (new.filter is None):
        raise errors.InvalidParameterValue("either ids or filter")
    if new.filter is None:
        return None
    if new.filter.states not in (None, ["visible"]):
        raise errors.InvalidParameterValue("filter.states: only messages that are visible can move")
    return new.filter.as_json(context)


def _authorize_and_start(
    arguments: tuple[str, str | None, int | None, list[int] | None, str | None, int | None, str | None],
    to: str | None,
    context: Context,
) -> Operation[MoveTaskRow]:
    if to is not None:
        yield from authorize_queues("SendMessage", [to], context)
    (row,) = yield from Call(START_MOVE_TASK, arguments)
    if row.error == "MoveTaskRunning":
        raise MoveTaskConflict("A move of this queue is already running, or waits to be continued")
    if row.error == "ResourceNotFoundException":
        raise errors.QueueDoesNotExist
    if row.error is not None or row.task_id is None:
        raise build_sql_error(row.error or "", row.detail)
    return (yield from _describe(arguments[0], UUID(row.task_id)))


@needs("queue", "sqs:ListMessageMoveTasks")
def list_move_tasks(name: str, context: Context) -> Operation[list[MoveTaskRow]]:
    """Returns the queue's last ten tasks, newest first, including tasks of StartMessageMoveTask. Raises
    QueueDoesNotExist."""
    source = build_queue_arn(name, context)
    rows = yield from Call(DESCRIBE_MOVE_TASKS, (source, None))
    if not rows:
        yield from handles.check_queue(source)
    return rows


@needs("queue", "sqs:ListMessageMoveTasks")
def describe_move_task(name: str, task_id: UUID, context: Context) -> Operation[MoveTaskRow]:
    """Returns a task. Raises MoveTaskNotFound, QueueDoesNotExist."""
    return _describe(build_queue_arn(name, context), task_id)


@needs("queue", "sqs:ListMessageMoveTasks")
def read_canary(name: str, task_id: UUID, context: Context) -> Operation[list[CanaryRow]]:
    """Returns the first messages that a waiting task has moved, at most three. Omits messages of queues from which the
    caller may not receive."""
    rows = yield from Call(READ_CANARY, (build_queue_arn(name, context), str(task_id)))
    allowed: dict[str, bool] = {}
    for arn in {row.arn for row in rows}:
        allowed[arn] = yield from may_receive(arn, context)
    return [row for row in rows if allowed[row.arn]]


def _describe(source: str, task_id: UUID) -> Operation[MoveTaskRow]:
    rows = yield from Call(DESCRIBE_MOVE_TASKS, (source, str(task_id)))
    if not rows:
        yield from handles.check_queue(source)
        raise MoveTaskNotFound
    return rows[0]


@needs("queue", "sqs:StartMessageMoveTask")
@audited(
    lambda name, task_id, per_second, context: Act(
        "sqs:StartMessageMoveTask", build_queue_arn(name, context), {"move": str(task_id), "per_second": per_second}
    )
)
def continue_move_task(
    name: str, task_id: UUID, per_second: int | None, context: Context
) -> Operation[MoveTaskRow | None]:
    """Continues a task after its canary, or at another rate.

    Raises MoveTaskNotFound, MoveTaskConflict, QueueDoesNotExist.
    """
    source = build_queue_arn(name, context)
    (row,) = yield from Call(CONTINUE_MOVE_TASK, (str(task_id), source, per_second))
    if not row.continued:
        raise MoveTaskConflict(f"The move is {(yield from _describe(source, task_id)).state}")
    return (yield from show(describe_move_task(name, task_id, context)))


@needs("queue", "sqs:CancelMessageMoveTask")
@audited(
    lambda name, task_id, context: Act(
        "sqs:CancelMessageMoveTask", build_queue_arn(name, context), {"move": str(task_id)}
    )
)
def cancel_move_task(name: str, task_id: UUID, context: Context) -> Operation[MoveTaskRow | None]:
    """Ends a task after the current step. Messages that were moved stay in the destination. Raises the errors of
    `continue_move_task`."""
    source = build_queue_arn(name, context)
    (row,) = yield from Call(CANCEL_MOVE_TASK, (str(task_id), source))
    if row.error is not None:
        raise MoveTaskConflict(f"The move is {(yield from _describe(source, task_id)).state}")
    return (yield from show(describe_move_task(name, task_id, context)))


# --- documents -------------------------------------------------------------------------------------------------------
def show_move_task(row: MoveTaskRow) -> ShownMoveTask:
    """Returns a task as a document. The document's filter contains the source queue's name."""
    return ShownMoveTask(
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
        continued_at=to_timestamp(row.continued_at_ms),
        ended_at=to_timestamp(row.ended_at_ms),
    )


def _show_filter(text: str) -> msgspec.Raw:
    members = msgspec.json.decode(text, type=dict[str, object])
    source = members.pop("source_arn", None)
    if source is not None:
        members["source_queue"] = _name(str(source))
    return msgspec.Raw(msgspec.json.encode(members))


def _name(arn: str | None) -> str | None:
    return None if arn is None else arn.rpartition(":")[2]
