"""/v1/transactions: acknowledges, sends and publishes in one transaction."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from penstock import errors
from penstock.context import Context
from penstock.effects import HANDLE_COLUMNS, Call, Operation, Row, Transact
from penstock.postgres.statements.messages import TRANSACT, ReceiptHandle
from penstock.sqs import handles, sql_errors
from penstock.sqs import send as sending

from .documents import Transaction, read_transaction, to_send_request
from .errors import StaleReceipt
from .events import operations as publishing
from .native_route import NativeRoute, Runner, json_response, request_body_schema
from .operations import arn_of

router = APIRouter(tags=["transactions"], route_class=NativeRoute)

_BODY = request_body_schema(Transaction)


@router.post("/transactions", openapi_extra=_BODY, response_class=Response)
async def transact(request: Request, runner: Runner) -> Response:
    """Acknowledge, send and publish in one transaction. A receipt that is no longer valid fails all of it with 409."""
    transaction = read_transaction(await request.body())
    return json_response(await runner.run(run_transaction(transaction, runner.context)))


def run_transaction(transaction: Transaction, context: Context) -> Operation[dict[str, Any]]:
    """Runs the transaction and returns its result.

    Raises the error of the first part that the database refuses; then nothing was changed.
    """
    acks: list[ReceiptHandle] = []
    for ack in transaction.ack:
        acks.append((yield from handles.open_handle(arn_of(ack.queue, context), ack.receipt, context)))  # noqa: PERF401
    sends = [(arn_of(message.queue, context), message) for message in transaction.send]
    trace = context.trace_header
    outgoing = [
        sending.outgoing_message(to_send_request(message), arn.endswith(".fifo"), trace)[:8]
        for arn, message in sends
    ]
    events = [publishing.event_columns(event.routing_key, event) for event in transaction.publish]
    message_arguments = [
        *to_columns(acks, HANDLE_COLUMNS),
        [arn for arn, _ in sends],
        *to_columns(outgoing, 8),
    ]
    queues = [*(arn_of(ack.queue, context) for ack in transaction.ack), *(arn for arn, _ in sends)]
    event_arguments = (
        context.account_id,
        context.region,
        *map(tuple, to_columns(events, 6)),
        trace if events else None,
    )
    acked_queues = tuple(queues[: len(acks)])
    if events or any(arn.endswith(".fifo") for arn in queues):
        # Not merged with other requests: the call may wait for a lock.
        rows = yield from Call(TRANSACT, (*message_arguments, *event_arguments), acked_queues)
    else:
        rows = yield from Transact(
            TRANSACT, tuple(message_arguments), event_arguments, handle_queues=acked_queues
        )
    raise_refusal(rows, transaction)
    yield from publishing.wake_receives(dict.fromkeys(row[2] for row in rows))
    return to_result(rows, transaction)


def to_columns(rows: Sequence[Sequence[Any]], count: int) -> list[list[Any]]:
    """The columns of the rows as arrays; without rows, `count` empty arrays."""
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(count)]


def raise_refusal(rows: Sequence[Row], transaction: Transaction) -> None:
    """Raises the error in the first row, if any: StaleReceipt, QueueDoesNotExist, RequestEntityTooLarge and others."""
    if not rows or rows[0][4] is None:
        return
    _, number, _, _, error, detail = rows[0]
    if error == "StaleReceipt":
        raise StaleReceipt(
            f"ack {number}: the receipt for queue '{transaction.ack[number - 1].queue}' is over"
        )
    if error == "MessageTooLong":
        raise errors.RequestEntityTooLarge(f"send {number}: longer than the queue's {detail} bytes")
    if error == "QueueDoesNotExist":
        raise errors.QueueDoesNotExist(f"Queue '{transaction.send[number - 1].queue}' does not exist")
    raise sql_errors.sql_error(error, detail)


def to_result(rows: Sequence[Row], transaction: Transaction) -> dict[str, Any]:
    """The response document: ids of sent messages, in order, and the queues and webhooks that each event reached."""
    sent = {number: message_id for kind, number, _, message_id, *_ in rows if kind == "send"}
    published = [
        publishing.publish_result(
            (arn, number, None) for kind, n, arn, number, *_ in rows if (kind, n) == ("publish", index)
        )
        for index in range(1, len(transaction.publish) + 1)
    ]
    return {
        "acked": len(transaction.ack),
        "sent": [{"queue": m.queue, "id": sent[n]} for n, m in enumerate(transaction.send, 1)],
        "published": [
            {"routing_key": event.routing_key, **result}
            for event, result in zip(transaction.publish, published, strict=True)
        ],
    }
