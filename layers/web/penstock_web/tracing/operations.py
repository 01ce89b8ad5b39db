"""What a request does, seen from its effects: a span for each call of the database, and the request's own name.

The name and the attributes are those of OpenTelemetry's semantic conventions for messaging (AWS SQS) and for calls of
databases. No value that goes to the database is recorded. A call that several requests share is a span of each of them,
from the moment when it asked for it: the wait for the call before is in it, as it is in the request.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from penstock.effects import Effect, Operation, Pause, Row, Rows, Sql, Take, Wait, Wake
from penstock.postgres.statements import (
    CHANGE_VISIBILITIES,
    CHANGE_VISIBILITY_BY_ID,
    DELETE_BY_ID,
    DELETE_MESSAGES,
    PUBLISH_EVENTS,
    PUBLISH_MESSAGES,
    RECEIVE_ATTEMPT,
    SEND_MESSAGES,
)
from penstock.sqs.receive import DeliveryRow
from penstock.trace_context import parse_trace_header
from penstock_web.driver import EMPTY_RECEIVE

from .requests import SPAN
from .tracing import Recorded, Tracing, span_context

MOST_LINKS: Final = 32
"""A receive hands out at most ten messages; one of the REST API a hundred."""

SETTLES: Final = {
    DELETE_MESSAGES: "delete",
    DELETE_BY_ID: "delete",
    CHANGE_VISIBILITIES: "change_visibility",
    CHANGE_VISIBILITY_BY_ID: "change_visibility",
}

SENDS: Final = {SEND_MESSAGES: 0, PUBLISH_EVENTS: 2}
"""Which argument says where to."""

_system = msgspec.json.Decoder(dict[str, str])


class Observer:
    """Records the operations of requests that are recorded."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    def __call__(self, operation: Operation) -> Operation:
        """The same operation, which leaves spans behind if its request is recorded."""
        span = SPAN.get()
        return operation if span is None else self._observed(operation, span)

    def _observed(self, operation: Operation, request: Recorded) -> Operation:
        try:
            effect = next(operation)
            while True:
                call = self._begin(effect, request)
                try:
                    answer = yield effect
                except GeneratorExit:  # the call failed, or its caller left
                    if call is not None:
                        call.end("unanswered")
                    raise
                if call is not None:
                    answered(call, effect, answer, request)
                effect = operation.send(answer)
        except StopIteration as over:
            return over.value

    def _begin(self, effect: Effect, request: Recorded) -> Recorded | None:
        if isinstance(effect, (Wait, Pause)):
            request.span.add_event("wait", {"seconds": effect.seconds})
        if isinstance(effect, (Wait, Pause, Wake)):
            return None
        describe(effect, request)
        return self._tracing.child(request, effect.statement.name, call_attributes(effect))


def call_attributes(effect: Sql | Rows | Take) -> dict[str, str | int]:
    """Semantic conventions of calls of PostgreSQL. A batch is what has more than one entry."""
    name = effect.statement.name
    attributes: dict[str, str | int] = {
        "db.system.name": "postgresql",
        "db.operation.name": "SELECT",
        "db.query.summary": f"SELECT {name}",
        "db.stored_procedure.name": name,
    }
    if isinstance(effect, Rows) and len(effect) > 1:
        attributes["db.operation.batch.size"] = len(effect)
    return attributes


def answered(call: Recorded, effect: Effect, answer: Any, request: Recorded) -> None:
    """Ends the span of a call, unless there was none: who lines up behind others does not look first."""
    if answer and answer[0] is EMPTY_RECEIVE:
        return
    call.end()
    if isinstance(effect, Take):
        received(request, effect.queue_arn, answer)
    elif isinstance(effect, Sql) and effect.statement is RECEIVE_ATTEMPT:
        received(request, str(effect.arguments[0]), answer)


def describe(effect: Sql | Rows | Take, request: Recorded) -> None:
    """Names the request after what it does to messages, if this effect does anything to them."""
    statement = effect.statement
    if statement in SETTLES:
        queue = None if isinstance(effect, Rows) else name_of(argument(effect, 0))
        operation(
            request, SETTLES[statement], "settle", queue, len(effect) if isinstance(effect, Rows) else None
        )
    elif isinstance(effect, Take) or statement is RECEIVE_ATTEMPT:
        operation(request, "receive", "receive", name_of(argument(effect, 0)))
    elif statement in SENDS:
        operation(request, "send", "send", name_of(argument(effect, SENDS[statement])), entries(effect))
    elif statement is PUBLISH_MESSAGES and isinstance(effect, Rows):
        operation(request, "send", "send", name_of(effect.merge_key), len(effect))
        request.set("messaging.system", "aws.sns")


def argument(effect: Sql | Rows | Take, number: int) -> str:
    """The queue, topic or routing key that an effect is about."""
    if isinstance(effect, Take):
        return effect.queue_arn
    return str(effect.columns[number][0] if isinstance(effect, Rows) else effect.arguments[number])


def entries(effect: Sql | Rows | Take) -> int | None:
    """How many messages are sent."""
    return len(effect) if isinstance(effect, Rows) else None


def operation(
    request: Recorded, name: str, kind: str, destination: str | None, count: int | None = None
) -> None:
    """`{operation name} {destination}`, and what the conventions want to be known of it."""
    attributes: dict[str, str | int] = {
        "messaging.system": "aws_sqs",
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
    }
    if destination is not None:
        attributes["messaging.destination.name"] = destination
    if count is not None and (count > 1 or kind == "receive"):
        attributes["messaging.batch.message_count"] = count
    request.span.update_name(name if destination is None else f"{name} {destination}")
    request.span.set_attributes(attributes)


def received(request: Recorded, queue_arn: str, answer: Sequence[Row]) -> None:
    """How many messages there were, and a link to the span that sent each of them, as far as that is known."""
    deliveries = [DeliveryRow(*row) for row in answer[1:]]
    operation(request, "receive", "receive", name_of(queue_arn), len(deliveries))
    for delivery in deliveries[:MOST_LINKS]:
        header = None if delivery.system is None else _system.decode(delivery.system).get("AWSTraceHeader")
        sender = None if header is None else parse_trace_header(header)
        if sender is not None:
            request.span.add_link(span_context(sender), {"messaging.message.id": delivery.message_id})


def name_of(arn: str) -> str:
    """Of a queue or a topic."""
    return arn.rpartition(":")[2]
