"""DeleteMessage and DeleteMessageBatch.

A standard queue accepts an old handle, even if a consumer has received the message again or deleted it (API reference
of DeleteMessage). A FIFO queue refuses a handle after its visibility timeout, even if the message was received again.
"""

from penstock.aws.named_queue import NamedQueue
from penstock.context import Context
from penstock.effects import BatchCall, Operation, Wake, Woken
from penstock.observing.reports import Deleted
from penstock.postgres.statements.messages import DELETE_MESSAGES, ReceiptHandle

from . import handles, validation
from .sql_errors import build_failed_entry
from .types import (
    DeleteMessageBatchRequest,
    DeleteMessageBatchResult,
    DeleteMessageBatchResultEntry,
    DeleteMessageRequest,
)


def delete_message(request: DeleteMessageRequest, context: Context) -> Operation[None]:
    queue = context.queue(request.queue_url)
    handle = yield from handles.open_handle(queue, request.receipt_handle, context)
    (outcome,) = yield from delete(queue, [handle])
    refused = handles.find_outcome_error(outcome, request.receipt_handle)
    if refused is not None:
        raise refused


def delete_message_batch(request: DeleteMessageBatchRequest, context: Context) -> Operation[DeleteMessageBatchResult]:
    """Deletes up to ten messages. Invalid handles fail individually."""
    validation.check_batch(request.entries, "DeleteMessageBatchRequestEntry")
    queue = context.queue(request.queue_url)
    result = DeleteMessageBatchResult()
    good: list[tuple[str, str, ReceiptHandle]] = []
    for entry in request.entries:
        handle = context.environment.receipts.open(queue, entry.receipt_handle)
        if handle is None:
            result.failed.append(build_failed_entry(entry.id, handles.build_handle_error(entry.receipt_handle)))
        else:
            good.append((entry.id, entry.receipt_handle, handle))
    if not good:
        yield from handles.check_queue(queue.arn)
        return result
    outcomes = yield from delete(queue, [handle for _, _, handle in good])
    for (entry_id, text, _), outcome in zip(good, outcomes, strict=True):
        if outcome != "deleted" and (refused := handles.find_outcome_error(outcome, text)) is not None:
            result.failed.append(build_failed_entry(entry_id, refused))
        else:
            result.successful.append(DeleteMessageBatchResultEntry(id=entry_id))
    return result


def delete(queue: NamedQueue, receipt_handles: list[ReceiptHandle]) -> Operation[list[str]]:
    """Returns each handle's outcome: deleted, gone, expired or no_queue. Raises QueueDoesNotExist."""
    arn = queue.arn
    rows = yield from BatchCall(DELETE_MESSAGES, receipt_handles, merge_key=queue.merge_key)
    if queue.is_fifo:
        yield Wake(arn, 1, Woken.FOR_MORE)  # consumers can now receive the next messages of these groups
    outcomes = [row.outcome for row in (sorted(rows) if len(rows) > 1 else rows)]
    yield from handles.check_outcomes(arn, outcomes)
    yield Deleted(arn, outcomes.count("deleted"))
    return outcomes
