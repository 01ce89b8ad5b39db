"""ReceiveMessage, with long polling."""

from time import monotonic

import msgspec

from penstock import errors
from penstock.context import Context
from penstock.effects import Call, Operation, Pause, Receive, Wait, Wake, Woken
from penstock.postgres.statements.messages import RECEIVE_MESSAGES, ReceivedRow

from . import attributes, digests, validation
from .sql_errors import sql_error
from .types import Message, MessageAttributeValue, ReceiveMessageRequest, ReceiveMessageResult

FULL_PAUSE_SECONDS = 1.0
ALL_WAITERS = 1_000_000

_attributes = msgspec.json.Decoder(dict[str, MessageAttributeValue])
_system = msgspec.json.Decoder(dict[str, str])


def receive_message(request: ReceiveMessageRequest, context: Context) -> Operation[ReceiveMessageResult]:
    """Receives up to ten messages; waits for the first one when the request or the queue says so."""
    arn = context.queue_arn(request.queue_url)
    validation.check_range("MaxNumberOfMessages", request.max_number_of_messages)
    validation.check_range("VisibilityTimeout", request.visibility_timeout)
    validation.check_range("WaitTimeSeconds", request.wait_time_seconds)
    if request.receive_request_attempt_id is not None:
        validation.check_group_id(request.receive_request_attempt_id, "ReceiveRequestAttemptId")
    system = attributes.check_system_attribute_names(
        request.attribute_names, request.message_system_attribute_names
    )
    user = attributes.select_message_attributes(request.message_attribute_names)
    receive = receive_effect(request, arn, context)
    deliveries = yield from receive_rows(
        receive, arn, request.wait_time_seconds, request.receive_request_attempt_id
    )
    return ReceiveMessageResult(messages=[message(row, arn, context, system, user) for row in deliveries])


def receive_effect(
    request: ReceiveMessageRequest, arn: str, context: Context
) -> Receive[ReceivedRow] | Call[ReceivedRow]:
    """The effect that receives messages. With a ReceiveRequestAttemptId it is not merged with others.

    A standard queue ignores the id, which "applies only to FIFO queues" (API reference).
    """
    count = 1 if request.max_number_of_messages is None else request.max_number_of_messages
    attempt_id = request.receive_request_attempt_id
    if attempt_id is None or not arn.endswith(".fifo"):
        return receive_of(
            arn, count, request.visibility_timeout, context, may_wait=bool(request.wait_time_seconds)
        )
    limit = in_flight_limit(context)
    return Call(RECEIVE_MESSAGES, (arn, count, count, request.visibility_timeout, limit, False, attempt_id))


def receive_of(
    arn: str, count: int, visibility_seconds: int | None, context: Context, *, may_wait: bool = False
) -> Receive[ReceivedRow]:
    """Up to `count` messages, invisible for `visibility_seconds` (None: the queue's own), within the queue's limit."""
    return Receive(RECEIVE_MESSAGES, arn, count, visibility_seconds, in_flight_limit(context), may_wait)


def in_flight_limit(context: Context) -> int | None:
    """About how many messages of a queue may be in flight; None: any number."""
    return context.environment.settings.queue_in_flight_limit or None


def receive_rows(
    receive: Receive[ReceivedRow] | Call[ReceivedRow],
    arn: str,
    wait_seconds: int | None,
    attempt_id: str | None = None,
) -> Operation[list[ReceivedRow]]:
    """Messages of a queue. Waits for the first one, at most `wait_seconds` (None: the queue's own).

    Raises QueueDoesNotExist, also when the queue is deleted meanwhile; InvalidParameterValue for an attempt that cannot
    be repeated. At the limit of messages in flight, a receive that does not wait raises OverLimit on a standard queue,
    and any other gets no messages (Developer Guide, "standard queue quotas" and "FIFO queue quotas").
    A receive that was woken FOR_MORE and got messages wakes two others: a burst soon reaches all waiting receives,
    and a single message wakes only one. A receive that finds its queue deleted wakes all.
    """
    deadline = None
    woken = Woken.NOT
    while True:
        header, *rows = yield from receive
        full = header.error == "OverLimit"
        if header.error is not None and not full:
            yield Wake(arn, ALL_WAITERS)
            raise sql_error(header.error, attempt_id)
        if rows:
            if may_have_more(receive, len(rows), woken):
                yield Wake(arn, 2, Woken.FOR_MORE)
            return rows
        seconds = header.wait_seconds or 0 if wait_seconds is None else wait_seconds
        if full and seconds == 0 and not arn.endswith(".fifo"):
            raise errors.OverLimit
        deadline = deadline or monotonic() + seconds
        left = deadline - monotonic()
        if left <= 0:
            return []
        woken = yield from wait_or_pause(arn, left, full)
        if not woken:
            return []


def wait_or_pause(arn: str, seconds: float, full: bool) -> Operation[Woken]:
    """Why the wait for a message ended; of a queue with too many messages in flight, the end of a pause."""
    if not full:
        return (yield from Wait(arn, seconds))
    goes_on = yield from Pause(min(seconds, FULL_PAUSE_SECONDS))
    return Woken.FOR_ONE if goes_on else Woken.NOT


def may_have_more(receive: Receive[ReceivedRow] | Call[ReceivedRow], messages: int, woken: Woken) -> bool:
    """Whether there may be messages for other waiting receives that have not been woken.

    On a FIFO queue: when the receive got as many as it asked for. With fewer it got all that could be received; with
    as many, the messages that it left were locked for a moment, and other receives may have skipped them.
    """
    if isinstance(receive, Receive) and receive.is_fifo:
        return messages == receive.count
    return woken == Woken.FOR_MORE


def message(
    row: ReceivedRow,
    arn: str,
    context: Context,
    system: attributes.AttributeSelection,
    user: attributes.AttributeSelection,
) -> Message:
    """A delivery as the client sees it, with the attributes that it asked for."""
    return message_result(row, arn, context.environment.receipts.seal(arn, row.handle), system, user)


def message_result(
    row: ReceivedRow,
    arn: str,
    receipt_handle: str,
    system: attributes.AttributeSelection,
    user: attributes.AttributeSelection,
) -> Message:
    """A delivery as the client sees it, with this receipt handle and the selected attributes."""
    answer = Message(
        message_id=row.message_id,
        receipt_handle=receipt_handle,
        md5_of_body=digests.md5_of_text(row.body.encode()),
        body=row.body,
    )
    if system is not attributes.NO_ATTRIBUTES:
        answer.attributes = system.pick(system_attributes(row, arn)) or None
    if row.attributes is not None and user:
        chosen = user.pick(_attributes.decode(row.attributes))
        if chosen:
            answer.message_attributes = chosen
            answer.md5_of_message_attributes = digests.md5_of_attributes(chosen)
    return answer


def system_attributes(row: ReceivedRow, arn: str) -> dict[str, str]:
    """The message's system attributes, all of them. Times are milliseconds since 1970, as text.

    SenderId is the queue's account, since the sender is not stored (our choice). In a dead-letter queue
    ApproximateReceiveCount continues: it counts "across all queues" (ReceiveMessage, API reference).
    """
    values = {
        "SenderId": arn.split(":")[4],
        "SentTimestamp": str(row.sent_at_ms),
        "ApproximateReceiveCount": str(row.receive_count),
        "ApproximateFirstReceiveTimestamp": str(row.first_received_at_ms),
    }
    if row.system is not None:
        stored = _system.decode(row.system)
        if "ApproximateReceiveCount" in stored:
            stored["ApproximateReceiveCount"] = str(
                int(stored["ApproximateReceiveCount"]) + row.receive_count
            )
        values.update(stored)
    if arn.endswith(".fifo"):
        values["SequenceNumber"] = f"{row.id:020d}"
    return values
