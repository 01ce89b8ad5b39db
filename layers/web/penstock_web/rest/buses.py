"""Serves /v1/buses: event buses, their subscribers and their events."""

from typing import Annotated, Final, Literal
from urllib.parse import quote

import msgspec
from fastapi import Path, Query, Response

from penstock.documents.decoding import build_reader
from penstock.events.errors import (
    InvalidStateException,
    LimitExceededException,
    ResourceAlreadyExistsException,
    ResourceInUseException,
)
from penstock.management import bindings
from penstock.management.bindings import DescribedBus
from penstock.management.buses import changes, events, operations
from penstock.management.buses.types import (
    BusDescription,
    BusPage,
    BusPatch,
    Created,
    EventPage,
    NewBus,
    NewBusEvent,
    NewSubscriber,
    PutEvents,
    Replay,
    SubscriberDescription,
    SubscriberPage,
    SubscriberPatch,
)
from penstock.management.errors import BusNotFound, SubscriberNotFound
from penstock.management.rights import right_of
from penstock_web.routing.routes import CHANGED, Routes, Runner, json_response

routes = Routes("buses", prefix="/buses")

UNKNOWN_BUS: Final = (BusNotFound,)
UNKNOWN: Final = (BusNotFound, SubscriberNotFound)
NOT_CREATED: Final = (ResourceAlreadyExistsException, LimitExceededException)
Bus = Annotated[str, Path(json_schema_extra={"minLength": 1, "maxLength": 256})]
Subscriber = Annotated[str, Path(json_schema_extra={"minLength": 1, "maxLength": 256})]
Limit = Annotated[int, Query(ge=1, le=100)]
_read_replay = build_reader(Replay)
_read_bus, _read_bus_patch = build_reader(NewBus), build_reader(BusPatch)
_read_subscriber, _read_subscriber_patch = build_reader(NewSubscriber), build_reader(SubscriberPatch)


class Resume(msgspec.Struct, forbid_unknown_fields=True):
    """Where the subscriber continues: `last_processed` with the events that it has missed, `latest` without them."""

    position: Literal["last_processed", "latest"] = "last_processed"


_read_resume = build_reader(Resume)


@routes.get("", right=right_of(operations.list_buses), response=BusPage)
async def list_buses(
    runner: Runner,
    limit: Limit = 100,
    next: str | None = None,  # noqa: A002
) -> BusPage:
    """List event buses by name, with their stored events and rates. `next` is the value of `next` from the previous
    page."""
    return await runner.run(operations.list_buses(limit, next, runner.context))


@routes.post("", right=right_of(changes.create_bus), status=201, body=NewBus, response=Created, raises=NOT_CREATED)
async def create_bus(runner: Runner) -> Response:
    """Create an event bus. The bus accepts events at once."""
    new = await runner.read(_read_bus)
    made = await runner.run(changes.create_bus(new, runner.context))
    return json_response(made, 201, f"/v1/buses/{quote(made.name, safe='')}")


@routes.get("/{bus}", right=right_of(bindings.describe_bus), response=DescribedBus, raises=UNKNOWN_BUS)
async def describe_bus(bus: Bus, runner: Runner) -> DescribedBus:
    """Describe an event bus, its stored events, its rates, and the bindings through which it receives routed events."""
    return await runner.run(bindings.describe_bus(bus, runner.context))


@routes.patch(
    "/{bus}",
    right=right_of(changes.change_bus),
    body=BusPatch,
    response=BusDescription,
    statuses=CHANGED,
    raises=UNKNOWN_BUS,
)
async def change_bus(bus: Bus, runner: Runner) -> Response:
    """Change the given members. A shorter retention removes older events."""
    patch = await runner.read(_read_bus_patch)
    return json_response(await runner.run(changes.change_bus(bus, patch, runner.context)))


@routes.delete("/{bus}", right=right_of(changes.delete_bus), status=204, raises=(*UNKNOWN_BUS, ResourceInUseException))
async def delete_bus(bus: Bus, runner: Runner) -> None:
    """Delete an event bus with its events. A bus with subscribers fails with 409 `bus_in_use`."""
    await runner.run(changes.delete_bus(bus, runner.context))


@routes.get(
    "/{bus}/subscribers", right=right_of(operations.list_subscribers), response=SubscriberPage, raises=UNKNOWN_BUS
)
async def list_subscribers(
    bus: Bus,
    runner: Runner,
    limit: Limit = 100,
    next: str | None = None,  # noqa: A002
) -> SubscriberPage:
    """List the subscribers of an event bus, also those of other accounts, with their lag and their last failure."""
    return await runner.run(operations.list_subscribers(bus, limit, next, runner.context))


@routes.post(
    "/{bus}/subscribers",
    right=right_of(changes.create_subscriber),
    status=201,
    body=NewSubscriber,
    response=Created,
    raises=(*UNKNOWN_BUS, *NOT_CREATED),
)
async def create_subscriber(bus: Bus, runner: Runner) -> Response:
    """Create a subscriber of an event bus. With `from`, it first receives stored events."""
    new = await runner.read(_read_subscriber)
    made = await runner.run(changes.create_subscriber(bus, new, runner.context))
    path = f"/v1/buses/{quote(bus, safe='')}/subscribers/{quote(made.name, safe='')}"
    return json_response(made, 201, path)


@routes.get(
    "/{bus}/subscribers/{subscriber}",
    right=right_of(operations.describe_subscriber),
    response=SubscriberDescription,
    raises=UNKNOWN,
)
async def describe_subscriber(bus: Bus, subscriber: Subscriber, runner: Runner) -> SubscriberDescription:
    """Describe a subscriber of the account: its position, its lag, its outcomes and its last failure."""
    return await runner.run(operations.describe_subscriber(bus, subscriber, runner.context))


@routes.patch(
    "/{bus}/subscribers/{subscriber}",
    right=right_of(changes.change_subscriber),
    body=SubscriberPatch,
    response=SubscriberDescription,
    statuses=CHANGED,
    raises=(*UNKNOWN, InvalidStateException),
)
async def change_subscriber(bus: Bus, subscriber: Subscriber, runner: Runner) -> Response:
    """Change the given members of a subscriber. Its name, target, type and start are fixed."""
    patch = await runner.read(_read_subscriber_patch)
    return json_response(await runner.run(changes.change_subscriber(bus, subscriber, patch, runner.context)))


@routes.delete("/{bus}/subscribers/{subscriber}", right=right_of(changes.delete_subscriber), status=204, raises=UNKNOWN)
async def delete_subscriber(bus: Bus, subscriber: Subscriber, runner: Runner) -> None:
    """Delete a subscriber. The events stay on the bus."""
    await runner.run(changes.delete_subscriber(bus, subscriber, runner.context))


@routes.post(
    "/{bus}/subscribers/{subscriber}/pause",
    right=right_of(operations.set_stopped),
    response=SubscriberDescription,
    statuses=CHANGED,
    raises=(*UNKNOWN, InvalidStateException),
)
async def pause_subscriber(bus: Bus, subscriber: Subscriber, runner: Runner) -> Response:
    """Stop a subscriber. Its events wait on the bus for as long as the bus retains them."""
    return json_response(await runner.run(operations.set_stopped(bus, subscriber, runner.context, stopped=True)))


@routes.post(
    "/{bus}/subscribers/{subscriber}/resume",
    right=right_of(operations.set_stopped),
    body=Resume,
    response=SubscriberDescription,
    statuses=CHANGED,
    raises=(*UNKNOWN, InvalidStateException),
)
async def resume_subscriber(bus: Bus, subscriber: Subscriber, runner: Runner) -> Response:
    """Let a stopped subscriber run again. Without a body, the subscriber receives the events that it has missed."""
    resume = await runner.read(lambda body: _read_resume(body or b"{}"))
    skips = resume.position == "latest"
    operation = operations.set_stopped(bus, subscriber, runner.context, stopped=False, skips=skips)
    return json_response(await runner.run(operation))


@routes.post(
    "/{bus}/subscribers/{subscriber}/replay",
    right=right_of(operations.replay),
    body=Replay,
    response=SubscriberDescription,
    statuses=CHANGED,
    raises=(*UNKNOWN, InvalidStateException),
)
async def replay(bus: Bus, subscriber: Subscriber, runner: Runner) -> Response:
    """Move the position of a subscriber to a time. The subscriber then receives the events from this time on again, and
    those that follow. A later time skips events."""
    given = await runner.read(_read_replay)
    return json_response(await runner.run(operations.replay(bus, subscriber, given, runner.context)))


@routes.get("/{bus}/events", right=right_of(events.browse_events), response=EventPage, raises=UNKNOWN_BUS)
async def browse_events(  # noqa: PLR0913, PLR0917 - each is a parameter
    bus: Bus,
    runner: Runner,
    start: Annotated[str | None, Query(alias="from")] = None,
    to: str | None = None,
    order: Literal["oldest", "newest"] = "oldest",
    group: str | None = None,
    source: str | None = None,
    detail_type: str | None = None,
    pattern: str | None = None,
    limit: Limit = 100,
    next: str | None = None,  # noqa: A002
) -> EventPage:
    """List stored events by time, group, source or pattern. The request has no effect on subscribers. A page can have
    fewer events than `limit`, even none, and a `next`."""
    wanted = events.WantedEvents(start, to, order == "newest", group, source, detail_type, pattern, limit, next)
    return await runner.run(events.browse_events(bus, wanted, runner.context))


@routes.post(
    "/{bus}/events",
    right=right_of(events.publish),
    status=201,
    body=NewBusEvent | list[NewBusEvent],
    response=PutEvents,
    raises=UNKNOWN_BUS,
)
async def publish(bus: Bus, runner: Runner) -> PutEvents:
    """Publish an event, or an array of up to 100 events in one transaction. If one event is invalid, the service
    publishes none."""
    entries = await runner.read(events.read_events)
    return await runner.run(events.publish(bus, entries, runner.context))
