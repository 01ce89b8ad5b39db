"""Forwards events to other buses of this installation, in the transaction of the worker's step."""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import ValidationError, convert

from penstock.aws.json_text import decode_json
from penstock.aws.message_id import build_message_id
from penstock.calls import transpose
from penstock.drivers import StatementExecutor
from penstock.events.publishing import MAX_BYTES, hash_content
from penstock.events.shapes import MetadataKey, MetadataValue, PutEventsSystemMetadata
from penstock.postgres.statements.event_buses import PUT_BUS_EVENTS, BusEvent

from .subscriber import INVALID, LOOP_DETECTED, NOT_TRANSFORMED, Refusal, Shipment

MAX_BUSES: Final = 10
"""The most buses that an event passes. AWS detects loops and documents no number."""


def forward(shipments: Sequence[Shipment], calls: StatementExecutor) -> list[Refusal | None]:
    """Publishes the events of one subscriber on its target. Returns the refusal of each event, or None.

    The account of the subscriber becomes the publisher. Each event gets a new id and time of ingestion, and keeps its
    content type and group, and with the transformer RAW its source and detail type ("Targets", custom event bus,
    EventBridge User Guide). Raises psycopg.Error.
    """
    subscriber = shipments[0].subscriber
    built = [_build_event(shipment) for shipment in shipments]
    accepted = [event for event in built if isinstance(event, BusEvent)]
    if not accepted:
        return [event if isinstance(event, Refusal) else None for event in built]
    passed = [
        f"{shipment.event.passed or ''} {subscriber.bus_arn}".lstrip()
        for shipment, event in zip(shipments, built, strict=True)
        if isinstance(event, BusEvent)
    ]
    columns = transpose(accepted, len(BusEvent.__annotations__))
    rows = calls.call(PUT_BUS_EVENTS, [subscriber.target_arn, subscriber.account_id, *columns, passed])
    is_missing = any(row.error is not None for row in rows)
    missing = Refusal("RESOURCE_NOT_FOUND", f"The event bus {subscriber.target_arn} does not exist.")
    return [event if isinstance(event, Refusal) else missing if is_missing else None for event in built]


def _build_event(shipment: Shipment) -> BusEvent | Refusal:
    """Returns the event for the target. An event that has passed the target before is refused, so that buses can
    forward to each other."""
    subscriber, event = shipment
    passed = (event.passed or "").split()
    if subscriber.target_arn in passed or len(passed) >= MAX_BUSES:
        return Refusal(LOOP_DETECTED, f"The event has passed {len(passed) + 1} buses, or this target, before.")
    parameters = subscriber.parameters
    try:
        system = convert(parameters.get("SystemMetadata") or {}, PutEventsSystemMetadata)
        metadata = convert(parameters.get("Metadata") or event.metadata or {}, dict[MetadataKey, MetadataValue])
    except ValidationError as error:
        return Refusal(INVALID, str(error))
    data = event.data if subscriber.is_raw else subscriber.build_text(event).encode()
    if subscriber.transformer is not None and not event.is_binary and not is_json(data):
        return Refusal(NOT_TRANSFORMED, f"The result is not JSON, which {event.content_type.text} has to be.")
    pairs = [text.encode() for pair in sorted(metadata.items()) for text in pair]
    if len(data) + sum(map(len, pairs)) > MAX_BYTES:
        return Refusal("REQUEST_TOO_LARGE", f"The event has more than {MAX_BYTES} bytes.")
    by_content = parameters.get("DeduplicationConfiguration") is not None and system.deduplication_id is None
    return BusEvent(
        event_id=build_message_id(),
        content_type=event.content_type,
        data=data,
        metadata=msgspec.json.encode(metadata) if metadata else None,
        source=event.source if subscriber.is_raw else None,
        detail_type=event.detail_type if subscriber.is_raw else None,
        event_group=system.event_group_id or event.group_id,
        deduplication_id=system.deduplication_id,
        content_hash=hash_content(event.content_type.text, [data, *pairs]) if by_content else None,
    )


def is_json(data: bytes) -> bool:
    try:
        decode_json(data)
    except (ValueError, RecursionError):
        return False
    return True
