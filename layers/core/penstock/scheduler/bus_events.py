"""The events that schedules publish on event buses, with the parameters of PutEvents or PutRawEvents.

Sources: EventBridgePutEventsV2Parameters and EventBridgePutRawEventsParameters of botocore's model
`scheduler/2021-06-30`. AWS does not document the content type of PutRawEvents; JSON is our choice, because Input has to
be JSON for every templated target of EventBridge (Target, EventBridge Scheduler API Reference).
"""

import msgspec

from penstock.aws.bus_arn import split_events_arn
from penstock.aws.message_id import as_text
from penstock.context import Context
from penstock.events.publishing import JSON, AnyEntry, build_event
from penstock.events.shapes import PutEventsRequestEntry, PutRawEventsRequestEntry, PutRawEventsSystemMetadata
from penstock.postgres.statement import JsonObject

from .types import Target


def build_bus_event(target: Target, text: str, context: Context) -> JsonObject:
    """Returns an event with this text, as `queue.dispatch_schedule` takes it. `context` has the publisher's account.
    Raises EntryError for an invalid event, and InvalidInputException for more than 1 MiB."""
    event = build_event(_build_entry(target, text), split_events_arn(target.arn).region, context)
    return {
        "event_id": as_text(event.event_id),
        "content_type": event.content_type,
        "data": event.data.decode(),
        "metadata": None if event.metadata is None else msgspec.Raw(event.metadata),
        "source": event.source,
        "detail_type": event.detail_type,
    }


def _build_entry(target: Target, text: str) -> AnyEntry:
    parameters = target.event_bridge_put_events_v2_parameters
    if parameters is not None:
        return PutEventsRequestEntry(parameters.source, parameters.detail_type, text)
    raw = target.event_bridge_put_raw_events_parameters
    metadata = None if raw is None else raw.metadata
    return PutRawEventsRequestEntry(text.encode(), PutRawEventsSystemMetadata(JSON), metadata)
