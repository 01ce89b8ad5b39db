"""Shows the events of a bus without any effect on subscribers, and publishes events."""

from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from penstock import errors
from penstock.access.authorization import authorize_one
from penstock.aws.paging import build_token, read_name
from penstock.context import Context
from penstock.documents.decoding import decode_document
from penstock.documents.times import parse_timestamp, to_millisecond
from penstock.effects import Call, Operation, compute
from penstock.events.delivery.event import ContentType, Event
from penstock.events.delivery.filters import FilterIndex, UnreadableEvent
from penstock.events.patterns import check_filters
from penstock.events.publishing import FIRST_SEQUENCE_NUMBER, JSON, AnyEntry, publish_all
from penstock.events.shapes import (
    Filter,
    FilterConfiguration,
    PutEventsRequestEntry,
    PutEventsSystemMetadata,
    PutRawEventsRequestEntry,
    PutRawEventsSystemMetadata,
)
from penstock.events.stored import StoredBus
from penstock.events.types import PutEventsRequest, PutRawEventsRequest
from penstock.management.rights import needs
from penstock.postgres.statements.event_buses import BROWSE_EVENTS, BrowsedRow

from .operations import check_replay, find_bus
from .types import EventPage, NewBusEvent, PutEvent, PutEvents, StoredEvent

MAX_EVENTS: Final = 100
MAX_PAGE_BYTES: Final = 4 << 20
MAX_BODY_BYTES: Final = 2 << 20
EXAMINED: Final = 1_000
"""The most events that a request compares with a pattern."""


class WantedEvents(NamedTuple):
    """Which events to show. `pattern` is an event pattern for the payload (scope DATA), as JSON. `start` and `end` are
    RFC 3339 times, and `next` the token of the previous page."""

    start: str | None = None
    end: str | None = None
    newest: bool = False
    group: str | None = None
    source: str | None = None
    detail_type: str | None = None
    pattern: str | None = None
    limit: int = 100
    next: str | None = None


@needs("operation", "penstock:ReplayEvents")
def browse_events(name: str, wanted: WantedEvents, context: Context) -> Operation[EventPage]:
    """Returns a page of the retained events of a bus. Raises BusNotFound, InvalidParameterValue and
    InvalidInputException (for the pattern)."""
    index = _compile(wanted.pattern)
    for parameter in ("group", "source", "detail_type"):
        if "\0" in (getattr(wanted, parameter) or ""):  # PostgreSQL cannot compare NUL
            raise errors.InvalidParameterValue(f"{parameter}: a text without NUL")
    bus = yield from find_bus(name, context)
    check_replay(bus, context)
    limit = wanted.limit if index is None else EXAMINED
    key = (
        bus.arn,
        *_read_place(wanted.next),
        _read_time("from", wanted.start),
        _read_time("to", wanted.end),
        wanted.newest,
        wanted.group,
        wanted.source,
        wanted.detail_type,
        limit,
        MAX_PAGE_BYTES,
    )
    end, *rows = yield from Call(BROWSE_EVENTS, key)
    size = sum(len(row.data) for row in rows)
    if len(rows) == limit or size >= MAX_PAGE_BYTES:  # the call has not examined the rest
        end = rows[-1]
    found = yield from compute(lambda: [row for row in rows if _matches(index, row)], 0 if index is None else size)
    if len(found) > wanted.limit:
        found = found[: wanted.limit]
        end = found[-1]
    token = None if end.page is None else build_token(f"{end.page}.{end.place}")
    return EventPage([_show_event(row, bus) for row in found], token)


def _compile(pattern: str | None) -> FilterIndex | None:
    """Raises InvalidInputException."""
    if pattern is None:
        return None
    checked = check_filters(FilterConfiguration(filters=[Filter(scope="DATA", pattern=pattern)]))
    return FilterIndex([(1, msgspec.to_builtins(checked))])


def _matches(index: FilterIndex | None, row: BrowsedRow) -> bool:
    """Returns whether an event matches the pattern. An event that patterns cannot read matches, as at its delivery."""
    if index is None:
        return True
    event = Event(row.number or 0, row.ingested_at, row.event_id, ContentType(row.content_type), bytes(row.data))
    try:
        return bool(index.find(event, "LIVE"))
    except UnreadableEvent:
        return True


def _read_place(token: str | None) -> tuple[int | None, int | None]:
    if token is None:
        return None, None
    page, _, place = (read_name(token) or "").partition(".")
    if not (page.isdecimal() and place.isdecimal() and len(page) < 19 and len(place) < 11 and int(place) < 2**31):
        raise errors.InvalidParameterValue("next: the value of `next` from the previous page")
    return int(page), int(place)


def _read_time(name: str, text: str | None) -> datetime | None:
    at = None if text is None else parse_timestamp(text)
    if text is not None and at is None:
        raise errors.InvalidParameterValue(f"{name}: an RFC 3339 time")
    return at


def _show_event(row: BrowsedRow, bus: StoredBus) -> StoredEvent:
    data = bytes(row.data)
    kind = ContentType(row.content_type)
    return StoredEvent(
        id=str(row.event_id),
        sequence_number=str(FIRST_SEQUENCE_NUMBER + (row.number or 0)),
        published_at=to_millisecond(row.ingested_at) or "",
        content_type=kind.text,
        account=row.account_id or bus.account_id,
        size_bytes=len(data),
        data=msgspec.Raw(data if kind != ContentType.OCTET_STREAM else msgspec.json.encode(b64encode(data).decode())),
        group_id=row.group_id,
        deduplication_id=row.deduplication_id,
        source=row.source,
        detail_type=row.detail_type,
        metadata=row.metadata or {},
    )


# --- publications ----------------------------------------------------------------------------------------------------
_events = msgspec.json.Decoder(NewBusEvent | list[NewBusEvent])


def read_events(body: bytes) -> list[AnyEntry]:
    """Returns the events of a request: one event, or an array of 1 to 100. Raises InvalidParameterValue,
    RequestEntityTooLarge."""
    decoded = decode_document(_events, body, MAX_BODY_BYTES)
    events = decoded if isinstance(decoded, list) else [decoded]
    if not 1 <= len(events) <= MAX_EVENTS:
        raise errors.InvalidParameterValue(f"body: 1 to {MAX_EVENTS} events")
    return [_read_entry(number, event) for number, event in enumerate(events, 1)]


@needs("operation", "events:PutEvents", "events:PutRawEvents")
def publish(name: str, entries: Sequence[AnyEntry], context: Context) -> Operation[PutEvents]:
    """Publishes all events, or none if one is invalid. Events with an envelope need the right events:PutEvents, and
    others events:PutRawEvents. Raises BusNotFound, InvalidInputException."""
    bus = yield from find_bus(name, context)
    if context.user is not None:
        yield from _authorize_entries(bus.arn, entries, context)
    return PutEvents([PutEvent(*each) for each in (yield from publish_all(bus.arn, entries, context))])


def _authorize_entries(arn: str, entries: Sequence[AnyEntry], context: Context) -> Operation[None]:
    """Raises AccessDenied unless policies allow every entry."""
    from penstock.events.uses import use_put_events, use_put_raw_events  # noqa: PLC0415 - only sigv4

    enveloped = [entry for entry in entries if isinstance(entry, PutEventsRequestEntry)]
    raw = [entry for entry in entries if isinstance(entry, PutRawEventsRequestEntry)]
    uses = []
    if enveloped:
        uses += [("PutEvents", use) for use in use_put_events(PutEventsRequest(arn, enveloped), context)]
    if raw:
        uses += [("PutRawEvents", use) for use in use_put_raw_events(PutRawEventsRequest(arn, raw), context)]
    for action, use in uses:
        yield from authorize_one("events", action, use.arn, context, entries=use.entries)


def _read_entry(number: int, event: NewBusEvent) -> AnyEntry:
    """Raises InvalidParameterValue."""
    if isinstance(event.data, msgspec.UnsetType):
        return _read_enveloped(number, event)
    if event.source or event.detail_type or event.resources or event.time or event.detail is not msgspec.UNSET:
        text = f"event {number}: either data, or source, detail_type and detail"
        raise errors.InvalidParameterValue(text, member="source")
    system = PutRawEventsSystemMetadata(
        content_type=JSON, event_group_id=event.group_id, deduplication_id=event.deduplication_id
    )
    return PutRawEventsRequestEntry(bytes(event.data), system, event.metadata or None)


def _read_enveloped(number: int, event: NewBusEvent) -> PutEventsRequestEntry:
    if event.source is None or event.detail_type is None or event.metadata:
        text = f"event {number}: either data with metadata, or source and detail_type"
        raise errors.InvalidParameterValue(text, member="source")
    at = _read_time(f"event {number}: time", event.time)
    return PutEventsRequestEntry(
        source=event.source,
        detail_type=event.detail_type,
        detail=None if isinstance(event.detail, msgspec.UnsetType) else bytes(event.detail).decode(),
        resources=event.resources,
        time=None if at is None else at.timestamp(),
        system_metadata=PutEventsSystemMetadata(event_group_id=event.group_id, deduplication_id=event.deduplication_id),
    )
