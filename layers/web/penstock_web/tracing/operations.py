"""Traces the operation of a request by its effects: records a span for each database call, and names the request.

The name and the attributes are those of OpenTelemetry's semantic conventions for messaging (AWS SQS) and for database
calls. No argument of a database call is recorded. A call that several requests share is a span of each of them. Such a
span begins when the request yields the effect, so it includes the wait for the calls before.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from penstock.effects import BatchCall, Call, Effect, Operation, Pause, Receive, Row, Wait, Wake
from penstock.postgres.statements.events import PUBLISH_EVENTS
from penstock.postgres.statements.messages import (
    CHANGE_VISIBILITIES,
    DELETE_MESSAGES,
    RECEIVE_MESSAGES,
    SEND_MESSAGES,
)
from penstock.postgres.statements.native_messages import CHANGE_VISIBILITY_BY_ID, DELETE_BY_ID
from penstock.postgres.statements.topics import PUBLISH_MESSAGES
from penstock.sqs.receive import DeliveryRow
from penstock.trace_context import parse_trace_header
from penstock_web.driver import EMPTY_RECEIVE

from .requests import REQUEST_SPAN
from .tracing import RecordedSpan, Tracing, span_context

MAX_LINKS: Final = 32
"""Of a receive: SQS returns at most ten messages, but the REST API up to 1,000."""

SETTLE_OPERATIONS: Final = {
    DELETE_MESSAGES: "delete",
    DELETE_BY_ID: "delete",
    CHANGE_VISIBILITIES: "change_visibility",
    CHANGE_VISIBILITY_BY_ID: "change_visibility",
}

SEND_DESTINATIONS: Final = {SEND_MESSAGES: 0, PUBLISH_EVENTS: 2}
"""The number of the argument that has the destination."""

_system = msgspec.json.Decoder(dict[str, str])


class OperationRecorder:
    """Records spans of operations whose requests are recorded."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    def __call__(self, set_operation: Operation) -> Operation:
        """The same operation, which also records spans if its request is recorded."""
        span = REQUEST_SPAN.get()
        return set_operation if span is None else self._record(set_operation, span)

    def _record(self, set_operation: Operation, request: RecordedSpan) -> Operation:
        try:
            effect = next(set_operation)
            while True:
                call = self._begin(effect, request)
                try:
                    answer = yield effect
                except GeneratorExit:  # the call failed, or the client disconnected
                    if call is not None:
                        call.end("unanswered")
                    raise
                if call is not None:
                    end_call_span(call, effect, answer, request)
                effect = set_operation.send(answer)
        except StopIteration as over:
            return over.value

    def _begin(self, effect: Effect, request: RecordedSpan) -> RecordedSpan | None:
        if isinstance(effect, (Wait, Pause)):
            request.span.add_event("wait", {"seconds": effect.seconds})
        if isinstance(effect, (Wait, Pause, Wake)):
            return None
        name_request(effect, request)
        return self._tracing.start_call_span(request, effect.statement.name, call_attributes(effect))


def call_attributes(effect: Call | BatchCall | Receive) -> dict[str, str | int]:
    """Attributes of OpenTelemetry's semantic conventions for PostgreSQL. A batch has more than one entry."""
    name = effect.statement.name
    attributes: dict[str, str | int] = {
        "db.system.name": "postgresql",
        "db.operation.name": "SELECT",
        "db.query.summary": f"SELECT {name}",
        "db.stored_procedure.name": name,
    }
    if isinstance(effect, BatchCall) and len(effect) > 1:
        attributes["db.operation.batch.size"] = len(effect)
    return attributes


def end_call_span(call: RecordedSpan, effect: Effect, answer: Any, request: RecordedSpan) -> None:
    """Ends the span of a call.

    The driver answers the first effect of some long polls itself, without a call (EMPTY_RECEIVE): that span is not
    recorded.
    """
    if answer and answer[0] is EMPTY_RECEIVE:
        return
    call.end()
    if isinstance(effect, Receive):
        record_received(request, effect.queue_arn, answer)
    elif isinstance(effect, Call) and effect.statement is RECEIVE_MESSAGES:
        record_received(request, str(effect.arguments[0]), answer)


def name_request(effect: Call | BatchCall | Receive, request: RecordedSpan) -> None:
    """Names the request's span after its messaging operation, if this effect sends, receives or settles messages."""
    statement = effect.statement
    if statement in SETTLE_OPERATIONS:
        queue = None if isinstance(effect, BatchCall) else resource_name(destination_argument(effect, 0))
        set_operation(
            request,
            SETTLE_OPERATIONS[statement],
            "settle",
            queue,
            len(effect) if isinstance(effect, BatchCall) else None,
        )
    elif statement is RECEIVE_MESSAGES:
        set_operation(request, "receive", "receive", resource_name(destination_argument(effect, 0)))
    elif statement in SEND_DESTINATIONS:
        set_operation(
            request,
            "send",
            "send",
            resource_name(destination_argument(effect, SEND_DESTINATIONS[statement])),
            message_count(effect),
        )
    elif statement is PUBLISH_MESSAGES and isinstance(effect, BatchCall):
        set_operation(request, "send", "send", resource_name(effect.merge_key), len(effect))
        request.set("messaging.system", "aws.sns")


def destination_argument(effect: Call | BatchCall | Receive, number: int) -> str:
    """The queue, topic or routing key in argument `number` of an effect."""
    if isinstance(effect, Receive):
        return effect.queue_arn
    return str(effect.columns[number][0] if isinstance(effect, BatchCall) else effect.arguments[number])


def message_count(effect: Call | BatchCall | Receive) -> int | None:
    """How many messages an effect sends, if it says so."""
    return len(effect) if isinstance(effect, BatchCall) else None


def set_operation(
    request: RecordedSpan, name: str, kind: str, destination: str | None, count: int | None = None
) -> None:
    """Names the span `{operation name} {destination}` and sets the attributes that the conventions require."""
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


def record_received(request: RecordedSpan, queue_arn: str, answer: Sequence[Row]) -> None:
    """Records the number of received messages, and links to the spans that sent them, where those are known."""
    deliveries = [DeliveryRow(*row) for row in answer[1:]]
    set_operation(request, "receive", "receive", resource_name(queue_arn), len(deliveries))
    for delivery in deliveries[:MAX_LINKS]:
        header = None if delivery.system is None else _system.decode(delivery.system).get("AWSTraceHeader")
        sender = None if header is None else parse_trace_header(header)
        if sender is not None:
            request.span.add_link(span_context(sender), {"messaging.message.id": delivery.message_id})


def resource_name(arn: str) -> str:
    """The name in the ARN of a queue or a topic."""
    return arn.rpartition(":")[2]
