"""/v1/transactions: acknowledges, sends and publishes in one transaction."""

from collections.abc import Sequence

from fastapi import APIRouter, Response

from penstock import errors
from penstock.access.quotas import check_quota
from penstock.aws.schedule_arn import DEFAULT_GROUP
from penstock.context import Context
from penstock.effects import Call, Operation, Transact, compute
from penstock.postgres.calls import transaction_columns, transpose
from penstock.postgres.statements.messages import TRANSACT, ReceiptHandle, SendEntry, TransactedRow
from penstock.reports import Deleted, Transacted
from penstock.sqs import handles, sql_errors
from penstock.sqs import send as sending

from .documents import (
    SentMessage,
    Transaction,
    TransactionResult,
    is_for_later,
    read_transaction,
    size_of,
    to_send_request,
)
from .errors import StaleReceipt
from .events import operations as publishing
from .openapi import json_answers, request_body_schema
from .operations import arn_of, authorize_queues, queue_of
from .rest_route import RestRoute, Runner, json_response

router = APIRouter(tags=["transactions"], route_class=RestRoute)

_BODY = request_body_schema(Transaction)
_DONE = json_answers(TransactionResult)


@router.post("/transactions", openapi_extra=_BODY, response_class=Response, responses=_DONE)
async def transact(runner: Runner) -> Response:
    """Acknowledge, send and publish in one transaction. A receipt that is no longer valid fails all of it with 409."""
    transaction = await runner.read(read_transaction)
    return json_response(await runner.run(run_transaction(transaction, runner.context)))


def run_transaction(transaction: Transaction, context: Context) -> Operation[TransactionResult]:
    """Runs the transaction and returns its result.

    Raises AccessDenied, or the error of the first part that the database refuses; then nothing was changed.
    """
    yield from authorize_queues("DeleteMessage", (ack.queue for ack in transaction.ack), context)
    yield from authorize_queues("SendMessage", (message.queue for message in transaction.send), context)
    acks: list[ReceiptHandle] = []
    for ack in transaction.ack:
        acks.append((yield from handles.open_handle(queue_of(ack.queue, context), ack.receipt, context)))  # noqa: PERF401
    arns = [arn_of(message.queue, context) for message in transaction.send]
    trace = context.trace_header
    messages, events = yield from compute(
        lambda: outgoing_parts(transaction, arns, trace),
        sum(map(size_of, transaction.send)) + sum(map(size_of, transaction.publish)),
    )
    event_arguments = (
        context.account_id,
        context.region,
        *map(tuple, transpose(events, len(publishing.OutgoingEvent._fields))),
        trace if events else None,
    )
    acked_queues = tuple(arn_of(ack.queue, context) for ack in transaction.ack)
    if later := sum(map(is_for_later, transaction.send)):
        yield from check_quota("schedules", None, context, errors.OverLimit, DEFAULT_GROUP, later)
    if events or later or any(arn.endswith(".fifo") for arn in (*acked_queues, *arns)):
        # Not merged with other requests: the call may wait for a lock, or makes schedules.
        arguments = (*transaction_columns(acks, messages), *event_arguments)
        rows = yield from Call(TRANSACT, arguments)
    else:
        size_bytes = sum(message.size_bytes for message in messages)
        rows = yield from Transact(TRANSACT, acks, messages, event_arguments, size_bytes=size_bytes)
    raise_refusal(rows, transaction)
    yield from publishing.wake_receives(dict.fromkeys(row.arn for row in rows))
    yield Transacted([Deleted(arn, 1) for arn in acked_queues], publishing.sent_to(rows))
    return to_result(rows, transaction)


def outgoing_parts(
    transaction: Transaction, arns: Sequence[str], trace: str | None
) -> tuple[list[SendEntry], list[publishing.OutgoingEvent]]:
    """The messages and events of a transaction, checked. Raises InvalidParameterValue and others."""
    messages = [
        sending.outgoing_message(to_send_request(message), arn, trace).stored._replace(
            delay_seconds=message.delay
        )
        for arn, message in zip(arns, transaction.send, strict=True)
    ]
    return messages, [publishing.outgoing_event(event.routing_key, event) for event in transaction.publish]


def raise_refusal(rows: Sequence[TransactedRow], transaction: Transaction) -> None:
    """Raises the error in the only row, if any: StaleReceipt, QueueDoesNotExist, RequestEntityTooLarge and others."""
    for row in rows:
        if row.error == "StaleReceipt":
            queue = transaction.ack[row.n - 1].queue
            raise StaleReceipt(f"ack {row.n}: the receipt for queue '{queue}' is over")
        if row.error == "MessageTooLong":
            raise errors.RequestEntityTooLarge(f"send {row.n}: longer than the queue's {row.detail} bytes")
        if row.error == "QueueDoesNotExist":
            raise errors.QueueDoesNotExist(f"Queue '{transaction.send[row.n - 1].queue}' does not exist")
        if row.error is not None:
            raise sql_errors.sql_error(row.error, row.detail)


def to_result(rows: Sequence[TransactedRow], transaction: Transaction) -> TransactionResult:
    """The response document: ids of sent messages, in order, and the queues and webhooks that each event reached."""
    sent = {
        row.n: (None, row.detail) if row.kind == "schedule" else (row.id, None)
        for row in rows
        if row.kind != "publish"
    }
    result = TransactionResult(
        acked=len(transaction.ack),
        sent=[SentMessage(message.queue, *sent[n]) for n, message in enumerate(transaction.send, 1)],
        published=[],
    )
    for number, event in enumerate(transaction.publish, 1):
        published = publishing.published_event(
            row for row in rows if row.kind == "publish" and row.n == number
        )
        published.routing_key = event.routing_key
        result.published.append(published)
    return result
