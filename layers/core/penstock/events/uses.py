"""Lists the resources that requests of the event bus use, for authorization.

A bus can have a resource policy. A subscriber or an event source belongs to the account in its ARN. The operations
check the target and the dead-letter queue of a subscriber, because an update does not contain the target. Source of the
rights: "Actions, resources, and condition keys for Amazon EventBridge" (Service Authorization Reference).
"""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias

from penstock.access.policy.conditions import METADATA
from penstock.access.resources import ACCOUNT_USE, ANY, REPLAY, Use, Uses
from penstock.aws.bus_arn import BUS, SOURCE, SUBSCRIBER
from penstock.context import Context

from .shapes import PutEventsRequestEntry, PutRawEventsRequestEntry
from .types import (
    CreateEventBusRequest,
    CreateEventSourceRequest,
    CreateSubscriberRequest,
    ListEventSourcesRequest,
    ListSubscribersRequest,
    PutEventsRequest,
    PutRawEventsRequest,
    RevokeResourceRequest,
)

_New: TypeAlias = CreateEventBusRequest | CreateSubscriberRequest | CreateEventSourceRequest


class _WithBus(Protocol):
    event_bus_arn: str


class _WithSubscriber(Protocol):
    subscriber_arn: str


class _WithSource(Protocol):
    event_source_arn: str


class _WithResource(Protocol):
    resource_arn: str


def use_new_event_bus(request: CreateEventBusRequest, context: Context) -> Uses:
    return _use_new(BUS, request, context)


def use_event_bus(request: _WithBus, _: Context) -> Uses:
    return (_use(request.event_bus_arn),)


def use_new_subscriber(request: CreateSubscriberRequest, context: Context) -> Iterator[Use]:
    """Returns the bus, the new subscriber, and the right to replay if the subscriber starts in the past."""
    yield _use(request.event_bus_arn)
    yield from _use_new(SUBSCRIBER, request, context)
    if request.starting_position == "POINT_IN_TIME":
        yield Use(request.event_bus_arn, is_owned=False, action=REPLAY)


def use_subscriber(request: _WithSubscriber, _: Context) -> Uses:
    return (_use(request.subscriber_arn),)


def use_listed_bus(request: ListSubscribersRequest | ListEventSourcesRequest, _: Context) -> Uses:
    """Returns the bus whose subscribers or sources the request lists, or otherwise the account."""
    return (_use(request.event_bus_arn),)


def use_new_event_source(request: CreateEventSourceRequest, context: Context) -> Iterator[Use]:
    yield _use(request.event_bus_arn)
    yield from _use_new(SOURCE, request, context)


def use_event_source(request: _WithSource, _: Context) -> Uses:
    return (_use(request.event_source_arn),)


def use_put_events(request: PutEventsRequest, _: Context) -> Uses:
    """Returns the bus, with the condition keys of each entry."""
    return _use_with_entries(request.event_bus_arn, map(_list_keys, request.entries))


def _list_keys(entry: PutEventsRequestEntry) -> dict[str, str]:
    system = entry.system_metadata
    return {
        "events:source": entry.source,
        "events:detail-type": entry.detail_type,
        "events:systemmetadata/awssource": entry.source,
        "events:systemmetadata/awsdetailtype": entry.detail_type,
        **_list_system_keys("application/eventbridge+json", None if system is None else system.event_group_id),
    }


def use_put_raw_events(request: PutRawEventsRequest, _: Context) -> Uses:
    """Returns the bus, with the condition keys of each entry."""
    return _use_with_entries(request.event_bus_arn, map(_list_raw_keys, request.entries))


def _list_raw_keys(entry: PutRawEventsRequestEntry) -> dict[str, str]:
    """Returns the keys of an entry. If two keys of Metadata differ only in case, the operation refuses the entry."""
    metadata = {METADATA + key.lower(): value for key, value in (entry.metadata or {}).items()}
    return {**metadata, **_list_system_keys(entry.system_metadata.content_type, entry.system_metadata.event_group_id)}


def _list_system_keys(content_type: str, group: str | None) -> dict[str, str]:
    keys = {"events:systemmetadata/contenttype": content_type}
    return keys if group is None else {**keys, "events:systemmetadata/eventgroupid": group}


def _use_with_entries(arn: str, entries: Iterable[dict[str, str]]) -> Uses:
    """Returns the bus, with each different set of condition keys once."""
    different = {frozenset(keys.items()): keys for keys in entries}
    return (_use(arn)._replace(entries=tuple(different.values())),)


def use_event_resource(request: _WithResource, _: Context) -> Uses:
    """Returns the bus, subscriber or event source whose policy or tags the request concerns."""
    return (_use(request.resource_arn),)


def use_revoked_resource(request: RevokeResourceRequest, _: Context) -> Uses:
    """Returns the revoked resource. The operation checks that the caller's account owns the bus."""
    return (Use(request.arn, is_owned=False),)


def _use(arn: str | None) -> Use:
    return Use(arn) if arn is not None and arn.startswith("arn:aws:events:") else ACCOUNT_USE


def _use_new(kind: str, request: _New, context: Context) -> Iterator[Use]:
    """Returns a resource whose id does not exist yet, and the right to tag it if the request has tags."""
    arn = f"arn:aws:events:{context.region}:{context.account_id}:{kind}/{request.name}/{ANY}"
    yield Use(arn, is_owned=False)
    if request.tags:
        yield Use(arn, is_owned=False, action=("events", "TagResource"))
