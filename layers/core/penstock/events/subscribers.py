"""Creates, describes, updates, deletes and lists the subscribers of event buses."""

from datetime import UTC, datetime

from msgspec import convert, to_builtins
from msgspec.structs import replace

from penstock.access.audit.acts import Act, audited
from penstock.access.quotas import is_reached, read_quota
from penstock.aws.arn import read_account
from penstock.aws.bus_arn import SUBSCRIBER, build_events_arn, build_id
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.event_buses import (
    CREATE_EVENT_SUBSCRIBER,
    DELETE_EVENT_SUBSCRIBER,
    LIST_EVENT_SUBSCRIBERS,
    READ_EVENT_SUBSCRIBER,
    UPDATE_EVENT_SUBSCRIBER,
)

from . import stored
from . import types as events
from .errors import InvalidInputException, LimitExceededException, ResourceNotFoundException
from .expressions.checks import check_expressions
from .patterns import check_filters
from .shapes import (
    InvokeConfiguration,
    LogConfiguration,
    PointInTimeConfiguration,
    RetryPolicy,
    Transformer,
)
from .stored import StoredBus, StoredResource, convert_time
from .targets import (
    Right,
    TargetKind,
    check_batch,
    check_dead_letters,
    check_parameters,
    check_target,
    find_kind,
    find_right,
)

DELIVERED = (
    "sqs_parameters", "sns_parameters", "event_bus_v2_parameters", "lambda_parameters", "universal_target_parameters",
    "http_parameters",
)  # fmt: skip
RETRY_ATTEMPTS, EVENT_AGE_SECONDS = 5, 300  # the defaults (RetryPolicy, EventBridge API Reference)


def create_subscriber(
    request: events.CreateSubscriberRequest, context: Context
) -> Operation[events.CreateSubscriberResult]:
    """Creates a subscriber. The same request with the same ClientToken within 8 hours returns the subscriber that it
    created."""
    arn = build_events_arn(context.region, context.account_id, SUBSCRIBER, request.name, build_id())
    row = yield from _create(arn, request, context)
    return events.CreateSubscriberResult(**_describe(row), creation_time=convert_time(row.created_at))


@audited(lambda arn, request, _context: Act("events:CreateSubscriber", arn, {"event_bus": request.event_bus_arn}))
def _create(arn: str, request: events.CreateSubscriberRequest, context: Context) -> Operation[StoredResource]:
    target = request.invoke_configuration.target_arn
    kind = check_target(target, request.event_bus_arn, context)
    check_parameters(request.invoke_configuration, target, kind, context)
    configuration: JsonObject = {
        "InvokeConfiguration": request.invoke_configuration,
        "PointInTimeConfiguration": request.point_in_time_configuration,
        "BatchConfiguration": check_batch(request.batch_configuration, kind),
        "Transformer": _check_transformer(request.transformer, kind),
        "RetryPolicy": _fill_in_retries(request.retry_policy),
        "LogConfiguration": _fill_in_log(request.log_configuration),
        "Description": request.description or None,
    }
    if request.filter_configuration is not None:
        configuration["FilterConfiguration"] = check_filters(request.filter_configuration)
    yield from check_expressions(configuration, context)
    dead_letters = check_dead_letters(request.on_failure_configuration, context)
    if dead_letters is not None:
        configuration["OnFailureConfiguration"] = request.on_failure_configuration
    tags = stored.check_tags(request.tags)
    bus = yield from stored.read_bus(request.event_bus_arn, context)
    start_at = _check_start(request, bus)
    right = find_right(target, kind, request.invoke_configuration.universal_target_parameters, context)
    yield from check_deliveries(arn, right, dead_letters, context)
    yield from _check_quota(request, context)
    fields = {
        "type": request.type or "UNORDERED",
        "starting_position": request.starting_position or "LATEST",
        "state": request.state or "RUNNING",
        "target_arn": target,
        "configuration": {name: value for name, value in configuration.items() if value is not None},
        "tags": tags,
        "start_at": start_at,
        "deliverable": is_deliverable(kind),
    }
    key = (request.event_bus_arn, context.account_id, context.region, request.name, arn)
    token = (request.client_token, stored.hash_request(request))
    (row,) = yield from Call(CREATE_EVENT_SUBSCRIBER, (*key, encode_jsonb(fields), *token))
    named = request.event_bus_arn if row.error == "ResourceNotFound" else f"{SUBSCRIBER}/{request.name}"
    stored.raise_error(row.error, named)
    return stored.read_resource_row(row.subscriber or {})


def describe_subscriber(
    request: events.DescribeSubscriberRequest, context: Context
) -> Operation[events.DescribeSubscriberResult]:
    """Returns a subscriber with the defaults of all members that the request omitted."""
    row = yield from _read(request.subscriber_arn, context)
    more = {
        "subscriber_arn": row.arn,
        "name": row.name,
        "event_bus_arn": row.bus_arn,
        "type": row.type,
        "starting_position": row.starting_position,
        "state": row.state,
        "revoked": row.revoked or None,
        "creation_time": convert_time(row.created_at),
        "last_modified_time": convert_time(row.updated_at),
    }
    return replace(convert(row.configuration, events.DescribeSubscriberResult), **more)


def update_subscriber(
    request: events.UpdateSubscriberRequest, context: Context
) -> Operation[events.UpdateSubscriberResult]:
    """Changes the given members. A given configuration replaces the whole configuration, as on AWS."""
    row = yield from _read(request.subscriber_arn, context)
    if row.revoked:
        stored.raise_error("InvalidState", row.arn)
    changes = yield from _check_changes(request, row, context)
    row = yield from _update(request, changes, context)
    return events.UpdateSubscriberResult(**_describe(row), last_modified_time=convert_time(row.updated_at))


def _check_changes(
    request: events.UpdateSubscriberRequest, row: StoredResource, context: Context
) -> Operation[JsonObject]:
    """Returns the members of the configuration to replace. The value None removes a member."""
    target = row.target_arn or ""
    kind = find_kind(target)
    if kind is None:
        raise ValueError(f"{row.arn} has a target that no request can have")
    changes = _list_changes(request, kind)
    invoke = convert(row.configuration["InvokeConfiguration"], InvokeConfiguration)
    if request.invoke_configuration is not None:
        check_parameters(request.invoke_configuration, target, kind, context)
        given = to_builtins(request.invoke_configuration)
        changes["InvokeConfiguration"] = invoke = convert({**given, "TargetArn": target}, InvokeConfiguration)
    yield from check_expressions(changes, context)
    if request.filter_configuration is not None:
        is_empty = request.filter_configuration.filters is None
        changes["FilterConfiguration"] = None if is_empty else check_filters(request.filter_configuration)
        yield from _authorize("events", "UpdateSubscriber", row.bus_arn, context)
    dead_letters = (row.configuration.get("OnFailureConfiguration") or {}).get("Arn")
    if request.on_failure_configuration is not None:
        dead_letters = check_dead_letters(request.on_failure_configuration, context)
        changes["OnFailureConfiguration"] = None if dead_letters is None else request.on_failure_configuration
    right = find_right(target, kind, invoke.universal_target_parameters, context)
    yield from check_deliveries(row.arn, right, dead_letters, context)
    return changes


def _list_changes(request: events.UpdateSubscriberRequest, kind: TargetKind) -> JsonObject:
    """Returns the new values of the given members that need nothing but their defaults."""
    changes: JsonObject = {}
    if request.description is not None:
        changes["Description"] = request.description or None
    if request.batch_configuration is not None:
        changes["BatchConfiguration"] = check_batch(request.batch_configuration, kind)
    if request.transformer is not None:
        changes["Transformer"] = _check_transformer(request.transformer, kind)
    if request.retry_policy is not None:
        changes["RetryPolicy"] = _fill_in_retries(request.retry_policy)
    if request.log_configuration is not None:
        changes["LogConfiguration"] = _fill_in_log(request.log_configuration)
    return changes


@audited(lambda request, _changes, _context: Act("events:UpdateSubscriber", request.subscriber_arn, when_changed=True))
def _update(
    request: events.UpdateSubscriberRequest, changes: JsonObject, _context: Context
) -> Operation[StoredResource]:
    (updated,) = yield from Call(
        UPDATE_EVENT_SUBSCRIBER,
        (request.subscriber_arn, request.state, encode_jsonb(changes), request.resume_position),
    )
    stored.raise_error(updated.error, request.subscriber_arn)
    return stored.read_resource_row(updated.subscriber or {})


@audited(lambda request, _context: Act("events:DeleteSubscriber", request.subscriber_arn))
def delete_subscriber(request: events.DeleteSubscriberRequest, context: Context) -> Operation[None]:
    """Deletes a subscriber, also a revoked one."""
    stored.check_region(request.subscriber_arn, context)
    (row,) = yield from Call(DELETE_EVENT_SUBSCRIBER, (request.subscriber_arn,))
    if not row.deleted:
        raise ResourceNotFoundException.of(request.subscriber_arn)


def list_subscribers(
    request: events.ListSubscribersRequest, context: Context
) -> Operation[events.ListSubscribersResult]:
    """Returns the caller's subscribers. The owner of a bus sees the subscribers of all accounts on the bus."""
    limit = request.max_results or stored.PAGE
    after = stored.read_page_token(request)
    owner = yield from find_listed_account(request.event_bus_arn, context)
    key = (owner, context.region, request.event_bus_arn, request.name_prefix, after)
    rows = yield from Call(LIST_EVENT_SUBSCRIBERS, (*key, limit + 1))
    found = [stored.read_resource_row(row.subscriber) for row in rows[:limit]]
    return events.ListSubscribersResult(
        subscribers=list(map(_summarise, found)),
        next_token=stored.build_page_token(request, found[-1].arn) if len(rows) > limit else None,
    )


def find_listed_account(bus_arn: str | None, context: Context) -> Operation[str | None]:
    """Returns the account whose resources a list contains, or None for all accounts. Raises
    ResourceNotFoundException if the bus does not exist."""
    if bus_arn is None:
        return context.account_id
    yield from stored.read_bus(bus_arn, context)
    return None if read_account(bus_arn) == context.account_id else context.account_id


# --- members ---------------------------------------------------------------------------------------------------------
START = "PointInTimeConfiguration"


def is_deliverable(kind: TargetKind) -> bool:
    """Returns whether the worker can serve the subscriber. The events of another subscriber wait on the bus."""
    return kind.block in DELIVERED


def _check_start(request: events.CreateSubscriberRequest, bus: StoredBus) -> str | None:
    """Returns the time from which a subscriber that starts in the past receives events. Raises InvalidInputException
    for a start or an end that the bus cannot serve."""
    start = request.point_in_time_configuration
    if request.starting_position != "POINT_IN_TIME":
        if start is not None:
            raise InvalidInputException(f"{START} must not be provided when StartingPosition is LATEST", member=START)
        return None
    if start is None:
        raise InvalidInputException(f"{START} is required when StartingPosition is POINT_IN_TIME", member=START)
    beginning = _check_beginning(start, bus)
    if start.end_point is not None and start.end_point <= beginning:
        path = f"{START}.EndPoint"
        raise InvalidInputException(f"{path} must be after the starting point", member=path)
    return datetime.fromtimestamp(beginning, UTC).isoformat()


def _check_beginning(start: PointInTimeConfiguration, bus: StoredBus) -> float:
    """Returns the time from which the subscriber receives events."""
    oldest, given, path = bus.window_start.timestamp(), start.starting_point, f"{START}.StartingPoint"
    if start.point_type == "HORIZON":
        if given is not None:
            raise InvalidInputException(f"{path} must not be provided when PointType is HORIZON", member=path)
        return oldest
    if not given:
        raise InvalidInputException(f"{path} is required and must be > 0 when PointType is TIMESTAMP", member=path)
    if given > bus.now.timestamp():
        raise InvalidInputException(f"{path} must not be in the future", member=path)
    if given < round(oldest, 3):
        raise InvalidInputException(f"{path} ({given}) falls outside the bus's retention window", member=path)
    return given


def _check_transformer(given: Transformer | None, kind: TargetKind) -> Transformer | None:
    """Returns the transformer with its default. Raises InvalidInputException for an expression without JSONATA, and for
    any transformer of a universal target, whose Input is the transformation."""
    if kind.block == "universal_target_parameters":
        if given is not None:
            raise InvalidInputException("Transformer is not supported for a universal target.", member="Transformer")
        return None
    name = (given.type if given is not None else None) or "RAW"
    expression = None if given is None else given.jsonata_configuration
    if (name == "JSONATA") != (expression is not None):
        verb = "is required" if expression is None else "must not be provided"
        path = "Transformer.JsonataConfiguration"
        raise InvalidInputException(f"{path} {verb} when Type is {name}", member=path)
    return Transformer(name, expression)


def _fill_in_retries(given: RetryPolicy | None) -> RetryPolicy:
    attempts = None if given is None else given.max_retry_attempts
    age = None if given is None else given.max_event_age_in_seconds
    return RetryPolicy(
        RETRY_ATTEMPTS if attempts is None else attempts, EVENT_AGE_SECONDS if age is None else age, "ALL"
    )


def _fill_in_log(given: LogConfiguration | None) -> LogConfiguration:
    level = (None if given is None else given.level) or "OFF"
    return LogConfiguration(level, (None if given is None else given.include_payload) or "ON_ERROR_ONLY")


def _check_quota(request: events.CreateSubscriberRequest, context: Context) -> Operation[None]:
    if (yield from is_reached("event_subscribers", request.name, context, request.event_bus_arn)):
        most = read_quota("event_subscribers", context)
        raise LimitExceededException(f"An event bus can have {most} subscribers.")


# --- access ----------------------------------------------------------------------------------------------------------
def check_deliveries(arn: str, right: Right | None, dead_letters: str | None, context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller, or the event bus for this subscriber, may send to the target and the
    dead-letter queue."""
    if right is not None and right.arn is not None:
        yield from _authorize(right.service, right.action, right.arn, context, arn)
    elif right is not None and context.user is not None:
        from penstock.access.authorization import check_everywhere  # noqa: PLC0415 - only QUEUE_ACCESS=sigv4 needs it

        check_everywhere(right.service, right.action, context)
    if dead_letters is not None:
        yield from _authorize("sqs", "SendMessage", dead_letters, context, arn)


def check_unchanged(row: StoredResource, context: Context) -> Operation[None]:
    """Raises AccessDenied and InvalidStateException as an update of the subscriber that changes no member."""
    if row.revoked:
        stored.raise_error("InvalidState", row.arn)
    yield from _check_changes(events.UpdateSubscriberRequest(subscriber_arn=row.arn), row, context)


def _authorize(
    service: str, action: str, arn: str, context: Context, subscriber_arn: str | None = None
) -> Operation[None]:
    if context.user is None:
        return
    from penstock.access.authorization import authorize_one  # noqa: PLC0415 - only QUEUE_ACCESS=sigv4 needs it
    from penstock.access.policy.requests import Principal  # noqa: PLC0415
    from penstock.access.resources import ActingService  # noqa: PLC0415

    acting = None
    if subscriber_arn is not None:
        keys = {
            "aws:sourcearn": subscriber_arn,
            "aws:sourceaccount": context.account_id,
            "aws:securetransport": "true",  # the event does not leave the database
        }
        acting = ActingService(Principal(None, None, "events.amazonaws.com"), keys)
    yield from authorize_one(service, action, arn, context, acting)


# --- rows ------------------------------------------------------------------------------------------------------------
def _read(arn: str, context: Context) -> Operation[StoredResource]:
    """Returns the subscriber. Raises ResourceNotFoundException."""
    stored.check_region(arn, context)
    rows = yield from Call(READ_EVENT_SUBSCRIBER, (arn,))
    if not rows:
        raise ResourceNotFoundException.of(arn)
    return stored.read_resource_row(rows[0].subscriber)


def _describe(row: StoredResource) -> JsonObject:
    start = row.configuration.get("PointInTimeConfiguration")
    return {
        "subscriber_arn": row.arn,
        "name": row.name,
        "event_bus_arn": row.bus_arn,
        "type": row.type,
        "starting_position": row.starting_position,
        "point_in_time_configuration": None if start is None else convert(start, PointInTimeConfiguration),
        "state": row.state,
    }


def _summarise(row: StoredResource) -> events.SubscriberSummary:
    return events.SubscriberSummary(
        subscriber_arn=row.arn,
        name=row.name,
        event_bus_arn=row.bus_arn,
        target_arn=row.target_arn,
        type=row.type,
        revoked=row.revoked or None,
        state=row.state,
        creation_time=convert_time(row.created_at),
        last_modified_time=convert_time(row.updated_at),
        subscriber_account_id=row.account_id,
    )
