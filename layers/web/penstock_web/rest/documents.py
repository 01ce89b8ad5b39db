"""Messages as JSON documents: the API stores a producer's JSON as an SQS message and returns the same JSON.

message  any JSON            <─► body: the same text without blanks; a body that is not JSON comes back as a string
headers  {"name": value}     <─► message attributes: text String, number Number, anything else String.json
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from penstock import errors
from penstock.effects import LONG_COMPUTATION_BYTES
from penstock.sqs import validation
from penstock.sqs.types import MessageAttributeValue, SendMessageRequest

MAX_MESSAGES = 1_000
MAX_BLANK_RATIO = 3  # the JSON of a message may be this many times as long as the longest body
MAX_HEADERS_BYTES = 1_310_720  # of one message; its attributes may not be longer than 1 MiB
MAX_DOCUMENT_BYTES = 262_144  # of a body that has no messages in it
MAX_HEADERS = 1_000  # of one message in a long body; decoding 100,000 takes 100 ms
# Of the JSON of one message with its headers: decoding takes up to 5 ms a MiB, in one step.
MAX_ONE_BYTES = MAX_BLANK_RATIO * validation.MAXIMUM_MESSAGE_BYTES + MAX_HEADERS_BYTES + 65_536

T = TypeVar("T")

# Of JSON schemas alone: `penstock.sqs.validation` checks these, and says what is wrong.
Headers = Annotated[
    dict[str, msgspec.Raw],
    msgspec.Meta(
        extra_json_schema={
            "maxProperties": validation.MAXIMUM_ATTRIBUTES,
            "propertyNames": {"pattern": "^[A-Za-z0-9_.-]{1,256}$"},
        }
    ),
]
Printable = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": "^[!-~]{1,128}$"})]

_loads = msgspec.json.Decoder().decode
_check_json = msgspec.json.Decoder(msgspec.Raw).decode
_attributes = msgspec.json.Decoder(dict[str, MessageAttributeValue])
_headers = msgspec.json.Decoder(dict[str, msgspec.Raw])


class NewMessage(msgspec.Struct, forbid_unknown_fields=True):
    """A message to send. `delay`: seconds until it becomes visible, up to a year; beyond SQS's 900 it waits as a
    schedule. A FIFO queue has only its own delay. `dedup_id` and `group_id` as in SQS.
    """

    message: msgspec.Raw
    headers: Headers = {}
    delay: Annotated[int, msgspec.Meta(ge=0, le=31_536_000)] | None = None
    group_id: Printable | None = None
    dedup_id: Printable | None = None

    def __post_init__(self) -> None:
        """Ends a step of decoding: between two messages of a long body, other threads may go on (effects.Compute)."""


class NewEvent(msgspec.Struct, forbid_unknown_fields=True):
    """An event to publish. `delay`: seconds until queues show it; URLs get it at once."""

    message: msgspec.Raw
    headers: Headers = {}
    delay: Annotated[int, msgspec.Meta(ge=0, le=900)] | None = None

    def __post_init__(self) -> None:
        """As that of NewMessage."""


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
    """Acknowledgements, messages and events of one transaction: up to 1,000 of each kind."""

    ack: Annotated[list[Ack], msgspec.Meta(max_length=MAX_MESSAGES)] = []
    send: Annotated[list[QueuedMessage], msgspec.Meta(max_length=MAX_MESSAGES)] = []
    publish: Annotated[list[RoutedEvent], msgspec.Meta(max_length=MAX_MESSAGES)] = []


class StoredMessage(msgspec.Struct, omit_defaults=True):
    """A message as it is read. Times are RFC 3339, UTC.

    Peeking also tells when and how it came into this queue (`entered_by`: sent, dead_lettered, moved), which for a dead
    letter is later than when it was sent (`enqueued_at`).
    """

    id: int
    read_count: int
    enqueued_at: str
    message: msgspec.Raw
    headers: dict[str, msgspec.Raw]
    receipt: str | msgspec.UnsetType = msgspec.UNSET
    visible_at: str | msgspec.UnsetType = msgspec.UNSET
    archive_id: int | msgspec.UnsetType = msgspec.UNSET
    archived_at: str | msgspec.UnsetType = msgspec.UNSET
    group_id: str | None = None
    entered_at: str | msgspec.UnsetType = msgspec.UNSET
    entered_by: str | msgspec.UnsetType = msgspec.UNSET


class FoundMessage(StoredMessage, omit_defaults=True, kw_only=True):
    """A message that a search found: `read_count` counts receives in this queue, `receive_count` those in all.

    `source_queue`: the queue from which it came into this dead-letter queue.
    """

    state: str
    receive_count: int
    source_queue: str | None = None


class FoundPage(msgspec.Struct):
    """What clients read of a search's answer."""

    messages: list[FoundMessage]
    next: str | None


class SentId(msgspec.Struct, omit_defaults=True):
    """The message that a request sent. One that is to come in more than 900 seconds has no id until then, but a
    `schedule` of this name.
    """

    id: int | None
    schedule: str | None = None


class SentIds(msgspec.Struct, omit_defaults=True):
    """The messages that a request with a list sent, in its order. `schedules`: as of one message, if there is one."""

    ids: list[int | None]
    schedules: list[str | None] | None = None


class EventMessage(msgspec.Struct):
    """The message that an event put into a queue."""

    queue_name: str
    msg_id: int


class PublishedEvent(msgspec.Struct, kw_only=True):
    """What an event reached. In a transaction, which may have several events, it has its routing key."""

    routing_key: str | msgspec.UnsetType = msgspec.UNSET
    queues_matched: int
    webhooks_matched: int
    messages: list[EventMessage]


class SentMessage(msgspec.Struct, omit_defaults=True):
    """A message that a transaction sent; `id` and `schedule` as of one message."""

    queue: str
    id: int | None
    schedule: str | None = None


class TransactionResult(msgspec.Struct):
    """What a transaction did: how many messages it acknowledged, which it sent, and what its events reached."""

    acked: int
    sent: list[SentMessage]
    published: list[PublishedEvent]


class CountedMessage(msgspec.Struct):
    """A message that is only counted before long bodies are decoded.

    Decoding a million empty messages, or a million headers, would take a second. Long bodies are decoded one at a time.
    """

    headers: msgspec.Raw = msgspec.Raw(b"")
    count: ClassVar[int] = 0  # messages of the body that is being counted

    def __post_init__(self) -> None:
        CountedMessage.count += 1
        if CountedMessage.count > MAX_MESSAGES:
            raise ValueError(f"1 to {MAX_MESSAGES} messages, not more")
        if memoryview(self.headers).nbytes > MAX_HEADERS_BYTES:
            raise ValueError(f"a message has at most {MAX_HEADERS_BYTES} bytes of headers")
        quotes = bytes(self.headers).count(b'":')  # after each name, and perhaps within texts
        if quotes > 10 * MAX_HEADERS:
            raise ValueError(f"a message of a long body has at most {MAX_HEADERS} headers")


class CountedTarget(msgspec.Struct):
    """A schedule whose message is only counted."""

    target: CountedMessage = msgspec.field(default_factory=CountedMessage)  # is counted, too


class CountedTransaction(msgspec.Struct):
    """A transaction whose parts are only counted."""

    ack: list[CountedMessage] = []
    send: list[CountedMessage] = []
    publish: list[CountedMessage] = []


_one = msgspec.json.Decoder(NewMessage)
_many = msgspec.json.Decoder(list[NewMessage])
_count_one = msgspec.json.Decoder(CountedMessage)
_count_many = msgspec.json.Decoder(list[CountedMessage])


def read_messages(body: bytes) -> tuple[list[NewMessage], bool]:
    """The messages of a request, and whether they came as a list.

    Raises InvalidParameterValue, RequestEntityTooLarge.
    """
    is_list = body.lstrip()[:1] == b"["
    if not is_list:
        check_length_of_one(body)
    try:
        if len(body) > LONG_COMPUTATION_BYTES:
            CountedMessage.count = 0
            (_count_many if is_list else _count_one).decode(body)
        text = body.decode()  # msgspec does not check raw parts; this refuses invalid bytes in them
        messages = _many.decode(text) if is_list else [_one.decode(text)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise errors.InvalidParameterValue(f"body: {error}") from error
    if not 1 <= len(messages) <= MAX_MESSAGES:
        raise errors.InvalidParameterValue(f"body: 1 to {MAX_MESSAGES} messages, not {len(messages)}")
    return messages, is_list


_count_transaction = msgspec.json.Decoder(CountedTransaction)
_event = msgspec.json.Decoder(NewEvent)
_transaction = msgspec.json.Decoder(Transaction)


def check_length_of_one(body: bytes) -> None:
    """Raises RequestEntityTooLarge for a body that is longer than one message can be."""
    if len(body) > MAX_ONE_BYTES:
        raise errors.RequestEntityTooLarge(
            f"A message is longer than {validation.MAXIMUM_MESSAGE_BYTES} bytes"
        )


def read_event(body: bytes) -> NewEvent:
    """The event of a request. Raises InvalidParameterValue, RequestEntityTooLarge."""
    check_length_of_one(body)
    return decode_body(_event, body, _count_one)


def read_transaction(body: bytes) -> Transaction:
    """The transaction of a request. Raises InvalidParameterValue."""
    return decode_body(_transaction, body, _count_transaction, 3 * MAX_MESSAGES)


def decode_body(
    decoder: "msgspec.json.Decoder[T]",
    body: bytes,
    counter: "msgspec.json.Decoder[Any]",
    most: int = MAX_MESSAGES,
) -> T:
    """Decodes a request's body. Raises InvalidParameterValue.

    `counter`: counts the messages of a long body first, `most` at most, so that no body holds up the event loop.
    """
    try:
        if len(body) > LONG_COMPUTATION_BYTES:
            CountedMessage.count = MAX_MESSAGES - most
            counter.decode(body)
        return decoder.decode(body.decode())  # refuses invalid bytes in raw parts: as in read_messages
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise errors.InvalidParameterValue(f"body: {error}") from error


def decode_document(
    decoder: "msgspec.json.Decoder[T]", body: bytes, most_bytes: int = MAX_DOCUMENT_BYTES
) -> T:
    """Decodes a body, by default one without messages. Raises InvalidParameterValue, RequestEntityTooLarge."""
    if len(body) > most_bytes:
        raise errors.RequestEntityTooLarge
    try:
        return decoder.decode(body.decode())
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise errors.InvalidParameterValue(f"body: {error}") from error


def size_of(message: NewMessage | NewEvent) -> int:
    """The length of a message's JSON, and of the values of its headers."""
    return sum(memoryview(part).nbytes for part in (message.message, *message.headers.values()))


def message_body(raw: msgspec.Raw) -> str:
    """The body of a message: its JSON without blanks. Raises RequestEntityTooLarge."""
    longest = validation.MAXIMUM_MESSAGE_BYTES
    size = memoryview(raw).nbytes
    if longest < size <= MAX_BLANK_RATIO * longest:
        size = len(bytes(raw).translate(None, b" \t\r\n"))  # at most: those within texts stay
    body = "" if size > longest else compact(raw)
    if not 0 < len(body) <= longest:
        raise errors.RequestEntityTooLarge(f"A message is longer than {longest} bytes")
    return body


def is_for_later(message: NewMessage) -> bool:
    """Whether the message is to come later than SQS delays messages."""
    return message.delay is not None and message.delay > validation.MAXIMUM_DELAY_SECONDS


def to_send_request(message: NewMessage) -> SendMessageRequest:
    """The same message as an SQS request (without its queue), for later with SQS's longest delay.

    Raises InvalidParameterValue, RequestEntityTooLarge.
    """
    validation.check_number_of_attributes(len(message.headers))
    return SendMessageRequest(
        queue_url="",
        message_body=message_body(message.message),
        delay_seconds=validation.MAXIMUM_DELAY_SECONDS if is_for_later(message) else message.delay,
        message_attributes={name: to_attribute(value) for name, value in message.headers.items()} or None,
        message_group_id=message.group_id,
        message_deduplication_id=message.dedup_id,
    )


def compact(raw: msgspec.Raw) -> str:
    """JSON text without blanks between tokens; numbers and strings stay as the producer wrote them."""
    return msgspec.json.format(bytes(raw), indent=-1).decode()


def to_attribute(raw: msgspec.Raw) -> MessageAttributeValue:
    """A header as a message attribute."""
    text = bytes(raw).strip()
    if text[:1] == b'"':
        return MessageAttributeValue(data_type="String", string_value=_loads(text))
    if text[:1] in b"-0123456789":
        return MessageAttributeValue(data_type="Number", string_value=text.decode())
    return MessageAttributeValue(data_type="String.json", string_value=compact(raw))


def to_headers(attributes: str | None) -> dict[str, msgspec.Raw]:
    """Message attributes, in AWS's JSON shape, as headers. Binary values are base64 text."""
    if attributes is None:
        return {}
    return {name: to_header(value) for name, value in _attributes.decode(attributes).items()}


def to_header(value: MessageAttributeValue) -> msgspec.Raw:
    """One attribute as JSON."""
    text = value.string_value if value.string_value is not None else value.binary_value or ""
    if value.data_type.startswith("Number") or value.data_type == "String.json":
        return json_or_string(text)
    return json_string(text)


def json_or_string(text: str) -> msgspec.Raw:
    """The text itself if it is JSON, else the text as a JSON string."""
    try:
        _check_json(text)
    except (msgspec.DecodeError, RecursionError):
        return json_string(text)
    return msgspec.Raw(text.encode())


def json_string(text: str) -> msgspec.Raw:
    """The text as a JSON string."""
    return msgspec.Raw(msgspec.json.encode(text))


def message_group(system: str | None) -> str | None:
    """The message group, or tenant, among the system attributes."""
    if system is None:
        return None
    values: Mapping[str, Any] = _loads(system)
    return values.get("MessageGroupId")


def format_timestamp(milliseconds: int) -> str:
    """Milliseconds since 1970 as RFC 3339."""
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_timestamp(text: str) -> datetime | None:
    """A time of RFC 3339, in UTC. None: the text is no such time, has no offset, or is not within 1970 to 9998."""
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None and 1970 <= found.year < 9999:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    return None
