"""Sends ended spans to the collector from a bounded queue, in a thread. A request never waits for the collector,
because the end of a span only appends the span to the queue. If the queue is full, the service drops and counts spans.
OpenTelemetry's BatchSpanProcessor does not report dropped spans, and waits 30 s for a hanging collector during shutdown
(docs/decisions/0015-libraries-beside-the-hot-path.md).
"""

import logging
import threading
from collections import deque
from time import monotonic
from typing import Final

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

MAX_QUEUED_SPANS: Final = 4_096
"""Limits the spans in the queue."""
BATCH_SPANS: Final = 256
"""Limits the spans in one request to the collector. Encoding 256 spans delays the process by about 5 ms, in small
steps."""
PAUSE_SECONDS: Final = 0.25
LOG_INTERVAL_SECONDS: Final = 60.0
"""Sets the shortest time between two log lines about dropped spans."""

_log = logging.getLogger(__name__)


class SpanQueue(SpanProcessor):
    """Sends spans to the collector through `exporter`. `dropped` is the number of dropped spans."""

    def __init__(self, exporter: SpanExporter, most_spans: int = MAX_QUEUED_SPANS) -> None:
        self._exporter = exporter
        self._most_spans = most_spans
        self._spans: deque[ReadableSpan] = deque()
        self._awake = threading.Event()
        self._stopping = False
        self._lock = threading.Lock()
        self._next_log_at = 0.0
        self._unlogged = 0
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="penstock-traces", daemon=True)
        self._thread.start()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Has no effect. Only spans that have ended enter the queue."""

    def on_end(self, span: ReadableSpan) -> None:
        """Adds the span to the queue. Drops the span if the queue is full."""
        if self._stopping or len(self._spans) >= self._most_spans:
            self._drop(1)
            return
        self._spans.append(span)
        if len(self._spans) >= BATCH_SPANS:
            self._awake.set()

    def close(self, seconds: float) -> None:
        """Sends queued spans for at most `seconds`. Drops the remaining spans, and spans that end later."""
        self._stopping = True
        self._awake.set()
        self._thread.join(seconds)
        remaining = len(self._spans)
        self._spans.clear()
        self._exporter.shutdown()
        if remaining:
            self._drop(remaining)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 - OpenTelemetry's form
        """Returns whether the queue is empty. When the process ends, `close` sends the queued spans."""
        return not self._spans

    def _run(self) -> None:
        while not self._stopping:
            self._awake.wait(PAUSE_SECONDS)
            self._awake.clear()
            self._send()
        self._send()

    def _send(self) -> None:
        while self._spans:
            batch = [self._spans.popleft() for _ in range(min(BATCH_SPANS, len(self._spans)))]
            if self._export(batch) is not SpanExportResult.SUCCESS:
                self._drop(len(batch))

    def _export(self, batch: list[ReadableSpan]) -> SpanExportResult:
        try:
            return self._exporter.export(batch)
        except Exception as error:  # noqa: BLE001 - after any error the next batch may succeed
            _log.warning("spans cannot be sent", exc_info=error)
            return SpanExportResult.FAILURE

    def _drop(self, number: int) -> None:
        with self._lock:
            self.dropped += number
            self._unlogged += number
            if monotonic() < self._next_log_at and not self._stopping:
                return
            self._next_log_at = monotonic() + LOG_INTERVAL_SECONDS
            unlogged, self._unlogged = self._unlogged, 0
        _log.warning("spans were dropped", extra={"spans": unlogged, "spans_dropped_in_all": self.dropped})
