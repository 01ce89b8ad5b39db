"""The documents of event buses, of subscribers and of their events."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct, UnsetType

from penstock.postgres.statement import JsonObject

SubscriberState = Literal["running", "stopped", "revoked", "unsupported"]
_TEXT = "^[^\\x00]*$"  # PostgreSQL cannot store NUL in a text.
Text = Annotated[str, Meta(min_length=1, max_length=2_048, pattern=_TEXT)]
Id = Annotated[str, Meta(min_length=1, max_length=128, pattern=_TEXT)]

Filters = dict[Literal["DATA", "METADATA", "SYSTEM_METADATA"], msgspec.Raw]
CONFIGURATION: Final = frozenset((
    "BatchConfiguration", "Description", "InvokeConfiguration", "LogConfiguration", "OnFailureConfiguration",
    "RetryPolicy", "Transformer",
))  # fmt: skip
"""The members of a subscriber's `configuration` that a request can set, by AWS's names."""


class BusDescription(Struct):
    """An event bus. `events` and `bytes` count what the bus retains, and `published` all events since its creation;
    they can lack events of the last second. The rates are those of the last full minute."""

    name: str
    arn: str
    description: str | None
    retention_days: int
    published: int
    events: int
    bytes: int
    oldest_event_at: str | None
    newest_event_at: str | None
    published_per_second: float
    delivered_per_second: float
    subscribers: int
    tags: dict[str, str]
    created_at: str
    updated_at: str


class Created(Struct):
    """A new bus or subscriber."""

    name: str
    arn: str


class NewBus(Struct, forbid_unknown_fields=True):
    """An event bus to create. The limits are those of CreateEventBus."""

    name: Text
    description: str = ""
    retention_days: int = 1
    tags: dict[str, str] = {}


class BusPatch(Struct, forbid_unknown_fields=True):
    """Changes of an event bus. Absent members stay unchanged. An empty description removes it. `tags` replaces all
    tags."""

    description: str | UnsetType = msgspec.UNSET
    retention_days: int | UnsetType = msgspec.UNSET
    tags: dict[str, str] | UnsetType = msgspec.UNSET


class BusPage(Struct, omit_defaults=True):
    """Event buses in the order of their names. `next`, if present, requests the next page."""

    buses: list[BusDescription]
    next: str | None = None


class NewSubscriber(Struct, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}):
    """A subscriber to create. `target` is an ARN, or the name of a queue of the account.

    Without `from`, the subscriber receives the events that follow. `from` is an RFC 3339 time that the bus retains, or
    `oldest`, and `to` the time of the last event. `filters` has an event pattern for each scope. `configuration` has
    other members of CreateSubscriber by AWS's names, such as `RetryPolicy`.
    """

    name: Text
    target: Text
    type: Literal["FIFO", "UNORDERED"] = "UNORDERED"
    start: str | None = None
    end: str | None = None
    stopped: bool = False
    filters: Filters = {}
    configuration: JsonObject = {}
    tags: dict[str, str] = {}


class SubscriberPatch(Struct, forbid_unknown_fields=True):
    """Changes of a subscriber. Absent members stay unchanged. `filters` replaces all filters, `tags` all tags, and
    each member of `configuration` a whole block of UpdateSubscriber, such as `RetryPolicy`."""

    filters: Filters | UnsetType = msgspec.UNSET
    configuration: JsonObject | UnsetType = msgspec.UNSET
    tags: dict[str, str] | UnsetType = msgspec.UNSET


class SubscriberFailure(Struct):
    """The last event that the target refused."""

    at: str
    code: str
    message: str


class SubscriberDescription(Struct):
    """A subscriber of an event bus.

    `lag_events` counts the retained events that the subscriber has not read yet, with those that its filters refuse,
    and the events of `waiting`. `lag_seconds` is the time since the bus received the first of them. `read_until` is the
    time of the last event that the subscriber has read. `waiting` counts the events that the subscriber has read and
    not delivered, up to 10,001, for example because of the rate of an API destination. `retries` counts those of them
    that the target has refused. `delivered`, `refused` and `failed` count since the creation and can be some seconds
    old: events, refused attempts, and events whose delivery ended without success. `configuration` has AWS's members.
    The state `unsupported` means that the events wait because Penstock cannot deliver to the target.
    """

    name: str
    arn: str
    account: str
    type: str
    target: str
    state: SubscriberState
    starting_position: str
    lag_events: int
    lag_seconds: int
    read_until: str | None
    waiting: int
    retries: int
    next_retry_at: str | None
    delivered: int
    refused: int
    failed: int
    delivered_per_second: float
    last_failure: SubscriberFailure | None
    moved_to: str | None
    configuration: JsonObject
    tags: dict[str, str]
    created_at: str
    updated_at: str


class SubscriberPage(Struct, omit_defaults=True):
    """Subscribers in the order of their ARNs. `next`, if present, requests the next page."""

    subscribers: list[SubscriberDescription]
    next: str | None = None


class Replay(Struct, forbid_unknown_fields=True, rename={"start": "from"}):
    """Where the subscriber continues: at the first event that the bus received at this time or later, or `oldest`."""

    start: str


class ReplayPlan(Struct):
    """What a replay from the time `start` would do. `again` counts retained events before the position, and `skipped`
    unread events before `start`, both with those that the filters refuse. An event that the bus received shortly before
    `start` can count as later.
    """

    target: str
    start: str
    again: int
    skipped: int


class StoredEvent(Struct, omit_defaults=True):
    """An event of a bus. `data` is the JSON that targets receive, or base64 for `application/octet-stream`."""

    id: str
    sequence_number: str
    published_at: str
    content_type: str
    account: str
    size_bytes: int
    data: msgspec.Raw
    group_id: str | None = None
    deduplication_id: str | None = None
    source: str | None = None
    detail_type: str | None = None
    metadata: dict[str, str] = {}


class EventPage(Struct, omit_defaults=True):
    """Events of a bus in the order of their delivery, or in the reverse order. `next`, if present, requests the next
    page. A page with few or no events can have a next page, because a request examines a limited number of events."""

    events: list[StoredEvent]
    next: str | None = None


class NewBusEvent(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An event to publish: either `data`, or `source`, `detail_type` and `detail` for EventBridge's envelope."""

    data: msgspec.Raw | UnsetType = msgspec.UNSET
    metadata: Annotated[
        dict[
            Annotated[str, Meta(min_length=1, max_length=128, pattern="^[^/\\x00]+$")],
            Annotated[str, Meta(min_length=1, pattern=_TEXT)],
        ],
        Meta(max_length=100),
    ] = {}
    source: Annotated[str, Meta(min_length=1, max_length=256, pattern=_TEXT)] | None = None
    detail_type: Annotated[str, Meta(min_length=1, max_length=128, pattern=_TEXT)] | None = None
    detail: msgspec.Raw | UnsetType = msgspec.UNSET
    resources: Annotated[list[Annotated[str, Meta(max_length=2_048, pattern=_TEXT)]], Meta(max_length=100)] = []
    time: str | None = None
    group_id: Id | None = None
    deduplication_id: Id | None = None


class PutEvent(Struct):
    """A published event. A duplicate has the id and the sequence number of the original."""

    id: str
    sequence_number: str
    duplicate: bool


class PutEvents(Struct):
    """The published events, in the order of the request."""

    events: list[PutEvent]
