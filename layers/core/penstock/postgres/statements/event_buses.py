"""Statements for event buses, subscribers and event sources."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from penstock.postgres.statement import BatchStatement, JsonObject, Statement

from .access import PolicyRow, ResourceEntry

READ_EVENT_POLICIES = BatchStatement("queue.read_event_policies", ("text[]",), PolicyRow, entry=ResourceEntry)


# --- buses -----------------------------------------------------------------------------------------------------------
class CreatedBusRow(NamedTuple):
    """The stored bus, and whether it is new, or an error."""

    bus: JsonObject | None
    created: bool
    error: str | None


CREATE_EVENT_BUS = Statement(
    "queue.create_event_bus",
    ("text", "text", "text", "text", "jsonb", "text", "text"),
    CreatedBusRow,
    is_audited=True,
    changed="created",
)


class BusRow(NamedTuple):
    bus: JsonObject


READ_EVENT_BUS = Statement("queue.read_event_bus", ("text",), BusRow)
LIST_EVENT_BUSES = Statement("queue.list_event_buses", ("text", "text", "text", "text", "int4"), BusRow)


class UpdatedBusRow(NamedTuple):
    bus: JsonObject | None
    error: str | None


UPDATE_EVENT_BUS = Statement("queue.update_event_bus", ("text", "jsonb"), UpdatedBusRow, is_audited=True)


class DeletedBusRow(NamedTuple):
    """`in_use` names the kinds of resources that the bus still has."""

    deleted: bool
    error: str | None
    in_use: list[str]


DELETE_EVENT_BUS = Statement("queue.delete_event_bus", ("text",), DeletedBusRow, is_audited=True, changed="deleted")


# --- events ----------------------------------------------------------------------------------------------------------
class BusEvent(NamedTuple):
    """An event to store. `event_id` has 16 bytes, `metadata` is JSON, and `content_hash` belongs to an event that is
    deduplicated by its content."""

    event_id: bytes
    content_type: int
    data: bytes
    metadata: bytes | None
    source: str | None
    detail_type: str | None
    event_group: str | None
    deduplication_id: str | None
    content_hash: bytes | None


class PutBusEventsRow(NamedTuple):
    """The sequence number of each event, which is the number of the original for a duplicate. `originals` has the event
    ids of the originals, and None for other events. With an error, the other columns are null."""

    numbers: list[int] | None
    originals: list[UUID | None] | None
    error: str | None


PUT_BUS_EVENTS = Statement(
    "queue.put_bus_events",
    ("text", "text", "uuid[]", "int2[]", "bytea[]", "jsonb[]", "text[]", "text[]", "text[]", "text[]", "bytea[]",
     "text[]"),
    PutBusEventsRow,
    is_prepared=True,
)  # fmt: skip


# --- subscribers and event sources -----------------------------------------------------------------------------------
class CreatedSubscriberRow(NamedTuple):
    """The stored subscriber, and whether it is new, or an error."""

    subscriber: JsonObject | None
    created: bool
    error: str | None


CREATE_EVENT_SUBSCRIBER = Statement(
    "queue.create_event_subscriber",
    ("text", "text", "text", "text", "text", "jsonb", "text", "text"),
    CreatedSubscriberRow,
    is_audited=True,
    changed="created",
)


class SubscriberRow(NamedTuple):
    subscriber: JsonObject


READ_EVENT_SUBSCRIBER = Statement("queue.read_event_subscriber", ("text",), SubscriberRow)
LIST_EVENT_SUBSCRIBERS = Statement(
    "queue.list_event_subscribers", ("text", "text", "text", "text", "text", "int4"), SubscriberRow
)


class UpdatedSubscriberRow(NamedTuple):
    subscriber: JsonObject | None
    error: str | None


UPDATE_EVENT_SUBSCRIBER = Statement(
    "queue.update_event_subscriber", ("text", "text", "jsonb", "text"), UpdatedSubscriberRow, is_audited=True
)


class DeletedRow(NamedTuple):
    deleted: bool


DELETE_EVENT_SUBSCRIBER = Statement(
    "queue.delete_event_subscriber", ("text",), DeletedRow, is_audited=True, changed="deleted"
)


class SourceRow(NamedTuple):
    source: JsonObject


class CreatedSourceRow(NamedTuple):
    """The stored event source, and whether it is new, or an error."""

    source: JsonObject | None
    created: bool
    error: str | None


CREATE_EVENT_SOURCE = Statement(
    "queue.create_event_source",
    ("text", "text", "text", "text", "text", "jsonb", "text", "bytea", "text", "text"),
    CreatedSourceRow,
    is_audited=True,
    changed="created",
)


class UpdatedSourceRow(NamedTuple):
    source: JsonObject | None
    error: str | None


UPDATE_EVENT_SOURCE = Statement("queue.update_event_source", ("text", "jsonb"), UpdatedSourceRow, is_audited=True)
READ_EVENT_SOURCE = Statement("queue.read_event_source", ("text",), SourceRow)
LIST_EVENT_SOURCES = Statement("queue.list_event_sources", ("text", "text", "text", "text", "text", "int4"), SourceRow)
DELETE_EVENT_SOURCE = Statement("queue.delete_event_source", ("text",), DeletedRow, is_audited=True, changed="deleted")


class RotatedRow(NamedTuple):
    changed: bool
    error: str | None


ROTATE_WEBHOOK_SECRET = Statement(
    "queue.rotate_webhook_secret", ("text", "bytea", "text", "text"), RotatedRow, is_audited=True, changed="changed"
)


class WebhookRow(NamedTuple):
    """A webhook with its encrypted secrets. `previous_secret` is None if it has ended."""

    arn: str
    account_id: str
    bus_arn: str
    revoked: bool
    configuration: JsonObject
    secret: bytes
    previous_secret: bytes | None


FIND_WEBHOOK = Statement("queue.find_webhook", ("text",), WebhookRow)


class WebhookSecretRow(NamedTuple):
    """An event source with its encrypted secret."""

    source: JsonObject
    secret: bytes


READ_WEBHOOK_SECRET = Statement("queue.read_webhook_secret", ("text", "text", "text"), WebhookSecretRow)


# --- policies, tags, revocation --------------------------------------------------------------------------------------
class EventErrorRow(NamedTuple):
    error: str | None


PUT_EVENT_BUS_POLICY = Statement(
    "queue.put_event_bus_policy", ("text", "text", "text", "text"), EventErrorRow, is_audited=True
)


class DeletedPolicyRow(NamedTuple):
    """The revision of the deleted policy, or None if the bus had no policy."""

    revision: str | None
    error: str | None


DELETE_EVENT_BUS_POLICY = Statement(
    "queue.delete_event_bus_policy", ("text", "text"), DeletedPolicyRow, is_audited=True
)


class EventTagsRow(NamedTuple):
    tags: dict[str, str]


READ_EVENT_TAGS = Statement("queue.read_event_tags", ("text",), EventTagsRow)
CHANGE_EVENT_TAGS = Statement(
    "queue.change_event_tags", ("text", "jsonb", "text[]", "int4"), EventErrorRow, is_audited=True
)


class RevokedRow(NamedTuple):
    """`error` is ResourceNotFound if the resource does not exist, or belongs to a bus of another account."""

    changed: bool
    error: str | None


REVOKE_EVENT_RESOURCE = Statement(
    "queue.revoke_event_resource", ("text", "text"), RevokedRow, is_audited=True, changed="changed"
)


# --- observations ----------------------------------------------------------------------------------------------------
class ObservedBusRow(NamedTuple):
    """A bus with its counts. `published_before` and `delivered_before` count the last full minute."""

    bus: JsonObject
    published: int
    events: int
    bytes: int
    oldest_at: datetime | None
    newest_at: datetime | None
    subscribers: int
    published_before: int
    delivered_before: int


OBSERVE_EVENT_BUSES = Statement("queue.observe_event_buses", ("text", "text", "text", "text", "int4"), ObservedBusRow)


class ObservedSubscriberRow(NamedTuple):
    """A subscriber with its position and its outcomes (queue.observe_event_subscribers)."""

    subscriber: JsonObject
    lag_events: int
    lag_since: datetime | None
    read_until: datetime | None
    waiting: int
    retries: int
    next_retry_at: datetime | None
    delivered: int
    refused: int
    failed: int
    delivered_before: int
    refused_at: datetime | None
    error_code: str | None
    error_message: str | None


OBSERVE_EVENT_SUBSCRIBERS = Statement(
    "queue.observe_event_subscribers", ("text", "text", "text", "text", "int4"), ObservedSubscriberRow
)


class BrowsedRow(NamedTuple):
    """An event and its place on the bus. The first row of a result has no event: it has the place after which the next
    call continues, or no page at the end of the bus."""

    page: int | None
    place: int
    number: int | None
    ingested_at: datetime
    event_id: UUID
    content_type: int
    data: bytes
    account_id: str | None
    group_id: str | None
    deduplication_id: str | None
    source: str | None
    detail_type: str | None
    metadata: JsonObject | None


BROWSE_EVENTS = Statement(
    "queue.browse_events",
    ("text", "int8", "int4", "timestamptz", "timestamptz", "bool", "text", "text", "text", "int4", "int8"),
    BrowsedRow,
)


class MovedSubscriberRow(NamedTuple):
    changed: bool


class CountedEventsRow(NamedTuple):
    events: int


COUNT_EVENTS_SINCE = Statement("queue.count_events_since", ("text", "timestamptz"), CountedEventsRow)
MOVE_EVENT_SUBSCRIBER = Statement(
    "queue.move_event_subscriber", ("text", "timestamptz"), MovedSubscriberRow, is_audited=True, changed="changed"
)
