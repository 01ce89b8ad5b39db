"""Describes, deletes and lists the event sources of buses, and refuses to create or change them.

At AWS, services, partners and webhooks send events to a source. None of them can send events to Penstock, so Penstock
refuses a source that would stay empty.
"""

from penstock.access.audit.acts import Act, audited
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.event_buses import DELETE_EVENT_SOURCE, LIST_EVENT_SOURCES, READ_EVENT_SOURCE

from . import stored
from . import types as events
from .errors import EventsError, InvalidInputException, ResourceNotFoundException
from .shapes import EventSourceConfiguration
from .stored import StoredResource, convert_time
from .subscribers import find_listed_account

REASONS = {
    "aws_service_events_configuration": "AWS's services do not emit events to Penstock.",
    "partner_events_configuration": "AWS's partners do not emit events to Penstock.",
    "webhook_events_configuration": "Penstock has no webhooks as event sources.",
}


def create_event_source(
    request: events.CreateEventSourceRequest, context: Context
) -> Operation[events.CreateEventSourceResult]:
    """Raises InvalidInputException, because Penstock has no event sources."""
    yield from stored.read_bus(request.event_bus_arn, context)
    raise _build_refusal(request.configuration)


def update_event_source(
    request: events.UpdateEventSourceRequest, context: Context
) -> Operation[events.UpdateEventSourceResult]:
    """Raises InvalidInputException, because Penstock has no event sources."""
    row = yield from _read(request.event_source_arn, context)
    if row.revoked:
        stored.raise_error("InvalidState", row.arn)
    raise _build_refusal(request.configuration)


def rotate_webhook_credentials(
    request: events.RotateWebhookCredentialsRequest, context: Context
) -> Operation[events.RotateWebhookCredentialsResult]:
    """Raises InvalidInputException, because Penstock has no event sources."""
    yield from _read(request.event_source_arn, context)
    raise InvalidInputException(REASONS["webhook_events_configuration"])


def _build_refusal(configuration: EventSourceConfiguration | None) -> EventsError:
    given = [reason for name, reason in REASONS.items() if getattr(configuration, name, None) is not None]
    if len(given) != 1:
        return InvalidInputException("Configuration must contain exactly one kind of event source.")
    return InvalidInputException(f"Configuration: {given[0]}")


def describe_event_source(
    request: events.DescribeEventSourceRequest, context: Context
) -> Operation[events.DescribeEventSourceResult]:
    """Returns an event source."""
    row = yield from _read(request.event_source_arn, context)
    return events.DescribeEventSourceResult(
        event_source_arn=row.arn,
        name=row.name,
        event_bus_arn=row.bus_arn,
        state=row.state,
        revoked=row.revoked or None,
        creation_time=convert_time(row.created_at),
        last_modified_time=convert_time(row.updated_at),
    )


@audited(lambda request, _context: Act("events:DeleteEventSource", request.event_source_arn))
def delete_event_source(request: events.DeleteEventSourceRequest, context: Context) -> Operation[None]:
    """Deletes an event source, also a revoked one."""
    stored.check_region(request.event_source_arn, context)
    (row,) = yield from Call(DELETE_EVENT_SOURCE, (request.event_source_arn,))
    if not row.deleted:
        raise ResourceNotFoundException.of(request.event_source_arn)


def list_event_sources(
    request: events.ListEventSourcesRequest, context: Context
) -> Operation[events.ListEventSourcesResult]:
    """Returns the caller's event sources. The owner of a bus sees the sources of all accounts on the bus."""
    limit = request.max_results or stored.PAGE
    after = stored.read_page_token(request)
    owner = yield from find_listed_account(request.event_bus_arn, context)
    key = (owner, context.region, request.event_bus_arn, request.name_prefix, after)
    rows = yield from Call(LIST_EVENT_SOURCES, (*key, limit + 1))
    found = [stored.read_resource_row(row.source) for row in rows[:limit]]
    return events.ListEventSourcesResult(
        event_sources=list(map(_summarise, found)),
        next_token=stored.build_page_token(request, found[-1].arn) if len(rows) > limit else None,
    )


def _read(arn: str, context: Context) -> Operation[StoredResource]:
    """Returns the event source. Raises ResourceNotFoundException."""
    stored.check_region(arn, context)
    rows = yield from Call(READ_EVENT_SOURCE, (arn,))
    if not rows:
        raise ResourceNotFoundException.of(arn)
    return stored.read_resource_row(rows[0].source)


def _summarise(row: StoredResource) -> events.EventSourceSummary:
    return events.EventSourceSummary(
        event_source_arn=row.arn,
        name=row.name,
        event_bus_arn=row.bus_arn,
        type=row.type,
        state=row.state,
        revoked=row.revoked or None,
        creation_time=convert_time(row.created_at),
        last_modified_time=convert_time(row.updated_at),
        event_source_account_id=row.account_id,
    )
