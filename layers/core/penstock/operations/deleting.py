"""DeleteMessage and DeleteMessageBatch.

On a standard queue an old handle is no error: the message may have been received again since, or be gone (API
reference of DeleteMessage). On a FIFO queue a handle whose visibility timeout is over is refused.
"""

from collections.abc import Generator
from typing import Any

from .. import characters, errors
from ..context import Context
from ..effects import Effect, Rows, Wake
from ..messages.sqs import (
    BatchResultErrorEntry,
    DeleteMessageBatchRequest,
    DeleteMessageBatchResult,
    DeleteMessageBatchResultEntry,
    DeleteMessageRequest,
)
from ..receipt import Handle
from ..statements import DELETE_MESSAGES
from . import handles
from .refusals import entry_failure


def delete_message(request: DeleteMessageRequest, context: Context) -> Generator[Effect, Any, None]:
    """Deletes one message."""
    arn = context.queue_arn(request.queue_url)
    handle = yield from handles.opened(arn, request.receipt_handle, context)
    (outcome,) = yield from delete(arn, [handle])
    if outcome == "expired":
        raise expired(request.receipt_handle)


def delete_message_batch(
    request: DeleteMessageBatchRequest, context: Context
) -> Generator[Effect, Any, DeleteMessageBatchResult]:
    """Deletes up to ten messages; bad handles fail one by one."""
    characters.check_batch(request.entries, "DeleteMessageBatchRequestEntry")
    arn = context.queue_arn(request.queue_url)
    result = DeleteMessageBatchResult()
    good: list[tuple[str, str, Handle]] = []
    for entry in request.entries:
        handle = context.environment.receipts.open(arn, entry.receipt_handle)
        if handle is None:
            failure = entry_failure(handles.invalid_handle(entry.receipt_handle))
            result.failed.append(BatchResultErrorEntry(id=entry.id, **failure))  # type: ignore[arg-type]
        else:
            good.append((entry.id, entry.receipt_handle, handle))
    if not good:
        yield from handles.check_queue(arn)
        return result
    outcomes = yield from delete(arn, [handle for _, _, handle in good])
    for (entry_id, text, _), outcome in zip(good, outcomes, strict=True):
        if outcome == "expired":
            failure = entry_failure(expired(text))
            result.failed.append(BatchResultErrorEntry(id=entry_id, **failure))  # type: ignore[arg-type]
        else:
            result.successful.append(DeleteMessageBatchResultEntry(id=entry_id))
    return result


def delete(arn: str, given: list[Handle]) -> Generator[Effect, Any, list[str]]:
    """The outcome of each handle: deleted, gone or expired. Raises QueueDoesNotExist."""
    fifo = arn.endswith(".fifo")
    rows = yield Rows(DELETE_MESSAGES, handles.columns(given), lane=arn if fifo else "")
    if rows[0][1] == "no_queue":
        raise errors.QueueDoesNotExist
    if fifo:
        yield Wake(arn, len(given))  # the next message of a group may be received now
    return [outcome for _, outcome in sorted(rows)] if len(rows) > 1 else [rows[0][1]]


def expired(handle: str) -> errors.AwsError:
    """A FIFO handle whose visibility timeout is over."""
    return errors.InvalidParameterValue(
        f"Value {handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
    )
