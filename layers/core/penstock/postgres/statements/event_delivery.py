"""Statements of the worker that delivers the events of buses (`penstock.events.delivery`)."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from penstock.postgres.statement import JsonObject, Statement


class SequencedRow(NamedTuple):
    events: int


SEQUENCE_EVENTS = Statement("queue.sequence_events", ("int4",), SequencedRow)


class EventWorkRow(NamedTuple):
    """Buses that have live events or retries, buses that have replays, and archives of topics that have replays.

    `wait_ms` is the time until the next retry, or None if no event waits for a retry. `batches` is whether a batch for
    a target outside the database is due. `has_bus` is false if the installation has no bus and no archive. `live` is
    whether live events have arrived in the last second. `pause_ms` is the time until the replays continue, or None if
    they do not pause.
    """

    buses: list[int]
    replays: list[int]
    archives: list[int]
    wait_ms: int | None
    batches: bool
    has_bus: bool
    live: bool
    pause_ms: int | None


NEXT_EVENT_WORK = Statement("queue.next_event_work", ("uuid", "int4", "text[]"), EventWorkRow)


class ClaimedSubscriberRow(NamedTuple):
    """A subscriber that has events to receive after `page`. It receives no event of `first_page` and earlier pages.

    `blocked` has the groups of a FIFO subscriber of which an event waits. The first row of followers has no subscriber:
    it has the bus's cursor, and the version of the followers (queue.claim_event_subscribers).
    """

    subscriber_id: int
    revision: datetime
    page: int
    first_page: int
    blocked: list[str] | None
    version: UUID | None


CLAIM_EVENT_SUBSCRIBERS = Statement("queue.claim_event_subscribers", ("int8", "bool", "uuid"), ClaimedSubscriberRow)


class EventSubscriberRow(NamedTuple):
    """`configuration` has the members of DescribeSubscriber by AWS's names. `moved_to` is the time to which the
    position was moved, and `moved_at` the time of the move."""

    subscriber_id: int
    arn: str
    bus_arn: str
    account_id: str
    region: str
    type: str
    created_at: datetime
    target_arn: str
    configuration: JsonObject
    moved_to: datetime | None
    moved_at: datetime | None
    carrier: str | None


READ_EVENT_SUBSCRIBERS = Statement("queue.read_event_subscribers", ("int8[]",), EventSubscriberRow)


class PageRow(NamedTuple):
    """An event of a page. The first row of a result has only the page: the last one that the call has read."""

    page: int
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
    passed: str | None


READ_EVENT_PAGES = Statement("queue.read_event_pages", ("int8", "int8", "int4", "int8"), PageRow)


class RetriesRow(NamedTuple):
    retries: int


SETTLE_EVENTS = Statement(
    "queue.settle_events",
    ("int8", *["int8[]"] * 4, "timestamptz[]", "text[]", "int4[]", "text[]", "text[]", "int4[]", "int4"),
    RetriesRow,
)


class EventRetryRow(NamedTuple):
    """A due retry and its event. `data` is None if the bus retains the event no longer."""

    retry_id: int
    subscriber_id: int
    revision: datetime
    group_key: str | None
    attempts: int
    age_seconds: float
    number: int
    ingested_at: datetime
    event_id: UUID
    content_type: int
    data: bytes | None
    account_id: str | None
    group_id: str | None
    deduplication_id: str | None
    source: str | None
    detail_type: str | None
    metadata: JsonObject | None
    passed: str | None


CLAIM_EVENT_RETRIES = Statement("queue.claim_event_retries", ("int8", "int4"), EventRetryRow)
SETTLE_EVENT_RETRIES = Statement(
    "queue.settle_event_retries",
    ("int8[]", "int8[]", "text[]", "int8[]", "text[]", "text[]", "int4[]", "int8[]"),
    RetriesRow,
)


class LockedBatchRow(NamedTuple):
    retry_id: int
    bus_id: int


CLAIM_EVENT_BATCHES = Statement(
    "queue.claim_event_batches",
    ("text[]", "uuid", "int4", "int8[]", "int4[]", "int4", "int4", "int8"),
    EventRetryRow,
)
LOCK_EVENT_BATCHES = Statement("queue.lock_event_batches", ("int8[]", "uuid[]"), LockedBatchRow)


class OutcomesRow(NamedTuple):
    stored: int


ADD_EVENT_OUTCOMES = Statement(
    "queue.add_event_outcomes", ("int8[]", "int8[]", "int8[]", "int8[]", "int8[]", "text[]", "text[]"), OutcomesRow
)
