"""Tests the link from a message's span to its sender, in the formats of X-Ray and W3C."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from penstock_worker import Message, tracing

TRACE_ID, SPAN_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADER = "Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled=1"
SENDER = (int(TRACE_ID, 16), int(SPAN_ID, 16), True)


@pytest.mark.parametrize(
    ("message", "sender"),
    [
        (Message("1", "", trace_header=HEADER), SENDER),
        (Message("1", "", trace_header="Root=1-4bf92f35-77b34da6a3ce929d0e0e4736"), None),
        (Message("1", "", attributes={"traceparent": f"00-{TRACE_ID}-{SPAN_ID}-01"}), SENDER),
        (Message("1", "", attributes={"traceparent": 7}), None),
        (Message("1", ""), None),
    ],
)
def test_the_sender_is_found(message: Message, sender: tuple[int, int, bool] | None) -> None:
    assert tracing.find_sender(message) == sender


def test_a_failed_message_has_a_span_with_a_link_and_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    with (
        pytest.raises(ValueError, match="no total"),
        tracing.span("orders", "aws_sqs", Message("m", "", trace_header=HEADER)),
    ):
        raise ValueError("no total")
    (span,) = exporter.get_finished_spans()
    assert (span.name, span.kind, span.status.status_code) == (
        "process orders", trace.SpanKind.CONSUMER, trace.StatusCode.ERROR,
    )  # fmt: skip
    ((trace_id, span_id),) = [(link.context.trace_id, link.context.span_id) for link in span.links]
    assert (trace_id, span_id) == SENDER[:2]
    assert dict(span.attributes or {})["messaging.message.id"] == "m"


def test_nothing_happens_without_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "HAS_OPENTELEMETRY", False)
    with tracing.span("orders", "aws_sqs", Message("m", "")):
        assert not trace.get_current_span().get_span_context().is_valid
