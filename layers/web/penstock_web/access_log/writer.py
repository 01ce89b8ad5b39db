"""Writes the access log from a bounded queue, in a thread."""

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, time
from typing import Final

from penstock.context import Context, find_client_address
from penstock.http import HttpRequest, HttpResponse
from penstock.observing.trace_context import CURRENT_TRACE
from penstock.settings import Settings

from .lines import Answered, AnsweredRequest, encode, join_lines, read_caller

MAX_LINES: Final = 10_000
"""Limits the lines that wait to be written, which take about 5 MB."""
PAUSE_SECONDS: Final = 0.25
BATCH_LINES: Final = 500
"""If BATCH_LINES lines wait, the thread ends its pause early."""
CLOSE_SECONDS: Final = 2.0
"""Limits the time for writing the waiting lines when the process ends."""
LOG_INTERVAL_SECONDS: Final = 60.0
"""The service logs dropped lines at most once in LOG_INTERVAL_SECONDS."""
DESCRIPTORS: Final = {"stdout": 1, "stderr": 2}
REQUEST_ID: Final = b"x-amzn-requestid"

_log = logging.getLogger(__name__)


class AccessLog:
    """Writes lines to a file descriptor. The log calls `count_dropped` with the number of lost lines, from one thread
    at a time.
    """

    def __init__(self, descriptor: int, count_dropped: Callable[[int], None], most_lines: int = MAX_LINES) -> None:
        self._descriptor = descriptor
        self._count_dropped = count_dropped
        self._most_lines = most_lines
        self._entries: deque[AnsweredRequest] = deque()
        self._awake = threading.Event()
        self._stopping = False
        self._lock = threading.Lock()
        self._next_warning_at = 0.0
        self._thread = threading.Thread(target=self._run, name="penstock-access-log", daemon=True)
        self._thread.start()

    def add(self, answered: Answered, context: Context | None) -> None:
        """Adds a request to the writer's queue. `context` is None if the request could not be decoded."""
        if self._stopping or len(self._entries) >= self._most_lines:
            self._drop(1)
            return
        account, user = read_caller(context)
        trace = CURRENT_TRACE.get()
        self._entries.append(
            AnsweredRequest(time(), answered, account, user, None if trace is None else trace.trace_id)
        )
        if len(self._entries) == BATCH_LINES:
            self._awake.set()

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Writes the waiting lines for at most `seconds`. Lines that are still waiting after `seconds` are lost."""
        self._stopping = True
        self._awake.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stopping:
            self._awake.wait(PAUSE_SECONDS)
            self._awake.clear()
            self._write_waiting()
        self._write_waiting()

    def _write_waiting(self) -> None:
        while self._entries:
            batch = [self._entries.popleft() for _ in range(min(BATCH_LINES, len(self._entries)))]
            for part in join_lines(map(encode, batch)):
                self._write(part)

    def _write(self, part: bytes) -> None:
        try:
            while part:
                part = part[os.write(self._descriptor, part) :]
        except OSError:  # The reader has closed the pipe, or the disk is full.
            self._drop(part.count(b"\n"))

    def _drop(self, lines: int) -> None:
        with self._lock:
            self._count_dropped(lines)
            if monotonic() < self._next_warning_at:
                return
            self._next_warning_at = monotonic() + LOG_INTERVAL_SECONDS
        _log.warning("the access log drops lines: penstock_access_log_dropped_lines_total counts them")


@contextmanager
def open_access_log(settings: Settings, count_dropped: Callable[[int], None]) -> Iterator[AccessLog | None]:
    """Yields the access log, or None if ACCESS_LOG is off."""
    if settings.access_log == "off":
        yield None
        return
    log = AccessLog(DESCRIPTORS[settings.access_log], count_dropped)
    try:
        yield log
    finally:
        log.close()


def describe_action(
    http: HttpRequest,
    action: str,
    response: HttpResponse | None,
    seconds: float,
    request_bytes: int,
    settings: Settings,
) -> Answered:
    """Returns the log entry of an AWS request. `response` is None if the client has disconnected."""
    status, size, request_id = None, 0, None
    if response is not None:
        status, size = response.status, len(response.body)
        request_id = next((value.decode() for name, value in response.headers if name == REQUEST_ID), None)
    address = find_client_address(http.headers, http.peer, settings)
    return Answered(http.method, action, request_id, status, seconds, request_bytes, size, address)
