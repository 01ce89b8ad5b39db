"""Traces the operation of a request by its effects: records a span for each database call, and names the request.

The name and the attributes are those of OpenTelemetry's semantic conventions for messaging (AWS SQS) and for database
calls. No argument of a database call is recorded. A call that several requests share is a span of each of them. Such a
span begins when the request yields the effect, so it includes the wait for the calls before; that of a receive includes
its wait for messages.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from penstock.effects import (
    BatchCall,
    Call,
    Effect,
    Operation,
    Pause,
    Receive,
    Row,
    Statement,
    Transact,
)
from penstock.postgres.calls import DatabaseEffect
from penstock.postgres.statements.events import PUBLISH_EVENTS
from penstock.postgres.statements.messages import (
    CHANGE_VISIBILITIES,
    DELETE_MESSAGES,
    SEND_MESSAGES,
    ReceivedRow,
)
from penstock.postgres.statements.native_messages import CHANGE_VISIBILITY_BY_ID, DELETE_BY_ID
from penstock.postgres.statements.topics import PUBLISH_MESSAGES
from penstock.trace_context import parse_trace_header

from .requests import REQUEST_SPAN
from .tracing import RecordedSpan, Tracing, span_context

T = TypeVar("T")

MAX_LINKS: Final = 32
"""Of a receive: SQS returns at most ten messages, but the REST API up to 1,000."""

SETTLE_OPERATIONS: Final[dict[Statement[Row], str]] = {
    DELETE_MESSAGES: "delete",
    DELETE_BY_ID: "delete",
    CHANGE_VISIBILITIES: "change_visibility",
    CHANGE_VISIBILITY_BY_ID: "change_visibility",
}

_system = msgspec.json.Decoder(dict[str, str])


class OperationRecorder:
    """Records spans of operations whose requests are recorded."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    def __call__(self, operation: Operation[T]) -> Operation[T]:
        """The same operation, which also records spans if its request is recorded."""
        span = REQUEST_SPAN.get()
        return operation if span is None else self._record(operation, span)

    def _record(self, operation: Operation[T], request: RecordedSpan) -> Operation[T]:
        try:
            effect = next(operation)
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
                effect = operation.send(answer)
        except StopIteration as over:
            result: T = over.value
            return result

    def _begin(self, effect: Effect[object], request: RecordedSpan) -> RecordedSpan | None:
        if isinstance(effect, Pause):
            request.span.add_event("wait", {"seconds": effect.seconds})
        if not isinstance(effect, (Call, BatchCall, Transact, Receive)):
            return None
        name_request(effect, request)
        return self._tracing.start_call_span(request, effect.statement.name, call_attributes(effect))


def call_attributes(effect: DatabaseEffect[Row]) -> dict[str, str | int]:
    """Attributes of OpenTelemetry's semantic conventions for PostgreSQL. A batch has more than one entry."""
    name = effect.statement.name
    attributes: dict[str, str | int] = {
        "db.system.name": "postgresql",
        "db.operation.name": "SELECT",
        "db.query.summary": f"SELECT {name}",
        "db.stored_procedure.name": name,
    }
    if isinstance(effect, (BatchCall, Transact)) and len(effect) > 1:
        attributes["db.operation.batch.size"] = len(effect)
    return attributes


def end_call_span(
    call: RecordedSpan, effect: Effect[object], answer: Sequence[Any], request: RecordedSpan
) -> None:
    """Ends the span of a call. `answer`: rows of the type that the effect's statement has."""
    call.end()
    if isinstance(effect, Receive):
        record_received(request, resource_name(effect.queue_arn), answer)


def name_request(effect: DatabaseEffect[Row], request: RecordedSpan) -> None:
    """Names the request's span after its messaging operation, if this effect sends, receives or settles messages."""
    if isinstance(effect, Receive):
        set_operation(request, "receive", "receive", resource_name(effect.queue_arn))
    elif isinstance(effect, BatchCall):
        name_batch(effect, request)
    elif isinstance(effect, Call):
        name_call(effect, request)


def name_batch(effect: BatchCall[Row, Row], request: RecordedSpan) -> None:
    """Names the span of a request whose messages may share a call with those of others."""
    if effect.statement is SEND_MESSAGES:
        set_operation(request, "send", "send", resource_name(effect.queue_arn), len(effect))
    elif effect.statement is PUBLISH_MESSAGES:
        set_operation(request, "send", "send", resource_name(effect.merge_key), len(effect))
        request.set("messaging.system", "aws.sns")
    elif (name := SETTLE_OPERATIONS.get(effect.statement)) is not None:
        set_operation(request, name, "settle", None, len(effect))


def name_call(effect: Call[Row], request: RecordedSpan) -> None:
    """Names the span of a request that has a call of its own, by the queue or the routing key in its arguments."""
    if effect.statement is PUBLISH_EVENTS:
        _, _, routing_key, *_ = effect.arguments
        set_operation(request, "send", "send", str(routing_key))
    elif (name := SETTLE_OPERATIONS.get(effect.statement)) is not None:
        set_operation(request, name, "settle", queue_argument(effect))


def queue_argument(effect: Call[Row]) -> str:
    """The name of the queue whose ARN is the first argument of a call."""
    arn, *_ = effect.arguments
    return resource_name(str(arn))


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


def record_received(request: RecordedSpan, queue: str, answer: Sequence[ReceivedRow]) -> None:
    """Records the number of received messages, and links to the spans that sent them, where those are known."""
    deliveries = answer[1:]
    set_operation(request, "receive", "receive", queue, len(deliveries))
    for delivery in deliveries[:MAX_LINKS]:
        header = None if delivery.system is None else _system.decode(delivery.system).get("AWSTraceHeader")
        sender = None if header is None else parse_trace_header(header)
        if sender is not None:
            request.span.add_link(span_context(sender), {"messaging.message.id": delivery.message_id})


def resource_name(arn: str) -> str:
    """The name in the ARN of a queue or a topic."""
    return arn.rpartition(":")[2]
