"""/v1/events: routed events and their bindings to queues and URLs."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from penstock_web.rest.documents import NewEvent, PublishedEvent, read_event
from penstock_web.rest.openapi import json_answers, request_body_schema
from penstock_web.rest.rest_route import RestRoute, Runner, json_response
from penstock_web.rest.routing_keys import KEY, MAX_LENGTH, PATTERN
from penstock_web.rest.shapes import BindingPage, Matched, NewSubscription, Subscription

from . import operations as publishing

router = APIRouter(tags=["events"], route_class=RestRoute)

_EVENT = request_body_schema(NewEvent)
_PUBLISHED = json_answers(PublishedEvent, statuses=(201,))

# Only for the OpenAPI document: the operations check it, and say what is wrong.
RoutingKey = Annotated[str, Path(json_schema_extra={"pattern": f"^{KEY}$", "maxLength": MAX_LENGTH})]
Pattern = Annotated[str, Path(json_schema_extra={"pattern": f"^{PATTERN}$", "maxLength": MAX_LENGTH})]
BindingId = Annotated[int, Path(ge=1, lt=2**63)]
Limit = Annotated[int, Query(ge=1, le=1_000)]
After = Annotated[int | None, Query(ge=0, lt=2**63)]


@router.post(
    "/events/{routing_key}",
    status_code=201,
    openapi_extra=_EVENT,
    response_class=Response,
    responses=_PUBLISHED,
)
async def publish(routing_key: RoutingKey, runner: Runner) -> Response:
    """Publish an event in one transaction to every queue and URL that is bound to its key."""
    event = await runner.read(read_event)
    published = await runner.run(publishing.publish(routing_key, event, runner.context))
    return json_response(published, 201)


@router.get("/events/{routing_key}/matches", response_model_exclude_none=True)
async def matches(routing_key: RoutingKey, runner: Runner) -> Matched:
    """The bindings that an event with this key would reach. Nothing is published; filter policies are ignored."""
    return Matched(subscriptions=await runner.run(publishing.matching_bindings(routing_key, runner.context)))


@router.post("/events/{pattern}/subscriptions", status_code=201, response_model_exclude_none=True)
async def subscribe(
    pattern: Pattern, new: NewSubscription, runner: Runner, response: Response
) -> Subscription:
    """Bind a queue, or a URL, to a pattern of routing keys. An existing binding is returned as it is."""
    made = await runner.run(publishing.subscribe(pattern, new, runner.context))
    response.headers["location"] = publishing.binding_location(made)
    return made


@router.get("/events/{pattern}/subscriptions", response_model_exclude_none=True)
async def list_subscriptions(
    pattern: Pattern, runner: Runner, limit: Limit = 100, after: After = None
) -> BindingPage:
    """Bindings of a pattern, in the order of their ids."""
    return await runner.run(publishing.list_bindings(pattern, None, after, limit, runner.context))


@router.delete("/events/{pattern}/subscriptions/{id}", status_code=204)
async def unsubscribe(pattern: Pattern, id: BindingId, runner: Runner) -> None:  # noqa: A002
    """Remove a binding."""
    await runner.run(publishing.unsubscribe(pattern, id, runner.context))


@router.get("/queues/{name}/subscriptions", response_model_exclude_none=True)
async def queue_subscriptions(
    name: str, runner: Runner, limit: Limit = 100, after: After = None
) -> BindingPage:
    """Bindings of a queue, in the order of their ids."""
    return await runner.run(publishing.list_bindings(None, name, after, limit, runner.context))
