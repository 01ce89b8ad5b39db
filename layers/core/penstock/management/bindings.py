"""Binds queues, event buses and URLs to patterns of routing keys."""

from typing import Any, Final, Literal, NamedTuple

import msgspec

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.aws.arn import parse_queue_arn
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.documents.queue_names import authorize_queues, build_queue_arn
from penstock.documents.routing_keys import is_pattern
from penstock.documents.times import format_timestamp
from penstock.effects import Call, Operation
from penstock.endpoint import find_endpoint_problem, mask_password, split_password
from penstock.postgres.statements.events import BIND, LIST_BINDINGS, MATCH_EVENT, UNBIND, BindingRow, BoundRow
from penstock.postgres.statements.sns.subscriptions import SUBSCRIPTIONS_OF_QUEUE, QueueSubscriptionRow
from penstock.sns.filter_policy import compile as filter_policy
from penstock.sqs import handles

from .buses import operations
from .buses.operations import authorize_on, find_bus
from .buses.types import BusDescription
from .errors import SubscriptionNotFound
from .rights import needs, show
from .routed_events import check_routing_key

MAX_BUS_BINDINGS: Final = 1_000


class NewSubscription(msgspec.Struct, forbid_unknown_fields=True):
    """A request to bind a queue, an event bus or a URL. A URL receives the message alone, or in an SNS envelope if
    `envelope` is set. A bus keeps the events for its retention period.

    `protocol` is the protocol of `endpoint`, and is optional.
    """

    queue_name: str | None = None
    bus: str | None = None
    protocol: Literal["http", "https"] | None = None
    endpoint: str | None = None
    envelope: bool = False
    filter_policy: dict[str, Any] | None = None


class EventSubscription(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A binding of a queue, an event bus or a URL to a pattern of routing keys."""

    id: int
    pattern: str
    protocol: Literal["queue", "bus", "http", "https"]
    queue_name: str | None = None
    bus: str | None = None
    endpoint: str | None = None
    envelope: bool
    filter_policy: dict[str, Any] | None = None
    created_at: str


class MadeBinding(NamedTuple):
    """The id of a new or existing binding. `shown` is None if the caller cannot read the binding."""

    id: int
    shown: EventSubscription | None


class DescribedBus(BusDescription, kw_only=True):
    """An event bus with its first 1,000 bindings. `bindings` is absent if the caller may not list them."""

    bindings: list[EventSubscription] | msgspec.UnsetType = msgspec.UNSET


class BindingPage(msgspec.Struct, omit_defaults=True):
    """Bindings in the order of their ids. `next`, if present, is the `after` of the next page."""

    subscriptions: list[EventSubscription]
    next: int | None = None


@needs("account", "penstock:Subscribe")
@audited(
    lambda pattern, new, _context: Act(
        "penstock:Subscribe",
        pattern,
        {"queue": new.queue_name, "bus": new.bus, "endpoint": mask_password(new.endpoint or "") or None},
    )
)
def subscribe(pattern: str, new: NewSubscription, context: Context) -> Operation[MadeBinding]:
    """Creates a binding, or finds the existing binding.

    Raises QueueDoesNotExist, BusNotFound, AccessDenied, InvalidParameterValue and the errors of filter policies.
    """
    check_pattern(pattern)
    if [new.queue_name, new.bus, new.endpoint].count(None) != 2:
        raise errors.InvalidParameterValue("body: either queue_name, or bus, or endpoint (a URL)")
    protocol, endpoint, password = yield from _check_destination(new, context)
    policy = None if new.filter_policy is None else encode_jsonb(new.filter_policy)
    compiled = filter_policy.compile_policy(policy, "MessageBody") if policy else None
    rows = yield from Call(
        BIND,
        (context.account_id, context.region, pattern, protocol, endpoint, new.envelope, policy, compiled, password),
    )
    (row,) = rows
    return MadeBinding(row.binding_id, (yield from show(_read_bound(row, context))))


def _check_destination(new: NewSubscription, context: Context) -> Operation[tuple[str, str, str | None]]:
    """Returns the protocol, the ARN or the URL without its password, and the password. Raises the errors of
    subscribe."""
    if new.queue_name is not None:
        arn = build_queue_arn(new.queue_name, context)
        yield from authorize_queues("SendMessage", [new.queue_name], context)
        yield from handles.check_queue(arn)
        return "queue", arn, None
    if new.bus is not None:
        bus = yield from find_bus(new.bus, context)
        yield from authorize_on("PutRawEvents", bus.arn, context)
        return "bus", bus.arn, None
    endpoint = new.endpoint or ""
    protocol = new.protocol or endpoint.partition("://")[0]
    if problem := find_endpoint_problem(endpoint, takes_credentials=True):
        raise errors.InvalidParameterValue(f"body: endpoint must be a URL of http or https: {problem}")
    if not endpoint.startswith(f"{protocol}://"):
        raise errors.InvalidParameterValue(f"body: protocol is {protocol}, but endpoint begins otherwise")
    return (protocol, *split_password(endpoint))


@needs("account", "penstock:ListSubscriptions")
def _read_bound(row: BoundRow, context: Context) -> Operation[EventSubscription]:  # noqa: ARG001 - the caller
    yield from ()
    return show_binding(row)


@needs("account", "penstock:Unsubscribe")
@audited(lambda pattern, binding_id, _context: Act("penstock:Unsubscribe", pattern, {"id": binding_id}))
def unsubscribe(pattern: str, binding_id: int, context: Context) -> Operation[None]:
    """Deletes a binding. Raises SubscriptionNotFound, InvalidParameterValue."""
    check_pattern(pattern)
    (row,) = yield from Call(UNBIND, (context.account_id, context.region, pattern, binding_id))
    if not row.removed:
        raise SubscriptionNotFound


@needs("account", "penstock:ListSubscriptions")
def list_bindings(pattern: str, after: int | None, limit: int, context: Context) -> Operation[BindingPage]:
    """Lists the bindings with this pattern. Raises InvalidParameterValue."""
    check_pattern(pattern)
    return (yield from _list(pattern, None, after, limit, context))


@needs("queue", "penstock:ListSubscriptions")
def list_queue_bindings(queue: str, after: int | None, limit: int, context: Context) -> Operation[BindingPage]:
    """Lists the bindings of a queue. Raises QueueDoesNotExist."""
    return (yield from _list(None, build_queue_arn(queue, context), after, limit, context))


@needs("operation", "events:DescribeEventBus")
def describe_bus(name: str, context: Context) -> Operation[DescribedBus]:
    """Returns a bus with the bindings through which it receives routed events. Raises BusNotFound."""
    bus = yield from operations.describe_bus(name, context)
    found = yield from show(_list_bus_bindings(bus.arn, context))
    return DescribedBus(**msgspec.structs.asdict(bus), bindings=msgspec.UNSET if found is None else found)


@needs("account", "penstock:ListSubscriptions")
def _list_bus_bindings(arn: str, context: Context) -> Operation[list[EventSubscription]]:
    rows = yield from Call(LIST_BINDINGS, (context.account_id, context.region, None, arn, None, MAX_BUS_BINDINGS))
    return [show_binding(row) for row in rows]


def _list(
    pattern: str | None, endpoint: str | None, after: int | None, limit: int, context: Context
) -> Operation[BindingPage]:
    rows = yield from Call(LIST_BINDINGS, (context.account_id, context.region, pattern, endpoint, after, limit + 1))
    if endpoint is not None and not rows:
        yield from handles.check_queue(endpoint)
    found = [show_binding(row) for row in rows[:limit]]
    return BindingPage(subscriptions=found, next=found[-1].id if len(rows) > limit else None)


@needs("account", "penstock:MatchEvent")
def match_bindings(routing_key: str, context: Context) -> Operation[list[EventSubscription]]:
    """Returns the bindings that an event with this key would reach."""
    check_routing_key(routing_key)
    rows = yield from Call(MATCH_EVENT, (context.account_id, context.region, routing_key))
    return [show_binding(row) for row in rows]


def show_binding(row: BindingRow | BoundRow) -> EventSubscription:
    arn = parse_queue_arn(row.endpoint) if row.protocol == "queue" else None
    return EventSubscription(
        id=row.binding_id,
        pattern=row.pattern,
        protocol=row.protocol,
        queue_name=None if arn is None else arn.name,
        bus=row.endpoint.split("/")[1] if row.protocol == "bus" else None,
        endpoint=row.endpoint if row.protocol in ("http", "https") else None,
        envelope=row.envelope,
        filter_policy=None if row.filter_policy is None else msgspec.json.decode(row.filter_policy),
        created_at=format_timestamp(row.created_at_ms),
    )


def check_pattern(text: str) -> None:
    if not is_pattern(text):
        raise errors.InvalidParameterValue("pattern: a routing key in which segments may be '*' or '#'")


class Senders(NamedTuple):
    """The topic subscriptions and routing-key bindings that send messages to a queue."""

    subscriptions: list[QueueSubscriptionRow]
    bindings: list[EventSubscription]


@needs("queue", "penstock:ListSubscriptions")
def read_senders(name: str, limit: int, context: Context) -> Operation[Senders]:
    """Returns a queue's first `limit` topic subscriptions and bindings."""
    rows = yield from Call(SUBSCRIPTIONS_OF_QUEUE, (build_queue_arn(name, context),))
    bindings = yield from list_queue_bindings(name, None, limit, context)
    return Senders(rows[:limit], bindings.subscriptions)
