"""Compares our queue of ended spans with OpenTelemetry's own BatchSpanProcessor, with the same sizes.

    python -m benchmarks.costs.spans        # docs/decisions/0015-libraries-beside-the-hot-path.md has figures

`CPU`: of the whole process for 1,000 spans, from start to export; the exporter encodes them and sends nothing. The
other figures are measured while the collector hangs: ending a span, the processor's count of lost spans, and shutdown.
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
from penstock_web.tracing.span_queue import BATCH_SPANS, MAX_QUEUED_SPANS, PAUSE_SECONDS, SpanQueue
from penstock_web.tracing.tracing import FLUSH_SECONDS

ROUNDS: Final = 5
SPANS: Final = 20_000
BURST: Final = 2_000
"""Fewer than the queue holds, so that no span is lost while CPU is measured."""
ATTRIBUTES: Final[dict[str, str | int]] = {
    "messaging.system": "aws_sqs",
    "messaging.operation.name": "send",
    "db.operation.batch.size": 10,
}


class EncodingExporter(SpanExporter):
    """Encodes spans as the exporter for OTLP does, but sends nothing. `burst`: set with the last span of each burst."""

    def __init__(self) -> None:
        self.burst = Event()
        self._count = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        encode_spans(spans).SerializeToString()
        self._count += len(spans)
        if self._count % BURST == 0:
            self.burst.set()
        return SpanExportResult.SUCCESS


class HangingExporter(SpanExporter):
    """A collector that never answers, until the exporter is shut down."""

    def __init__(self) -> None:
        self._over = Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:  # noqa: ARG002 - OpenTelemetry's form
        self._over.wait()
        return SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self._over.set()


def batch_span_processor(exporter: SpanExporter) -> BatchSpanProcessor:
    return BatchSpanProcessor(exporter, MAX_QUEUED_SPANS, PAUSE_SECONDS * 1000, BATCH_SPANS)


MAKERS: Final[dict[str, Callable[[SpanExporter], SpanProcessor]]] = {
    "SpanQueue": SpanQueue,
    "BatchSpanProcessor": batch_span_processor,
}


def cpu_seconds(make: Callable[[SpanExporter], SpanProcessor], count: int) -> float:
    """CPU seconds of `count` spans that begin, end and are encoded."""
    exporter, provider = EncodingExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor := make(exporter))
    tracer, before = provider.get_tracer("benchmark"), process_time()
    for _ in range(count // BURST):
        exporter.burst.clear()
        for _ in range(BURST):
            tracer.start_span("send", attributes=ATTRIBUTES).end()
        exporter.burst.wait()
    used = process_time() - before
    shutdown_seconds(processor)
    return used


def measure_hanging(make: Callable[[SpanExporter], SpanProcessor]) -> Row:
    """Ends twice as many spans as the queue holds, while the collector accepts none."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor := make(HangingExporter()))
    tracer, seconds = provider.get_tracer("benchmark"), list[float]()
    for _ in range(2 * MAX_QUEUED_SPANS):
        span = tracer.start_span("send", attributes=ATTRIBUTES)
        began = perf_counter()
        span.end()
        seconds.append(perf_counter() - began)
    counted = processor.dropped if isinstance(processor, SpanQueue) else None
    return {
        "end of a span p50 us": round(statistics.median(seconds) * 1e6, 1),
        "longest us": round(max(seconds) * 1e6, 1),
        "lost, as it says": counted,
        "end of the process s": round(shutdown_seconds(processor), 2),
    }


def shutdown_seconds(processor: SpanProcessor) -> float:
    """Seconds that the processor's shutdown takes, as the service would call it."""
    began = perf_counter()
    if isinstance(processor, SpanQueue):
        processor.close(FLUSH_SECONDS)
    else:
        processor.shutdown()
    return perf_counter() - began


def main(argv: list[str] | None = None) -> None:
    """Measures both in alternating rounds, and prints the median of the CPU."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs.spans")
    parser.add_argument("--spans", type=int, default=SPANS)
    options = parser.parse_args(argv)
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # as the service does
    used: dict[str, list[float]] = {name: [] for name in MAKERS}
    for _ in range(ROUNDS):
        for name, make in MAKERS.items():
            used[name].append(cpu_seconds(make, options.spans) / options.spans * 1000)
    rows = [
        {"processor": name, "CPU ms/1000": round(statistics.median(used[name]) * 1000, 1)}
        | measure_hanging(make)
        for name, make in MAKERS.items()
    ]
    print(text(rows))


if __name__ == "__main__":
    main()
