"""One schema of log lines, in the container and on Lambda."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from penstock.telemetry import JsonFormatter, configure_logging


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where the container's records go; the root logger is put back afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    stream = io.StringIO()
    configure_logging("info", stream)
    yield stream
    root.handlers = handlers
    root.setLevel(level)


def test_a_record_is_one_line_of_json(stream: io.StringIO) -> None:
    logging.getLogger("penstock.x").warning(
        "lag of %s\nseconds", 3, extra={"request_id": "r-1", "queue": "q"}
    )
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
    """In a process of its own: powertools keeps the standard output that it saw first."""
    extra = {"request_id": "r-1", "queue": "q"}
    record = logging.makeLogRecord({"levelname": "INFO", "msg": "hello", **extra})
    code = f"from penstock.telemetry import lambda_logger; lambda_logger('info').info('hello', extra={extra})"
    written = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert sorted(written) == sorted(json.loads(JsonFormatter().format(record)))
    assert written["timestamp"].endswith("Z")
    assert (written["level"], written["message"], written["service"]) == ("INFO", "hello", "penstock")
