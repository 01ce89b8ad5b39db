"""Records spans with OpenTelemetry. The process samples new traces at random. Traces that a caller has started keep the
sampling decision of the caller. The process makes its sampling decision before it creates a span. Therefore, a request
that is not recorded costs only the reading of its headers and a random number. OpenTelemetry's sampler would also cost
the creation of a span.
"""

import random
from collections.abc import Mapping
from importlib.metadata import version
from typing import Final
from uuid import uuid4

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import SpanKind, Status, StatusCode, TraceState

from penstock import __version__
from penstock.observing.trace_context import TraceContext, Value
from penstock.settings import Settings

from .span_queue import SpanQueue

EXPORT_SECONDS: Final = 5.0
"""Limits the time for one request to the collector, including retries. After EXPORT_SECONDS, the process drops the
spans."""
DEFAULT_NAME: Final = "penstock"
SDK_RESOURCE: Final = Resource(
    {
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.version": version("opentelemetry-sdk"),
    }
)
FLUSH_SECONDS: Final = 2.0
"""Limits the time for sending queued spans at the end of the process."""


class RecordedSpan:
    """A running span. Implements `penstock.observing.trace_context.Span`. `is_named` says whether the span already has
    its final name. `messages` is the number of messages, or None if the number is not known.
    """

    __slots__ = ("context", "is_named", "messages", "span")

    def __init__(self, span: trace.Span) -> None:
        self.span = span
        self.is_named = False
        self.messages: int | None = None
        own = span.get_span_context()
        self.context = TraceContext(f"{own.trace_id:032x}", f"{own.span_id:016x}", own.trace_flags.sampled)

    def set(self, name: str, value: Value) -> None:
        self.span.set_attribute(name, value)

    def end(self, error: str | None = None) -> None:
        """Ends the span. `error` becomes the attribute `error.type`."""
        if error is not None:
            self.span.set_attribute("error.type", error)
            self.span.set_status(Status(StatusCode.ERROR))
        self.span.end()


class Tracing:
    """A process's tracer. Implements `penstock.observing.trace_context.Tracer`. Thread-safe."""

    def __init__(self, settings: Settings, exporter: SpanExporter) -> None:
        self._rate = settings.otlp_sample_rate
        self._span_queue = SpanQueue(exporter)
        # The process calls `close` itself. The provider's shutdown hook would wait for the collector.
        self._provider = TracerProvider(ALWAYS_ON, build_resource(settings), shutdown_on_exit=False)
        self._provider.add_span_processor(self._span_queue)
        self._tracer = self._provider.get_tracer("penstock", __version__)

    @property
    def dropped(self) -> int:
        """Returns the number of dropped spans. The process drops a span if the queue is full or the collector
        refuses the span."""
        return self._span_queue.dropped

    def should_record(self) -> bool:
        """Returns whether to record a new trace."""
        return random.random() < self._rate  # noqa: S311 - a sample, not a secret

    def start_request_span(
        self, name: str, attributes: Mapping[str, Value], parent: TraceContext | None, state: str
    ) -> RecordedSpan:
        """Starts the span of a request to the service. `state` is the tracestate of the caller."""
        return self._start(
            name, SpanKind.SERVER, attributes, None if parent is None else find_remote_parent(parent, state)
        )

    def start_call_span(self, parent: RecordedSpan, name: str, attributes: Mapping[str, Value]) -> RecordedSpan:
        """Starts the span of a database call within the span `parent`."""
        return self._start(name, SpanKind.CLIENT, attributes, trace.set_span_in_context(parent.span, Context()))

    def root(self, name: str, attributes: Mapping[str, Value]) -> RecordedSpan | None:
        """Starts the span of an activity that sends messages, in a new trace. Returns None if the trace is not
        sampled."""
        return self._start(name, SpanKind.PRODUCER, attributes, None) if self.should_record() else None

    def post(self, cause: TraceContext, name: str, attributes: Mapping[str, Value]) -> RecordedSpan | None:
        """Starts the span of a request to another server. The span belongs to the trace of the message, and has a link
        to the span of the message. Returns None if the trace is not sampled.
        """
        if not cause.sampled:
            return None
        parent = find_remote_parent(cause)
        links = [trace.Link(trace.get_current_span(parent).get_span_context())]
        return self._start(name, SpanKind.CLIENT, attributes, parent, links)

    def close(self, seconds: float = FLUSH_SECONDS) -> None:
        """Sends queued spans for at most `seconds`."""
        self._span_queue.close(seconds)

    def _start(
        self,
        name: str,
        kind: SpanKind,
        attributes: Mapping[str, Value],
        parent: Context | None,
        links: list[trace.Link] | None = None,
    ) -> RecordedSpan:
        span = self._tracer.start_span(name, parent or Context(), kind, attributes, links)
        return RecordedSpan(span)


def build_resource(settings: Settings) -> Resource:
    """Returns the OpenTelemetry resource of the spans. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override these
    values. If OTLP_SERVICE_NAME differs from the default, OTLP_SERVICE_NAME overrides both variables.
    `service.instance.id` is random (OpenTelemetry semantic conventions, "Service").
    """
    ours = Resource(
        {
            "service.name": settings.otlp_service_name,
            "service.version": __version__,
            "service.instance.id": str(uuid4()),
        }
    )
    given = Resource({} if settings.otlp_service_name == DEFAULT_NAME else {"service.name": settings.otlp_service_name})
    return SDK_RESOURCE.merge(ours).merge(OTELResourceDetector().detect()).merge(given)


def find_remote_parent(context: TraceContext, state: str = "") -> Context:
    """Returns an OpenTelemetry context that contains a span of another process."""
    return trace.set_span_in_context(trace.NonRecordingSpan(span_context(context, state)), Context())


def span_context(context: TraceContext, state: str = "") -> trace.SpanContext:
    """Returns the span context of another process. Ignores an invalid tracestate (W3C Trace Context)."""
    return trace.SpanContext(
        int(context.trace_id, 16),
        int(context.span_id, 16),
        is_remote=True,
        trace_flags=trace.TraceFlags(context.sampled),
        trace_state=TraceState.from_header([state]) if state else None,
    )


def open_tracing(settings: Settings) -> Tracing:
    """Returns the tracing for the collector at OTLP_ENDPOINT. The collector can also start later."""
    exporter = OTLPSpanExporter(
        endpoint=settings.otlp_endpoint,
        insecure=not settings.otlp_endpoint.startswith("https://"),
        timeout=EXPORT_SECONDS,
    )
    return Tracing(settings, exporter)
