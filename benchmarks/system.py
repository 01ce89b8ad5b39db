"""Defines the interface of a system under test (Penstock or a peer), and starts and stops its processes."""

import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from .measure.outcome import Outcome, Plan, StageCallback, ignore_stages
from .scenarios import Scenario


class UnavailableError(Exception):
    """Says that the benchmark cannot measure a system on this machine. The text says what is missing."""


class System(Protocol):
    """Declares a system under test. The runner starts the system once, runs scenarios, and stops the system once."""

    @property
    def name(self) -> str: ...

    def start(self) -> None:
        """Starts the system. Raises UnavailableError."""

    def supports(self, scenario: Scenario) -> bool: ...

    def run(self, scenario: Scenario, plan: Plan, watch: StageCallback = ignore_stages) -> Outcome: ...

    def facts(self) -> dict[str, object]:
        """Returns versions and settings for the results file."""

    def pss_bytes(self) -> dict[str, int | None]: ...

    def disk_bytes(self) -> int | None:
        """Returns the size of the system's data on disk.

        Returns None if the system stores no data, or if the size cannot be read.
        """

    def stop(self) -> None: ...


def bytes_below(folder: Path) -> int:
    """Returns the disk space of the files below `folder`, without files that are deleted during the count."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += path.lstat().st_blocks * 512
    return total


def free_port() -> int:
    """Returns a loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(done: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, seconds: float = 300) -> None:
    """Waits for `done`. If the process exits or `seconds` pass, raises UnavailableError with the end of `log`."""
    deadline = time.monotonic() + seconds
    while not done():
        if process.poll() is not None or time.monotonic() > deadline:
            raise UnavailableError(f"{process.args!r} did not start: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def stop_process(process: subprocess.Popen[bytes] | None, seconds: float = 20) -> None:
    """Sends SIGTERM, and then SIGKILL if the process still runs after `seconds`."""
    if process is None:
        return
    process.terminate()
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
