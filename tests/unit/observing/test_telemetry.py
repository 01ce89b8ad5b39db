"""Tests that the container and Lambda write log lines with the same schema."""

from __future__ import annotations

import ast
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.observing.telemetry import AtMost, JsonFormatter, configure_logging
from penstock.observing.trace_context import (
    TraceContext,
    as_trace_header,
    as_traceparent,
    find_message_trace_header,
    parse_trace_header,
    parse_traceparent,
)


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Returns the stream that contains the records of the container. Restores the root logger after the test."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    stream = io.StringIO()
    configure_logging("info", stream)
    yield stream
    root.handlers = handlers
    root.setLevel(level)


def test_a_record_is_one_line_of_json(stream: io.StringIO) -> None:
    logging.getLogger("penstock.x").warning("lag of %s\nseconds", 3, extra={"request_id": "r-1", "queue": "q"})
    (line,) = stream.getvalue().splitlines()
    read = json.loads(line)
    assert list(read)[:4] == ["timestamp", "level", "message", "service"]
    assert read["timestamp"].endswith("Z")
    assert datetime.fromisoformat(read.pop("timestamp")).tzinfo == UTC
    assert read == {
        "level": "WARNING",
        "message": "lag of 3\nseconds",
        "service": "penstock",
        "request_id": "r-1",
        "queue": "q",
    }


def test_records_below_the_level_are_not_written(stream: io.StringIO) -> None:
    logging.getLogger("penstock.x").debug("detail")
    assert stream.getvalue() == ""


def test_an_exception_is_part_of_the_line(stream: io.StringIO) -> None:
    try:
        raise ValueError("bad")
    except ValueError:
        logging.getLogger("penstock.x").exception("failed")
    assert "ValueError: bad" in json.loads(stream.getvalue())["exception"]


def test_lambda_has_the_same_keys() -> None:
    """The test runs in a separate process, because powertools keeps the first sys.stdout that it sees."""
    extra = {"request_id": "r-1", "queue": "q"}
    record = logging.makeLogRecord({"levelname": "INFO", "msg": "hello", **extra})
    code = (
        "from penstock.observing.telemetry import build_lambda_logger; "
        f"build_lambda_logger('info').info('hello', extra={extra})"
    )
    written = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert sorted(written) == sorted(json.loads(JsonFormatter().format(record)))
    assert written["timestamp"].endswith("Z")
    assert (written["level"], written["message"], written["service"]) == ("INFO", "hello", "penstock")


def records_of(script: str, **variables: str) -> list[Any]:
    """Returns the records of a separate process, because powertools keeps the first standard output that it sees."""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True, env=os.environ | variables
    )
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_log_level_decides_also_where_lambda_lets_more_through() -> None:
    """template.yaml sets INFO at every LOG_LEVEL, because Lambda treats metrics as INFO."""
    script = (
        "from penstock.observing.telemetry import build_lambda_logger\n"
        "logger = build_lambda_logger('warning')\n"
        "logger.info('usual')\n"
        "logger.warning('unusual')\n"
    )
    written = records_of(script, AWS_LAMBDA_LOG_FORMAT="JSON", AWS_LAMBDA_LOG_LEVEL="INFO")
    assert [record["message"] for record in written] == ["unusual"]


def test_an_exception_is_written_alike(stream: io.StringIO) -> None:
    """After an error, both deployments write the same keys: the traceback as a text, and the name of the class."""
    try:
        raise ValueError("bad")
    except ValueError:
        logging.getLogger("penstock.x").exception("request failed", extra={"action": "SendMessage"})
    here = json.loads(stream.getvalue())
    (there,) = records_of(
        "from penstock.observing.telemetry import build_lambda_logger\n"
        "try: raise ValueError('bad')\n"
        "except ValueError as e:\n"
        "    build_lambda_logger('info').error('request failed', exc_info=e, extra={'action': 'SendMessage'})"
    )
    assert sorted(here) == sorted(there)
    assert list(here)[:4] == list(there)[:4] == ["timestamp", "level", "message", "service"]
    for key in ("level", "message", "service", "action", "exception_name"):
        assert here[key] == there[key]
    assert here["exception"].splitlines()[-1] == there["exception"].splitlines()[-1] == "ValueError: bad"


TRACED = """
import json

class Emitter:
    def send_entity(self, entity):
        print(entity.serialize())
    def set_daemon_address(self, address):
        pass

from aws_xray_sdk.core import xray_recorder
xray_recorder.configure(emitter=Emitter())
from penstock.observing.telemetry import annotate, trace_call

def work():
    annotate(action="sqs:SendMessage", request_id="1")
    return 7

print(json.dumps({"response": trace_call(work, None)}))
annotate(action="after")
"""


def test_a_traced_invocation_is_a_segment_without_its_response() -> None:
    """Lambda begins a segment that contains Penstock's segment (X-Ray Developer Guide, "Segment documents" and "Tracing
    header").
    """
    header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
    written = records_of(TRACED, LAMBDA_TASK_ROOT="/var/task", _X_AMZN_TRACE_ID=header)
    assert {"response": 7} in written
    (segment,) = [line for line in written if line.get("name") == "## invocation"]
    assert segment["parent_id"] == "53995c3f42cd8ad8"
    given = {"Service": "penstock", "action": "sqs:SendMessage", "request_id": "1"}
    assert given.items() <= segment["annotations"].items()
    assert segment["end_time"] >= segment["start_time"]
    assert not {"fault", "error", "metadata"} & segment.keys()


def test_without_tracing_nothing_of_it_is_imported() -> None:
    script = (
        "import sys, json; from penstock.lambda_runtime.environment import ExecutionEnvironment as E\n"
        "loaded = E({'DATABASE_URL': 'postgresql://h/d', 'QUEUE_TRACING': 'false'})\n"
        "answer = loaded.traced(lambda: 7, None)\n"
        "print(json.dumps([answer, 'aws_xray_sdk' in sys.modules, 'aws_lambda_powertools' in sys.modules]))"
    )
    assert records_of(script) == [[7, False, False]]


# --- our own records -------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def log_calls() -> list[tuple[str, ast.Call]]:
    """Returns every call of a module's logger with the location of the call."""
    texts = {path: path.read_text() for path in (Path(__file__).parents[3] / "layers").rglob("*.py")}
    return [
        (f"{path.name}:{node.lineno}", node)
        for path, text in texts.items()
        if "_log." in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func).startswith("_log.")
        and node.func.attr != "addFilter"
    ]


def test_a_message_has_no_variable_parts(log_calls: list[tuple[str, ast.Call]]) -> None:
    """A variable part must have a separate key, because operators count records by message (docs/operate/logs.md)."""
    assert len(log_calls) > 50
    for place, call in log_calls:
        (message,) = call.args
        assert isinstance(message, ast.Constant), place
        assert "%" not in str(message.value), place


def test_keys_of_records_are_documented(log_calls: list[tuple[str, ast.Call]]) -> None:
    page = (Path(__file__).parents[3] / "docs/operate/logs.md").read_text()
    keys = {
        str(ast.literal_eval(key))
        for _, call in log_calls
        for keyword in call.keywords
        if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict)
        for key in keyword.value.keys
        if key is not None
    }
    assert {"request_id", "worker", "cause", "queue"} <= keys
    assert {key for key in keys if f"`{key}`" not in page} == set()


def test_at_most_so_many_records_a_second() -> None:
    """Errors of clients must not fill the log."""
    some = AtMost(2)
    seconds = (10.0, 10.1, 10.9, 11.0, 11.5, 11.6, 20.0)
    passed = [some.filter(logging.makeLogRecord({"created": second})) for second in seconds]
    assert passed == [True, True, False, True, True, False, True]


# --- trace context ---------------------------------------------------------------------------------------------------
# Tests tracing headers. The sources are W3C Trace Context and the X-Ray Developer Guide, "Tracing header".


# The values are the examples in the recommendation and in the guide.
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
X_RAY = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"


@pytest.mark.parametrize(("flags", "sampled"), [("01", True), ("00", False), ("03", True), ("02", False)])
def test_a_traceparent(flags: str, sampled: bool) -> None:
    """The least significant bit tells whether the caller recorded the trace (section 3.2.2.5)."""
    assert parse_traceparent(f"00-{TRACE}-{SPAN}-{flags}") == TraceContext(TRACE, SPAN, sampled)


def test_a_traceparent_of_a_later_version() -> None:
    """A later version of the header can be longer, after a dash ("Versioning of traceparent")."""
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
def test_an_invalid_traceparent_is_ignored(text: str) -> None:
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
    "text", ["", ";;", "Root=1-5759e988-bd862e3fe1be46a994272793", "Parent=53995c3f42cd8ad8", X_RAY.replace("1-", "2-")]
)
def test_a_trace_header_without_a_span_is_ignored(text: str) -> None:
    assert parse_trace_header(text) is None


@pytest.mark.parametrize(
    ("given", "passed_on"),
    [
        (X_RAY, X_RAY),
        (f"{X_RAY};Lineage=a87bd80c:1", f"{X_RAY};Lineage=a87bd80c:1"),
        ("Root=1-67891233-abcdef012345678912345678", None),  # A load balancer sends the header with only a root.
        (X_RAY + ";x=" + "y" * 1024, None),
        (X_RAY + "\x01", None),
    ],
)
def test_messages_get_the_trace_of_their_request(given: str, passed_on: str | None) -> None:
    assert find_message_trace_header({b"x-amzn-trace-id": given.encode("latin-1")}) == passed_on
    assert find_message_trace_header({}) is None
