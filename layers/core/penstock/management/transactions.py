"""Acknowledges, sends and publishes messages in one transaction."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from penstock import errors
from penstock.access.authorization import check_user
from penstock.access.quotas import check_quota
from penstock.access.resources import ANY
from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.schedule_arn import DEFAULT_GROUP
from penstock.calls import build_transaction_columns, transpose
from penstock.context import Context
from penstock.documents.decoding import MAX_MESSAGES, decode_body, transaction_counter
from penstock.documents.queue_names import authorize_queues, build_queue_arn, find_queue
from penstock.effects import Call, Operation, Transact, compute
from penstock.observing.reports import Deleted, Transacted
from penstock.postgres.statements.messages import TRANSACT, ReceiptHandle, SendEntry, TransactedRow
from penstock.sns.filter_policy.unjudged import report_unjudged
from penstock.sqs import handles, sql_errors
from penstock.sqs import send as sending

from .errors import StaleReceipt
from .messages.conversion import count_bytes, is_for_later, to_send_request
from .messages.types import NewMessage
from .rights import needs
from .routed_events import (
    IS_UNJUDGED,
    NewEvent,
    OutgoingEvent,
    PublishedEvent,
    check_event,
    list_sent,
    show_published,
    wake_receives,
)


class Ack(msgspec.Struct, forbid_unknown_fields=True):
    """A received message to acknowledge."""

    queue: str
    receipt: str


class QueuedMessage(NewMessage, kw_only=True):
    """A message and its queue."""

    queue: str


class RoutedEvent(NewEvent, kw_only=True):
    """An event and its routing key."""

    routing_key: str


class Transaction(msgspec.Struct, forbid_unknown_fields=True):
    """The acknowledgements, messages and events of one transaction: up to 1,000 of each kind."""

    ack: Annotated[list[Ack], msgspec.Meta(max_length=MAX_MESSAGES)] = []
    send: Annotated[list[QueuedMessage], msgspec.Meta(max_length=MAX_MESSAGES)] = []
    publish: Annotated[list[RoutedEvent], msgspec.Meta(max_length=MAX_MESSAGES)] = []


class SentMessage(msgspec.Struct, omit_defaults=True):
    """A message that a transaction sent. SentId explains `id` and `schedule`."""

    queue: str
    id: int | None
    schedule: str | None = None


class TransactionResult(msgspec.Struct):
    """The number of acknowledged messages, the sent messages, and the events' targets."""

    acked: int
    sent: list[SentMessage]
    published: list[PublishedEvent]


_transaction = msgspec.json.Decoder(Transaction)


def read_transaction(body: bytes) -> Transaction:
    """Decodes a request's transaction. Raises InvalidParameterValue."""
    return decode_body(_transaction, body, transaction_counter, 3 * MAX_MESSAGES)


@needs("operation", "sqs:SendMessage", "sqs:DeleteMessage", "penstock:PublishEvent")
def run_transaction(transaction: Transaction, context: Context) -> Operation[TransactionResult]:
    """Runs the transaction and returns its result.

    Raises AccessDenied, or the error of the first part that the database refuses. An error leaves the database
    unchanged.
    """
    yield from authorize_queues("DeleteMessage", (ack.queue for ack in transaction.ack), context)
    yield from authorize_queues("SendMessage", (message.queue for message in transaction.send), context)
    if transaction.publish:
        check_user("penstock", "PublishEvent", ANY, context)
    acks: list[ReceiptHandle] = []
    for ack in transaction.ack:
        acks.append((yield from handles.open_handle(find_queue(ack.queue, context), ack.receipt, context)))  # noqa: PERF401
    arns = [build_queue_arn(message.queue, context) for message in transaction.send]
    trace = context.trace_header
    messages, events = yield from compute(
        lambda: check_parts(transaction, arns, trace),
        sum(map(count_bytes, transaction.send)) + sum(map(count_bytes, transaction.publish)),
    )
    event_arguments = (
        context.account_id,
        context.region,
        *map(tuple, transpose(events, len(OutgoingEvent._fields))),
        trace if events else None,
    )
    acked_queues = tuple(build_queue_arn(ack.queue, context) for ack in transaction.ack)
    if later := sum(map(is_for_later, transaction.send)):
        yield from check_quota("schedules", None, context, errors.OverLimit, DEFAULT_GROUP, later)
    if events or later or any(is_fifo_name(arn) for arn in (*acked_queues, *arns)):
        # The transaction is not merged with other transactions, because it can wait for a lock or create schedules.
        arguments = (*build_transaction_columns(acks, messages), *event_arguments)
        rows = yield from Call(TRANSACT, arguments)
    else:
        size_bytes = sum(message.size_bytes for message in messages)
        rows = yield from Transact(TRANSACT, acks, messages, event_arguments, size_bytes=size_bytes)
    raise_refusal(rows, transaction)
    yield from wake_receives(dict.fromkeys(row.arn for row in rows))
    for event in events:
        yield from report_unjudged("event", event.routing_key, event.facts == IS_UNJUDGED)
    yield Transacted([Deleted(arn, 1) for arn in acked_queues], list_sent(rows))
    return to_result(rows, transaction)


def check_parts(
    transaction: Transaction, arns: Sequence[str], trace: str | None
) -> tuple[list[SendEntry], list[OutgoingEvent]]:
    """Validates the transaction's messages and events. Raises InvalidParameterValue and others."""
    messages = [
        sending.build_message(to_send_request(message, arn), arn, trace).stored._replace(delay_seconds=message.delay)
        for arn, message in zip(arns, transaction.send, strict=True)
    ]
    return messages, [check_event(event.routing_key, event) for event in transaction.publish]


def raise_refusal(rows: Sequence[TransactedRow], transaction: Transaction) -> None:
    """Raises the error of the first row with an error: StaleReceipt, QueueDoesNotExist, RequestEntityTooLarge and
    others."""
    for row in rows:
        if row.error == "StaleReceipt":
            queue = transaction.ack[row.n - 1].queue
            raise StaleReceipt(f"ack {row.n}: the receipt for queue '{queue}' has expired")
        if row.error == "MessageTooLong":
            raise errors.RequestEntityTooLarge(f"send {row.n}: longer than the queue's {row.detail} bytes")
        if row.error == "QueueDoesNotExist":
            raise errors.QueueDoesNotExist(f"Queue '{transaction.send[row.n - 1].queue}' does not exist")
        if row.error is not None:
            raise sql_errors.build_sql_error(row.error, row.detail)


def to_result(rows: Sequence[TransactedRow], transaction: Transaction) -> TransactionResult:
    """Returns the response, with the ids of sent messages in order, and the queues and webhooks that each event
    reached."""
    sent = {
        row.n: (None, row.detail) if row.kind == "schedule" else (row.id, None) for row in rows if row.kind != "publish"
    }
    result = TransactionResult(
        acked=len(transaction.ack),
        sent=[SentMessage(message.queue, *sent[n]) for n, message in enumerate(transaction.send, 1)],
        published=[],
    )
    for number, event in enumerate(transaction.publish, 1):
        published = show_published(row for row in rows if row.kind == "publish" and row.n == number)
        published.routing_key = event.routing_key
        result.published.append(published)
    return result
