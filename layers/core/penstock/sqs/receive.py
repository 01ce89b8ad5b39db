"""ReceiveMessage, with long polling."""

from collections.abc import Sequence
from functools import partial
from hashlib import md5
from time import monotonic
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from penstock import errors
from penstock.access.receipt_handle import ReceiptHandles
from penstock.aws.arn import read_account
from penstock.aws.named_queue import NamedQueue
from penstock.context import Context
from penstock.effects import LONG_DIGEST_BYTES, Compute, Operation, Pause, Receive, Wake
from penstock.limits.response_limit import build_receive_limit
from penstock.observing.reports import Client, Received, ReceivedBy
from penstock.postgres.statements.messages import RECEIVE_MESSAGES, ReceivedRow, ReceiveHeader

from . import attributes, digests, validation
from .sql_errors import build_sql_error
from .traces import trace_receive
from .types import Message, MessageAttributeValue, ReceiveMessageRequest, ReceiveMessageResult

if TYPE_CHECKING:
    from penstock.postgres.statements.stored_messages import PeekedRow

FULL_PAUSE_SECONDS = 1.0
ALL_WAITERS = 1_000_000

_attributes = msgspec.json.Decoder(dict[str, MessageAttributeValue])
_system = msgspec.json.Decoder(dict[str, str])


def receive_message(request: ReceiveMessageRequest, context: Context) -> Operation[ReceiveMessageResult]:
    """Receives up to ten messages. Waits for the first message if the request or the queue sets a wait."""
    queue = context.queue(request.queue_url)
    validation.check_range("MaxNumberOfMessages", request.max_number_of_messages)
    validation.check_range("VisibilityTimeout", request.visibility_timeout)
    validation.check_range("WaitTimeSeconds", request.wait_time_seconds)
    if request.receive_request_attempt_id is not None:
        validation.check_group_id(request.receive_request_attempt_id, "ReceiveRequestAttemptId")
    system = attributes.check_system_attribute_names(request.attribute_names, request.message_system_attribute_names)
    user = attributes.select_message_attributes(request.message_attribute_names)
    receive = build_receive(
        queue,
        1 if request.max_number_of_messages is None else request.max_number_of_messages,
        request.visibility_timeout,
        request.wait_time_seconds,
        context,
        # "applies only to FIFO queues" (API reference)
        request.receive_request_attempt_id if queue.is_fifo else None,
    )
    rows = yield from receive_messages(receive, context)
    yield ReceivedBy(queue.arn, len(rows), context)
    build = partial(build_messages, rows, queue, context.environment.receipts, system, user)
    characters = 0
    for row in rows:
        characters += len(row.body)
    # `effects.compute` would add two calls to each receive.
    return ReceiveMessageResult(messages=build() if characters <= LONG_DIGEST_BYTES else (yield from Compute(build)))


def build_receive(
    queue: NamedQueue,
    count: int,
    visibility_seconds: int | None,
    wait_seconds: float | None,
    context: Context,
    attempt_id: str | None = None,
) -> Receive[ReceivedRow]:
    """Returns the effect that receives messages, within the limits for messages in flight and for the response.

    If `visibility_seconds` or `wait_seconds` is None, the queue's attribute applies.
    """
    return Receive(
        RECEIVE_MESSAGES,
        queue,
        count,
        visibility_seconds,
        in_flight_limit=context.environment.settings.queue_in_flight_limit or None,  # 0: any number
        wait_seconds=wait_seconds,
        attempt_id=attempt_id,
        limit=build_receive_limit(context.http.response_limit, context.protocol),
    )


def receive_messages(
    receive: Receive[ReceivedRow], client: Client, caller: str | None = None
) -> Operation[list[ReceivedRow]]:
    """Returns the messages of a receive. If the queue records its receives, records `caller`, by default the client.

    If a standard queue has reached the limit for messages in flight, a receive that does not wait raises OverLimit.
    Other receives retry each second (Developer Guide, "standard queue quotas" and "FIFO queue quotas"). Raises
    QueueDoesNotExist, even if the queue is deleted during the wait. Raises InvalidParameterValue for an attempt that
    cannot be repeated, and ResponseTooLarge at the end of the wait if all available messages are too long for the
    response.
    """
    began, deadline = monotonic(), None
    header: ReceiveHeader
    while True:
        header, *messages = yield from receive
        if header.error is None:
            yield Received(receive.queue.arn, messages)
            if header.system is not None and messages:
                yield from trace_receive(messages, caller, client)
            return messages
        if header.error not in ("OverLimit", "ResponseTooLarge"):
            yield Wake(receive.queue.arn, ALL_WAITERS)  # other receives also detect that the queue is deleted
            raise build_sql_error(header.error, receive.attempt_id)
        if deadline is None:
            deadline = began + _count_seconds_to_try(receive, header)
        left = deadline - monotonic()
        if left <= 0 or not (yield from Pause(min(left, FULL_PAUSE_SECONDS))):
            if header.error == "ResponseTooLarge" and receive.limit is not None:
                raise errors.ResponseTooLarge.of_message(receive.limit.way)
            yield Received(receive.queue.arn, ())
            return []
        receive = replace(receive, wait_seconds=max(0, deadline - monotonic()))


def _count_seconds_to_try(receive: Receive[ReceivedRow], header: ReceiveHeader) -> float:
    seconds = header.wait_seconds or 0 if receive.wait_seconds is None else receive.wait_seconds
    if seconds == 0 and header.error == "OverLimit" and not receive.queue.is_fifo:
        raise errors.OverLimit
    return seconds


def build_messages(
    rows: Sequence[ReceivedRow],
    queue: NamedQueue,
    receipts: ReceiptHandles,
    system: attributes.AttributeSelection,
    user: attributes.AttributeSelection,
) -> list[Message]:
    return [build_message(row, queue, receipts.seal(queue, row.handle), system, user) for row in rows]


def build_message(
    row: "ReceivedRow | PeekedRow",
    queue: NamedQueue,
    receipt_handle: str,
    system: attributes.AttributeSelection,
    user: attributes.AttributeSelection,
) -> Message:
    """Converts a received or peeked row to the client's format, with the receipt handle and the selected attributes."""
    response = Message(
        message_id=row.message_id,
        receipt_handle=receipt_handle,
        md5_of_body=md5(row.body.encode(), usedforsecurity=False).hexdigest(),
        body=row.body,
    )
    if system is not attributes.NO_ATTRIBUTES:
        response.attributes = system.pick(build_system_attributes(row, queue)) or None
    if row.attributes is not None and user:
        chosen = user.pick(_attributes.decode(row.attributes))
        if chosen:
            response.message_attributes = chosen
            response.md5_of_message_attributes = digests.compute_attributes_md5(chosen)
    return response


def build_system_attributes(row: "ReceivedRow | PeekedRow", queue: NamedQueue) -> dict[str, str]:
    """Returns all system attributes of the message. Times are milliseconds since 1970, as text.

    SenderId is the queue's account, because the service does not store the sender (Penstock's choice). In a dead-letter
    queue ApproximateReceiveCount continues to rise, because it counts "across all queues" (ReceiveMessage, API
    reference).
    """
    values = {
        "SenderId": read_account(queue.arn),
        "SentTimestamp": str(row.sent_at_ms),
        "ApproximateReceiveCount": str(row.receive_count),
        "ApproximateFirstReceiveTimestamp": str(row.first_received_at_ms),
    }
    if row.system is not None:
        stored = _system.decode(row.system)
        if "ApproximateReceiveCount" in stored:
            stored["ApproximateReceiveCount"] = str(int(stored["ApproximateReceiveCount"]) + row.receive_count)
        values.update(stored)
    if queue.is_fifo:
        values["SequenceNumber"] = f"{row.id:020d}"
    return values
