"""Operations of routed events: publish an event, manage bindings, list the bindings that an event would reach."""

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from penstock import errors
from penstock.access.quotas import TOO_MANY_DELIVERIES, too_many_deliveries
from penstock.aws.arn import parse_queue_arn
from penstock.context import Context
from penstock.effects import Call, Operation, Wake, compute
from penstock.postgres.statements.events import (
    BIND,
    LIST_BINDINGS,
    MATCH_EVENT,
    PUBLISH_EVENTS,
    UNBIND,
    BindingRow,
    BoundRow,
    PublishedEventRow,
)
from penstock.postgres.statements.messages import TransactedRow
from penstock.reports import EventPublished, Sent
from penstock.sns.filter_policy import compile as filter_policy
from penstock.sns.filter_policy import facts as filter_facts
from penstock.sns.subscriptions import is_url
from penstock.sqs import handles, validation
from penstock_web.rest.documents import (
    EventMessage,
    NewEvent,
    PublishedEvent,
    format_timestamp,
    message_body,
    size_of,
    to_attribute,
)
from penstock_web.rest.errors import SubscriptionNotFound
from penstock_web.rest.operations import arn_of, authorize_queues
from penstock_web.rest.routing_keys import is_pattern, is_routing_key
from penstock_web.rest.shapes import BindingPage, NewSubscription, Subscription

_encode = msgspec.json.encode
# NUL as JSON writes it: the backslash is not itself escaped.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000").search


# --- publishing ------------------------------------------------------------------------------------------------------
class OutgoingEvent(NamedTuple):
    """An event that passed its checks: the parameters of `queue.publish_events` that are its own, in their order.

    `attributes`, `headers`, and `facts`, which filter policies are compared with, are JSON.
    """

    routing_key: str
    body: str
    attributes: str | None
    headers: str | None
    facts: str | None
    delay_seconds: int | None


def publish(routing_key: str, event: NewEvent, context: Context) -> Operation[PublishedEvent]:
    """Publishes an event and returns the queues it reached.

    Raises InvalidParameterValue, RequestEntityTooLarge, and RequestThrottled beyond QUOTA_DELIVERIES.
    """
    outgoing = yield from compute(lambda: outgoing_event(routing_key, event), size_of(event))
    rows = yield from Call(
        PUBLISH_EVENTS, (context.account_id, context.region, *outgoing, context.trace_header, True)
    )
    if any(row.error == TOO_MANY_DELIVERIES for row in rows):
        raise errors.RequestThrottled(too_many_deliveries(context.environment.settings))
    yield from wake_receives(row.arn for row in rows)
    yield EventPublished(routing_key, sent_to(rows))
    return published_event(rows)


def outgoing_event(routing_key: str, event: NewEvent) -> OutgoingEvent:
    """An event of a request, checked. Raises InvalidParameterValue, RequestEntityTooLarge."""
    check_routing_key(routing_key)
    validation.check_number_of_attributes(len(event.headers))
    body = message_body(event.message)
    attributes = {name: to_attribute(value) for name, value in event.headers.items()}
    validation.check_message_body(body)
    if attributes:
        validation.check_message_attributes(attributes)
    headers = _encode(event.headers)
    if _NUL(headers):  # PostgreSQL's jsonb cannot hold it
        raise errors.InvalidParameterValue("headers: NUL cannot be stored")
    facts = filter_facts.body_facts(body)
    return OutgoingEvent(
        routing_key,
        body,
        _encode(attributes).decode() if attributes else None,
        headers.decode() if event.headers else None,
        None if facts is None else _encode(facts).decode(),
        event.delay,
    )


def published_event(rows: Iterable[PublishedEventRow | TransactedRow]) -> PublishedEvent:
    """What an event reached, as the response; a queue that refused the event is left out."""
    reached = [row for row in rows if row.error is None]
    messages = [
        EventMessage(queue_name=row.arn.split(":")[5], msg_id=row.id)
        for row in reached
        if row.arn is not None
    ]
    return PublishedEvent(
        queues_matched=len(messages),
        webhooks_matched=sum(row.id for row in reached if row.arn is None),
        messages=messages,
    )


def sent_to(rows: Iterable[PublishedEventRow | TransactedRow]) -> list[Sent]:
    """The queues that have a new message each; the row of webhooks has no ARN."""
    return [Sent(row.arn, 1) for row in rows if row.arn is not None and row.error is None]


def wake_receives(arns: Iterable[str | None]) -> Operation[None]:
    """Wakes receives of this process that wait for one of these queues."""
    for arn in arns:
        if arn is not None:
            yield Wake(arn, 1)


# --- bindings --------------------------------------------------------------------------------------------------------
def subscribe(pattern: str, new: NewSubscription, context: Context) -> Operation[Subscription]:
    """Makes the binding, or returns the existing one.

    Raises QueueDoesNotExist, AccessDenied, InvalidParameterValue and the errors of filter policies.
    """
    check_pattern(pattern)
    if (new.queue_name is None) == (new.endpoint is None):
        raise errors.InvalidParameterValue("body: either queue_name, or endpoint (a URL)")
    if new.queue_name is not None:
        protocol, endpoint = "queue", arn_of(new.queue_name, context)
        yield from authorize_queues("SendMessage", [new.queue_name], context)
        yield from handles.check_queue(endpoint)
    else:
        endpoint = new.endpoint or ""
        protocol = new.protocol or endpoint.partition("://")[0]
        if not is_url(endpoint):
            raise errors.InvalidParameterValue("body: endpoint must be a URL of http or https")
        if not endpoint.startswith(f"{protocol}://"):
            raise errors.InvalidParameterValue(f"body: protocol is {protocol}, but endpoint begins otherwise")
    policy = None if new.filter_policy is None else _encode(new.filter_policy).decode()
    compiled = filter_policy.compile_policy(policy, "MessageBody") if policy else None
    rows = yield from Call(
        BIND,
        (context.account_id, context.region, pattern, protocol, endpoint, new.envelope, policy, compiled),
    )
    (row,) = rows
    return to_binding(row)


def unsubscribe(pattern: str, binding_id: int, context: Context) -> Operation[None]:
    """Removes a binding. Raises SubscriptionNotFound, InvalidParameterValue."""
    check_pattern(pattern)
    (row,) = yield from Call(UNBIND, (context.account_id, context.region, pattern, binding_id))
    if not row.removed:
        raise SubscriptionNotFound


def list_bindings(
    pattern: str | None, queue: str | None, after: int | None, limit: int, context: Context
) -> Operation[BindingPage]:
    """Bindings of a pattern or of a queue. Raises QueueDoesNotExist, InvalidParameterValue."""
    if pattern is not None:
        check_pattern(pattern)
    endpoint = None if queue is None else arn_of(queue, context)
    rows = yield from Call(
        LIST_BINDINGS, (context.account_id, context.region, pattern, endpoint, after, limit + 1)
    )
    if endpoint is not None and not rows:
        yield from handles.check_queue(endpoint)
    found = [to_binding(row) for row in rows[:limit]]
    return BindingPage(subscriptions=found, next=found[-1].id if len(rows) > limit else None)


def matching_bindings(routing_key: str, context: Context) -> Operation[list[Subscription]]:
    """The bindings that an event with this key would reach."""
    check_routing_key(routing_key)
    rows = yield from Call(MATCH_EVENT, (context.account_id, context.region, routing_key))
    return [to_binding(row) for row in rows]


def to_binding(row: BindingRow | BoundRow) -> Subscription:
    """A binding as a document."""
    arn = parse_queue_arn(row.endpoint) if row.protocol == "queue" else None
    return Subscription(
        id=row.binding_id,
        pattern=row.pattern,
        protocol=row.protocol,
        queue_name=None if arn is None else arn.name,
        endpoint=None if row.protocol == "queue" else row.endpoint,
        envelope=row.envelope,
        filter_policy=None if row.filter_policy is None else msgspec.json.decode(row.filter_policy),
        created_at=format_timestamp(row.created_at_ms),
    )


def binding_location(made: Subscription) -> str:
    """The path of a binding's resource."""
    return f"/v1/events/{quote(made.pattern, safe='')}/subscriptions/{made.id}"


# --- checks ----------------------------------------------------------------------------------------------------------
def check_routing_key(text: str) -> None:
    if not is_routing_key(text):
        raise errors.InvalidParameterValue(
            "routing_key: 1 to 255 letters, digits, '_' and '-' in segments between dots"
        )


def check_pattern(text: str) -> None:
    if not is_pattern(text):
        raise errors.InvalidParameterValue("pattern: a routing key in which segments may be '*' or '#'")
