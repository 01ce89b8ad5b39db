"""Message move tasks."""

from typing import NamedTuple
from uuid import UUID

from penstock.postgres.statement import Statement


class StartedTaskRow(NamedTuple):
    """The task, or the error that prevented it. The error's `detail` is the wrong parameter."""

    task_id: str | None
    error: str | None
    detail: str | None


START_MOVE_TASK = Statement(
    "queue.start_move_task",
    ("text", "text", "int4", "int8[]", "jsonb", "int4", "text"),
    StartedTaskRow,
    named=("p_ids", "p_filter", "p_canary", "p_title"),
    is_audited=True,
)


class ListedTaskRow(NamedTuple):
    """A move task. The first row of a result is a header. In the header, only `error` can have a value.

    `destination_arn` is None if each message returns to its source queue. `maximum_per_second` is None if the task has
    no limit.
    """

    error: str | None
    task_id: str
    status: str
    destination_arn: str | None
    maximum_per_second: int | None
    moved: int
    to_move: int
    failure_reason: str | None
    started_at_ms: int


LIST_MOVE_TASKS = Statement("queue.list_move_tasks", ("text", "int4"), ListedTaskRow)


class CancelledTaskRow(NamedTuple):
    """The number of messages that the task had moved, or an error. The error's `detail` is the wrong parameter."""

    moved: int | None
    error: str | None
    detail: str | None


CANCEL_MOVE_TASK = Statement("queue.cancel_move_task", ("uuid", "text"), CancelledTaskRow, is_audited=True)


class RunningTaskRow(NamedTuple):
    task_id: UUID


RUNNING_MOVE_TASKS = Statement("queue.running_move_tasks", (), RunningTaskRow)


class MovedRow(NamedTuple):
    """The number of messages that this step moved, and the task's status after the step."""

    moved: int
    status: str


RUN_MOVE_TASK = Statement("queue.run_move_task", ("uuid", "int4"), MovedRow)


class MoveTaskRow(NamedTuple):
    """A task with all of its columns. `state` is running, waiting, completed, cancelled or failed. `filter` is JSON.
    `title` is the title of the group that the filter selects, or None if the console did not start the task.

    `ids` contains the first 1,000 selected ids. `skipped` counts selected messages that are in flight, delayed, or
    without a target queue, and ids that the queue does not have. `to_move` is None if the number of messages that match
    the filter is not known yet. `to_examine` counts the ids, or the visible messages when the task started.
    """

    task_id: str
    state: str
    destination_arn: str | None
    maximum_per_second: int | None
    ids: list[int] | None
    filter: str | None
    title: str | None
    canary: int | None
    to_move: int | None
    to_examine: int
    moved: int
    skipped: int
    looked_at: int
    failure_reason: str | None
    started_at_ms: int
    continued_at_ms: int | None
    ended_at_ms: int | None


DESCRIBE_MOVE_TASKS = Statement("queue.describe_move_tasks", ("text", "uuid"), MoveTaskRow)


class MoveSourcesRow(NamedTuple):
    """The receivable messages of a selection. `without_source` counts those that clients sent directly, and
    `lost_source` those whose source queue no longer exists. `is_complete` is false if the queue has more messages than
    the 10,000 examined ones. `target_arns` contains up to three of the queues to which the others would return.
    """

    messages: int
    without_source: int
    lost_source: int
    is_complete: bool
    target_arns: list[str]


COUNT_MOVE_SOURCES = Statement("queue.count_move_sources", ("text", "int8[]", "jsonb"), MoveSourcesRow)


class CanaryRow(NamedTuple):
    """A message that a waiting task has moved to the queue `arn`. `state` is None if the message has left the queue,
    and nothing says how. `receive_count` is None without a row of the message.
    """

    arn: str
    public_id: int
    message_id: UUID
    state: str | None
    receive_count: int | None


READ_CANARY = Statement("queue.read_canary", ("text", "uuid"), CanaryRow)


class ContinuedRow(NamedTuple):
    """Whether the task exists and has not ended."""

    continued: bool


CONTINUE_MOVE_TASK = Statement(
    "queue.continue_move_task", ("uuid", "text", "int4"), ContinuedRow, is_audited=True, changed="continued"
)
