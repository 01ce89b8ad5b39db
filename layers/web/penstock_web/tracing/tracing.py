"""Records spans with OpenTelemetry, and decides which: a trace that begins here by chance, others as their caller did.

The decision is made before there is a span, so that a request that is not recorded costs a look at its headers and a
random number, where OpenTelemetry's own sampler would cost a span.
"""

import random
from collections.abc import Mapping
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import SpanKind, Status, StatusCode, TraceState

from penstock import __version__
from penstock.settings import Settings
from penstock.trace_context import TraceContext, Value

from .span_queue import SpanQueue

EXPORT_SECONDS: Final = 5.0
"""For one request to the collector, repetitions included; then its spans are dropped."""
FLUSH_SECONDS: Final = 2.0
"""At the end of the process, for what is left."""


class RecordedSpan:
    """A span under way, as `penstock.trace_context.Span` has it."""

    __slots__ = ("context", "span")

    def __init__(self, span: trace.Span) -> None:
        self.span = span
        own = span.get_span_context()
        self.context = TraceContext(f"{own.trace_id:032x}", f"{own.span_id:016x}", own.trace_flags.sampled)

    def set(self, name: str, value: Value) -> None:
        """One more attribute."""
        self.span.set_attribute(name, value)

    def end(self, error: str | None = None) -> None:
        """It is over; `error`: a word for what went wrong, which becomes `error.type`."""
        if error is not None:
            self.span.set_attribute("error.type", error)
            self.span.set_status(Status(StatusCode.ERROR))
        self.span.end()


class Tracing:
    """The tracer of a process, as `penstock.trace_context.Tracer` has it. Thread-safe."""

    def __init__(self, settings: Settings, exporter: SpanExporter) -> None:
        self._rate = settings.otlp_sample_rate
        self._span_queue = SpanQueue(exporter)
        resource = Resource(
            {
                "service.name": settings.otlp_service_name,
                "service.version": __version__,
                "telemetry.sdk.language": "python",
                "telemetry.sdk.name": "opentelemetry",
            }
        )
        # The provider's own shutdown hook would wait for the collector; `close` is called instead.
        self._provider = TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False)
        self._provider.add_span_processor(self._span_queue)
        self._tracer = self._provider.get_tracer("penstock", __version__)

    @property
    def dropped(self) -> int:
        """Spans that were lost: the queue was full, or the collector did not take them."""
        return self._span_queue.dropped

    def should_record(self) -> bool:
        """Whether a trace that begins here is recorded."""
        return random.random() < self._rate  # noqa: S311 - a sample, not a secret

    def start_request_span(
        self, name: str, attributes: Mapping[str, Value], parent: TraceContext | None, state: str
    ) -> RecordedSpan:
        """A request that is answered. `state`: the caller's tracestate."""
        return self._start(
            name, SpanKind.SERVER, attributes, None if parent is None else remote_parent(parent, state)
        )

    def start_call_span(
        self, parent: RecordedSpan, name: str, attributes: Mapping[str, Value]
    ) -> RecordedSpan:
        """A call of the database, for what is under way."""
        return self._start(
            name, SpanKind.CLIENT, attributes, trace.set_span_in_context(parent.span, Context())
        )

    def root(self, name: str, attributes: Mapping[str, Value]) -> RecordedSpan | None:
        """Something that begins here, and makes messages. None: not among the sampled ones."""
        return self._start(name, SpanKind.PRODUCER, attributes, None) if self.should_record() else None

    def post(self, cause: TraceContext, name: str, attributes: Mapping[str, Value]) -> RecordedSpan | None:
        """A request to another server, in the trace of the message that caused it, and linked to its span."""
        if not cause.sampled:
            return None
        parent = remote_parent(cause)
        links = [trace.Link(trace.get_current_span(parent).get_span_context())]
        return self._start(name, SpanKind.CLIENT, attributes, parent, links)

    def close(self, seconds: float = FLUSH_SECONDS) -> None:
        """Sends what is left, for at most so long."""
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


def remote_parent(context: TraceContext, state: str = "") -> Context:
    """OpenTelemetry's form of a span that is not ours."""
    return trace.set_span_in_context(trace.NonRecordingSpan(span_context(context, state)), Context())


def span_context(context: TraceContext, state: str = "") -> trace.SpanContext:
    """Likewise, without anything around it. A tracestate that cannot be read is left out, as W3C says."""
    return trace.SpanContext(
        int(context.trace_id, 16),
        int(context.span_id, 16),
        is_remote=True,
        trace_flags=trace.TraceFlags(context.sampled),
        trace_state=TraceState.from_header([state]) if state else None,
    )


def open_tracing(settings: Settings) -> Tracing:
    """For the collector at OTLP_ENDPOINT, which need not be there yet."""
    exporter = OTLPSpanExporter(
        endpoint=settings.otlp_endpoint,
        insecure=not settings.otlp_endpoint.startswith("https://"),
        timeout=EXPORT_SECONDS,
    )
    return Tracing(settings, exporter)
