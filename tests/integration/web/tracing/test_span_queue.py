"""Tests that no request waits for the collector of spans, and that the service counts lost spans."""

import subprocess
import sys
from collections.abc import Sequence
from threading import Event
from time import monotonic

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from penstock.settings import SettingError, Settings
from penstock_web.server import open_traces
from penstock_web.tracing.span_queue import SpanQueue
from penstock_web.tracing.tracing import Tracing, open_tracing
from tests.support.database import Database
from tests.support.programs.penstock_service import free_port, running_service
from tests.support.tracing.collector import running_collector

LONGEST_SECONDS = 60


class Stuck(SpanExporter):
    """A collector that answers when the test allows an answer: `held` is set while a batch is under way."""

    def __init__(self, result: SpanExportResult = SpanExportResult.SUCCESS) -> None:
        self.held, self.go_on = Event(), Event()
        self.result = result
        self.exported: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.held.set()
        self.go_on.wait(LONGEST_SECONDS)
        self.exported += [span.name for span in spans]
        return self.result

    def shutdown(self) -> None:
        self.go_on.set()


def end_spans(span_queue: SpanQueue, *names: str) -> None:
    """Begins and ends this number of spans."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(span_queue)
    tracer = provider.get_tracer("test")
    for name in names:
        tracer.start_span(name).end()


def test_spans_that_do_not_fit_are_dropped_and_counted() -> None:
    """Two spans wait while the collector is stuck. The others are lost, and no request waits."""
    exporter = Stuck()
    span_queue = SpanQueue(exporter, most_spans=2)
    end_spans(span_queue, "under way")
    assert exporter.held.wait(LONGEST_SECONDS)
    end_spans(span_queue, "a", "b", "c", "d")
    assert span_queue.dropped == 2
    exporter.go_on.set()
    span_queue.close(LONGEST_SECONDS)
    assert exporter.exported == ["under way", "a", "b"]
    assert span_queue.dropped == 2


def test_refused_spans_are_counted() -> None:
    exporter = Stuck(SpanExportResult.FAILURE)
    exporter.go_on.set()
    span_queue = SpanQueue(exporter)
    end_spans(span_queue, "a", "b", "c")
    span_queue.close(LONGEST_SECONDS)
    assert span_queue.dropped == 3


def test_the_end_does_not_wait_for_the_collector() -> None:
    """The service counts the remaining spans and all later spans as lost."""
    exporter = Stuck()
    span_queue = SpanQueue(exporter)
    end_spans(span_queue, "under way")
    assert exporter.held.wait(LONGEST_SECONDS)
    end_spans(span_queue, "a", "b")
    span_queue.close(0)
    end_spans(span_queue, "late")
    assert span_queue.dropped == 3


def test_drops_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    exporter = Stuck(SpanExportResult.FAILURE)
    span_queue = SpanQueue(exporter, most_spans=1)
    end_spans(span_queue, "under way")
    assert exporter.held.wait(LONGEST_SECONDS)
    end_spans(span_queue, *["x"] * 10)
    assert [record.getMessage() for record in caplog.records] == ["spans were dropped"]
    exporter.go_on.set()
    span_queue.close(LONGEST_SECONDS)


def test_over_a_real_connection() -> None:
    """Sends spans by gRPC to a working collector, then to a missing one within the time for shutting down."""
    with running_collector() as collector:
        tracing = open_tracing(Settings.read({"OTLP_ENDPOINT": collector.endpoint, "OTLP_SAMPLE_RATE": "1"}))
        span = tracing.root("fire", {"n": 1})
        assert span is not None
        span.end()
        tracing.close(LONGEST_SECONDS)
        assert [found.name for found in collector.spans] == ["fire"]
        assert tracing.dropped == 0
    away = open_tracing(
        Settings.read({"OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}", "OTLP_SAMPLE_RATE": "1"})
    )
    span = away.root("fire", {})
    assert span is not None
    span.end()
    away.close(0.1)
    away._span_queue._thread.join(LONGEST_SECONDS)
    assert away.dropped == 1


def test_the_rate_is_kept() -> None:
    """A rate of 0.3 records 3,000 of 10,000 traces, within five standard deviations of 46."""
    tracing = Tracing(Settings.read({"OTLP_SAMPLE_RATE": "0.3"}), Stuck())
    chosen = sum(tracing.should_record() for _ in range(10_000))
    tracing.close(0)
    assert abs(chosen - 3_000) < 5 * 46


# --- the whole service -----------------------------------------------------------------------------------------------
def test_the_service_ends_in_time_without_its_collector(database: Database) -> None:
    """The service ends within 10 s of SIGTERM if no collector takes its spans, and no request has waited for them."""
    settings = {
        "OTLP_ENABLED": "true",
        "OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}",
        "OTLP_SAMPLE_RATE": "1",
    }
    with running_service(database.api_dsn, **settings) as service, service.http() as http:
        for _ in range(20):
            http.get("/v1/queues").raise_for_status()
        began = monotonic()
        assert service.stop() == 0
        assert monotonic() - began < 10


def test_without_traces_opentelemetry_is_not_imported() -> None:
    """The process does not load the exporter of spans either, which need not be installed. FastAPI itself needs the
    API package.
    """
    code = (
        "import sys, asyncio, penstock_web.cli, penstock_web.server as s; from penstock.settings import Settings\n"
        "async def main():\n"
        "    async with s.open_traces(Settings.read({})) as tracing:\n"
        "        assert tracing is None and s.operation_observer(tracing) is None\n"
        "asyncio.run(main())\n"
        "ours = ('opentelemetry.sdk', 'opentelemetry.exporter', 'grpc', 'penstock_web.tracing')\n"
        "print(*[m for m in sys.modules if m.startswith(ours)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


async def test_without_the_packages_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "penstock_web.tracing.tracing", None)
    with pytest.raises(SettingError, match="OTLP_ENABLED needs the packages of the extra `tracing`"):
        async with open_traces(Settings.read({"OTLP_ENABLED": "true"})):
            pass
