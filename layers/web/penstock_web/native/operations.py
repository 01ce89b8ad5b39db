"""The rules of the native API, as generators over the same SQL functions: see `penstock.effects`.

Queues are addressed by name, in the account and region of the context.
"""

from collections.abc import Generator, Mapping, Sequence
from time import time
from typing import Any

import msgspec

from penstock import errors
from penstock.aws.arn import queue_arn
from penstock.context import Context
from penstock.effects import Effect, Sql, Wake
from penstock.postgres.statements import (
    CHANGE_VISIBILITY_BY_ID,
    DELETE_BY_ID,
    DESCRIBE_QUEUE,
    LIST_QUEUES,
    PEEK_MESSAGES,
    READ_ARCHIVE,
)
from penstock.sqs import attributes, handles, queues, sql_errors, validation
from penstock.sqs import delete as deleting
from penstock.sqs import receive as receiving
from penstock.sqs import send as sending

from .documents import NewMessage, StoredMessage, as_json, group_of, timestamp, to_headers, to_request
from .errors import MessageNotFound
from .shapes import Attributes, NewQueue, QueueDescription, QueueName, QueuePage

Steps = Generator[Effect, Any, Any]

_texts = msgspec.json.Decoder(dict[str, str])


# --- queues ----------------------------------------------------------------------------------------------------------
def create_queue(new: NewQueue, context: Context) -> Generator[Effect, Any, str]:
    """The name of the queue that was made. Raises QueueNameExists, whatever the existing queue is like."""
    fifo = new.fifo or new.name.endswith(".fifo")
    name = f"{new.name}.fifo" if fifo and not new.name.endswith(".fifo") else new.name
    validation.check_queue_name(name, fifo=fifo)
    supplied = as_texts(new.attributes)
    if fifo:
        supplied["FifoQueue"] = "true"
    checked = attributes.check_queue_attributes(supplied, fifo, creating=True, native=True)
    validation.check_tags(new.tags)
    if not (yield from queues.make_queue(name, checked, new.tags, context)):
        raise errors.QueueNameExists(f"Queue '{name}' exists already")
    return name


def as_texts(values: Attributes) -> dict[str, str]:
    """Attributes as AWS has them: true becomes "true", 60 "60", a policy its JSON text."""
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for name, value in values.items()
    }


def list_queues(limit: int, after: str | None, context: Context) -> Generator[Effect, Any, QueuePage]:
    """A page of queues in the order of their names."""
    last = queues.read_token(after)
    rows = yield Sql(LIST_QUEUES, (context.account_id, context.region, "", last, limit + 1))
    page = [
        QueueName(name=name, fifo=fifo, created_at=timestamp(created)) for name, fifo, created in rows[:limit]
    ]
    return QueuePage(queues=page, next=queues.make_token(page[-1].name) if len(rows) > limit else None)


def describe_queue(name: str, context: Context) -> Generator[Effect, Any, QueueDescription]:
    """A queue with its counts, now."""
    rows = yield Sql(DESCRIBE_QUEUE, (arn_of(name, context), True))
    if not rows:
        raise errors.QueueDoesNotExist
    _, fifo, stored, tags, created_at, _, visible, in_flight, delayed, oldest, newest, total = rows[0]
    return QueueDescription(
        name=name,
        fifo=fifo,
        created_at=timestamp(created_at),
        queue_length=visible + in_flight + delayed,
        visible=visible,
        in_flight=in_flight,
        delayed=delayed,
        newest_msg_age_sec=newest,
        oldest_msg_age_sec=oldest,
        total_messages=total,
        scrape_time=timestamp(int(time() * 1000)),
        attributes=_texts.decode(stored),
        tags=_texts.decode(tags),
    )


def change_queue(
    name: str, changes: Attributes, context: Context
) -> Generator[Effect, Any, QueueDescription]:
    """The queue after its attributes were changed: two calls, one that writes and one that counts."""
    arn = arn_of(name, context)
    checked = attributes.check_queue_attributes(as_texts(changes), arn.endswith(".fifo"), native=True)
    yield from queues.change_attributes(arn, checked)
    return (yield from describe_queue(name, context))


def arn_of(name: str, context: Context) -> str:
    """The queue's ARN. Raises QueueDoesNotExist for what cannot be a name."""
    arn = queue_arn(context.region, context.account_id, name)
    if arn is None:
        raise errors.QueueDoesNotExist
    return arn


# --- messages --------------------------------------------------------------------------------------------------------
def send(
    name: str, messages: Sequence[NewMessage], async_commit: bool, context: Context
) -> Generator[Effect, Any, list[int]]:
    """The ids, in order. All messages are stored or none; `async_commit`: without waiting for the disk.

    The hot SQL function refuses message by message, so several are checked beforehand: a second round trip.
    """
    arn = arn_of(name, context)
    fifo, trace = arn.endswith(".fifo"), context.trace_header
    outgoing = [sending.outgoing_message(to_request(message), fifo, trace) for message in messages]
    if len(outgoing) > 1:
        yield from check_all(arn, outgoing)
    stored = yield from sending.store(arn, outgoing, async_commit)
    for row in stored:
        if row.error == "MessageTooLong":
            raise errors.RequestEntityTooLarge(f"A message is longer than the queue's {row.detail} bytes")
        if row.error is not None:
            raise sql_errors.sql_error(row.error, row.detail)
    return [row.id for row in stored if row.id is not None]


def check_all(arn: str, outgoing: Sequence[sending.OutgoingMessage]) -> Steps:
    """Raises what storing them would answer for one: too long for the queue, no deduplication id, no queue."""
    rows = yield Sql(DESCRIBE_QUEUE, (arn, False))
    if not rows:
        raise errors.QueueDoesNotExist
    stored = _texts.decode(rows[0][2])
    limit = stored["MaximumMessageSize"]
    if max(message.size_bytes for message in outgoing) > int(limit):
        raise errors.RequestEntityTooLarge(f"A message is longer than the queue's {limit} bytes")
    if stored.get("ContentBasedDeduplication") == "false" and None in {m.deduplication_id for m in outgoing}:
        raise sql_errors.sql_error("DeduplicationIdRequired", None)


def receive(
    name: str, count: int, visibility_seconds: int | None, wait_seconds: int, context: Context
) -> Generator[Effect, Any, list[StoredMessage]]:
    """Up to `count` messages, each with a receipt; waits for the first one."""
    arn = arn_of(name, context)
    look = receiving.take(arn, count, visibility_seconds, context)
    rows = yield from receiving.receive_rows(look, arn, wait_seconds)
    seal = context.environment.receipts.seal
    return [
        StoredMessage(
            id=row.public_id,
            receipt=seal(arn, *row[2:7]),
            read_count=row.receive_count,
            enqueued_at=timestamp(row.sent_at_ms),
            visible_at=timestamp(row.visible_at_ms),
            message=as_json(row.body),
            headers=to_headers(row.attributes),
            group_id=group_of(row.system),
        )
        for row in rows
    ]


def delete_ids(name: str, ids: Sequence[int], context: Context) -> Generator[Effect, Any, list[int]]:
    """Those ids whose messages existed until now, in the order in which they were given."""
    arn = arn_of(name, context)
    rows = (yield Sql(DELETE_BY_ID, (arn, list(ids)))) if ids else []
    if not rows:
        yield from handles.check_queue(arn)
    deleted = {row[0] for row in rows}
    return [message_id for message_id in ids if message_id in deleted]


def delete_receipts(
    name: str, receipts: Sequence[str], context: Context
) -> Generator[Effect, Any, list[str]]:
    """Those receipts whose messages were deleted. One that is no receipt of this queue refuses the whole."""
    arn = arn_of(name, context)
    opened = []
    for receipt in receipts:
        opened.append((yield from handles.open_handle(arn, receipt, context)))  # noqa: PERF401 - not in a comprehension
    if not opened:
        yield from handles.check_queue(arn)
        return []
    outcomes = yield from deleting.delete(arn, opened)
    return [receipt for receipt, outcome in zip(receipts, outcomes, strict=True) if outcome == "deleted"]


def delete_one(name: str, message_id: int, context: Context) -> Generator[Effect, Any, None]:
    """Raises MessageNotFound."""
    if not (yield from delete_ids(name, [message_id], context)):
        raise MessageNotFound


def change_visibility(
    name: str, message_id: int, seconds: int, context: Context
) -> Generator[Effect, Any, Mapping[str, Any]]:
    """When the message becomes visible now. Raises MessageNotFound."""
    arn = arn_of(name, context)
    rows = yield Sql(CHANGE_VISIBILITY_BY_ID, (arn, message_id, seconds))
    if not rows:
        yield from handles.check_queue(arn)
        raise MessageNotFound
    if seconds == 0:
        yield Wake(arn, 1)
    return {"id": message_id, "visible_at": timestamp(rows[0][0])}


def peek(
    name: str, state: str, after: int | None, limit: int, context: Context
) -> Generator[Effect, Any, list[StoredMessage]]:
    """Messages in this state, in the order of their ids, without receiving them."""
    arn = arn_of(name, context)
    rows = yield Sql(PEEK_MESSAGES, (arn, state, after, limit))
    if not rows:
        yield from handles.check_queue(arn)
    return [
        StoredMessage(
            id=message_id,
            read_count=read_count,
            enqueued_at=timestamp(sent_at),
            visible_at=timestamp(visible_at),
            message=as_json(body),
            headers=to_headers(stored),
            group_id=group,
        )
        for message_id, read_count, _, sent_at, visible_at, body, stored, _, group in rows
    ]


def read_archive(
    name: str, after: int | None, limit: int, context: Context
) -> Generator[Effect, Any, list[StoredMessage]]:
    """Deleted messages that the queue keeps, in the order of their deletion; `after` is an `archive_id`."""
    arn = arn_of(name, context)
    rows = yield Sql(READ_ARCHIVE, (arn, after, limit))
    if not rows:
        yield from handles.check_queue(arn)
    return [
        StoredMessage(
            archive_id=archive_id,
            id=message_id,
            read_count=read_count,
            enqueued_at=timestamp(sent_at),
            archived_at=timestamp(archived_at),
            message=as_json(body),
            headers=to_headers(stored),
            group_id=group_of(system),
        )
        for archive_id, message_id, _, sent_at, archived_at, read_count, body, stored, system in rows
    ]
