"""Reads, stores and passes on the trace context of a request, a message or a delivery, in the formats of W3C and X-Ray.

    traceparent:      00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
    AWSTraceHeader:   Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled=1

The headers of W3C and X-Ray contain the same facts. An X-Ray trace id is a W3C trace id with a version prefix and a
dash inside. Messages use X-Ray's format, because SQS has an attribute for X-Ray's header. Sources: W3C Trace Context,
level 1; X-Ray Developer Guide, "Tracing header" and "Amazon SQS and AWS X-Ray". This module does not need
OpenTelemetry, because a `Tracer` records the spans.
"""

import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final, NamedTuple, Protocol

MAX_HEADER_BYTES: Final = 1_024
"""The maximum length of an X-Amzn-Trace-Id that Penstock passes on. The limit is Penstock's choice, and X-Ray's headers
have about 100 characters."""

# Python compiles the patterns at their first use, because every function imports this module, but few requests have a
# trace. Headers of later versions can be longer ("Versioning of traceparent").
_TRACEPARENT = r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
_ROOT = r"1-([0-9a-f]{8})-([0-9a-f]{24})"
_PARENT = r"[0-9a-f]{16}"
_PRINTABLE = r"[ -~]+"


class TraceContext(NamedTuple):
    """A span of a trace in any service. `trace_id` has 32 hexadecimal digits, and `span_id` has 16."""

    trace_id: str
    span_id: str
    sampled: bool


Value = str | int | float | bool


class Span(Protocol):
    """A span that has started but not ended."""

    @property
    def context(self) -> TraceContext:
        """Returns the trace context for work inside the span."""
        ...

    def set(self, name: str, value: Value) -> None:
        """Sets an attribute."""
        ...

    def end(self, error: str | None = None) -> None:
        """Ends the span. `error` is the name of the failure, as one word."""
        ...


class Tracer(Protocol):
    """Records spans."""

    def root(self, name: str, attributes: Mapping[str, Value]) -> Span | None:
        """Starts the first span of a trace. Returns None if the trace is not sampled."""
        ...

    def post(self, cause: TraceContext, name: str, attributes: Mapping[str, Value]) -> Span | None:
        """Starts the span of a request that a message caused. Returns None if the trace is not recorded."""
        ...


CURRENT_TRACE: ContextVar[TraceContext | None] = ContextVar("penstock_trace", default=None)
"""The trace context of the current task, or None if the task is not traced."""


def parse_traceparent(text: str) -> TraceContext | None:
    """Returns the trace context of a W3C header. Returns None for any other text, so that the request starts a new
    trace."""
    match = re.fullmatch(_TRACEPARENT, text.strip())
    if match is None or match[1] == "ff" or (match[1] == "00" and match[5]):
        return None
    return _check_ids(TraceContext(match[2], match[3], bool(int(match[4], 16) & 1)))


def as_traceparent(context: TraceContext) -> str:
    """Returns W3C's header."""
    return f"00-{context.trace_id}-{context.span_id}-{context.sampled:02x}"


def parse_trace_header(text: str) -> TraceContext | None:
    """Returns the context of an X-Ray header, or None if the header does not name a span. Load balancers' headers do
    not name a span."""
    fields = dict(pair.strip().partition("=")[::2] for pair in text.split(";"))
    root = re.fullmatch(_ROOT, fields.get("Root", ""))
    parent = fields.get("Parent", "")
    if root is None or re.fullmatch(_PARENT, parent) is None:
        return None
    return _check_ids(TraceContext(root[1] + root[2], parent, fields.get("Sampled") == "1"))


def as_trace_header(context: TraceContext) -> str:
    """Returns the value of AWSTraceHeader and of X-Amzn-Trace-Id."""
    trace_id = context.trace_id
    return f"Root=1-{trace_id[:8]}-{trace_id[8:]};Parent={context.span_id};Sampled={context.sampled:d}"


def _check_ids(context: TraceContext) -> TraceContext | None:
    """Returns None if an id has only zeros, which is invalid (W3C, "trace-id", "parent-id")."""
    return context if context.trace_id.strip("0") and context.span_id.strip("0") else None


def find_message_trace_header(headers: Mapping[bytes, bytes]) -> str | None:
    """Returns the AWSTraceHeader for those messages of a request that have no AWSTraceHeader. The header comes from the
    request's span, or from X-Amzn-Trace-Id if the request has no span.

    Penstock chose not to pass on a header without Parent=, because load balancers and gateways add a header without
    Parent= to every request.
    """
    current = CURRENT_TRACE.get()
    if current is not None:
        return as_trace_header(current)
    header = headers.get(b"x-amzn-trace-id")
    if header is None or b"Parent=" not in header or len(header) > MAX_HEADER_BYTES:
        return None
    text = header.decode("latin-1")
    return text if re.fullmatch(_PRINTABLE, text) else None
