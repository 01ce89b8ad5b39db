"""Operations of routed events: publish an event, manage bindings, list the bindings that an event would reach."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import msgspec

from penstock import errors
from penstock.aws.arn import parse_queue_arn
from penstock.context import Context
from penstock.effects import Call, Operation, Row, Wake
from penstock.postgres.statements.events import BIND, LIST_BINDINGS, MATCH_EVENT, PUBLISH_EVENTS, UNBIND
from penstock.sns.filter_policy import compile as filter_policy
from penstock.sns.filter_policy import facts as filter_facts
from penstock.sns.subscriptions import is_url
from penstock.sqs import handles, validation
from penstock_web.native.documents import NewEvent, format_timestamp, message_body, to_attribute
from penstock_web.native.errors import SubscriptionNotFound
from penstock_web.native.operations import arn_of
from penstock_web.native.routing_keys import is_pattern, is_routing_key
from penstock_web.native.shapes import BindingPage, NewSubscription, Subscription

_encode = msgspec.json.encode


# --- publishing ------------------------------------------------------------------------------------------------------
def publish(routing_key: str, event: NewEvent, context: Context) -> Operation[dict[str, Any]]:
    """Publishes an event and returns the queues it reached. Raises InvalidParameterValue, RequestEntityTooLarge."""
    columns = event_columns(routing_key, event)
    rows = yield from Call(
        PUBLISH_EVENTS, (context.account_id, context.region, *columns, context.trace_header)
    )
    yield from wake_receives(row[0] for row in rows)
    return publish_result(rows)


def event_columns(routing_key: str, event: NewEvent) -> tuple[Any, ...]:
    """Checks an event and returns its routing key, body, attributes, headers, facts for filters, and delay."""
    check_routing_key(routing_key)
    validation.check_number_of_attributes(len(event.headers))
    body = message_body(event.message)
    attributes = {name: to_attribute(value) for name, value in event.headers.items()}
    validation.check_message_body(body)
    if attributes:
        validation.check_message_attributes(attributes)
    facts = filter_facts.body_facts(body)
    return (
        routing_key,
        body,
        _encode(attributes).decode() if attributes else None,
        _encode(event.headers).decode() if event.headers else None,
        None if facts is None else _encode(facts).decode(),
        event.delay,
    )


def publish_result(rows: Iterable[Row]) -> dict[str, Any]:
    """Rows of `queue.publish_events` (ARN, id, error) as the response; a queue that refused the event is left out."""
    found = [(arn, number) for arn, number, error in rows if error is None]
    queues = [(arn, number) for arn, number in found if arn is not None]
    return {
        "queues_matched": len(queues),
        "webhooks_matched": sum(number for arn, number in found if arn is None),
        "messages": [{"queue_name": arn.split(":")[5], "msg_id": number} for arn, number in queues],
    }


def wake_receives(arns: Iterable[str | None]) -> Operation[None]:
    """Wakes receives of this process that wait for one of these queues."""
    for arn in arns:
        if arn is not None:
            yield Wake(arn, 1)


# --- bindings --------------------------------------------------------------------------------------------------------
def subscribe(pattern: str, new: NewSubscription, context: Context) -> Operation[Subscription]:
    """Makes the binding, or returns the existing one.

    Raises QueueDoesNotExist, InvalidParameterValue and the errors of filter policies.
    """
    check_pattern(pattern)
    if (new.queue_name is None) == (new.endpoint is None):
        raise errors.InvalidParameterValue("body: either queue_name, or protocol and endpoint")
    if new.queue_name is not None:
        protocol, endpoint = "queue", arn_of(new.queue_name, context)
        yield from handles.check_queue(endpoint)
    else:
        protocol, endpoint = new.protocol or "", new.endpoint or ""
        if not endpoint.startswith(f"{protocol}://") or not is_url(endpoint):
            raise errors.InvalidParameterValue("body: endpoint must be a URL of its protocol, http or https")
    policy = None if new.filter_policy is None else _encode(new.filter_policy).decode()
    compiled = filter_policy.compile_policy(policy, "MessageBody") if policy else None
    rows = yield from Call(
        BIND,
        (context.account_id, context.region, pattern, protocol, endpoint, new.envelope, policy, compiled),
    )
    return to_binding(rows[0])


def unsubscribe(pattern: str, binding_id: int, context: Context) -> Operation[None]:
    """Removes a binding. Raises SubscriptionNotFound."""
    ((removed,),) = yield from Call(UNBIND, (context.account_id, context.region, pattern, binding_id))
    if not removed:
        raise SubscriptionNotFound


def list_bindings(
    pattern: str | None, queue: str | None, after: int | None, limit: int, context: Context
) -> Operation[BindingPage]:
    """Bindings of a pattern or of a queue. Raises QueueDoesNotExist."""
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


def to_binding(row: Row) -> Subscription:
    """A row of the binding functions as a document."""
    binding_id, pattern, protocol, endpoint, envelope, policy, created_at_ms, *_ = row
    arn = parse_queue_arn(endpoint) if protocol == "queue" else None
    return Subscription(
        id=binding_id,
        pattern=pattern,
        protocol=protocol,
        queue_name=None if arn is None else arn.name,
        endpoint=None if protocol == "queue" else endpoint,
        envelope=envelope,
        filter_policy=None if policy is None else msgspec.json.decode(policy),
        created_at=format_timestamp(created_at_ms),
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
