"""The queue of ended spans beside OpenTelemetry's own BatchSpanProcessor, with the same sizes.

    python -m benchmarks.costs.spans        # docs/decisions/0015-libraries-beside-the-hot-path.md has figures

`CPU`: of the whole process for 1,000 spans, from start to export; the exporter encodes them and sends nothing. The
others are measured while the collector hangs: ending a span, what the processor knows of lost spans, and its end.
"""

import argparse
import logging
import statistics
from collections.abc import Callable, Sequence
from threading import Event
from time import perf_counter, process_time
from typing import Final

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from benchmarks.report.rows import Row, text
from penstock_web.tracing.outbox import BATCH_SPANS, MOST_SPANS, PAUSE_SECONDS, Outbox
from penstock_web.tracing.tracing import FLUSH_SECONDS

ROUNDS: Final = 5
SPANS: Final = 20_000
BURST: Final = 2_000
"""Fewer than fit the queue, so that nothing is lost while CPU is measured."""
ATTRIBUTES: Final[dict[str, str | int]] = {
    "messaging.system": "aws_sqs",
    "messaging.operation.name": "send",
    "db.operation.batch.size": 10,
}


class Encoding(SpanExporter):
    """Does what the exporter for OTLP does without a network. `burst`: set with the last span of each burst."""

    def __init__(self) -> None:
        self.burst = Event()
        self._count = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        encode_spans(spans).SerializeToString()
        self._count += len(spans)
        if self._count % BURST == 0:
            self.burst.set()
        return SpanExportResult.SUCCESS


class Hanging(SpanExporter):
    """A collector that never answers, until the exporter is shut down."""

    def __init__(self) -> None:
        self._over = Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:  # noqa: ARG002 - OpenTelemetry's form
        self._over.wait()
        return SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self._over.set()


def library(exporter: SpanExporter) -> BatchSpanProcessor:
    return BatchSpanProcessor(exporter, MOST_SPANS, PAUSE_SECONDS * 1000, BATCH_SPANS)


MAKERS: Final[dict[str, Callable[[SpanExporter], SpanProcessor]]] = {
    "Outbox": Outbox,
    "BatchSpanProcessor": library,
}


def cpu_seconds(make: Callable[[SpanExporter], SpanProcessor], count: int) -> float:
    """Of `count` spans that begin, end and are encoded."""
    exporter, provider = Encoding(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor := make(exporter))
    tracer, before = provider.get_tracer("benchmark"), process_time()
    for _ in range(count // BURST):
        exporter.burst.clear()
        for _ in range(BURST):
            tracer.start_span("send", attributes=ATTRIBUTES).end()
        exporter.burst.wait()
    used = process_time() - before
    ended(processor)
    return used


def hanging(make: Callable[[SpanExporter], SpanProcessor]) -> Row:
    """Ends twice as many spans as fit, while nothing is taken."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor := make(Hanging()))
    tracer, seconds = provider.get_tracer("benchmark"), list[float]()
    for _ in range(2 * MOST_SPANS):
        span = tracer.start_span("send", attributes=ATTRIBUTES)
        began = perf_counter()
        span.end()
        seconds.append(perf_counter() - began)
    counted = processor.dropped if isinstance(processor, Outbox) else None
    return {
        "end of a span p50 us": round(statistics.median(seconds) * 1e6, 1),
        "longest us": round(max(seconds) * 1e6, 1),
        "lost, as it says": counted,
        "end of the process s": round(ended(processor), 2),
    }


def ended(processor: SpanProcessor) -> float:
    """Seconds that it takes, as its interface lets the service end it."""
    began = perf_counter()
    if isinstance(processor, Outbox):
        processor.close(FLUSH_SECONDS)
    else:
        processor.shutdown()
    return perf_counter() - began


def main(argv: list[str] | None = None) -> None:
    """Alternating rounds; the median of the CPU counts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs.spans")
    parser.add_argument("--spans", type=int, default=SPANS)
    options = parser.parse_args(argv)
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # as the service does
    used: dict[str, list[float]] = {name: [] for name in MAKERS}
    for _ in range(ROUNDS):
        for name, make in MAKERS.items():
            used[name].append(cpu_seconds(make, options.spans) / options.spans * 1000)
    rows = [
        {"processor": name, "CPU ms/1000": round(statistics.median(used[name]) * 1000, 1)} | hanging(make)
        for name, make in MAKERS.items()
    ]
    print(text(rows))


if __name__ == "__main__":
    main()
