"""Headers of traces. Sources: W3C Trace Context; X-Ray Developer Guide, "Tracing header"."""

from __future__ import annotations

import pytest

from penstock.trace_context import (
    TraceContext,
    as_trace_header,
    as_traceparent,
    find_message_trace_header,
    parse_trace_header,
    parse_traceparent,
)

# The example of the recommendation, and the one of the guide.
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
X_RAY = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"


@pytest.mark.parametrize(("flags", "sampled"), [("01", True), ("00", False), ("03", True), ("02", False)])
def test_a_traceparent(flags: str, sampled: bool) -> None:
    """3.2.2.5: the least significant bit says whether the caller recorded the trace; the others are not for us."""
    assert parse_traceparent(f"00-{TRACE}-{SPAN}-{flags}") == TraceContext(TRACE, SPAN, sampled)


def test_a_traceparent_of_a_later_version() -> None:
    """ "Versioning of traceparent": it may be longer, after a dash."""
    assert parse_traceparent(f"cc-{TRACE}-{SPAN}-01-what") == TraceContext(TRACE, SPAN, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}",
        f"cc-{TRACE}-{SPAN}-01what",
    ],
)
def test_what_is_no_traceparent(text: str) -> None:
    assert parse_traceparent(text) is None


def test_a_trace_header_is_the_same_in_another_form() -> None:
    context = TraceContext("5759e988bd862e3fe1be46a994272793", "53995c3f42cd8ad8", True)
    assert parse_trace_header(X_RAY) == context
    assert as_trace_header(context) == X_RAY
    assert as_traceparent(context) == "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01"


@pytest.mark.parametrize(
    ("text", "sampled"),
    [
        (X_RAY.replace("Sampled=1", "Sampled=0"), False),
        (X_RAY.replace("Sampled=1", "Sampled=?"), False),
        (X_RAY.replace(";Sampled=1", ""), False),
        (f"Self=1-5759e988-bd862e3fe1be46a994272799;{X_RAY};Lineage=a87bd80c:1", True),
    ],
)
def test_other_fields_of_a_trace_header(text: str, sampled: bool) -> None:
    context = parse_trace_header(text)
    assert context == TraceContext("5759e988bd862e3fe1be46a994272793", "53995c3f42cd8ad8", sampled)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";;",
        "Root=1-5759e988-bd862e3fe1be46a994272793",
        "Parent=53995c3f42cd8ad8",
        X_RAY.replace("1-", "2-"),
    ],
)
def test_what_names_no_span(text: str) -> None:
    assert parse_trace_header(text) is None


@pytest.mark.parametrize(
    ("given", "passed_on"),
    [
        (X_RAY, X_RAY),
        (f"{X_RAY};Lineage=a87bd80c:1", f"{X_RAY};Lineage=a87bd80c:1"),
        ("Root=1-67891233-abcdef012345678912345678", None),  # as a load balancer makes it
        (X_RAY + ";x=" + "y" * 1024, None),
        (X_RAY + "\x01", None),
    ],
)
def test_what_messages_get_of_a_request(given: str, passed_on: str | None) -> None:
    assert find_message_trace_header({b"x-amzn-trace-id": given.encode("latin-1")}) == passed_on
    assert find_message_trace_header({}) is None
