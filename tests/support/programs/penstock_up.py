"""Runs `penstock up` as a separate process that a test may kill."""

import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest

from penstock_web.local.postgres import free_port

COMMAND = [sys.executable, "-m", "penstock_web.cli"]


class Up:
    """Represents a running `penstock up`."""

    def __init__(self, *arguments: str, port: int, log: IO[bytes], **variables: str) -> None:
        self.port = port
        self.address = f"http://127.0.0.1:{port}"
        # The log goes to a file, because a pipe without a reader would block the process.
        self._log = log
        self.process = subprocess.Popen(
            [*COMMAND, "up", "--port", str(port), *arguments],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "DATABASE_URL": "", **variables},
        )
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline().rstrip() for _ in range(4)]
        if not self.lines[3]:
            self.process.wait()
            pytest.fail(f"`penstock up` did not start: {self.log()}")
        self.dsn = self.lines[1].removeprefix("database ")

    def log(self) -> str:
        """Returns the process's standard error."""
        # pread does not move the file's position, which the writing process shares.
        return os.pread(self._log.fileno(), 2**24, 0).decode()

    def is_alive(self) -> bool:
        """Returns whether /livez responds with status 200."""
        with urllib.request.urlopen(f"{self.address}/livez") as response:
            return bool(response.status == 200)

    def end(self, number: signal.Signals) -> int:
        """Sends a signal and waits for the exit. Returns the exit code."""
        self.process.send_signal(number)
        self.process.communicate(timeout=30)
        return self.process.returncode


@contextmanager
def running(*arguments: str, port: int | None = None, **variables: str) -> Iterator[Up]:
    """Runs `penstock up` with the given arguments and environment variables, and stops it with SIGTERM."""
    with tempfile.TemporaryFile() as log:
        up = Up(*arguments, port=port or free_port(), log=log, **variables)
        try:
            yield up
        finally:
            up.end(signal.SIGTERM)
