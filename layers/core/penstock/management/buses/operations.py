"""Lists and describes event buses and subscribers, and stops, resumes and moves subscribers.

The resources are those of the caller's account, by name. The rights apply to the ARNs, which only the database knows,
so each operation checks its right after it has found the bus.
"""

from datetime import datetime

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.access.authorization import authorize_one, check_user
from penstock.aws.bus_arn import is_name
from penstock.aws.paging import build_token, read_name
from penstock.context import Context
from penstock.documents.times import parse_timestamp, to_millisecond, to_second
from penstock.effects import Call, Operation
from penstock.events import subscribers as aws_subscribers
from penstock.events.stored import StoredBus, StoredResource, read_bus_row, read_resource_row
from penstock.events.types import UpdateSubscriberRequest
from penstock.management.errors import BusNotFound, SubscriberNotFound
from penstock.management.rights import needs, show
from penstock.postgres.statements.event_buses import (
    COUNT_EVENTS_SINCE,
    LIST_EVENT_BUSES,
    MOVE_EVENT_SUBSCRIBER,
    OBSERVE_EVENT_BUSES,
    OBSERVE_EVENT_SUBSCRIBERS,
    ObservedBusRow,
    ObservedSubscriberRow,
)

from .types import (
    BusDescription,
    BusPage,
    Replay,
    ReplayPlan,
    SubscriberDescription,
    SubscriberFailure,
    SubscriberPage,
    SubscriberState,
)

OLDEST = "oldest"


@needs("account", "events:ListEventBuses")
def list_buses(limit: int, after: str | None, context: Context) -> Operation[BusPage]:
    """Returns a page of the account's buses in the order of their names."""
    key = (context.account_id, context.region, None, _read_token(after), limit + 1)
    rows = yield from Call(OBSERVE_EVENT_BUSES, key)
    buses = [_show_bus(row) for row in rows[:limit]]
    return BusPage(buses, build_token(buses[-1].name) if len(rows) > limit else None)


@needs("operation", "events:DescribeEventBus")
def describe_bus(name: str, context: Context) -> Operation[BusDescription]:
    """Returns a bus with its counts. Raises BusNotFound."""
    check_bus_name(name)
    rows = yield from Call(OBSERVE_EVENT_BUSES, (context.account_id, context.region, name, None, 1))
    if not rows:
        raise BusNotFound.named(name)
    bus = _show_bus(rows[0])
    yield from authorize_on("DescribeEventBus", bus.arn, context)
    return bus


@needs("operation", "events:ListSubscribers")
def list_subscribers(name: str, limit: int, after: str | None, context: Context) -> Operation[SubscriberPage]:
    """Returns a page of a bus's subscribers, also of other accounts, in the order of their ARNs.

    Raises BusNotFound.
    """
    bus = yield from find_bus(name, context)
    yield from authorize_on("ListSubscribers", bus.arn, context)
    rows = yield from Call(OBSERVE_EVENT_SUBSCRIBERS, (bus.arn, None, None, _read_token(after), limit + 1))
    found = [_show_subscriber(row, bus) for row in rows[:limit]]
    return SubscriberPage(found, build_token(found[-1].arn) if len(rows) > limit else None)


@needs("operation", "events:DescribeSubscriber")
def describe_subscriber(name: str, subscriber: str, context: Context) -> Operation[SubscriberDescription]:
    """Returns a subscriber of the caller's account. Raises BusNotFound, SubscriberNotFound."""
    bus = yield from find_bus(name, context)
    row = yield from _find_subscriber(bus, subscriber, context)
    yield from authorize_on("DescribeSubscriber", row.subscriber["arn"], context)
    return _show_subscriber(row, bus)


@needs("operation", "events:UpdateSubscriber")
def set_stopped(
    name: str, subscriber: str, context: Context, *, stopped: bool, skips: bool = False
) -> Operation[SubscriberDescription | None]:
    """Stops a subscriber, or lets it run again. `skips` skips the events that the subscriber has missed. Returns the
    subscriber if the caller may read it.

    Raises BusNotFound, SubscriberNotFound, InvalidStateException if the subscriber is revoked, and
    InvalidParameterValue if a running subscriber would skip events.
    """
    bus = yield from find_bus(name, context)
    found = yield from find_stored(bus, subscriber, context)
    yield from authorize_on("UpdateSubscriber", found.arn, context)
    if skips and found.state == "RUNNING":
        raise errors.InvalidParameterValue(
            "position: only a stopped subscriber can skip the events that it has missed", member="position"
        )
    if (found.state == "STOPPED") != stopped:
        request = UpdateSubscriberRequest(subscriber_arn=found.arn, state="STOPPED" if stopped else "RUNNING")
        if not stopped:
            request.resume_position = "LATEST" if skips else "LAST_PROCESSED"
        yield from aws_subscribers.update_subscriber(request, context)
    return (yield from show(describe_subscriber(name, subscriber, context)))


@needs("operation", "events:UpdateSubscriber", "penstock:ReplayEvents")
def replay(name: str, subscriber: str, start: Replay, context: Context) -> Operation[SubscriberDescription | None]:
    """Moves the position of a subscriber to a time. Returns the subscriber if the caller may read it.

    Raises BusNotFound, SubscriberNotFound, InvalidStateException if the subscriber is revoked, and
    InvalidParameterValue for a time that the bus does not retain, or that is in the future.
    """
    bus, row = yield from _prepare_replay(name, subscriber, context)
    yield from _move(row.subscriber["arn"], _read_start(start, bus), context)
    return (yield from show(describe_subscriber(name, subscriber, context)))


@needs("operation", "events:UpdateSubscriber", "penstock:ReplayEvents")
def plan_replay(name: str, subscriber: str, start: Replay, context: Context) -> Operation[ReplayPlan]:
    """Returns what `replay` would do now, and changes nothing. Raises the errors of `replay`."""
    bus, row = yield from _prepare_replay(name, subscriber, context)
    at = _read_start(start, bus)
    (counted,) = yield from Call(COUNT_EVENTS_SINCE, (bus.arn, at))
    change = counted.events - (row.lag_events - row.waiting)
    target = read_resource_row(row.subscriber).target_arn or ""
    return ReplayPlan(target, to_millisecond(at) or "", max(0, change), max(0, -change))


def _prepare_replay(name: str, subscriber: str, context: Context) -> Operation[tuple[StoredBus, ObservedSubscriberRow]]:
    bus = yield from find_bus(name, context)
    row = yield from _find_subscriber(bus, subscriber, context)
    found = read_resource_row(row.subscriber)
    yield from authorize_on("UpdateSubscriber", found.arn, context)
    check_replay(bus, context)
    yield from aws_subscribers.check_unchanged(found, context)
    return bus, row


@audited(lambda arn, to, _context: Act("penstock:ReplayEvents", arn, {"from": to_millisecond(to)}))
def _move(arn: str, to: datetime, _context: Context) -> Operation[None]:
    (row,) = yield from Call(MOVE_EVENT_SUBSCRIBER, (arn, to))
    if not row.changed:
        raise SubscriberNotFound.named(arn)


def _read_start(start: Replay, bus: StoredBus) -> datetime:
    if start.start == OLDEST:
        return bus.window_start
    at = parse_timestamp(start.start)
    if at is None:
        raise errors.InvalidParameterValue(f"from: an RFC 3339 time, or {OLDEST!r}", member="from")
    if not bus.window_start <= at <= bus.now:
        oldest = to_millisecond(bus.window_start)
        raise errors.InvalidParameterValue(
            f"from: a time between {oldest}, from which the bus retains events, and now", member="from"
        )
    return at


# --- rights ----------------------------------------------------------------------------------------------------------
def check_replay(bus: StoredBus, context: Context) -> None:
    """Raises AccessDenied unless the caller may read earlier events of the bus."""
    if context.user is not None:
        check_user("penstock", "ReplayEvents", bus.arn, context)


def authorize_on(action: str, arn: str, context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller can perform an action of AWS's API on a bus or subscriber."""
    if context.user is not None:
        yield from authorize_one("events", action, arn, context)


# --- rows ------------------------------------------------------------------------------------------------------------
def find_bus(name: str, context: Context) -> Operation[StoredBus]:
    """Returns the bus of this name. Raises BusNotFound."""
    check_bus_name(name)
    rows = yield from Call(LIST_EVENT_BUSES, (context.account_id, context.region, name, None, 1))
    if not rows or rows[0].bus["name"] != name:  # Of the names with this prefix, the name itself is the first.
        raise BusNotFound.named(name)
    return read_bus_row(rows[0].bus)


def check_bus_name(name: str) -> None:
    """Raises BusNotFound for a text that no bus can have as its name."""
    if not is_name(name):
        raise BusNotFound.named(name)


def _find_subscriber(bus: StoredBus, name: str, context: Context) -> Operation[ObservedSubscriberRow]:
    if not is_name(name):
        raise SubscriberNotFound.named(name)
    rows = yield from Call(OBSERVE_EVENT_SUBSCRIBERS, (bus.arn, context.account_id, name, None, 1))
    if not rows:
        raise SubscriberNotFound.named(name)
    return rows[0]


def find_stored(bus: StoredBus, name: str, context: Context) -> Operation[StoredResource]:
    """Returns the subscriber of this name. Raises SubscriberNotFound."""
    row = yield from _find_subscriber(bus, name, context)
    return read_resource_row(row.subscriber)


def _read_token(token: str | None) -> str | None:
    if token is None:
        return None
    name = read_name(token)
    if name is None:
        raise errors.InvalidParameterValue("next: the value of `next` from the previous page")
    return name


def _show_bus(row: ObservedBusRow) -> BusDescription:
    bus = read_bus_row(row.bus)
    return BusDescription(
        name=bus.name,
        arn=bus.arn,
        description=bus.description,
        retention_days=bus.retention_days,
        published=row.published,
        events=row.events,
        bytes=row.bytes,
        oldest_event_at=to_millisecond(row.oldest_at),
        newest_event_at=to_millisecond(row.newest_at),
        published_per_second=_show_rate(row.published_before),
        delivered_per_second=_show_rate(row.delivered_before),
        subscribers=row.subscribers,
        tags=bus.tags,
        created_at=to_second(bus.created_at) or "",
        updated_at=to_millisecond(bus.updated_at) or "",
    )


def _show_subscriber(row: ObservedSubscriberRow, bus: StoredBus) -> SubscriberDescription:
    found = read_resource_row(row.subscriber)
    since = row.lag_since
    return SubscriberDescription(
        name=found.name,
        arn=found.arn,
        account=found.account_id,
        type=found.type,
        target=found.target_arn or "",
        state=_show_state(found),
        starting_position=found.starting_position or "",
        lag_events=row.lag_events,
        lag_seconds=0 if since is None else max(0, int((bus.now - since).total_seconds())),
        read_until=to_millisecond(row.read_until),
        waiting=row.waiting,
        retries=row.retries,
        next_retry_at=to_millisecond(row.next_retry_at),
        delivered=row.delivered,
        refused=row.refused,
        failed=row.failed,
        delivered_per_second=_show_rate(row.delivered_before),
        last_failure=_show_failure(row),
        moved_to=to_millisecond(found.moved_to),
        configuration=found.configuration,
        tags=found.tags,
        created_at=to_second(found.created_at) or "",
        updated_at=to_millisecond(found.updated_at) or "",
    )


def _show_state(found: StoredResource) -> SubscriberState:
    if found.revoked:
        return "revoked"
    if found.state == "STOPPED":
        return "stopped"
    return "running" if found.deliverable else "unsupported"


def _show_failure(row: ObservedSubscriberRow) -> SubscriberFailure | None:
    if row.refused_at is None:
        return None
    return SubscriberFailure(to_millisecond(row.refused_at) or "", row.error_code or "", row.error_message or "")


def _show_rate(in_minute: int) -> float:
    return round(in_minute / 60, 3)
