"""Writes structured logs, and records traces of functions.

A log line is one JSON object, with the same keys in the container and on Lambda.

The keys are `timestamp` (RFC 3339, UTC), `level`, `message`, `service`, `trace_id` and `span_id` (inside a trace), and
then `request_id` and the caller's other fields:

    log = logging.getLogger("penstock.maintain")
    log.warning("cleaning fell behind", extra={"queue": name, "lag_seconds": 31})

The container uses the standard library. Lambda uses the Logger of powertools, and this module converts that Logger's
keys to the same form. Penstock does not log every request at `info`, because metrics count requests. Logs report
unusual events. The container's access log (`penstock_web.access_log`) contains every request if the operator enables
this log.
"""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar

from .trace_context import CURRENT_TRACE

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_lambda_powertools import Logger, Tracer

T = TypeVar("T")

SERVICE: Final = "penstock"
_TRACER: ContextVar[Tracer | None] = ContextVar("penstock_tracer", default=None)
"""The tracer of the invocation, if the invocation has a segment."""
# The attributes that the standard library sets on every record. All other attributes come from `extra=`.
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON. Writes a value that JSON does not support as text."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "timestamp": as_timestamp(record.created),
            "level": record.levelname,
            "message": record.getMessage(),
            "service": SERVICE,
        }
        traced = CURRENT_TRACE.get()
        if traced is not None:
            line.update(trace_id=traced.trace_id, span_id=traced.span_id)
        line.update({k: v for k, v in vars(record).items() if k not in _STANDARD and k not in line})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
            line["exception_name"] = record.exc_info[0].__name__ if record.exc_info[0] else ""
        return json.dumps(line, default=str, ensure_ascii=False)


def as_timestamp(seconds: float) -> str:
    """Formats a number of seconds since 1970 as a time for log lines."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def configure_logging(level: str, stream: TextIO | None = None) -> None:
    """Sends all records of `level` or higher to `stream` (default: standard error). Each entry point calls this
    function once."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())


class AtMost(logging.Filter):
    """Limits a logger's records per second, for events that clients can cause at any rate."""

    def __init__(self, records_a_second: int) -> None:
        super().__init__()
        self._most = records_a_second
        self._second = 0
        self._number = 0

    def filter(self, record: logging.LogRecord) -> bool:
        second = int(record.created)
        self._number = self._number + 1 if second == self._second else 1
        self._second = second
        return self._number <= self._most


class OnceAMinute(logging.Filter):
    """Lets one record of a logger pass per minute. The record's field `records` counts the record itself and the
    records that were dropped since the last record that passed."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 0.0
        self._records = 0

    def filter(self, record: logging.LogRecord) -> bool:
        self._records += 1
        if record.created < self._next:
            return False
        record.records = self._records
        self._next, self._records = record.created + 60, 0
        return True


def build_lambda_logger(level: str) -> Logger:
    """Returns the Logger for Lambda functions. Imports powertools, which the container never needs."""
    from aws_lambda_powertools import Logger  # noqa: PLC0415
    from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter  # noqa: PLC0415

    class Formatter(LambdaPowertoolsFormatter):
        def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802
            return as_timestamp(record.created)

    order = ["timestamp", "level", "message", "service", "request_id"]
    logger = Logger(
        service=SERVICE,
        level=level.upper(),
        logger_formatter=Formatter(log_record_order=order, serialize_stacktrace=False),
    )
    logger.append_keys(location=None)
    # If Lambda filters records by a level (AWS_LAMBDA_LOG_LEVEL), powertools uses Lambda's level.
    logging.getLogger(SERVICE).setLevel(level.upper())
    return logger


def trace_call(work: Callable[[], T], lambda_context: object) -> T:
    """Calls `work` and returns its result. The X-Ray segment contains the time and the exception, but not the result.

    Raises the errors of `work`, and ModuleNotFoundError if the package aws-xray-sdk is missing. A layer must provide
    the package, which needs botocore and takes 0.1 seconds to import.
    """
    from aws_lambda_powertools import Tracer  # noqa: PLC0415

    tracer = Tracer(service=SERVICE, auto_patch=False)

    @tracer.capture_lambda_handler(capture_response=False)
    def invocation(event: None, context: object) -> T:  # noqa: ARG001 - Lambda's form
        return work()

    token = _TRACER.set(tracer)
    try:
        response: T = invocation(None, lambda_context)
    finally:
        _TRACER.reset(token)
    return response


def annotate(**values: str) -> None:
    """Adds annotations to the invocation's X-Ray segment, if the invocation has a segment. Users can search traces by
    annotations."""
    tracer = _TRACER.get()
    if tracer is not None:
        for name, value in values.items():
            tracer.put_annotation(name, value)
