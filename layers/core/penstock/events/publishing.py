"""Publishes events to a bus: PutEvents and PutRawEvents.

A call stores all valid entries in one transaction. An invalid entry fails alone, and a violated limit of botocore's
model fails the whole call. The texts and the code of entry errors, and the choices that AWS does not document, are in
docs/reference/event_bus.md. Source: "Publishing events" (Amazon EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html), botocore's model `eventbridgev2`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import repeat
from typing import NamedTuple, TypeVar

import msgspec

from penstock.aws.bus_arn import split_events_arn
from penstock.aws.json_text import decode_typed
from penstock.aws.message_id import as_text, build_message_id, build_message_ids
from penstock.calls import transpose
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.event_buses import PUT_BUS_EVENTS, BusEvent

from . import stored
from . import types as events
from .errors import InvalidInputException
from .shapes import PutEventsRequestEntry, PutRawEventsRequestEntry

MAX_BYTES = 1_048_576
"""The most bytes of all entries of a request."""
TIME_BYTES = 14
"""The size of an entry's Time, as in the classic PutEvents."""
FIRST_SEQUENCE_NUMBER = 10**19
"""Added to the number of an event, so that every sequence number has 20 digits."""
RESERVED_SOURCE = "aws."

ENVELOPE, JSON, BINARY = "application/eventbridge+json", "application/json", "application/octet-stream"
STORED_TYPES: Mapping[str, int] = {ENVELOPE: 0, JSON: 1, BINARY: 2}
REGISTRY_TYPES = ("application/avro", "application/protobuf")

AnyEntry = PutEventsRequestEntry | PutRawEventsRequestEntry
EntryT = TypeVar("EntryT")
_skip = msgspec.json.Decoder(msgspec.Raw).decode  # checks the syntax, and builds no values


class StoredEvent(NamedTuple):
    """The id and the sequence number of an event. A duplicate has those of the original."""

    event_id: str
    sequence_number: str
    is_duplicate: bool


class EntryError(Exception):
    """An entry is invalid. The text is the entry's ErrorMessage. `member` is the member that the error is about."""

    def __init__(self, message: str, member: str) -> None:
        self.member = member
        super().__init__(message)


def put_events(request: events.PutEventsRequest, context: Context) -> Operation[events.PutEventsResult]:
    """Publishes up to 100 events in EventBridge's envelope. Raises InvalidInputException for more than 1 MiB.

    Penstock builds the envelope once and stores its bytes. The `detail` in the envelope is the text of Detail.
    """
    by_content = request.deduplication_configuration is not None
    region = split_events_arn(request.event_bus_arn).region
    now = datetime.now(UTC)

    def build(entry: PutEventsRequestEntry, event_id: bytes) -> BusEvent:
        return _build_event(entry, event_id, region, now, context, by_content=by_content)

    _check_size(sum(map(_measure_entry, request.entries)))
    return (yield from _publish(request.event_bus_arn, request.entries, build, context))


def put_raw_events(request: events.PutRawEventsRequest, context: Context) -> Operation[events.PutEventsResult]:
    """Publishes up to 100 events and stores their bytes unchanged. Raises InvalidInputException for more than 1 MiB."""
    by_content = request.deduplication_configuration is not None
    build = partial(_build_raw_event, by_content=by_content)
    _check_size(sum(map(_measure_raw, request.entries)))
    return (yield from _publish(request.event_bus_arn, request.entries, build, context))


def publish_all(
    arn: str, entries: Sequence[AnyEntry], context: Context, *, by_content: bool = False
) -> Operation[list[StoredEvent]]:
    """Publishes up to 100 events of both kinds in the order of the entries, or none if an entry is invalid. Returns a
    stored event for each entry. Raises InvalidInputException, ResourceNotFoundException."""
    built = []
    _check_size(sum(_measure(entry) for entry in entries))
    for number, entry in enumerate(entries, 1):
        try:
            built.append(_build(entry, context.region, context, by_content=by_content))
        except EntryError as error:
            raise InvalidInputException(f"Event {number}: {error}", member=error.member) from None
    return (yield from _store(arn, built, context))


def build_event(entry: AnyEntry, region: str, context: Context) -> BusEvent:
    """Returns the event of an entry, for a bus in this region. Raises EntryError, and InvalidInputException for more
    than 1 MiB."""
    _check_size(_measure(entry))
    return _build(entry, region, context)


def _build(entry: AnyEntry, region: str, context: Context, *, by_content: bool = False) -> BusEvent:
    if isinstance(entry, PutEventsRequestEntry):
        return _build_event(entry, build_message_id(), region, datetime.now(UTC), context, by_content=by_content)
    return _build_raw_event(entry, build_message_id(), by_content=by_content)


# --- sizes -----------------------------------------------------------------------------------------------------------
def _measure(entry: AnyEntry) -> int:
    return _measure_entry(entry) if isinstance(entry, PutEventsRequestEntry) else _measure_raw(entry)


def _measure_entry(entry: PutEventsRequestEntry) -> int:
    """Returns the size of an entry, as the classic PutEvents counts it ("Calculating PutEvents event entry size",
    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html)."""
    texts = (entry.source, entry.detail_type, entry.detail or "", *(entry.resources or ()))
    return sum(len(text.encode()) for text in texts) + (0 if entry.time is None else TIME_BYTES)


def _measure_raw(entry: PutRawEventsRequestEntry) -> int:
    """Returns the size of an entry of PutRawEvents."""
    size = len(entry.data)
    if entry.metadata:
        size += sum(len(key.encode()) + len(value.encode()) for key, value in entry.metadata.items())
    return size


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise InvalidInputException(
            f"The entries have {size} bytes together. A request can have at most {MAX_BYTES}.", member="Entries"
        )


# --- entries ---------------------------------------------------------------------------------------------------------
def _build_event(
    entry: PutEventsRequestEntry, event_id: bytes, region: str, now: datetime, context: Context, *, by_content: bool
) -> BusEvent:
    """Returns the event of a PutEvents entry, in its envelope. Raises EntryError."""
    if entry.source.startswith(RESERVED_SOURCE):
        raise EntryError(f"Source must not begin with {RESERVED_SOURCE}, which is reserved for AWS.", "Source")
    detail = "{}" if entry.detail is None else entry.detail
    if not detail.lstrip(" \t\r\n").startswith("{") or not _is_json(detail):
        raise EntryError("Detail must be a JSON object.", "Detail")
    envelope = {
        "version": "0",
        "id": as_text(event_id),
        "detail-type": entry.detail_type,
        "source": entry.source,
        "account": context.account_id,
        "time": f"{now if entry.time is None else datetime.fromtimestamp(entry.time, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "region": region,
        "resources": entry.resources or [],
    }
    metadata = entry.system_metadata
    deduplication_id = None if metadata is None else metadata.deduplication_id
    content_hash = None
    if by_content and deduplication_id is None:
        parts = (entry.source, entry.detail_type, detail, *(entry.resources or ()))
        content_hash = hash_content(ENVELOPE, map(str.encode, parts))
    return BusEvent(
        event_id=event_id,
        content_type=STORED_TYPES[ENVELOPE],
        data=b'%b,"detail":%b}' % (msgspec.json.encode(envelope)[:-1], detail.encode()),
        metadata=None,
        source=entry.source,
        detail_type=entry.detail_type,
        event_group=None if metadata is None else metadata.event_group_id,
        deduplication_id=deduplication_id,
        content_hash=content_hash,
    )


def _build_raw_event(entry: PutRawEventsRequestEntry, event_id: bytes, *, by_content: bool) -> BusEvent:
    """Returns the event of a PutRawEvents entry. Raises EntryError."""
    data, system = entry.data, entry.system_metadata
    metadata = entry.metadata or {}
    _check_content(system.content_type, data)
    if metadata and len({key.lower() for key in metadata}) < len(metadata):
        raise EntryError("Two keys of Metadata differ only in case.", "Metadata")
    deduplication_id = system.deduplication_id
    content_hash = None
    if by_content and deduplication_id is None:
        parts = (data, *(text.encode() for pair in sorted(metadata.items()) for text in pair))
        content_hash = hash_content(system.content_type, parts)
    return BusEvent(
        event_id=event_id,
        content_type=STORED_TYPES[system.content_type],
        data=data,
        metadata=msgspec.json.encode(metadata) if metadata else None,
        source=None,
        detail_type=None,
        event_group=system.event_group_id,
        deduplication_id=deduplication_id,
        content_hash=content_hash,
    )


def _check_content(content_type: str, data: bytes) -> None:
    """Raises EntryError for a content type that cannot be published, and for data that is not of its content type."""
    if content_type == JSON:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise EntryError(f"Data of {JSON} must be UTF-8.", "Data") from None
        if not _is_json(text):
            raise EntryError(f"Data of {JSON} must be valid JSON.", "Data")
    elif content_type in REGISTRY_TYPES:
        text = f"Penstock has no schema registries, so it cannot read {content_type}. Send {BINARY} instead."
        raise EntryError(text, "ContentType")
    elif content_type != BINARY:
        supported = ", ".join((JSON, *REGISTRY_TYPES, BINARY))
        raise EntryError(f"Unsupported contentType: {content_type}. Supported types: {supported}.", "ContentType")


def _is_json(text: str) -> bool:
    """Returns whether a text is JSON (RFC 8259) that is not nested too deeply. Numbers can have any size, and
    surrogates can be alone."""
    try:
        decode_typed(_skip, text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True


def hash_content(content_type: str, parts: Iterable[bytes]) -> bytes:
    """Returns the hash by which equal contents are duplicates. The lengths separate the parts."""
    hashed = sha256(content_type.encode())
    for part in parts:
        hashed.update(len(part).to_bytes(8, "big"))
        hashed.update(part)
    return hashed.digest()


# --- storage ---------------------------------------------------------------------------------------------------------
def _publish(
    arn: str, entries: Sequence[EntryT], build: Callable[[EntryT, bytes], BusEvent], context: Context
) -> Operation[events.PutEventsResult]:
    """Stores the valid entries. Returns the results in the order of the entries. Raises ResourceNotFoundException."""
    stored.check_region(arn, context)
    built = [_try(build, *each) for each in zip(entries, build_message_ids(len(entries)), strict=True)]
    valid = [event for event in built if isinstance(event, BusEvent)]
    found = iter((yield from _store(arn, valid, context)))
    results = [_describe(next(found)) if isinstance(event, BusEvent) else _refuse(event) for event in built]
    return events.PutEventsResult(failed_entry_count=len(built) - len(valid), entries=results)


def _try(build: Callable[[EntryT, bytes], BusEvent], entry: EntryT, event_id: bytes) -> BusEvent | EntryError:
    try:
        return build(entry, event_id)
    except EntryError as error:
        return error


def _store(arn: str, valid: Sequence[BusEvent], context: Context) -> Operation[list[StoredEvent]]:
    if not valid:
        yield from stored.read_bus(arn, context)
        return []
    columns = transpose(valid, len(BusEvent.__annotations__))
    (row,) = yield from Call(PUT_BUS_EVENTS, (arn, context.account_id, *columns, None))
    stored.raise_error(row.error, arn)
    return [
        StoredEvent(
            as_text(event.event_id) if original is None else str(original),
            str(FIRST_SEQUENCE_NUMBER + number),
            original is not None,
        )
        for event, number, original in zip(valid, row.numbers or (), row.originals or repeat(None), strict=False)
    ]


def _describe(event: StoredEvent) -> events.PutEventsResultEntry:
    event_id, sequence_number, is_duplicate = event
    return events.PutEventsResultEntry(
        event_id=event_id,
        sequence_number=sequence_number,
        success_code="DEDUPLICATED" if is_duplicate else "PUBLISHED",
    )


def _refuse(error: EntryError) -> events.PutEventsResultEntry:
    return events.PutEventsResultEntry(error_code="VALIDATION_ERROR", error_message=str(error))
