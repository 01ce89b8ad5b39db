"""Converts messages. The API stores a producer's JSON as an SQS message and returns the same JSON.

message  any JSON            <─► body: the same text without blanks; a body that is not JSON becomes a string
headers  {"name": value}     <─► message attributes: text String, number Number, other values String.json
"""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from penstock import errors
from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.json_text import decode_typed
from penstock.context import Context
from penstock.documents.decoding import (
    MAX_BLANK_RATIO,
    MAX_MESSAGES,
    check_length_of_one,
    count_messages,
    list_counter,
    one_counter,
)
from penstock.effects import LONG_COMPUTATION_BYTES
from penstock.limits.queue_limits import MAX_DELAY_SECONDS, MAX_MESSAGE_BYTES
from penstock.limits.response_limit import CONTAINER_BYTES
from penstock.sqs import validation
from penstock.sqs.types import MessageAttributeValue, SendMessageRequest

from .types import NewMessage, StoredMessage

_loads = msgspec.json.Decoder().decode
_check_json = msgspec.json.Decoder(msgspec.Raw).decode
_attributes = msgspec.json.Decoder(dict[str, MessageAttributeValue])


class Content(Protocol):
    """The content of a message or an event."""

    @property
    def message(self) -> msgspec.Raw: ...

    @property
    def headers(self) -> Mapping[str, msgspec.Raw]: ...


def count_bytes(message: Content) -> int:
    """Returns the total length of a message's JSON and header values."""
    return sum(memoryview(part).nbytes for part in (message.message, *message.headers.values()))


def format_body(raw: msgspec.Raw) -> str:
    """Returns a message's body: its JSON without blanks. Raises RequestEntityTooLarge."""
    longest = MAX_MESSAGE_BYTES
    size = memoryview(raw).nbytes
    if longest < size <= MAX_BLANK_RATIO * longest:
        size = len(bytes(raw).translate(None, b" \t\r\n"))  # an upper bound, because blanks in texts remain
    body = "" if size > longest else format_compact(raw)
    if not 0 < len(body) <= longest:
        raise errors.RequestEntityTooLarge(f"A message is longer than {longest} bytes")
    return body


def is_for_later(message: NewMessage) -> bool:
    """Returns whether the message's delay is longer than SQS allows."""
    return message.delay is not None and message.delay > MAX_DELAY_SECONDS


def to_send_request(message: NewMessage, arn: str) -> SendMessageRequest:
    """Returns the message as an SQS request without a queue.

    A longer delay becomes SQS's longest delay. A FIFO queue refuses every delay, so its request keeps the client's
    delay for the error. Raises InvalidParameterValue, RequestEntityTooLarge.
    """
    validation.check_number_of_attributes(len(message.headers))
    return SendMessageRequest(
        queue_url="",
        message_body=format_body(message.message),
        delay_seconds=MAX_DELAY_SECONDS if is_for_later(message) and not is_fifo_name(arn) else message.delay,
        message_attributes={name: to_attribute(value) for name, value in message.headers.items()} or None,
        message_system_attributes=None,  # The trace header is a header of the HTTP request.
        message_group_id=message.group_id,
        message_deduplication_id=message.dedup_id,
    )


def format_compact(raw: msgspec.Raw) -> str:
    """Removes blanks between the tokens of JSON. Numbers and strings keep the producer's spelling."""
    return msgspec.json.format(bytes(raw), indent=-1).decode()


def to_attribute(raw: msgspec.Raw) -> MessageAttributeValue:
    text = bytes(raw).strip()
    if text[:1] == b'"':
        return MessageAttributeValue(data_type="String", string_value=_loads(text))
    if text[:1] in b"-0123456789":
        return MessageAttributeValue(data_type="Number", string_value=text.decode())
    return MessageAttributeValue(data_type="String.json", string_value=format_compact(raw))


def to_headers(attributes: str | None) -> dict[str, msgspec.Raw]:
    """Converts message attributes, in AWS's JSON form, to headers. Binary values are base64 text."""
    if attributes is None:
        return {}
    return {name: to_header(value) for name, value in _attributes.decode(attributes).items()}


def to_header(value: MessageAttributeValue) -> msgspec.Raw:
    text = value.string_value if value.string_value is not None else value.binary_value or ""
    if value.data_type.startswith("Number") or value.data_type == "String.json":
        return convert_to_json(text)
    return encode_string(text)


def convert_to_json(text: str) -> msgspec.Raw:
    """Returns the text if it is JSON, and otherwise the text as a JSON string.

    A lone surrogate becomes U+FFFD, because many decoders would refuse the whole response.
    """
    try:
        return decode_typed(_as_raw, text)
    except (msgspec.DecodeError, RecursionError):
        return encode_string(text)


def _as_raw(text: str) -> msgspec.Raw:
    _check_json(text)
    return msgspec.Raw(text.encode())


def encode_string(text: str) -> msgspec.Raw:
    """Returns the text as a JSON string."""
    return msgspec.Raw(msgspec.json.encode(text))


def count_earlier_receives(system: str | None) -> int:
    """Returns how often a dead letter was received in its source queues, according to the system attributes."""
    values: Mapping[str, Any] = {} if system is None else _loads(system)
    return int(values.get("ApproximateReceiveCount", 0))


def read_group(system: str | None) -> str | None:
    """Returns the message group from the system attributes."""
    if system is None:
        return None
    values: Mapping[str, Any] = _loads(system)
    return values.get("MessageGroupId")


StoredMessageT = TypeVar("StoredMessageT", bound=StoredMessage)


def limit_page_bytes(context: Context) -> int:
    """Returns the maximum size of a page in bytes. The message that reaches this number is the last one on the page."""
    limit = context.http.response_limit
    return CONTAINER_BYTES if limit is None else limit.max_bytes


def fit_page(page: list[StoredMessageT], context: Context) -> list[StoredMessageT]:
    """Returns the messages that fit into the response. Raises ResponseTooLarge if the first message is too long."""
    limit = context.http.response_limit
    if limit is None:
        return page
    fitted = page[: limit.count_fitting([msgspec.json.encode(message).decode() for message in page])]
    if page and not fitted:
        raise errors.ResponseTooLarge.of(limit.way)
    return fitted


_one = msgspec.json.Decoder(NewMessage)
_many = msgspec.json.Decoder(list[NewMessage])


def read_messages(body: bytes) -> tuple[list[NewMessage], bool]:
    """Decodes the messages of a request. Also returns whether the messages came as a list.

    Raises InvalidParameterValue, RequestEntityTooLarge.
    """
    is_list = body.lstrip()[:1] == b"["
    if not is_list:
        check_length_of_one(body)
    try:
        # msgspec does not check raw parts, but `decode` refuses invalid bytes in all parts.
        text = body.decode()
        if len(body) > LONG_COMPUTATION_BYTES:
            count_messages(list_counter if is_list else one_counter, text)
        messages = decode_typed(_many.decode, text) if is_list else [decode_typed(_one.decode, text)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise errors.InvalidParameterValue(f"body: {error}") from error
    if not 1 <= len(messages) <= MAX_MESSAGES:
        raise errors.InvalidParameterValue(f"body: 1 to {MAX_MESSAGES} messages, not {len(messages)}")
    return messages, is_list
