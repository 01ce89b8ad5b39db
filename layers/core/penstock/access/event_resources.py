"""Lists the resources that requests of the event bus use, for authorization.

A bus can have a resource policy. A subscriber or an event source belongs to the account in its ARN. The operations
check the target and the dead-letter queue of a subscriber, because an update does not contain the target. Only a
process with QUEUE_ACCESS=sigv4 imports this module. Source of the rights: "Actions, resources, and condition keys for
Amazon EventBridge" (Service Authorization Reference).
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from penstock.aws.bus_arn import BUS, SOURCE, SUBSCRIBER

from .resources import ACCOUNT_USE, ANY, ResourceContext, Use, Uses

REPLAY = ("penstock", "ReplayEvents")
"""The right to create a subscriber that starts in the past, because it reads events from before its creation."""


class _New(Protocol):
    name: str
    tags: Mapping[str, str] | None


class _WithBus(Protocol):
    event_bus_arn: str


class _NewOnBus(_New, _WithBus, Protocol):
    pass


class _NewSubscriber(_NewOnBus, Protocol):
    starting_position: str | None


class _WithOptionalBus(Protocol):
    event_bus_arn: str | None


class _WithSubscriber(Protocol):
    subscriber_arn: str


class _WithSource(Protocol):
    event_source_arn: str


class _WithResource(Protocol):
    resource_arn: str


class _WithArn(Protocol):
    arn: str


def use_new_event_bus(request: _New, context: ResourceContext) -> Uses:
    return _use_new(BUS, request, context)


def use_event_bus(request: _WithBus, _: ResourceContext) -> Uses:
    return (_use(request.event_bus_arn),)


def use_new_subscriber(request: _NewSubscriber, context: ResourceContext) -> Iterator[Use]:
    """Returns the bus, the new subscriber, and the right to replay if the subscriber starts in the past."""
    yield _use(request.event_bus_arn)
    yield from _use_new(SUBSCRIBER, request, context)
    if request.starting_position == "POINT_IN_TIME":
        yield Use(request.event_bus_arn, is_owned=False, action=REPLAY)


def use_subscriber(request: _WithSubscriber, _: ResourceContext) -> Uses:
    return (_use(request.subscriber_arn),)


def use_listed_bus(request: _WithOptionalBus, _: ResourceContext) -> Uses:
    """Returns the bus whose subscribers or sources the request lists, or otherwise the account."""
    return (_use(request.event_bus_arn),)


def use_new_event_source(request: _NewOnBus, context: ResourceContext) -> Iterator[Use]:
    yield _use(request.event_bus_arn)
    yield from _use_new(SOURCE, request, context)


def use_event_source(request: _WithSource, _: ResourceContext) -> Uses:
    return (_use(request.event_source_arn),)


def use_event_resource(request: _WithResource, _: ResourceContext) -> Uses:
    """Returns the bus, subscriber or event source whose policy or tags the request concerns."""
    return (_use(request.resource_arn),)


def use_revoked_resource(request: _WithArn, _: ResourceContext) -> Uses:
    """Returns the revoked resource. The operation checks that the caller's account owns the bus."""
    return (Use(request.arn, is_owned=False),)


def _use(arn: str | None) -> Use:
    return Use(arn) if arn is not None and arn.startswith("arn:aws:events:") else ACCOUNT_USE


def _use_new(kind: str, request: _New, context: ResourceContext) -> Iterator[Use]:
    """Returns a resource whose id does not exist yet, and the right to tag it if the request has tags."""
    arn = f"arn:aws:events:{context.region}:{context.account_id}:{kind}/{request.name}/{ANY}"
    yield Use(arn, is_owned=False)
    if request.tags:
        yield Use(arn, is_owned=False, action=("events", "TagResource"))
