"""Creates, changes and deletes event buses and subscribers.

The operations build AWS's requests, so that the limits, the defaults and the rights are those of AWS's API.
"""

from typing import Final, TypeAlias, TypeVar

import msgspec

from penstock import errors
from penstock.access.authorization import authorize
from penstock.actions import ACTIONS
from penstock.aws.codec.errors import ConstraintViolation
from penstock.aws.codec.rest_json import build_decoder
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.documents.times import parse_timestamp, to_millisecond
from penstock.effects import Operation
from penstock.events import buses as aws_buses
from penstock.events import resources as aws_resources
from penstock.events import subscribers as aws_subscribers
from penstock.events import types as aws
from penstock.events.errors import as_events_error
from penstock.events.stored import MAX_TAGS, StoredBus, StoredResource, check_tags
from penstock.management.rights import needs, show
from penstock.postgres.statement import JsonObject

from .operations import OLDEST, authorize_on, describe_bus, describe_subscriber, find_bus, find_stored
from .types import (
    CONFIGURATION,
    BusDescription,
    BusPatch,
    Created,
    Filters,
    NewBus,
    NewSubscriber,
    SubscriberDescription,
    SubscriberPatch,
)

RequestT = TypeVar("RequestT", bound=msgspec.Struct)
TagRequest: TypeAlias = aws.UntagResourceRequest | aws.TagResourceRequest
_ACTIONS: Final = {action.name: action for action in ACTIONS if action.service == "events"}


@needs("operation", "events:CreateEventBus")
def create_bus(new: NewBus, context: Context) -> Operation[Created]:
    """Creates a bus. Raises the errors of CreateEventBus."""
    request = _decode(
        aws.CreateEventBusRequest,
        {
            "Name": new.name,
            "Description": new.description,
            "StorageConfiguration": {"RetentionPeriodInDays": new.retention_days},
            "Tags": new.tags,
        },
    )
    yield from _authorize(request, context)
    made = yield from aws_buses.create_event_bus(request, context)
    return Created(new.name, made.event_bus_arn or "")


@needs("operation", "events:UpdateEventBus")
def change_bus(name: str, patch: BusPatch, context: Context, version: str = "") -> Operation[BusDescription | None]:
    """Changes the given members. Returns the bus if the caller may read it. `version` is the `updated_at` that the
    caller has read, or empty.

    Raises BusNotFound, InvalidParameterValue if another user has changed the bus since, and the errors of
    UpdateEventBus, TagResource and UntagResource.
    """
    bus = yield from find_bus(name, context)
    yield from authorize_on("UpdateEventBus", bus.arn, context)
    _check_version(version, bus, "bus")
    tag_requests = yield from _build_tag_requests(bus, patch.tags, context)
    members: JsonObject = {"EventBusArn": bus.arn}
    if patch.description is not msgspec.UNSET:
        members["Description"] = patch.description
    if patch.retention_days is not msgspec.UNSET:
        members["StorageConfiguration"] = {"RetentionPeriodInDays": patch.retention_days}
    if len(members) > 1 or patch.tags is msgspec.UNSET:
        yield from aws_buses.update_event_bus(_decode(aws.UpdateEventBusRequest, members), context)
    yield from _change_tags(tag_requests, context)
    return (yield from show(describe_bus(name, context)))


@needs("operation", "events:DeleteEventBus")
def delete_bus(name: str, context: Context) -> Operation[None]:
    """Deletes a bus with its events. Raises BusNotFound, and ResourceInUseException if the bus has subscribers."""
    bus = yield from find_bus(name, context)
    yield from authorize_on("DeleteEventBus", bus.arn, context)
    yield from aws_buses.delete_event_bus(aws.DeleteEventBusRequest(bus.arn), context)


# --- subscribers -----------------------------------------------------------------------------------------------------
@needs("operation", "events:CreateSubscriber")
def create_subscriber(name: str, new: NewSubscriber, context: Context) -> Operation[Created]:
    """Creates a subscriber of the bus `name`. Raises BusNotFound and the errors of CreateSubscriber."""
    bus = yield from find_bus(name, context)
    members = {
        **_read_configuration(new.configuration, _build_role(context)),
        "Name": new.name,
        "EventBusArn": bus.arn,
        "Type": new.type,
        "State": "STOPPED" if new.stopped else "RUNNING",
        "Tags": new.tags,
        **_build_start(new),
    }
    invoke = members.get("InvokeConfiguration", {"RoleArn": _build_role(context)})
    members["InvokeConfiguration"] = {**invoke, "TargetArn": _name_target(new.target, context)}
    if new.filters:
        members["FilterConfiguration"] = _build_filters(new.filters)
    request = _decode(aws.CreateSubscriberRequest, members)
    yield from _authorize(request, context)
    made = yield from aws_subscribers.create_subscriber(request, context)
    return Created(new.name, made.subscriber_arn or "")


@needs("operation", "events:UpdateSubscriber")
def change_subscriber(
    name: str, subscriber: str, patch: SubscriberPatch, context: Context, version: str = ""
) -> Operation[SubscriberDescription | None]:
    """Changes the given members. Returns the subscriber if the caller may read it. `version` is the `updated_at` that
    the caller has read, or empty.

    Raises BusNotFound, SubscriberNotFound, InvalidParameterValue if another user has changed the subscriber since, and
    the errors of UpdateSubscriber, TagResource and UntagResource.
    """
    bus = yield from find_bus(name, context)
    found = yield from find_stored(bus, subscriber, context)
    yield from authorize_on("UpdateSubscriber", found.arn, context)
    _check_version(version, found, "subscriber")
    tag_requests = yield from _build_tag_requests(found, patch.tags, context)
    members: JsonObject = {"SubscriberArn": found.arn}
    if patch.configuration is not msgspec.UNSET:
        role = found.configuration["InvokeConfiguration"].get("RoleArn") or _build_role(context)
        members |= _read_configuration(patch.configuration, role)
    if patch.filters is not msgspec.UNSET:
        members["FilterConfiguration"] = _build_filters(patch.filters) if patch.filters else {}
    if len(members) > 1 or patch.tags is msgspec.UNSET:
        yield from aws_subscribers.update_subscriber(_decode(aws.UpdateSubscriberRequest, members), context)
    yield from _change_tags(tag_requests, context)
    return (yield from show(describe_subscriber(name, subscriber, context)))


@needs("operation", "events:DeleteSubscriber")
def delete_subscriber(name: str, subscriber: str, context: Context) -> Operation[None]:
    """Deletes a subscriber. The events stay on the bus. Raises BusNotFound, SubscriberNotFound."""
    bus = yield from find_bus(name, context)
    found = yield from find_stored(bus, subscriber, context)
    yield from authorize_on("DeleteSubscriber", found.arn, context)
    yield from aws_subscribers.delete_subscriber(aws.DeleteSubscriberRequest(found.arn), context)


# --- members ---------------------------------------------------------------------------------------------------------
def _read_configuration(given: JsonObject, role: str) -> JsonObject:
    """Returns the members of a request. Raises InvalidParameterValue for a name that is not one of CONFIGURATION."""
    unknown = sorted(given.keys() - CONFIGURATION)
    if unknown:
        known = ", ".join(sorted(CONFIGURATION))
        raise errors.InvalidParameterValue(
            f"configuration: {unknown[0][:80]!r} is not one of {known}", member="configuration"
        )
    invoke = given.get("InvokeConfiguration")
    return {**given, "InvokeConfiguration": {"RoleArn": role, **invoke}} if isinstance(invoke, dict) else dict(given)


def _build_role(context: Context) -> str:
    """Returns a role for subscribers of requests without one. Penstock stores roles, and uses none."""
    return f"arn:aws:iam::{context.account_id}:role/penstock"


def _name_target(given: str, context: Context) -> str:
    """Returns the ARN of a target. A text without a colon is the name of a queue of the account."""
    return given if ":" in given else build_queue_arn(given, context)


def _build_filters(filters: Filters) -> JsonObject:
    return {"Filters": [{"Scope": scope, "Pattern": bytes(pattern).decode()} for scope, pattern in filters.items()]}


def _build_start(new: NewSubscriber) -> JsonObject:
    """Returns the members about the first event that the subscriber receives, and the last."""
    if new.start is None:
        if new.end is not None:
            raise errors.InvalidParameterValue("to: only with from", member="to")
        return {"StartingPosition": "LATEST"}
    point: JsonObject = {"PointType": "HORIZON"}
    if new.start != OLDEST:
        point = {"PointType": "TIMESTAMP", "StartingPoint": _read_time("from", new.start)}
    if new.end is not None:
        point["EndPoint"] = _read_time("to", new.end)
    return {"StartingPosition": "POINT_IN_TIME", "PointInTimeConfiguration": point}


def _read_time(name: str, text: str) -> float:
    at = parse_timestamp(text)
    if at is None:
        other = f", or {OLDEST!r}" if name == "from" else ""
        raise errors.InvalidParameterValue(f"{name}: an RFC 3339 time{other}", member=name)
    return at.timestamp()


def _check_version(version: str, found: StoredBus | StoredResource, kind: str) -> None:
    if version not in ("", to_millisecond(found.updated_at)):
        raise errors.InvalidParameterValue(f"Another user has changed the {kind} in the meantime.")


# --- tags ------------------------------------------------------------------------------------------------------------
def _build_tag_requests(
    found: StoredBus | StoredResource, tags: dict[str, str] | msgspec.UnsetType, context: Context
) -> Operation[list[TagRequest]]:
    """Returns AWS's requests that replace the tags of a bus or subscriber. Raises AccessDenied unless the caller can
    send them, InvalidInputException, and InvalidParameterValue for more than 200 tags."""
    if isinstance(tags, msgspec.UnsetType):
        return []
    if len(check_tags(tags)) > MAX_TAGS:
        raise errors.InvalidParameterValue(f"tags: at most {MAX_TAGS}", member="tags")
    requests: list[TagRequest] = []
    if removed := sorted(found.tags.keys() - tags.keys()):
        requests.append(_decode(aws.UntagResourceRequest, {"ResourceArn": found.arn, "TagKeys": removed}))
    if added := {key: value for key, value in tags.items() if found.tags.get(key) != value}:
        requests.append(_decode(aws.TagResourceRequest, {"ResourceArn": found.arn, "Tags": added}))
    for request in requests:
        yield from _authorize(request, context)
    return requests


def _change_tags(requests: list[TagRequest], context: Context) -> Operation[None]:
    for request in requests:
        if isinstance(request, aws.UntagResourceRequest):
            yield from aws_resources.untag_resource(request, context)
        else:
            yield from aws_resources.tag_resource(request, context)


# --- requests --------------------------------------------------------------------------------------------------------
def _decode(kind: type[RequestT], members: JsonObject) -> RequestT:
    """Returns AWS's request. Raises InvalidInputException for members that violate AWS's limits."""
    try:
        request: RequestT = build_decoder(kind)(None, b"", msgspec.json.encode(members))
    except ConstraintViolation as violation:
        raise as_events_error(violation) from None
    return request


def _authorize(request: msgspec.Struct, context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller can send this request to AWS's API."""
    if context.user is not None:
        yield from authorize(_ACTIONS[type(request).__name__.removesuffix("Request")], request, context)
