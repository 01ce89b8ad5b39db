"""The operations of the REST API: generators that call the same SQL functions as the SQS API (`penstock.effects`).

A client addresses a queue by its name; account and region are those of the context.
"""

from collections.abc import Iterable, Sequence
from time import time
from typing import TypeVar

import msgspec

from penstock import errors
from penstock.access.authorization import authorize_each
from penstock.aws.arn import ResolvedQueue, resolve_queue
from penstock.context import Context
from penstock.effects import Call, Operation, Wake, Woken, compute
from penstock.postgres.statements.queues import DESCRIBE_QUEUE, LIST_QUEUES, LIST_RECEIVERS
from penstock.postgres.statements.stored_messages import (
    CHANGE_VISIBILITY_BY_ID,
    DELETE_BY_ID,
    PEEK_MESSAGES,
    READ_ARCHIVE,
)
from penstock.reports import Deleted, ReceivedBy, VisibilityChanged
from penstock.response_limit import CONTAINER_BYTES
from penstock.sqs import attributes, handles, queues, sql_errors, validation
from penstock.sqs import delete as deleting
from penstock.sqs import receive as receiving
from penstock.sqs import send as sending

from .documents import (
    NewMessage,
    StoredMessage,
    format_timestamp,
    json_or_string,
    message_group,
    size_of,
    to_headers,
    to_send_request,
)
from .errors import MessageNotFound
from .shapes import Attributes, Hidden, NewQueue, QueueDescription, QueueName, QueuePage, ReceiverDescription

StoredMessageT = TypeVar("StoredMessageT", bound=StoredMessage)

_texts = msgspec.json.Decoder(dict[str, str])


# --- queues ----------------------------------------------------------------------------------------------------------
def create_queue(new: NewQueue, context: Context) -> Operation[str]:
    """Returns the name of the new queue. Raises QueueNameExists, also if the existing queue has the same attributes."""
    fifo = new.fifo or new.name.endswith(".fifo")
    name = f"{new.name}.fifo" if fifo and not new.name.endswith(".fifo") else new.name
    validation.check_queue_name(name, fifo=fifo)
    supplied = attributes_as_text(new.attributes)
    if fifo:
        supplied["FifoQueue"] = "true"
    checked = attributes.check_queue_attributes(supplied, fifo, creating=True, extensions=True)
    validation.check_tags(new.tags)
    if not (yield from queues.make_queue(name, checked, new.tags, context)):
        raise errors.QueueNameExists(f"Queue '{name}' exists already")
    return name


MOST_RECEIVERS = 100


def attributes_as_text(values: Attributes) -> dict[str, str]:
    """Attributes as texts, as in AWS's API: true becomes "true", 60 "60", a policy its JSON text."""
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for name, value in values.items()
    }


def list_queues(limit: int, after: str | None, context: Context) -> Operation[QueuePage]:
    """A page of queues in the order of their names."""
    last = queues.read_token(after)
    rows = yield from Call(LIST_QUEUES, (context.account_id, context.region, "", last, limit + 1))
    page = [
        QueueName(name=row.name, fifo=row.fifo, created_at=format_timestamp(row.created_at_ms))
        for row in rows[:limit]
    ]
    return QueuePage(queues=page, next=queues.make_token(page[-1].name) if len(rows) > limit else None)


def describe_queue(name: str, context: Context) -> Operation[QueueDescription]:
    """A queue with its current counts."""
    arn = arn_of(name, context)
    rows = yield from Call(DESCRIBE_QUEUE, (arn, True))
    if not rows:
        raise errors.QueueDoesNotExist
    (queue,) = rows
    visible, in_flight, delayed = queue.visible or 0, queue.in_flight or 0, queue.delayed or 0
    return QueueDescription(
        name=name,
        arn=arn,
        fifo=queue.fifo,
        created_at=format_timestamp(queue.created_at_ms),
        queue_length=visible + in_flight + delayed,
        visible=visible,
        in_flight=in_flight,
        delayed=delayed,
        newest_msg_age_sec=queue.newest_age_seconds,
        oldest_msg_age_sec=queue.oldest_age_seconds,
        total_messages=queue.total_messages or 0,
        scrape_time=format_timestamp(int(time() * 1000)),
        attributes=_texts.decode(queue.attributes),
        tags=_texts.decode(queue.tags),
    )


def change_queue(name: str, changes: Attributes, context: Context) -> Operation[QueueDescription]:
    """Changes attributes and returns the queue: one database call writes, a second one counts."""
    arn = arn_of(name, context)
    checked = attributes.check_queue_attributes(
        attributes_as_text(changes), arn.endswith(".fifo"), extensions=True
    )
    yield from queues.change_attributes(arn, checked, context)
    return (yield from describe_queue(name, context))


def set_paused(arn: str, *, paused: bool, context: Context) -> Operation[None]:
    """Ends or begins the handing out of messages. Raises QueueDoesNotExist."""
    yield from queues.change_attributes(arn, {"paused": "true" if paused else "false"}, context)
    if not paused:
        yield Wake(arn, 1, Woken.FOR_MORE)


def queue_of(name: str, context: Context) -> ResolvedQueue:
    """The queue. Raises QueueDoesNotExist if no queue can have this name."""
    queue = resolve_queue(context.region, context.account_id, name)
    if queue is None:
        raise errors.QueueDoesNotExist
    return queue


def arn_of(name: str, context: Context) -> str:
    """The queue's ARN. Raises as `queue_of` does."""
    return queue_of(name, context).arn


def authorize_queues(action: str, names: Iterable[str], context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller may do this with the queues that a body names.

    The account's own keys may, as they may with the queue of a path. Raises QueueDoesNotExist as `arn_of` does.
    """
    if not context.caller.principal.is_root:
        arns = [arn_of(name, context) for name in dict.fromkeys(names)]
        if arns:
            yield from authorize_each("sqs", action, arns, context)


# --- messages --------------------------------------------------------------------------------------------------------
def send(
    name: str, messages: Sequence[NewMessage], async_commit: bool, context: Context
) -> Operation[list[int]]:
    """Returns the ids, in order. Stores all messages or none; `async_commit`: without waiting for the disk.

    The SQL function that stores messages refuses single ones, so a call before it checks several messages: a second
    round trip.
    """
    queue = queue_of(name, context)
    trace = context.trace_header
    outgoing = yield from compute(
        lambda: [
            sending.outgoing_message(to_send_request(message), queue.arn, trace) for message in messages
        ],
        sum(map(size_of, messages)),
    )
    if len(outgoing) > 1:
        yield from check_messages(queue.arn, outgoing)
    stored = yield from sending.store(queue, outgoing, async_commit)
    for row in stored:
        if row.error == "MessageTooLong":
            raise errors.RequestEntityTooLarge(f"A message is longer than the queue's {row.detail} bytes")
        if row.error is not None:
            raise sql_errors.sql_error(row.error, row.detail)
    return [row.id for row in stored if row.id is not None]


def check_messages(arn: str, outgoing: Sequence[sending.OutgoingMessage]) -> Operation[None]:
    """Raises the error that storing any of the messages would cause.

    These are: the message is too long for the queue, it has no deduplication id, the queue does not exist.
    """
    rows = yield from Call(DESCRIBE_QUEUE, (arn, False))
    if not rows:
        raise errors.QueueDoesNotExist
    (queue,) = rows
    stored = _texts.decode(queue.attributes)
    limit = stored["MaximumMessageSize"]
    if max(message.stored.size_bytes for message in outgoing) > int(limit):
        raise errors.RequestEntityTooLarge(f"A message is longer than the queue's {limit} bytes")
    if stored.get("ContentBasedDeduplication") == "false" and any(
        message.stored.deduplication_id is None for message in outgoing
    ):
        raise sql_errors.sql_error("DeduplicationIdRequired", None)


def receive(
    name: str, count: int, visibility_seconds: int | None, wait_seconds: int, context: Context
) -> Operation[list[StoredMessage]]:
    """Receives up to `count` messages, each with a receipt; waits for the first one."""
    queue = queue_of(name, context)
    rows = yield from receiving.receive_messages(
        receiving.build_receive(queue, count, visibility_seconds, wait_seconds, context),
        context.environment.long_queues,
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
            message=json_or_string(row.body),
            headers=to_headers(row.attributes),
            group_id=message_group(row.system),
        )
        for row in rows
    ]


def receivers(name: str, context: Context) -> Operation[list[ReceiverDescription]]:
    """Who received from a queue in the last day, up to 100, the last one first. Raises QueueDoesNotExist."""
    arn = arn_of(name, context)
    rows = yield from Call(LIST_RECEIVERS, (arn, MOST_RECEIVERS))
    if not rows:
        yield from handles.check_queue(arn)
    return [
        ReceiverDescription(
            caller=row.caller,
            user_agent=row.agent,
            address=row.address,
            first_received_at=format_timestamp(row.first_at_ms),
            last_received_at=format_timestamp(row.last_at_ms),
            messages=row.received,
        )
        for row in rows
    ]


def delete_ids(name: str, ids: Sequence[int], context: Context) -> Operation[list[int]]:
    """Deletes messages and returns the ids of those that existed, in the client's order."""
    arn = arn_of(name, context)
    rows = (yield from Call(DELETE_BY_ID, (arn, list(ids)))) if ids else []
    if not rows:
        yield from handles.check_queue(arn)
    yield Deleted(arn, len(rows))
    deleted = {row.id for row in rows}
    return [message_id for message_id in ids if message_id in deleted]


def delete_receipts(name: str, receipts: Sequence[str], context: Context) -> Operation[list[str]]:
    """Deletes messages and returns their receipts. A receipt of another queue fails the whole request."""
    queue = queue_of(name, context)
    opened = []
    for receipt in receipts:
        opened.append((yield from handles.open_handle(queue, receipt, context)))  # noqa: PERF401 - not in a comprehension
    if not opened:
        yield from handles.check_queue(queue.arn)
        return []
    outcomes = yield from deleting.delete(queue, opened)
    return [receipt for receipt, outcome in zip(receipts, outcomes, strict=True) if outcome == "deleted"]


def delete_one(name: str, message_id: int, context: Context) -> Operation[None]:
    """Raises MessageNotFound."""
    if not (yield from delete_ids(name, [message_id], context)):
        raise MessageNotFound


def change_visibility(name: str, message_id: int, seconds: int, context: Context) -> Operation[Hidden]:
    """Returns the id and the time at which the message becomes visible. Raises MessageNotFound."""
    arn = arn_of(name, context)
    rows = yield from Call(CHANGE_VISIBILITY_BY_ID, (arn, message_id, seconds))
    if not rows:
        yield from handles.check_queue(arn)
        raise MessageNotFound
    if seconds == 0:
        yield Wake(arn, 1)
    yield VisibilityChanged(arn, 1)
    (row,) = rows
    return Hidden(id=message_id, visible_at=format_timestamp(row.visible_at_ms))


def peek(
    name: str, state: str, after: int | None, limit: int, context: Context
) -> Operation[list[StoredMessage]]:
    """Messages in this state, in the order of their ids, without receiving them."""
    arn = arn_of(name, context)
    rows = yield from Call(PEEK_MESSAGES, (arn, state, after, limit, page_bytes(context)))
    if not rows:
        yield from handles.check_queue(arn)
    page = [
        StoredMessage(
            id=row.public_id,
            read_count=row.receive_count,
            enqueued_at=format_timestamp(row.sent_at_ms),
            visible_at=format_timestamp(row.visible_at_ms),
            message=json_or_string(row.body),
            headers=to_headers(row.attributes),
            group_id=row.group_id,
            entered_at=format_timestamp(row.entered_at_ms),
            entered_by=row.entered_by,
        )
        for row in rows
    ]
    return fitting(page, context)


def read_archive(
    name: str, after: int | None, limit: int, context: Context
) -> Operation[list[StoredMessage]]:
    """Deleted messages in the queue's archive, in the order of their deletion; `after` is an `archive_id`."""
    arn = arn_of(name, context)
    rows = yield from Call(READ_ARCHIVE, (arn, after, limit, page_bytes(context)))
    if not rows:
        yield from handles.check_queue(arn)
    page = [
        StoredMessage(
            archive_id=row.archive_id,
            id=row.public_id,
            read_count=row.receive_count,
            enqueued_at=format_timestamp(row.sent_at_ms),
            archived_at=format_timestamp(row.archived_at_ms),
            message=json_or_string(row.body),
            headers=to_headers(row.attributes),
            group_id=message_group(row.system),
        )
        for row in rows
    ]
    return fitting(page, context)


def page_bytes(context: Context) -> int:
    """A page ends with the message by which it has so many bytes."""
    limit = context.http.response_limit
    return CONTAINER_BYTES if limit is None else limit.max_bytes


def fitting(page: list[StoredMessageT], context: Context) -> list[StoredMessageT]:
    """The messages of a page that fit into the answer. Raises ResponseTooLarge if the first one is too long for it."""
    limit = context.http.response_limit
    if limit is None:
        return page
    fitted = page[: limit.count_fitting([msgspec.json.encode(message).decode() for message in page])]
    if page and not fitted:
        raise errors.ResponseTooLarge.of(limit.way)
    return fitted
