"""Serves /v1/events: routed events, and bindings of queues, event buses and URLs to routing keys."""

from typing import Annotated, Final
from urllib.parse import quote

import msgspec
from fastapi import Path, Query, Response

from penstock import errors
from penstock.documents.decoding import build_exactly_one_of, build_reader
from penstock.documents.routing_keys import KEY, MAX_LENGTH, PATTERN
from penstock.management import bindings, routed_events
from penstock.management.bindings import BindingPage, EventSubscription, NewSubscription
from penstock.management.errors import BusNotFound, SubscriptionNotFound
from penstock.management.rights import right_of
from penstock.management.routed_events import NewEvent, PublishedEvent
from penstock_web.routing.routes import Routes, Runner, json_response

ONE_ENDPOINT: Final = msgspec.Meta(extra_json_schema=build_exactly_one_of("queue_name", "bus", "endpoint"))


class Matched(msgspec.Struct):
    """Holds the bindings that an event would reach."""

    subscriptions: list[EventSubscription]


routes = Routes("events")

UNKNOWN: Final = (errors.QueueDoesNotExist,)

# Only the OpenAPI document uses these patterns. The operations check the values and explain the errors.
RoutingKey = Annotated[str, Path(json_schema_extra={"pattern": f"^{KEY}$", "maxLength": MAX_LENGTH})]
Pattern = Annotated[str, Path(json_schema_extra={"pattern": f"^{PATTERN}$", "maxLength": MAX_LENGTH})]
BindingId = Annotated[int, Path(ge=1, lt=2**63)]
Limit = Annotated[int, Query(ge=1, le=1_000)]
After = Annotated[int | None, Query(ge=0, lt=2**63)]

_read_subscription = build_reader(NewSubscription)


@routes.post(
    "/events/{routing_key}",
    right=right_of(routed_events.publish_event),
    status=201,
    body=NewEvent,
    response=PublishedEvent,
)
async def publish(routing_key: RoutingKey, runner: Runner) -> PublishedEvent:
    """Publish an event, in one transaction, to every queue, event bus and URL with a binding that matches the routing
    key."""
    event = await runner.read(routed_events.read_event)
    return await runner.run(routed_events.publish_event(routing_key, event, runner.context))


@routes.get("/events/{routing_key}/matches", right=right_of(bindings.match_bindings), response=Matched)
async def matches(routing_key: RoutingKey, runner: Runner) -> Matched:
    """List the bindings that match the routing key. The request publishes no event and ignores filter policies."""
    return Matched(await runner.run(bindings.match_bindings(routing_key, runner.context)))


@routes.post(
    "/events/{pattern}/subscriptions",
    right=right_of(bindings.subscribe),
    status=201,
    body=Annotated[NewSubscription, ONE_ENDPOINT],
    response=EventSubscription,
    raises=(*UNKNOWN, BusNotFound),
)
async def subscribe(pattern: Pattern, runner: Runner) -> Response:
    """Bind a queue, an event bus or a URL to a pattern of routing keys. If the binding already exists, the response
    shows it unchanged. A caller without `penstock:ListSubscriptions` receives an empty body."""
    new = await runner.read(_read_subscription)
    made = await runner.run(bindings.subscribe(pattern, new, runner.context))
    return json_response(made.shown, 201, f"/v1/events/{quote(pattern, safe='')}/subscriptions/{made.id}")


@routes.get("/events/{pattern}/subscriptions", right=right_of(bindings.list_bindings), response=BindingPage)
async def list_subscriptions(pattern: Pattern, runner: Runner, limit: Limit = 100, after: After = None) -> BindingPage:
    """List a pattern's bindings by id."""
    return await runner.run(bindings.list_bindings(pattern, after, limit, runner.context))


@routes.delete(
    "/events/{pattern}/subscriptions/{id}",
    right=right_of(bindings.unsubscribe),
    status=204,
    raises=(SubscriptionNotFound,),
)
async def unsubscribe(pattern: Pattern, id: BindingId, runner: Runner) -> None:  # noqa: A002
    """Remove a binding."""
    await runner.run(bindings.unsubscribe(pattern, id, runner.context))


@routes.get(
    "/queues/{name}/subscriptions", right=right_of(bindings.list_queue_bindings), response=BindingPage, raises=UNKNOWN
)
async def queue_subscriptions(name: str, runner: Runner, limit: Limit = 100, after: After = None) -> BindingPage:
    """List a queue's bindings by id."""
    return await runner.run(bindings.list_queue_bindings(name, after, limit, runner.context))
