"""ChangeMessageVisibility and ChangeMessageVisibilityBatch.

The header X-Penstock-Error says why the receiver of the messages failed (sqs.failures). A request without this header
makes the same SQL call as before the header existed.
"""

from penstock import errors
from penstock.aws.named_queue import NamedQueue
from penstock.context import Context
from penstock.effects import BatchCall, Operation, Wake
from penstock.observing.reports import VisibilityChanged
from penstock.postgres.statements.messages import CHANGE_VISIBILITIES, FailureEntry, ReceiptHandle, VisibilityEntry

from . import failures, handles, validation
from .sql_errors import build_failed_entry
from .types import (
    ChangeMessageVisibilityBatchRequest,
    ChangeMessageVisibilityBatchRequestEntry,
    ChangeMessageVisibilityBatchResult,
    ChangeMessageVisibilityBatchResultEntry,
    ChangeMessageVisibilityRequest,
)

ENTRY = "ChangeMessageVisibilityBatchRequestEntry"


def change_message_visibility(request: ChangeMessageVisibilityRequest, context: Context) -> Operation[None]:
    """Hides the message for `visibility_timeout` seconds from now; 0 makes it visible at once."""
    validation.check_range("VisibilityTimeout", request.visibility_timeout)
    queue = context.queue(request.queue_url)
    handle = yield from handles.open_handle(queue, request.receipt_handle, context)
    error = failures.read_error(context)
    (outcome,) = yield from change(queue, [handle], [request.visibility_timeout], error)
    if outcome != "changed":
        raise find_outcome_error(outcome, request.receipt_handle, request.visibility_timeout)


def change_message_visibility_batch(
    request: ChangeMessageVisibilityBatchRequest, context: Context
) -> Operation[ChangeMessageVisibilityBatchResult]:
    """Changes the visibility of up to ten messages. Entries fail individually."""
    validation.check_batch(request.entries, ENTRY)
    queue = context.queue(request.queue_url)
    result = ChangeMessageVisibilityBatchResult()
    good: list[tuple[ChangeMessageVisibilityBatchRequestEntry, ReceiptHandle]] = []
    for number, entry in enumerate(request.entries, 1):
        try:
            good.append((entry, check_handle(entry, number, queue, context)))
        except errors.AwsError as error:
            fail_entry(result, entry.id, error)
    if not good:
        yield from handles.check_queue(queue.arn)
        return result
    seconds = [entry.visibility_timeout or 0 for entry, _ in good]
    outcomes = yield from change(queue, [handle for _, handle in good], seconds, failures.read_error(context))
    for (entry, _), outcome in zip(good, outcomes, strict=True):
        if outcome == "changed":
            result.successful.append(ChangeMessageVisibilityBatchResultEntry(id=entry.id))
        else:
            seconds_of_entry = entry.visibility_timeout or 0
            fail_entry(result, entry.id, find_entry_error(outcome, entry.receipt_handle, seconds_of_entry))
    return result


def check_handle(
    entry: ChangeMessageVisibilityBatchRequestEntry, number: int, queue: NamedQueue, context: Context
) -> ReceiptHandle:
    """Returns the entry's handle. Raises MissingParameter, InvalidParameterValue or ReceiptHandleIsInvalid."""
    if entry.visibility_timeout is None:
        raise errors.MissingParameter.named(f"{ENTRY}.{number}.VisibilityTimeout")
    validation.check_range("VisibilityTimeout", entry.visibility_timeout)
    handle = context.environment.receipts.open(queue, entry.receipt_handle)
    if handle is None:
        raise handles.build_handle_error(entry.receipt_handle)
    return handle


def change(
    queue: NamedQueue, receipt_handles: list[ReceiptHandle], seconds: list[int], error: str | None = None
) -> Operation[list[str]]:
    """Returns each handle's outcome: changed, gone, expired, too_long or no_queue. Stores `error` as the failure of the
    changed messages. Raises QueueDoesNotExist."""
    arn = queue.arn
    timed = list(zip(receipt_handles, seconds, strict=True))
    if error is None:
        entries = [VisibilityEntry(*handle, timeout) for handle, timeout in timed]
        rows = sorted((yield from BatchCall(CHANGE_VISIBILITIES, entries, merge_key=queue.merge_key)))
    else:
        rows = yield from failures.store(queue, [FailureEntry(*handle, timeout, error) for handle, timeout in timed])
    if 0 in seconds:
        yield Wake(arn, seconds.count(0))
    outcomes = [row.outcome for row in rows]
    yield from handles.check_outcomes(arn, outcomes)
    yield VisibilityChanged(arn, outcomes.count("changed"))
    return outcomes


def find_outcome_error(outcome: str, handle: str, seconds: int) -> errors.AwsError:
    """Returns AWS's error for a visibility timeout that could not be changed."""
    if outcome == "too_long":
        return errors.InvalidParameterValue(
            f"Value {seconds} for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the "
            "message is beyond the limit [43200 seconds]."
        )
    return handles.find_outcome_error(outcome, handle) or errors.InvalidParameterValue(
        f"Value {handle} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available "
        "for visibility timeout change."
    )


def find_entry_error(outcome: str, handle: str, seconds: int) -> errors.AwsError:
    """Returns the error of a batch entry. The error for a missing message differs from ChangeMessageVisibility's error.

    Both errors are recorded at AWS. The difference matters, because frameworks ignore only one of the two errors.
    """
    if outcome == "gone":
        return errors.ReceiptHandleIsInvalid("Message does not exist or is not available for visibility timeout change")
    return find_outcome_error(outcome, handle, seconds)


def fail_entry(result: ChangeMessageVisibilityBatchResult, entry_id: str, error: errors.AwsError) -> None:
    result.failed.append(build_failed_entry(entry_id, error))
