"""Tests that no request waits for the collector of spans, and that the service counts the spans that it loses.

Deliveries belong to the trace of their publish, and each schedule begins a trace.
"""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator, Sequence
from threading import Event
from typing import Any

import httpx
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from penstock.observing.telemetry import JsonFormatter
from penstock.observing.trace_context import CURRENT_TRACE, TraceContext
from penstock.settings import SettingError, Settings
from penstock.workers.fire import Firer
from penstock_web.local.postgres import free_port
from penstock_web.server import open_traces
from penstock_web.tracing.span_queue import SpanQueue
from penstock_web.tracing.tracing import Tracing, open_tracing
from tests.integration.web.tracing.conftest import PARENT, new_trace, traceparent
from tests.support.database import Database
from tests.support.delivery.receiver import Receiver, running_receiver
from tests.support.programs.penstock_service import running_service
from tests.support.schedules.rows import Hour, put, value
from tests.support.sql.calls import Connection
from tests.support.tracing.collector import Collector, attributes, running_collector
from tests.support.wait import wait_until

MAX_SECONDS = 60


class Stuck(SpanExporter):
    """Imitates a collector that responds when the test lets it respond: `held` is set while a batch waits."""

    def __init__(self, result: SpanExportResult = SpanExportResult.SUCCESS) -> None:
        self.held, self.go_on = Event(), Event()
        self.result = result
        self.exported: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.held.set()
        self.go_on.wait(MAX_SECONDS)
        self.exported += [span.name for span in spans]
        return self.result

    def shutdown(self) -> None:
        self.go_on.set()


def end_spans(span_queue: SpanQueue, *names: str) -> None:
    """Begins and ends a span for each name."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(span_queue)
    tracer = provider.get_tracer("test")
    for name in names:
        tracer.start_span(name).end()


def test_spans_that_do_not_fit_are_dropped_and_counted() -> None:
    """Two spans wait while the collector does not respond. The service loses the other spans, and no request waits."""
    exporter = Stuck()
    span_queue = SpanQueue(exporter, most_spans=2)
    end_spans(span_queue, "under way")
    assert exporter.held.wait(MAX_SECONDS)
    end_spans(span_queue, "a", "b", "c", "d")
    assert span_queue.dropped == 2
    exporter.go_on.set()
    span_queue.close(MAX_SECONDS)
    assert exporter.exported == ["under way", "a", "b"]
    assert span_queue.dropped == 2


def test_refused_spans_are_counted() -> None:
    exporter = Stuck(SpanExportResult.FAILURE)
    exporter.go_on.set()
    span_queue = SpanQueue(exporter)
    end_spans(span_queue, "a", "b", "c")
    span_queue.close(MAX_SECONDS)
    assert span_queue.dropped == 3


def test_the_end_does_not_wait_for_the_collector() -> None:
    """The service counts the remaining spans and all later spans as lost."""
    exporter = Stuck()
    span_queue = SpanQueue(exporter)
    end_spans(span_queue, "under way")
    assert exporter.held.wait(MAX_SECONDS)
    end_spans(span_queue, "a", "b")
    span_queue.close(0)
    end_spans(span_queue, "late")
    assert span_queue.dropped == 3


def test_drops_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    exporter = Stuck(SpanExportResult.FAILURE)
    span_queue = SpanQueue(exporter, most_spans=1)
    end_spans(span_queue, "under way")
    assert exporter.held.wait(MAX_SECONDS)
    end_spans(span_queue, *["x"] * 10)
    assert [record.getMessage() for record in caplog.records] == ["spans were dropped"]
    exporter.go_on.set()
    span_queue.close(MAX_SECONDS)


def test_over_a_real_connection() -> None:
    """Sends spans over gRPC to a working collector, and then to a missing collector within the shutdown time."""
    with running_collector() as collector:
        tracing = open_tracing(Settings.read({"OTLP_ENDPOINT": collector.endpoint, "OTLP_SAMPLE_RATE": "1"}))
        span = tracing.root("fire", {"n": 1})
        assert span is not None
        span.end()
        tracing.close(MAX_SECONDS)
        assert [found.name for found in collector.spans] == ["fire"]
        assert tracing.dropped == 0
    away = open_tracing(Settings.read({"OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}", "OTLP_SAMPLE_RATE": "1"}))
    span = away.root("fire", {})
    assert span is not None
    span.end()
    away.close(0.1)
    away._span_queue._thread.join(MAX_SECONDS)
    assert away.dropped == 1


def test_the_rate_is_kept() -> None:
    """A sampling rate of 0.3 records 3,000 of 10,000 traces, within five standard deviations of 46."""
    tracing = Tracing(Settings.read({"OTLP_SAMPLE_RATE": "0.3"}), Stuck())
    chosen = sum(tracing.should_record() for _ in range(10_000))
    tracing.close(0)
    assert abs(chosen - 3_000) < 5 * 46


# --- the whole service -----------------------------------------------------------------------------------------------
def test_the_service_ends_in_time_without_its_collector(database: Database) -> None:
    """The service ends after SIGTERM even if no collector receives its spans, and no request has waited for the spans.
    `stop` fails after 30 s, the time after which ECS sends SIGKILL.
    """
    settings = {"OTLP_ENABLED": "true", "OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}", "OTLP_SAMPLE_RATE": "1"}
    with running_service(database.api_dsn, **settings) as service, service.http() as http:
        for _ in range(20):
            http.get("/v1/queues").raise_for_status()
        assert service.stop() == 0


def test_without_traces_opentelemetry_is_not_imported() -> None:
    """The process does not load the span exporter either, so the exporter does not need to be installed. FastAPI itself
    needs the API package.
    """
    code = (
        "import sys, asyncio, penstock_web.cli, penstock_web.server as s; from penstock.settings import Settings\n"
        "async def main():\n"
        "    async with s.open_traces(Settings.read({})) as tracing:\n"
        "        assert tracing is None and s.build_observer(tracing) is None\n"
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


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        yield receiver


def bind(http: httpx.Client, key: str, url: str) -> None:
    body = {"protocol": "http", "endpoint": url}
    http.post(f"/v1/events/{key}/subscriptions", json=body).raise_for_status()


def publish(http: httpx.Client, key: str, header: str | None) -> None:
    headers = {} if header is None else {"traceparent": header}
    http.post(f"/v1/events/{key}", json={"message": {}}, headers=headers).raise_for_status()


def arrived(receiver: Receiver, path: str) -> dict[str, str]:
    """Returns the headers of the endpoint's first request."""
    wait_until(lambda: receiver.count(path) > 0)
    return next(request.headers for request in receiver.requests if request.path == path)


def test_a_webhook_goes_on_with_the_trace(http: httpx.Client, collector: Collector, receiver: Receiver) -> None:
    """The span of a delivery is a child of the span of the publish, and links to it. The spans of the endpoint are
    children of the delivery's span.
    """
    bind(http, "ok", receiver.url("/200"))
    trace = new_trace()
    publish(http, "ok", traceparent(trace))
    sent = collector.request(trace)
    post = collector.wait(lambda span: span.trace_id == sent.trace_id and span.name == "POST")
    assert (post.kind, post.parent_span_id) == (Span.SPAN_KIND_CLIENT, sent.span_id)
    assert [(link.trace_id, link.span_id) for link in post.links] == [(sent.trace_id, sent.span_id)]
    assert arrived(receiver, "/200")["traceparent"] == f"00-{trace}-{post.span_id.hex()}-01"
    found = attributes(post.attributes)
    assert found.pop("messaging.message.id")
    assert found == {
        "http.request.method": "POST",
        "http.request.resend_count": 0,
        "http.response.status_code": 200,
        "messaging.system": "penstock",
        "messaging.destination.name": "ok",
        "server.address": "127.0.0.1",
        "server.port": receiver.port,
    }


def test_a_webhook_that_fails(http: httpx.Client, collector: Collector, receiver: Receiver) -> None:
    """A client span is an error if the status is 400 or higher (HTTP semantic conventions)."""
    bind(http, "missing", receiver.url("/404"))
    trace = new_trace()
    publish(http, "missing", traceparent(trace))
    post = collector.wait(lambda span: span.trace_id.hex() == trace and span.name == "POST")
    assert post.status.code == Status.STATUS_CODE_ERROR
    assert attributes(post.attributes)["error.type"] == "404"


def test_a_webhook_of_an_unrecorded_trace(http: httpx.Client, collector: Collector, receiver: Receiver) -> None:
    """The endpoint receives the header of the caller without a new span. Without a trace, the endpoint receives no
    header."""
    receiver.responses |= {"/unrecorded": receiver.responses["/200"], "/untraced": receiver.responses["/200"]}
    bind(http, "unrecorded", receiver.url("/unrecorded"))
    bind(http, "untraced", receiver.url("/untraced"))
    trace = new_trace()
    publish(http, "unrecorded", traceparent(trace, "00"))
    publish(http, "untraced", None)
    assert arrived(receiver, "/unrecorded")["traceparent"] == f"00-{trace}-{PARENT}-00"
    assert "traceparent" not in arrived(receiver, "/untraced")
    assert trace not in {span.trace_id.hex() for span in collector.spans}


# --- schedules -------------------------------------------------------------------------------------------------------
def fire(db: Connection, rate: float) -> list[tuple[str, str, dict[str, Any]]]:
    """Fires the due schedules and returns the recorded spans by header, name and attributes."""
    exporter = InMemorySpanExporter()
    settings = Settings.read({}, otlp_sample_rate=rate)
    tracing = Tracing(settings, exporter)
    Firer(60, continues=False, tracer=tracing).run_once(settings, db)
    tracing.close(60)
    found = []
    for span in exporter.get_finished_spans():
        trace = f"{span.context.trace_id:032x}"
        header = f"Root=1-{trace[:8]}-{trace[8:]};Parent={span.context.span_id:016x};Sampled=1"
        assert span.parent is None
        found.append((header, span.name, dict(span.attributes or {})))
    return found


def headers_in(db: Connection, queue: str) -> set[str | None]:
    """Returns the trace headers of the messages in a queue."""
    rows = db.execute(
        "select m.system ->> 'AWSTraceHeader' from queue.log m join queue.queues q using (queue_id) where q.name = %s",
        (queue,),
    )
    return {row[0] for row in rows.fetchall()}


def test_an_occurrence_begins_a_trace(db: Connection, hour: Hour) -> None:
    """Each occurrence has a separate trace, even if simple schedules fire together."""
    db.execute("select queue.create('jobs')")
    put(db, "simple", hour(), catchup=True)
    put(db, "other", hour(), catchup=True, overlap="skip")
    spans = fire(db, 1)
    assert [name for _, name, _ in spans] == ["fire schedule"] * 2
    assert headers_in(db, "jobs") == {header for header, _, _ in spans}
    ids = {row[0] for row in db.execute("select schedule_id from queue.schedule").fetchall()}
    assert {found["penstock.schedule.id"] for _, _, found in spans} == ids
    assert {found["penstock.schedule.name"] for _, _, found in spans} == {"simple", "other"}


def test_an_event_that_a_schedule_publishes_has_its_trace(db: Connection, hour: Hour) -> None:
    db.execute("select queue.create('jobs')")
    db.execute("select queue.subscribe('tick', 'jobs')")
    put(db, "ticker", hour(), catchup=True, target={"topic": "tick", "message": {}})
    ((header, _, _),) = fire(db, 1)
    assert headers_in(db, "jobs") == {header}


def test_at_a_rate_of_0_nothing_is_recorded(db: Connection, hour: Hour) -> None:
    db.execute("select queue.create('jobs')")
    put(db, "simple", hour(), catchup=True)
    assert fire(db, 0) == []
    assert headers_in(db, "jobs") == {None}


def test_a_schedule_that_fails_is_an_error(db: Connection, hour: Hour) -> None:
    put(db, "lost", hour(), catchup=True, target={"queue": "unknown", "message": {}})
    ((_, _, found),) = fire(db, 1)
    assert found["error.type"] == "failed"
    assert value(db, "select count(*) from queue.schedule_run") == 1


def test_log_lines_say_which_trace(caplog: pytest.LogCaptureFixture) -> None:
    """Log lines contain the trace_id and the span_id of the current span."""
    token = CURRENT_TRACE.set(TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", True))
    try:
        record = logging.makeLogRecord({"name": "penstock.x", "msg": "hello"})
        line = json.loads(JsonFormatter().format(record))
    finally:
        CURRENT_TRACE.reset(token)
    assert (line["trace_id"], line["span_id"]) == ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    assert "trace_id" not in json.loads(JsonFormatter().format(record))
