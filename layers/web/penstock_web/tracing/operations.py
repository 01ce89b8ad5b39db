"""Traces the operation of a request: records a span for each database call, and names the request after its reports.

The name and the attributes are those of OpenTelemetry's semantic conventions for messaging (AWS SQS) and for database
calls. No argument of a database call is recorded. A call that several requests share is a span of each of them. Such a
span begins when the request yields the effect, so it includes the wait for the calls before; that of a receive includes
its wait for messages.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from penstock.effects import BatchCall, Call, Effect, Operation, Pause, Receive, Row, Transact
from penstock.postgres.calls import DatabaseEffect
from penstock.postgres.statements.messages import ReceivedRow
from penstock.reports import (
    Deleted,
    EventPublished,
    Published,
    Received,
    Report,
    Sent,
    VisibilityChanged,
)
from penstock.trace_context import parse_trace_header

from .requests import REQUEST_SPAN
from .tracing import RecordedSpan, Tracing, span_context

T = TypeVar("T")

MAX_LINKS: Final = 32
"""Of a receive: SQS returns at most ten messages, but the REST API up to 1,000."""

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
                    call.end()
                effect = operation.send(answer)
        except StopIteration as over:
            result: T = over.value
            return result

    def _begin(self, effect: Effect[object], request: RecordedSpan) -> RecordedSpan | None:
        if isinstance(effect, Report):
            record_report(effect, request)
        if isinstance(effect, Pause):
            request.span.add_event("wait", {"seconds": effect.seconds})
        if not isinstance(effect, (Call, BatchCall, Transact, Receive)):
            return None
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


def record_report(report: Report, request: RecordedSpan) -> None:
    """Names the request's span after what it sent, received or settled. That of a transaction keeps its route."""
    match report:
        case Sent(queue_arn=arn, count=count):
            set_operation(request, "send", "send", resource_name(arn), count)
        case Received(queue_arn=arn, messages=messages):
            set_operation(request, "receive", "receive", resource_name(arn), len(messages))
            link_senders(request, messages)
        case Deleted(queue_arn=arn, count=count):
            set_operation(request, "delete", "settle", resource_name(arn), count)
        case VisibilityChanged(queue_arn=arn, count=count):
            set_operation(request, "change_visibility", "settle", resource_name(arn), count)
        case Published(topic_arn=arn, count=count):
            set_operation(request, "send", "send", resource_name(arn), count)
            request.set("messaging.system", "aws.sns")
        case EventPublished(routing_key=routing_key):
            set_operation(request, "send", "send", routing_key)


def set_operation(
    request: RecordedSpan, name: str, kind: str, destination: str, count: int | None = None
) -> None:
    """Names the span `{operation name} {destination}` and sets the attributes that the conventions require."""
    attributes: dict[str, str | int] = {
        "messaging.system": "aws_sqs",
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "messaging.destination.name": destination,
    }
    if count is not None and (count > 1 or kind == "receive"):
        attributes["messaging.batch.message_count"] = count
    request.span.update_name(f"{name} {destination}")
    request.span.set_attributes(attributes)


def link_senders(request: RecordedSpan, messages: Sequence[ReceivedRow]) -> None:
    """Links to the spans that sent the messages, where those are known."""
    for message in messages[:MAX_LINKS]:
        header = None if message.system is None else _system.decode(message.system).get("AWSTraceHeader")
        sender = None if header is None else parse_trace_header(header)
        if sender is not None:
            request.span.add_link(span_context(sender), {"messaging.message.id": message.message_id})


def resource_name(arn: str) -> str:
    """The name in the ARN of a queue or a topic."""
    return arn.rpartition(":")[2]
