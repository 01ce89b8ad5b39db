"""A span for each handled message, with a link to the span of its sender. Does nothing without OpenTelemetry."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from .message import Message

try:
    from opentelemetry import trace
except ImportError:
    HAS_OPENTELEMETRY = False
else:
    HAS_OPENTELEMETRY = True

# X-Ray Developer Guide, "Tracing header"; W3C Trace Context, level 1.
_ROOT: Final = re.compile(r"(?:^|;)\s*Root=1-([0-9a-f]{8})-([0-9a-f]{24})")
_PARENT: Final = re.compile(r"(?:^|;)\s*Parent=([0-9a-f]{16})")
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")


def find_sender(message: Message) -> tuple[int, int, bool] | None:
    """Returns the trace id, the span id and whether the trace is sampled: from AWSTraceHeader, or else from a message
    attribute `traceparent`."""
    header = message.trace_header or ""
    root, parent = _ROOT.search(header), _PARENT.search(header)
    if root and parent:
        return int(root[1] + root[2], 16), int(parent[1], 16), "Sampled=1" in header
    match = _TRACEPARENT.fullmatch(str(message.attributes.get("traceparent", "")))
    return (int(match[1], 16), int(match[2], 16), bool(int(match[3], 16) & 1)) if match else None


def span(queue: str, system: str, message: Message) -> AbstractContextManager[None]:
    """Returns a context in which the span of the message is the current span. An exception that leaves the context sets
    the span's status."""
    return _span(queue, system, message) if HAS_OPENTELEMETRY else nullcontext()


@contextmanager
def _span(queue: str, system: str, message: Message) -> Iterator[None]:
    """Records a span, with the names of OpenTelemetry's semantic conventions for messaging."""
    attributes: dict[str, str] = {
        "messaging.system": system,
        "messaging.destination.name": queue,
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.message.id": message.id,
    }
    links = []
    if sender := find_sender(message):
        trace_id, span_id, sampled = sender
        flags = trace.TraceFlags(trace.TraceFlags.SAMPLED if sampled else trace.TraceFlags.DEFAULT)
        links.append(trace.Link(trace.SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)))
    tracer = trace.get_tracer("penstock_worker")
    name = f"process {queue}"
    with tracer.start_as_current_span(name, kind=trace.SpanKind.CONSUMER, links=links, attributes=attributes):
        yield
