"""ReceiveMessage, with long polling."""

from collections.abc import Generator
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from .. import attributes, characters, digests, errors
from ..context import Context
from ..effects import Effect, Take, Wait, Wake
from ..messages.sqs import Message, MessageAttributeValue, ReceiveMessageRequest, ReceiveMessageResult
from ..statements import RECEIVE_MESSAGES

_attributes = msgspec.json.Decoder(dict[str, MessageAttributeValue])
_system = msgspec.json.Decoder(dict[str, str])


class Delivery(NamedTuple):
    """A row of `queue.receive_messages`; the first row of an answer is its header."""

    error: str | None
    wait_seconds: int | None
    queue_id: int
    shard: int
    pos: int
    id: int
    receive_count: int
    message_id: str
    sent_at_ms: int
    first_received_at_ms: int
    body: str
    attributes: str | None
    system: str | None
    public_id: int
    visible_at_ms: int


def receive_message(
    request: ReceiveMessageRequest, context: Context
) -> Generator[Effect, Any, ReceiveMessageResult]:
    """Up to ten messages; waits for the first one when the request or the queue says so."""
    arn = context.queue_arn(request.queue_url)
    characters.check_range("MaxNumberOfMessages", request.max_number_of_messages)
    characters.check_range("VisibilityTimeout", request.visibility_timeout)
    characters.check_range("WaitTimeSeconds", request.wait_time_seconds)
    if request.receive_request_attempt_id is not None:
        characters.check_group_id(request.receive_request_attempt_id, "ReceiveRequestAttemptId")
    system = attributes.check_system_attribute_names(
        request.attribute_names, request.message_system_attribute_names
    )
    user = attributes.select_message_attributes(request.message_attribute_names)
    count = 1 if request.max_number_of_messages is None else request.max_number_of_messages
    deliveries = yield from take(arn, count, request.visibility_timeout, request.wait_time_seconds)
    return ReceiveMessageResult(messages=[message(row, arn, context, system, user) for row in deliveries])


def take(
    arn: str, count: int, visibility_seconds: int | None, wait_seconds: int | None
) -> Generator[Effect, Any, list[Delivery]]:
    """Messages of a queue; with `wait_seconds` (None: the queue's own) waits for the first.

    Raises QueueDoesNotExist, also when the queue is deleted meanwhile. Whoever got messages wakes the next one that
    waits, so that a burst reaches everybody without waking all for one message.
    """
    deadline = None
    while True:
        header, *rows = yield Take(RECEIVE_MESSAGES, arn, count, visibility_seconds)
        if header[0] is not None:
            raise errors.from_sql(header[0])
        if rows:
            if deadline is not None:
                yield Wake(arn, 1)
            return [Delivery(*row) for row in rows]
        seconds = header[1] if wait_seconds is None else wait_seconds
        deadline = deadline or monotonic() + seconds
        left = deadline - monotonic()
        if left <= 0 or not (yield Wait(arn, left)):
            return []


def message(
    row: Delivery, arn: str, context: Context, system: attributes.Selection, user: attributes.Selection
) -> Message:
    """A delivery as the client sees it, with the attributes that it asked for."""
    return shown(row, arn, context.environment.receipts.seal(arn, *row[2:7]), system, user)


def shown(
    row: Delivery, arn: str, receipt_handle: str, system: attributes.Selection, user: attributes.Selection
) -> Message:
    """A delivery with this receipt handle and these of its attributes."""
    answer = Message(
        message_id=row.message_id,
        receipt_handle=receipt_handle,
        md5_of_body=digests.md5_of_text(row.body.encode()),
        body=row.body,
    )
    if system:
        answer.attributes = system.pick(system_attributes(row, arn)) or None
    if user and row.attributes is not None:
        chosen = user.pick(_attributes.decode(row.attributes))
        if chosen:
            answer.message_attributes = chosen
            answer.md5_of_message_attributes = digests.md5_of_attributes(chosen)
    return answer


def system_attributes(row: Delivery, arn: str) -> dict[str, str]:
    """The message's system attributes, all of them. Times are milliseconds since 1970, as text.

    SenderId is the queue's account as long as no access control tells one caller from another (our choice).
    """
    values = {
        "SenderId": arn.split(":")[4],
        "SentTimestamp": str(row.sent_at_ms),
        "ApproximateReceiveCount": str(row.receive_count),
        "ApproximateFirstReceiveTimestamp": str(row.first_received_at_ms),
    }
    if row.system is not None:
        values.update(_system.decode(row.system))
    if arn.endswith(".fifo"):
        values["SequenceNumber"] = f"{row.id:020d}"
    return values
