"""/v1/transactions: acknowledge, send and publish, all or nothing."""

from collections.abc import Generator, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from penstock import errors
from penstock.context import Context
from penstock.effects import Effect, Row, Sql, Transact
from penstock.postgres.statements import TRANSACT
from penstock.receipt_handle import ReceiptHandle
from penstock.sqs import handles, sql_errors
from penstock.sqs import send as sending

from .calling import Call, NativeRoute, body_of_type, json_response
from .documents import Transaction, read_transaction, to_request
from .errors import StaleReceipt
from .events import operations as publishing
from .operations import arn_of

router = APIRouter(tags=["transactions"], route_class=NativeRoute)

_BODY = body_of_type(Transaction)


@router.post("/transactions", openapi_extra=_BODY, response_class=Response)
async def transact(request: Request, call: Call) -> Response:
    """Acknowledge, send and publish in one transaction. A receipt that is over fails the whole with 409."""
    wanted = read_transaction(await request.body())
    return json_response(await call.run(run(wanted, call.context)))


def run(wanted: Transaction, context: Context) -> Generator[Effect, Any, dict[str, Any]]:
    """What was done. Raises what is wrong with the first part that cannot be done; then nothing was."""
    acks: list[ReceiptHandle] = []
    for ack in wanted.ack:
        acks.append((yield from handles.open_handle(arn_of(ack.queue, context), ack.receipt, context)))  # noqa: PERF401
    sends = [(arn_of(message.queue, context), message) for message in wanted.send]
    trace = context.trace_header
    outgoing = [
        sending.outgoing_message(to_request(message), arn.endswith(".fifo"), trace)[:8]
        for arn, message in sends
    ]
    events = [publishing.as_columns(event.routing_key, event) for event in wanted.publish]
    work = [*columns(acks, 5), [arn for arn, _ in sends], *columns(outgoing, 8)]
    queues = [*(arn_of(ack.queue, context) for ack in wanted.ack), *(arn for arn, _ in sends)]
    rest = (context.account_id, context.region, *map(tuple, columns(events, 6)), trace if events else None)
    acked = tuple(queues[: len(acks)])
    if events or any(arn.endswith(".fifo") for arn in queues):
        rows = yield Sql(TRANSACT, (*work, *rest), acked)  # may wait for a lock: on its own
    else:
        rows = yield Transact(TRANSACT, tuple(work), rest, handle_queues=acked)
    check(rows, wanted)
    yield from publishing.wake(dict.fromkeys(row[2] for row in rows))
    return done(rows, wanted)


def columns(rows: Sequence[Sequence[Any]], count: int) -> list[list[Any]]:
    """Rows as arrays; of no rows, as many empty ones as there are columns."""
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(count)]


def check(rows: Sequence[Row], wanted: Transaction) -> None:
    """Raises StaleReceipt, QueueDoesNotExist, RequestEntityTooLarge and others."""
    if not rows or rows[0][4] is None:
        return
    _, number, _, _, error, detail = rows[0]
    if error == "StaleReceipt":
        raise StaleReceipt(f"ack {number}: the receipt for queue '{wanted.ack[number - 1].queue}' is over")
    if error == "MessageTooLong":
        raise errors.RequestEntityTooLarge(f"send {number}: longer than the queue's {detail} bytes")
    if error == "QueueDoesNotExist":
        raise errors.QueueDoesNotExist(f"Queue '{wanted.send[number - 1].queue}' does not exist")
    raise sql_errors.sql_error(error, detail)


def done(rows: Sequence[Row], wanted: Transaction) -> dict[str, Any]:
    """The answer: ids of what was sent, in order, and whom each event reached."""
    sent = {number: message_id for kind, number, _, message_id, *_ in rows if kind == "send"}
    published = [
        publishing.reached(
            (arn, number, None) for kind, n, arn, number, *_ in rows if (kind, n) == ("publish", index)
        )
        for index in range(1, len(wanted.publish) + 1)
    ]
    return {
        "acked": len(wanted.ack),
        "sent": [{"queue": m.queue, "id": sent[n]} for n, m in enumerate(wanted.send, 1)],
        "published": [
            {"routing_key": event.routing_key, **result}
            for event, result in zip(wanted.publish, published, strict=True)
        ],
    }
