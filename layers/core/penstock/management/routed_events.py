"""Publishes events to all queues and URLs with a pattern that matches the routing key."""

import re
from collections.abc import Iterable
from typing import Annotated, Final, NamedTuple

import msgspec

from penstock import errors
from penstock.access.quotas import TOO_MANY_DELIVERIES, explain_deliveries_quota
from penstock.context import Context
from penstock.documents.decoding import check_length_of_one, decode_body, one_counter
from penstock.documents.routing_keys import is_routing_key
from penstock.effects import Call, Operation, Wake, compute
from penstock.limits.queue_limits import MAX_DELAY_SECONDS
from penstock.observing.reports import EventPublished, Sent
from penstock.postgres.statements.events import PUBLISH_EVENTS, PublishedEventRow
from penstock.postgres.statements.messages import TransactedRow
from penstock.sns.filter_policy import facts as filter_facts
from penstock.sns.filter_policy.unjudged import report_unjudged
from penstock.sqs import validation

from .messages.conversion import count_bytes, format_body, to_attribute
from .messages.types import Headers
from .rights import needs


class NewEvent(msgspec.Struct, forbid_unknown_fields=True):
    """An event to publish. Queues show the event after `delay` seconds; URLs receive the event at once."""

    message: msgspec.Raw
    headers: Headers = {}
    delay: Annotated[int, msgspec.Meta(ge=0, le=MAX_DELAY_SECONDS)] | None = None

    def __post_init__(self) -> None:
        """See NewMessage."""


class EventMessage(msgspec.Struct):
    """The message that an event created in a queue."""

    queue_name: str
    msg_id: int


class PublishedEvent(msgspec.Struct, kw_only=True):
    """The queues and URLs that an event reached.

    In a transaction, which can have several events, each result also has its routing key.
    """

    routing_key: str | msgspec.UnsetType = msgspec.UNSET
    queues_matched: int
    webhooks_matched: int
    messages: list[EventMessage]


_event = msgspec.json.Decoder(NewEvent)


def read_event(body: bytes) -> NewEvent:
    """Returns the event of a request. Raises InvalidParameterValue, RequestEntityTooLarge."""
    check_length_of_one(body)
    return decode_body(_event, body, one_counter)


_encode = msgspec.json.encode
IS_UNJUDGED: Final = filter_facts.UNJUDGED.decode()
# Matches a NUL in JSON, with an unescaped backslash.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000").search


class OutgoingEvent(NamedTuple):
    """A checked event: the parameters of `queue.publish_events` that differ by event, in the function's order.

    `attributes`, `headers` and `facts` are JSON. Filter policies compare `facts`.
    """

    routing_key: str
    body: str
    attributes: str | None
    headers: str | None
    facts: str | None
    delay_seconds: int | None


@needs("account", "penstock:PublishEvent")
def publish_event(routing_key: str, event: NewEvent, context: Context) -> Operation[PublishedEvent]:
    """Publishes an event and returns the queues that it reached.

    Raises InvalidParameterValue, RequestEntityTooLarge, and RequestThrottled beyond QUOTA_DELIVERIES.
    """
    outgoing = yield from compute(lambda: check_event(routing_key, event), count_bytes(event))
    rows = yield from Call(PUBLISH_EVENTS, (context.account_id, context.region, *outgoing, context.trace_header, True))
    if any(row.error == TOO_MANY_DELIVERIES for row in rows):
        raise errors.RequestThrottled(explain_deliveries_quota(context.environment.settings))
    yield from report_unjudged("event", routing_key, outgoing.facts == IS_UNJUDGED)
    yield from wake_receives(row.arn for row in rows)
    yield EventPublished(routing_key, list_sent(rows))
    return show_published(rows)


def check_event(routing_key: str, event: NewEvent) -> OutgoingEvent:
    """Validates a request's event. Raises InvalidParameterValue, RequestEntityTooLarge."""
    check_routing_key(routing_key)
    validation.check_number_of_attributes(len(event.headers))
    body = format_body(event.message)
    attributes = {name: to_attribute(value) for name, value in event.headers.items()}
    validation.check_message_body(body)
    if attributes:
        validation.check_message_attributes(attributes)
    headers = _encode(event.headers)
    if _NUL(headers):  # the database type jsonb cannot store NUL
        raise errors.InvalidParameterValue("headers: NUL cannot be stored")
    facts = filter_facts.encode_body_facts(body)
    return OutgoingEvent(
        routing_key,
        body,
        _encode(attributes).decode() if attributes else None,
        headers.decode() if event.headers else None,
        None if facts is None else facts.decode(),
        event.delay,
    )


def show_published(rows: Iterable[PublishedEventRow | TransactedRow]) -> PublishedEvent:
    """Returns the response with an event's targets. Queues that refused the event are omitted."""
    reached = [row for row in rows if row.error is None]
    messages = [EventMessage(queue_name=row.arn.split(":")[5], msg_id=row.id) for row in reached if row.arn is not None]
    return PublishedEvent(
        queues_matched=len(messages),
        webhooks_matched=sum(row.id for row in reached if row.arn is None),
        messages=messages,
    )


def list_sent(rows: Iterable[PublishedEventRow | TransactedRow]) -> list[Sent]:
    """Returns the queues that received a message. A row without an ARN represents webhooks."""
    return [Sent(row.arn, 1) for row in rows if row.arn is not None and row.error is None]


def wake_receives(arns: Iterable[str | None]) -> Operation[None]:
    """Wakes the receives in this process that wait for one of the queues."""
    for arn in arns:
        if arn is not None:
            yield Wake(arn, 1)


def check_routing_key(text: str) -> None:
    if not is_routing_key(text):
        raise errors.InvalidParameterValue(
            "routing_key: 1 to 255 letters, digits, '_' and '-' in segments between dots"
        )
