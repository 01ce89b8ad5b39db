"""Decodes request bodies within limits, so that no body blocks the event loop."""

import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from penstock import errors
from penstock.aws.json_text import decode_typed
from penstock.effects import LONG_COMPUTATION_BYTES
from penstock.limits.queue_limits import MAX_MESSAGE_BYTES

MAX_MESSAGES = 1_000
MAX_BLANK_RATIO = 3  # the most bytes of a message's JSON, as a multiple of the longest body
MAX_HEADERS_BYTES = 1_310_720  # for one message, whose attributes have at most 1 MiB
MAX_DOCUMENT_BYTES = 262_144  # for a body without messages
MAX_HEADERS = 1_000  # for one message in a long body, because decoding 100,000 headers takes 100 ms
# The limit for the JSON of one message with headers. Decoding takes up to 5 ms per MiB, in one step.
MAX_ONE_BYTES = MAX_BLANK_RATIO * MAX_MESSAGE_BYTES + MAX_HEADERS_BYTES + 65_536

T = TypeVar("T")
_PATH = re.compile(r" - at `\$\.(\w+)")
"""The path of a member, with which msgspec ends its errors. msgspec's errors have no attribute for it."""


class _Counted(threading.local):
    """The number of messages that this thread has counted in the current body. msgspec decodes a body in one step."""

    messages = 0


_counted = _Counted()


class CountedMessage(msgspec.Struct):
    """Counts the messages of a long body before they are decoded.

    Decoding a million empty messages, or a million headers, in one step takes a second. The decoder therefore decodes
    the messages of long bodies one by one.
    """

    headers: msgspec.Raw = msgspec.Raw(b"")

    def __post_init__(self) -> None:
        _counted.messages += 1
        if _counted.messages > MAX_MESSAGES:
            raise ValueError(f"1 to {MAX_MESSAGES} messages, not more")
        if memoryview(self.headers).nbytes > MAX_HEADERS_BYTES:
            raise ValueError(f"a message has at most {MAX_HEADERS_BYTES} bytes of headers")
        quotes = bytes(self.headers).count(b'":')  # a colon follows each name, and texts can contain more colons
        if quotes > 10 * MAX_HEADERS:
            raise ValueError(f"a message in a long body has at most {MAX_HEADERS} headers")


class CountedTarget(msgspec.Struct):
    target: CountedMessage = msgspec.field(default_factory=CountedMessage)  # counts itself


class CountedTransaction(msgspec.Struct):
    ack: list[CountedMessage] = []
    send: list[CountedMessage] = []
    publish: list[CountedMessage] = []


one_counter = msgspec.json.Decoder(CountedMessage)
list_counter = msgspec.json.Decoder(list[CountedMessage])
transaction_counter = msgspec.json.Decoder(CountedTransaction)


def check_length_of_one(body: bytes) -> None:
    """Raises RequestEntityTooLarge for a body that is longer than the longest message."""
    if len(body) > MAX_ONE_BYTES:
        raise errors.RequestEntityTooLarge(f"A message is longer than {MAX_MESSAGE_BYTES} bytes")


def decode_body(
    decoder: "msgspec.json.Decoder[T]", body: bytes, counter: "msgspec.json.Decoder[Any]", most: int = MAX_MESSAGES
) -> T:
    """Decodes a request's body. Raises InvalidParameterValue.

    `counter` counts the messages of a long body first, so that no body blocks the event loop. A body can have `most`
    messages.
    """
    try:
        text = body.decode()  # refuses invalid bytes in raw parts, as read_messages does
        if len(body) > LONG_COMPUTATION_BYTES:
            count_messages(counter, text, most)
        return decode_typed(decoder.decode, text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise _build_error(error) from error


def _build_error(error: Exception) -> errors.InvalidParameterValue:
    path = _PATH.search(str(error)) if isinstance(error, msgspec.ValidationError) else None
    return errors.InvalidParameterValue(f"body: {error}", member=path[1] if path else "")


def count_messages(counter: "msgspec.json.Decoder[Any]", text: str, most: int = MAX_MESSAGES) -> None:
    """Raises ValueError for too many messages, and for a message with too many headers."""

    def count(text: str) -> None:
        _counted.messages = MAX_MESSAGES - most
        counter.decode(text)

    decode_typed(count, text)


def decode_document(decoder: "msgspec.json.Decoder[T]", body: bytes, most_bytes: int = MAX_DOCUMENT_BYTES) -> T:
    """Decodes a body. The default size limit is for bodies without messages. Raises InvalidParameterValue and
    RequestEntityTooLarge."""
    if len(body) > most_bytes:
        raise errors.RequestEntityTooLarge
    try:
        return decode_typed(decoder.decode, body.decode())
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _build_error(error) from error


def build_reader(kind: type[T], most_bytes: int = MAX_DOCUMENT_BYTES) -> Callable[[bytes], T]:
    """Returns a function that decodes a body of this type and raises the errors of `decode_document`."""
    decoder = msgspec.json.Decoder(kind)
    return lambda body: decode_document(decoder, body, most_bytes)


def build_exactly_one_of(*names: str) -> dict[str, object]:
    """Returns the JSON schema of a document in which exactly one of the members `names` is present and not null."""
    return {"oneOf": [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in names]}
