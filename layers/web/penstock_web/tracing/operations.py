"""Traces the operation of a request. Names and attributes follow OpenTelemetry's semantic conventions for messaging
(AWS SQS) and for database calls. Spans do not contain arguments of database calls. A merged call becomes a span of each
request that it served. The span of a merged call begins when the request yields the effect, and includes the wait for
earlier calls. The span of a receive includes the wait for messages.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar, cast
from uuid import UUID

import msgspec

from penstock.calls import DatabaseEffect
from penstock.effects import BatchCall, Call, Effect, Operation, Pause, Receive, Transact
from penstock.observing.reports import Deleted, EventPublished, Published, Received, Report, Sent, VisibilityChanged
from penstock.observing.trace_context import TraceContext, parse_trace_header
from penstock.postgres.statement import Row
from penstock.postgres.statements.messages import (
    CHANGE_VISIBILITIES,
    DELETE_MESSAGES,
    FAIL_MESSAGES,
    SEND_MESSAGES,
    FailureEntry,
    ReceiptHandle,
    ReceivedRow,
    SendEntry,
    SentRow,
    VisibilityEntry,
)
from penstock.postgres.statements.sns.topics import PUBLISH_MESSAGES, PublishedRow

from .requests import REQUEST_SPAN
from .tracing import RecordedSpan, Tracing, span_context

T = TypeVar("T")

MAX_LINKS: Final = 32
"""Limits the links of a receive's span. The REST API returns up to 1,000 messages, and SQS returns at most ten
messages."""

ENTRIES: Final[dict[str, Callable[..., SendEntry | ReceiptHandle | VisibilityEntry | FailureEntry]]] = {
    SEND_MESSAGES.name: SendEntry,
    DELETE_MESSAGES.name: ReceiptHandle,
    CHANGE_VISIBILITIES.name: VisibilityEntry,
    FAIL_MESSAGES.name: FailureEntry,
}
"""Lists the kinds of entries that have a message id."""

_system = msgspec.json.Decoder(dict[str, str])


class OperationRecorder:
    """Records spans for the operations of recorded requests."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    def __call__(self, operation: Operation[T]) -> Operation[T]:
        """Wraps the operation of a recorded request, so that the operation records spans."""
        span = REQUEST_SPAN.get()
        return operation if span is None else self._record(operation, span)

    def _record(self, operation: Operation[T], request: RecordedSpan) -> Operation[T]:
        try:
            effect = next(operation)
            while True:
                call = self._begin(effect, request)
                try:
                    response = yield effect
                except GeneratorExit:  # The call failed, or the client disconnected.
                    if call is not None:
                        call.end("no_response")
                    raise
                if call is not None:
                    call.end()
                    record_message_id(effect, response, request)
                effect = operation.send(response)
        except StopIteration as over:
            result: T = over.value
            return result

    def _begin(self, effect: Effect[object], request: RecordedSpan) -> RecordedSpan | None:
        if isinstance(effect, Report):
            record_report(effect, request)
        if isinstance(effect, Pause):
            request.span.add_event("wait", {"seconds": effect.seconds})
        if isinstance(effect, BatchCall) and effect.statement.stores_messages:
            link_creators(request, [SendEntry(*entry).system for entry in effect.entries])
        if not isinstance(effect, (Call, BatchCall, Transact, Receive)):
            return None
        return self._tracing.start_call_span(request, effect.statement.name, call_attributes(effect))


def call_attributes(effect: DatabaseEffect[Row]) -> dict[str, str | int]:
    """Returns the attributes of OpenTelemetry's semantic conventions for PostgreSQL. Only a call with several entries
    is a batch in these conventions."""
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
    """Names the request's span after a report of sent, received or settled messages. The span of a transaction keeps
    the name of the route."""
    match report:
        case Sent(queue_arn=arn, count=count):
            set_operation(request, "send", "send", find_resource_name(arn), count)
        case Received(queue_arn=arn, messages=messages):
            set_operation(request, "receive", "receive", find_resource_name(arn), len(messages))
            if len(messages) == 1:
                request.set("messaging.message.id", messages[0].message_id)
            link_senders(request, messages)
        case Deleted(queue_arn=arn, count=count):
            set_operation(request, "delete", "settle", find_resource_name(arn), count)
        case VisibilityChanged(queue_arn=arn, count=count):
            set_operation(request, "change_visibility", "settle", find_resource_name(arn), count)
        case Published(topic_arn=arn, count=count):
            set_operation(request, "send", "send", find_resource_name(arn), count)
            request.set("messaging.system", "aws.sns")
            request.set("aws.sns.topic.arn", arn)
        case EventPublished(routing_key=routing_key):
            set_operation(request, "send", "send", routing_key)


def set_operation(request: RecordedSpan, name: str, kind: str, destination: str, count: int | None = None) -> None:
    """Names the span `{operation name} {destination}` and sets the attributes that the conventions require. For actions
    that can handle several messages, `describe_action` later adds the number of messages.
    """
    attributes: dict[str, str | int] = {
        "messaging.system": "aws_sqs",
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "messaging.destination.name": destination,
    }
    request.messages = count
    request.is_named = True
    request.span.update_name(f"{name} {destination}")
    request.span.set_attributes(attributes)


def record_message_id(effect: Effect[object], rows: object, request: RecordedSpan) -> None:
    """Sets the message id for a call that sent, published or settled exactly one message."""
    if not isinstance(effect, BatchCall) or len(effect.entries) != 1:
        return
    (entry,) = effect.entries
    kind = ENTRIES.get(effect.statement.name)
    message_id = None if kind is None else kind(*entry).message_id
    text = None if message_id is None else str(UUID(bytes=message_id))
    if effect.statement in (SEND_MESSAGES, PUBLISH_MESSAGES):
        (row,) = cast("list[SentRow | PublishedRow]", rows)
        # If the message was a duplicate, the row has the id of the earlier message.
        text = row.message_id or text
    if text is not None:
        request.set("messaging.message.id", text)


def link_creators(request: RecordedSpan, systems: Sequence[bytes | None]) -> None:
    """Links the span of a send to the contexts in the messages (the client's AWSTraceHeader)."""
    for system in systems[:MAX_LINKS]:
        creator = find_creation_context(system)
        if creator is not None and creator.span_id != request.context.span_id:
            request.span.add_link(span_context(creator))


def link_senders(request: RecordedSpan, messages: Sequence[ReceivedRow]) -> None:
    """Links the span of a receive to the known spans that sent the messages."""
    for message in messages[:MAX_LINKS]:
        sender = find_creation_context(message.system)
        if sender is not None:
            request.span.add_link(span_context(sender), {"messaging.message.id": message.message_id})


def find_creation_context(system: str | bytes | None) -> TraceContext | None:
    """Returns the trace context from the system attributes of a message."""
    header = None if system is None else _system.decode(system).get("AWSTraceHeader")
    return None if header is None else parse_trace_header(header)


def find_resource_name(arn: str) -> str:
    """Returns the name from the ARN of a queue or topic."""
    return arn.rpartition(":")[2]
