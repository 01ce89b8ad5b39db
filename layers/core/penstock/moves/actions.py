"""Message move tasks: StartMessageMoveTask, ListMessageMoveTasks, CancelMessageMoveTask (SQS API reference).

These operations start, list and cancel tasks; the worker `move` moves the messages.
"""

from base64 import b64decode, b64encode
from uuid import UUID

import msgspec

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.aws.arn import parse_queue_arn
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.move_tasks import CANCEL_MOVE_TASK, LIST_MOVE_TASKS, START_MOVE_TASK, ListedTaskRow
from penstock.sqs import validation
from penstock.sqs.sql_errors import build_sql_error
from penstock.sqs.types import (
    CancelMessageMoveTaskRequest,
    CancelMessageMoveTaskResult,
    ListMessageMoveTasksRequest,
    ListMessageMoveTasksResult,
    ListMessageMoveTasksResultEntry,
    StartMessageMoveTaskRequest,
    StartMessageMoveTaskResult,
)

MAX_RESULTS = 10
MAX_HANDLE_LENGTH = 1_024  # in characters; a longer handle is truncated and therefore invalid


class TaskHandle(msgspec.Struct, rename="camel"):
    """The content of a TaskHandle. As on AWS, clients see the handle as opaque base64."""

    task_id: UUID
    source_arn: str

    def __str__(self) -> str:
        return b64encode(msgspec.json.encode(self)).decode("ascii")


@audited(
    lambda request, _context: Act(
        "sqs:StartMessageMoveTask",
        request.source_arn,
        {"destination": request.destination_arn, "per_second": request.max_number_of_messages_per_second},
    )
)
def start_message_move_task(
    request: StartMessageMoveTaskRequest, context: Context
) -> Operation[StartMessageMoveTaskResult]:
    """Starts to move a dead-letter queue's messages. A queue can have one task at a time."""
    validation.check_range("MaxNumberOfMessagesPerSecond", request.max_number_of_messages_per_second)
    source = check_arn("SourceArn", request.source_arn, context)
    destination = request.destination_arn or None
    if destination is not None:
        destination = check_arn("DestinationArn", destination, context)
    arguments = (source, destination, request.max_number_of_messages_per_second, None, None, None, None)
    (row,) = yield from Call(START_MOVE_TASK, arguments)
    if row.error is not None:
        raise build_sql_error(row.error, row.detail)
    return StartMessageMoveTaskResult(task_handle=str(TaskHandle(UUID(row.task_id), source)))


def list_message_move_tasks(
    request: ListMessageMoveTasksRequest, context: Context
) -> Operation[ListMessageMoveTasksResult]:
    """Returns a queue's last tasks, newest first. The default maximum is one task."""
    limit = 1 if request.max_results is None else request.max_results
    if not 1 <= limit <= MAX_RESULTS:
        raise errors.InvalidParameterValue(
            f"Value {limit} for parameter MaxResults is invalid. Reason: Must be between 1 and {MAX_RESULTS}."
        )
    source = check_arn("SourceArn", request.source_arn, context)
    header, *tasks = yield from Call(LIST_MOVE_TASKS, (source, limit))
    if header.error is not None:
        raise build_sql_error(header.error, "SourceArn")
    return ListMessageMoveTasksResult(results=[build_entry(source, task) for task in tasks])


@audited(lambda request, _context: Act("sqs:CancelMessageMoveTask", read_handle(request.task_handle).source_arn))
def cancel_message_move_task(
    request: CancelMessageMoveTaskRequest, context: Context
) -> Operation[CancelMessageMoveTaskResult]:
    """Cancels a running task. Moved messages stay in the destination."""
    handle = read_handle(request.task_handle)
    source = check_arn("SourceArn", handle.source_arn, context)
    (row,) = yield from Call(CANCEL_MOVE_TASK, (str(handle.task_id), source))
    if row.error is not None:
        raise build_sql_error(row.error, row.detail)
    return CancelMessageMoveTaskResult(approximate_number_of_messages_moved=row.moved)


def build_entry(source: str, task: ListedTaskRow) -> ListMessageMoveTasksResultEntry:
    return ListMessageMoveTasksResultEntry(
        status=task.status,
        source_arn=source,
        approximate_number_of_messages_moved=task.moved,
        started_timestamp=task.started_at_ms,
        task_handle=str(TaskHandle(UUID(task.task_id), source)) if task.status == "RUNNING" else None,
        destination_arn=task.destination_arn,
        max_number_of_messages_per_second=task.maximum_per_second,
        approximate_number_of_messages_to_move=task.to_move,
        failure_reason=task.failure_reason,
    )


def check_arn(parameter: str, text: str, context: Context) -> str:
    """Returns a queue's ARN in the request's region. Raises ResourceNotFoundException for a text that is not a queue's
    ARN."""
    parsed = parse_queue_arn(text)
    if parsed is None or parsed.region != context.region:
        raise build_sql_error("ResourceNotFoundException", parameter)
    return str(parsed)


def read_handle(text: str) -> TaskHandle:
    """Returns the content of a task handle. Raises InvalidParameterValue for a text that is not a task handle."""
    try:
        return msgspec.json.decode(b64decode(text[:MAX_HANDLE_LENGTH], validate=True), type=TaskHandle)
    except (ValueError, msgspec.DecodeError, RecursionError):
        # The text is not ASCII, base64 or JSON, or has other members.
        raise errors.InvalidParameterValue("Value for parameter TaskHandle is invalid.") from None
