"""Deliveries belong to the trace of their publish, and schedules begin traces."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from penstock.observing.telemetry import JsonFormatter
from penstock.observing.trace_context import CURRENT_TRACE, TraceContext
from penstock.settings import Settings
from penstock.workers.fire import Firer
from penstock_web.tracing.tracing import Tracing
from tests.integration.web.tracing.conftest import PARENT, new_trace, traceparent
from tests.support.delivery.receiver import Receiver, running_receiver
from tests.support.schedules.rows import Hour, put, value
from tests.support.sql.calls import Connection
from tests.support.tracing.collector import Collector, attributes
from tests.support.wait import wait_until


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


def test_a_webhook_goes_on_with_the_trace(
    http: httpx.Client, collector: Collector, receiver: Receiver
) -> None:
    """A delivery's span is a child of the publish's span and links to it. The endpoint's spans are children of the
    delivery's span.
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
    """A client's span is an error from status 400 on (HTTP semantic conventions)."""
    bind(http, "missing", receiver.url("/404"))
    trace = new_trace()
    publish(http, "missing", traceparent(trace))
    post = collector.wait(lambda span: span.trace_id.hex() == trace and span.name == "POST")
    assert post.status.code == Status.STATUS_CODE_ERROR
    assert attributes(post.attributes)["error.type"] == "404"


def test_a_webhook_of_an_unrecorded_trace(
    http: httpx.Client, collector: Collector, receiver: Receiver
) -> None:
    """The endpoint gets the caller's header without a new span. Without a trace, it gets no header."""
    receiver.answers |= {"/unrecorded": receiver.answers["/200"], "/untraced": receiver.answers["/200"]}
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
    """Fires due schedules and returns the recorded spans by header, name and attributes."""
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
    """Returns the trace headers of a queue's messages."""
    rows = db.execute(
        "select m.system ->> 'AWSTraceHeader' from queue.log m join queue.queues q using (queue_id) "
        "where q.name = %s",
        (queue,),
    )
    return {row[0] for row in rows.fetchall()}


def test_an_occurrence_begins_a_trace(db: Connection, hour: Hour) -> None:
    """Each occurrence has its own trace, even if simple schedules fire together."""
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
    """Log lines have the present span's trace_id and span_id."""
    token = CURRENT_TRACE.set(TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", True))
    try:
        record = logging.makeLogRecord({"name": "penstock.x", "msg": "hello"})
        line = json.loads(JsonFormatter().format(record))
    finally:
        CURRENT_TRACE.reset(token)
    assert (line["trace_id"], line["span_id"]) == ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    assert "trace_id" not in json.loads(JsonFormatter().format(record))
