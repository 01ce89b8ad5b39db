"""Sends, receives, deletes, hides and peeks at messages, and reads the archive."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.calls import decode_texts
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn, find_queue
from penstock.documents.times import format_timestamp
from penstock.effects import Call, Operation, Wake, compute
from penstock.management.errors import MessageNotFound, UndoOver
from penstock.management.rights import needs
from penstock.observing.reports import Deleted, ReceivedBy, VisibilityChanged
from penstock.postgres.statements.messages import FailureEntry
from penstock.postgres.statements.stored_messages import (
    CHANGE_VISIBILITY_BY_ID,
    DELETE_BY_ID,
    DELETE_WITH_UNDO,
    UNDO_DELETION,
    PendingDeletionRow,
)
from penstock.sqs import delete as deleting
from penstock.sqs import failures, handles, queues, sql_errors, visibility
from penstock.sqs import receive as receiving
from penstock.sqs import send as sending
from penstock.sqs.types import SendMessageRequest

from .conversion import (
    convert_to_json,
    count_bytes,
    count_earlier_receives,
    fit_page,
    limit_page_bytes,
    read_group,
    to_headers,
    to_send_request,
)
from .reading import peek_rows, read_archived_rows
from .types import Hidden, NewMessage, StoredMessage


@needs("queue", "sqs:SendMessage")
def send(name: str, messages: Sequence[NewMessage], async_commit: bool, context: Context) -> Operation[list[int]]:
    """Stores all messages or none. Returns the messages' ids in order. If `async_commit` is set, the call does not
    wait for the disk.

    The SQL function that stores messages can refuse some of them. Therefore a separate call checks the messages first
    if the request has several. The separate call costs a second round trip.
    """
    queue = find_queue(name, context)
    trace = context.trace_header
    outgoing = yield from compute(
        lambda: [sending.build_message(to_send_request(message, queue.arn), queue.arn, trace) for message in messages],
        sum(map(count_bytes, messages)),
    )
    if len(outgoing) > 1:
        yield from check_messages(queue.arn, outgoing)
    stored = yield from sending.store(queue, outgoing, async_commit)
    for row in stored:
        if row.error == "MessageTooLong":
            raise errors.RequestEntityTooLarge(f"A message is longer than the queue's {row.detail} bytes")
        if row.error is not None:
            raise sql_errors.build_sql_error(row.error, row.detail)
    return [row.id for row in stored if row.id is not None]


@needs("queue", "sqs:SendMessage")
@audited(
    lambda name, _, copied, context: Act(
        "sqs:SendMessage", build_queue_arn(name, context), {"copy_of": copied} if copied else {}
    )
)
def send_written(name: str, request: SendMessageRequest, _copied: str, context: Context) -> Operation[None]:
    """Sends a message that a person has written. The audit log records the send. `_copied` names the message that was
    copied."""
    request.queue_url = name
    yield from sending.send_message(request, context)


def check_messages(arn: str, outgoing: Sequence[sending.AcceptedMessage]) -> Operation[None]:
    """Raises the error that storing any of the messages would cause.

    For example, a message is too long for the queue or has no deduplication id, or the queue does not exist.
    """
    queue = yield from queues.describe(arn)
    stored = decode_texts(queue.attributes)
    limit = stored["MaximumMessageSize"]
    if max(message.stored.size_bytes for message in outgoing) > int(limit):
        raise errors.RequestEntityTooLarge(f"A message is longer than the queue's {limit} bytes")
    if stored.get("ContentBasedDeduplication") == "false" and any(
        message.stored.deduplication_id is None for message in outgoing
    ):
        raise sql_errors.build_sql_error("DeduplicationIdRequired", None)


@needs("queue", "sqs:ReceiveMessage")
def receive(
    name: str, count: int, visibility_seconds: int | None, wait_seconds: int, context: Context
) -> Operation[list[StoredMessage]]:
    """Receives up to `count` messages, each with a receipt. Waits for the first message."""
    queue = find_queue(name, context)
    rows = yield from receiving.receive_messages(
        receiving.build_receive(queue, count, visibility_seconds, wait_seconds, context), context
    )
    yield ReceivedBy(queue.arn, len(rows), context)
    seal = context.environment.receipts.seal
    return [
        StoredMessage(
            id=row.public_id,
            receipt=seal(queue, row.handle),
            read_count=row.receive_count,
            enqueued_at=format_timestamp(row.sent_at_ms),
            visible_at=format_timestamp(row.visible_at_ms),
            message=convert_to_json(row.body),
            headers=to_headers(row.attributes),
            message_id=row.message_id,
            group_id=read_group(row.system),
        )
        for row in rows
    ]


@needs("queue", "sqs:DeleteMessage")
def delete_ids(name: str, ids: Sequence[int], context: Context) -> Operation[list[int]]:
    """Deletes messages. Returns the ids of the messages that existed, in the client's order."""
    return (yield from _delete_ids(name, ids, context))


@needs("queue", "sqs:DeleteMessage")
def delete_with_undo(name: str, ids: Sequence[int], context: Context) -> Operation[list[PendingDeletionRow]]:
    """Deletes messages that a person has chosen, and keeps them for 30 seconds, within which `undo_deletion` brings
    them back. Returns the messages that existed, all with the same `deletion_id`. The audit log records the deletion.

    The messages leave the queue at once. `queue.delete_with_undo` says why a crash does not lose them.
    """
    return (yield from _delete_with_undo(name, ids, uuid4(), context))


@audited(
    lambda name, ids, deletion, context: Act(
        "sqs:DeleteMessage", build_queue_arn(name, context), {"deletion": str(deletion), "ids": ids}, counted="*"
    )
)
def _delete_with_undo(
    name: str, ids: Sequence[int], deletion: UUID, context: Context
) -> Operation[list[PendingDeletionRow]]:
    arn = build_queue_arn(name, context)
    rows = (yield from Call(DELETE_WITH_UNDO, (arn, list(ids), deletion))) if ids else []
    if not rows:
        yield from handles.check_queue(arn)
    yield Deleted(arn, len(rows))
    return rows


@needs("queue", "sqs:DeleteMessage")
@audited(
    lambda name, deletion, context: Act(
        "penstock:UndoDeletion", build_queue_arn(name, context), {"undone": str(deletion)}, counted="*"
    )
)
def undo_deletion(name: str, deletion: UUID, context: Context) -> Operation[list[int]]:
    """Brings the messages of a deletion back, with their ids and receive counts. Returns the ids. The audit log
    records the undo.

    Raises UndoOver if the deletion is more than 30 seconds old or was undone before, and QueueDoesNotExist.
    """
    arn = build_queue_arn(name, context)
    rows = yield from Call(UNDO_DELETION, (arn, deletion))
    if not rows:
        yield from handles.check_queue(arn)
        raise UndoOver
    yield Wake(arn, len(rows))
    return [row.id for row in rows]


def _delete_ids(name: str, ids: Sequence[int], context: Context) -> Operation[list[int]]:
    arn = build_queue_arn(name, context)
    rows = (yield from Call(DELETE_BY_ID, (arn, list(ids)))) if ids else []
    if not rows:
        yield from handles.check_queue(arn)
    yield Deleted(arn, len(rows))
    deleted = {row.id for row in rows}
    return [message_id for message_id in ids if message_id in deleted]


@needs("queue", "sqs:DeleteMessage")
def delete_receipts(name: str, receipts: Sequence[str], context: Context) -> Operation[list[str]]:
    """Deletes messages. Returns their receipts. A receipt of another queue fails the whole request."""
    queue = find_queue(name, context)
    opened = []
    for receipt in receipts:
        opened.append((yield from handles.open_handle(queue, receipt, context)))  # noqa: PERF401 - not in a comprehension
    if not opened:
        yield from handles.check_queue(queue.arn)
        return []
    outcomes = yield from deleting.delete(queue, opened)
    return [receipt for receipt, outcome in zip(receipts, outcomes, strict=True) if outcome == "deleted"]


@needs("queue", "sqs:DeleteMessage")
def delete_one(name: str, message_id: int, context: Context) -> Operation[None]:
    """Deletes a message. Raises MessageNotFound."""
    if not (yield from _delete_ids(name, [message_id], context)):
        raise MessageNotFound


@needs("queue", "sqs:ChangeMessageVisibility")
def change_visibility(name: str, message_id: int, seconds: int, context: Context) -> Operation[Hidden]:
    """Changes when a message becomes visible. Returns the message's id and the new time. Raises MessageNotFound."""
    arn = build_queue_arn(name, context)
    rows = yield from Call(CHANGE_VISIBILITY_BY_ID, (arn, message_id, seconds))
    if not rows:
        yield from handles.check_queue(arn)
        raise MessageNotFound
    if seconds == 0:
        yield Wake(arn, 1)
    yield VisibilityChanged(arn, 1)
    (row,) = rows
    return Hidden(id=message_id, visible_at=format_timestamp(row.visible_at_ms))


@needs("queue", "sqs:ChangeMessageVisibility")
def fail(name: str, receipt: str, error: str, seconds: int | None, context: Context) -> Operation[None]:
    """Stores why the receiver of a message failed. If `seconds` is given, the message becomes visible after `seconds`.

    Raises QueueDoesNotExist, ReceiptHandleIsInvalid, InvalidParameterValue, and MessageNotFound for a receipt whose
    message is gone or, in a FIFO queue, was received again.
    """
    queue = find_queue(name, context)
    error = failures.check_error(error)
    handle = yield from handles.open_handle(queue, receipt, context)
    if seconds is not None:
        (outcome,) = yield from visibility.change(queue, [handle], [seconds], error)
    else:
        (row,) = yield from failures.store(queue, [FailureEntry(*handle, None, error)])
        outcome = row.outcome
        yield from handles.check_outcomes(queue.arn, [outcome])
    if outcome == "too_long":
        raise visibility.find_outcome_error(outcome, receipt, seconds or 0)
    if outcome != "changed":
        raise MessageNotFound


@needs("queue", "sqs:ReceiveMessage")
def peek(name: str, state: str, after: int | None, limit: int, context: Context) -> Operation[list[StoredMessage]]:
    """Lists messages in this state in the order of their ids, without receiving them."""
    arn = build_queue_arn(name, context)
    rows = yield from peek_rows(arn, state, after, limit, limit_page_bytes(context), context)
    page = [
        StoredMessage(
            id=row.public_id,
            read_count=row.receive_count,
            enqueued_at=format_timestamp(row.sent_at_ms),
            visible_at=format_timestamp(row.visible_at_ms),
            message=convert_to_json(row.body),
            headers=to_headers(row.attributes),
            message_id=row.message_id,
            group_id=row.group_id,
            entered_at=format_timestamp(row.entered_at_ms),
            entered_by=row.entered_by,
            receive_count=row.receive_count + count_earlier_receives(row.system),
        )
        for row in rows
    ]
    return fit_page(page, context)


@needs("queue", "penstock:ReadArchive", "sqs:ReceiveMessage")
def read_archive(name: str, after: int | None, limit: int, context: Context) -> Operation[list[StoredMessage]]:
    """Lists the queue's archived messages in the order of deletion. `after` is an `archive_id`."""
    arn = build_queue_arn(name, context)
    rows = yield from read_archived_rows(arn, after, limit, limit_page_bytes(context), context)
    page = [
        StoredMessage(
            archive_id=row.archive_id,
            id=row.public_id,
            read_count=row.receive_count,
            enqueued_at=format_timestamp(row.sent_at_ms),
            archived_at=format_timestamp(row.archived_at_ms),
            message=convert_to_json(row.body),
            headers=to_headers(row.attributes),
            message_id=row.message_id,
            group_id=read_group(row.system),
        )
        for row in rows
    ]
    return fit_page(page, context)
