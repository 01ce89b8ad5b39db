"""Request and response bodies of the REST API, for validation and for OpenAPI.

msgspec reads messages instead (`documents.py`): a message is *any* JSON and must come back as it was sent, which a
decoded number does not (1e400, 1.10, 20 digits).
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from penstock.sqs import attributes

MessageId = Annotated[int, Field(ge=0, lt=2**63)]
State = Literal["visible", "in_flight", "delayed", "all"]
Seconds12h = Annotated[int, Field(ge=0, le=43_200, description="seconds")]


class Body(BaseModel):
    """A request body. An unknown member is refused, since it is most likely a typing error, and so is another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


# As on AWS every attribute is a text; a client may also send numbers, booleans and policies as JSON values.
Attributes = Annotated[
    dict[str, str | bool | int | dict[str, Any]],
    Field(
        json_schema_extra={
            "propertyNames": {"enum": [*attributes.STANDARD, *attributes.FIFO, *attributes.EXTENSIONS]}
        }
    ),
]


def _exactly_one_of(*names: str) -> JsonDict:
    """For JSON schemas alone: the operations check it, and say what is wrong."""
    return {
        "oneOf": [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in names]
    }


class NewQueue(Body):
    """A queue to make. A FIFO queue's name ends in `.fifo`, or `fifo` is true and the suffix is added."""

    name: str
    fifo: bool = False
    attributes: Attributes = {}
    tags: dict[str, str] = {}


class QueueChange(Body):
    """Attributes to change; the others stay."""

    attributes: Attributes


class Deletion(Body):
    """Messages to delete: by id, or by receipt."""

    model_config = ConfigDict(json_schema_extra=_exactly_one_of("ids", "receipts"))

    ids: list[MessageId] | None = Field(default=None, max_length=1_000)
    receipts: list[str] | None = Field(default=None, max_length=1_000)


class Visibility(Body):
    """The message becomes visible `vt` seconds from now."""

    vt: Seconds12h


class QueueName(BaseModel):
    """A queue of a list."""

    name: str
    fifo: bool
    created_at: str


class QueuePage(BaseModel):
    """Queues in the order of their names; `next`, when there is one, asks for the following page."""

    queues: list[QueueName]
    next: str | None = None


class QueueDescription(QueueName):
    """A queue with its counts. Ages are in seconds, null when the queue is empty."""

    arn: str
    queue_length: int
    visible: int
    in_flight: int
    delayed: int
    newest_msg_age_sec: int | None
    oldest_msg_age_sec: int | None
    total_messages: int
    scrape_time: str
    attributes: dict[str, str]
    tags: dict[str, str]


class ReceiverDescription(BaseModel):
    """Who receives. `messages`: since `first_received_at`; `last_received_at`: also of a receive that got nothing.

    `caller`: ARN of the user; where nobody is asked for a key, with the key id that the request names.
    """

    caller: str
    user_agent: str
    address: str
    first_received_at: str
    last_received_at: str
    messages: int


class Purged(BaseModel):
    """How many messages a purge deleted."""

    deleted: int


class Deleted(BaseModel):
    """The ids or receipts whose messages were deleted by this request."""

    deleted: list[int] | list[str]


class Hidden(BaseModel):
    """When a message becomes visible."""

    id: int
    visible_at: str


class NewSubscription(Body):
    """A binding to make: of a queue, or of a URL, which gets the message, or an SNS envelope with `envelope`.

    `protocol` is that of `endpoint`, and may be left out.
    """

    model_config = ConfigDict(json_schema_extra=_exactly_one_of("queue_name", "endpoint"))

    queue_name: str | None = None
    protocol: Literal["http", "https"] | None = None
    endpoint: str | None = None
    envelope: bool = False
    filter_policy: dict[str, Any] | None = None


class Subscription(BaseModel):
    """A binding of a queue or a URL to a pattern of routing keys."""

    id: int
    pattern: str
    protocol: Literal["queue", "http", "https"]
    queue_name: str | None = None
    endpoint: str | None = None
    envelope: bool
    filter_policy: dict[str, Any] | None = None
    created_at: str


class BindingPage(BaseModel):
    """Bindings in the order of their ids; `next`, when there is one, is the `after` of the following page."""

    subscriptions: list[Subscription]
    next: int | None = None


class Matched(BaseModel):
    """The bindings that an event would reach."""

    subscriptions: list[Subscription]


class DeliveryDescription(BaseModel):
    """A delivery. `attempts`: those with a known outcome; `last_status` is absent when the last one had no answer."""

    id: int
    state: Literal["pending", "exhausted"]
    kind: str
    message_id: str
    topic_arn: str | None = None
    subscription_arn: str | None = None
    subscription_id: int | None = None
    endpoint: str
    attempts: int
    under_way: bool
    next_attempt_at: str | None = None
    last_status: int | None = None
    last_error: str | None = None
    dead_letter_arn: str | None = None
    created_at: str


class OutgoingMessageDescription(BaseModel):
    """A message for a phone, a mobile app, e-mail or a function. `error`: why it has failed.

    kept: nothing carries it; waiting: the gateway has not accepted it yet.

    `attributes`: by name, each with its DataType and StringValue or BinaryValue (base64).
    """

    id: int
    state: Literal["kept", "waiting", "sent", "failed"]
    error: str | None = None
    region: str
    protocol: str
    kind: str
    destination: str
    message_id: str
    topic_arn: str | None = None
    subscription_arn: str | None = None
    subject: str | None = None
    text: str
    attributes: dict[str, dict[str, str]] | None = None
    created_at: str


class OptedOut(BaseModel):
    """A phone number that is opted out."""

    phone_number: str


class Retried(BaseModel):
    """The delivery that is due now."""

    id: int


class Problem(BaseModel):
    """An error; `detail` explains a message that is AWS's, `hint` says what to do about it, where that is known.

    For a schedule's expression: `position` of the error, counted from 0, a `suggestion` of what was probably meant, and
    `examples`.
    """

    code: str
    message: str
    detail: str | None = None
    hint: str | None = None
    position: int | None = None
    suggestion: str | None = None
    examples: list[str] | None = None


class ErrorAnswer(BaseModel):
    """The body of every response that is not 2xx."""

    error: Problem
