"""Creates, describes, updates, deletes and lists event buses."""

from penstock.access.audit.acts import Act, audited
from penstock.access.quotas import check_quota
from penstock.aws.bus_arn import BUS, build_events_arn, build_id
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.errors import KMS_KEYS_REFUSED
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.event_buses import (
    CREATE_EVENT_BUS,
    DELETE_EVENT_BUS,
    LIST_EVENT_BUSES,
    UPDATE_EVENT_BUS,
)

from . import stored
from . import types as events
from .errors import InvalidInputException, LimitExceededException, ResourceInUseException
from .shapes import EncryptionConfiguration, StorageConfiguration, StorageConfigurationOutput
from .stored import StoredBus, convert_time

RETENTION_DAYS = 1  # the default (StorageConfiguration, EventBridge API Reference)


def create_event_bus(request: events.CreateEventBusRequest, context: Context) -> Operation[events.CreateEventBusResult]:
    """Creates a bus. The same request with the same ClientToken within 8 hours returns the bus that it created.

    The state of a new bus is CREATING in this response, as on AWS, and ACTIVE in every later response.
    """
    arn = build_events_arn(context.region, context.account_id, BUS, request.name, build_id())
    bus, created = yield from _create(arn, request, context)
    state = "CREATING" if created else "ACTIVE"
    return events.CreateEventBusResult(**_describe(bus, state), creation_time=convert_time(bus.created_at))


@audited(lambda arn, _request, _context: Act("events:CreateEventBus", arn))
def _create(arn: str, request: events.CreateEventBusRequest, context: Context) -> Operation[tuple[StoredBus, bool]]:
    """Returns the bus, and whether this request created it."""
    fields = {
        "description": request.description or None,
        "kms_key": _read_key(request.encryption_configuration, context),
        "retention_days": _read_retention(request.storage_configuration),
        "tags": stored.check_tags(request.tags),
    }
    yield from check_quota("event_buses", request.name, context, LimitExceededException)
    key = (context.account_id, context.region, request.name, arn)
    token = (request.client_token, stored.hash_request(request))
    (row,) = yield from Call(CREATE_EVENT_BUS, (*key, encode_jsonb(fields), *token))
    stored.raise_error(row.error, f"{BUS}/{request.name}")
    return stored.read_bus_row(row.bus or {}), row.created


def describe_event_bus(
    request: events.DescribeEventBusRequest, context: Context
) -> Operation[events.DescribeEventBusResult]:
    """Returns a bus."""
    bus = yield from stored.read_bus(request.event_bus_arn, context)
    created_at, updated_at = convert_time(bus.created_at), convert_time(bus.updated_at)
    return events.DescribeEventBusResult(**_describe(bus), creation_time=created_at, last_modified_time=updated_at)


@audited(lambda request, _context: Act("events:UpdateEventBus", request.event_bus_arn, when_changed=True))
def update_event_bus(request: events.UpdateEventBusRequest, context: Context) -> Operation[events.UpdateEventBusResult]:
    """Changes the given members. A given configuration replaces the whole configuration, as on AWS."""
    stored.check_region(request.event_bus_arn, context)
    fields: JsonObject = {}
    if request.description is not None:
        fields["description"] = request.description or None
    if request.encryption_configuration is not None:
        fields["kms_key"] = _read_key(request.encryption_configuration, context)
    if request.storage_configuration is not None:
        fields["retention_days"] = _read_retention(request.storage_configuration)
    (row,) = yield from Call(UPDATE_EVENT_BUS, (request.event_bus_arn, encode_jsonb(fields)))
    stored.raise_error(row.error, request.event_bus_arn)
    bus = stored.read_bus_row(row.bus or {})
    return events.UpdateEventBusResult(**_describe(bus), last_modified_time=convert_time(bus.updated_at))


@audited(lambda request, _context: Act("events:DeleteEventBus", request.event_bus_arn))
def delete_event_bus(request: events.DeleteEventBusRequest, context: Context) -> Operation[None]:
    """Deletes a bus at once, so the bus never has the state DELETING."""
    stored.check_region(request.event_bus_arn, context)
    (row,) = yield from Call(DELETE_EVENT_BUS, (request.event_bus_arn,))
    if row.error == "ResourceInUse":
        kinds = " and ".join(row.in_use)
        raise ResourceInUseException(f"The event bus {request.event_bus_arn} has {kinds}. Delete or revoke them first.")
    stored.raise_error(row.error, request.event_bus_arn)


def list_event_buses(request: events.ListEventBusesRequest, context: Context) -> Operation[events.ListEventBusesResult]:
    """Returns the account's buses in the order of their names. The list of another account's buses is empty."""
    limit = request.max_results or stored.PAGE
    after = stored.read_page_token(request)
    if request.event_bus_account_id not in (None, context.account_id):
        return events.ListEventBusesResult(event_buses=[])
    key = (context.account_id, context.region, request.name_prefix, after)
    rows = yield from Call(LIST_EVENT_BUSES, (*key, limit + 1))
    buses = [stored.read_bus_row(row.bus) for row in rows[:limit]]
    return events.ListEventBusesResult(
        event_buses=list(map(_summarise, buses)),
        next_token=stored.build_page_token(request, buses[-1].name) if len(rows) > limit else None,
    )


# --- members ---------------------------------------------------------------------------------------------------------
def _read_key(configuration: EncryptionConfiguration | None, context: Context) -> str | None:
    """Returns the KMS key, which Penstock only shows. Raises InvalidInputException if QUEUE_REFUSE_KMS is set."""
    key = None if configuration is None else configuration.kms_key_identifier or None
    if key is not None and context.environment.settings.queue_refuse_kms:
        raise InvalidInputException(KMS_KEYS_REFUSED)
    return key


def _read_retention(configuration: StorageConfiguration | None) -> int:
    days = None if configuration is None else configuration.retention_period_in_days
    return RETENTION_DAYS if days is None else days


def _describe(bus: StoredBus, state: str = "ACTIVE") -> JsonObject:
    return {
        "event_bus_arn": bus.arn,
        "name": bus.name,
        "description": bus.description,
        "encryption_configuration": None if bus.kms_key is None else EncryptionConfiguration(bus.kms_key),
        "storage_configuration": StorageConfigurationOutput(bus.retention_days, convert_time(bus.window_start)),
        "state": state,
    }


def _summarise(bus: StoredBus) -> events.EventBusSummary:
    return events.EventBusSummary(
        name=bus.name,
        event_bus_arn=bus.arn,
        description=bus.description,
        creation_time=convert_time(bus.created_at),
        last_modified_time=convert_time(bus.updated_at),
        state="ACTIVE",
        event_bus_account_id=bus.account_id,
    )
