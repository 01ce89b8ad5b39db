"""Defines a clock that a test can move forward. The clock belongs to a service that only this test uses.

The service is a child of the test process. The service reads commands from a pipe at its standard input, and stops when
the pipe closes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Self

from .account import Account
from .servers import TestServer, TestServerError, build_server_environment

ACCOUNT = "000000000001"  # `TestServer.account` returns only accounts that begin with another digit.


class Clock:
    """The clock of a service. The clock runs normally, and `advance` moves it forward.

    Visibility timeouts, delays, retention, deduplication, schedules and retries use this clock. After a move, the
    service behaves as after an idle period of the same length. The clock of the test process does not change.
    """

    def __init__(self, process: subprocess.Popen[str], endpoint_url: str) -> None:
        self._process = process
        self.account = Account(endpoint_url, ACCOUNT)

    def advance(self, by: timedelta | float) -> datetime:
        """Moves the clock forward by a timedelta, or by a number of seconds.

        Returns the service's time. Raises ValueError for a negative value.
        """
        seconds = by.total_seconds() if isinstance(by, timedelta) else by
        if not 0 <= seconds < timedelta.max.total_seconds():
            raise ValueError(f"the clock can move by 0 seconds or more, not by {seconds}")
        assert self._process.stdin is not None  # noqa: S101 - opened with pipes
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        return datetime.fromisoformat(_read_line(self._process))

    def now(self) -> datetime:
        """Returns the service's time."""
        return self.advance(0)

    @classmethod
    @contextmanager
    def running(cls, server: TestServer) -> Iterator[Self]:
        """Starts a service on a new database of the shared test server. Raises TestServerError."""
        command = [sys.executable, "-m", "penstock_web.testing.clock_server", json.dumps(server.databases)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", env=build_server_environment()
        ) as process:  # At the end, the block closes the pipes and waits for the process.
            yield cls(process, _read_line(process))


def _read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None  # noqa: S101 - opened with pipes
    line = process.stdout.readline().strip()
    if not line:
        raise TestServerError("the test server with a clock has ended; see its standard error for the reason")
    return line
