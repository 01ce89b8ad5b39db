"""What the runner asks of a system under test, ours or a peer."""

import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from .measure.outcome import Outcome, Plan
from .measure.watch import Watch, unwatched
from .scenarios import Scenario


class UnavailableError(Exception):
    """The system cannot be measured here; the text says what is missing."""


class System(Protocol):
    """Started once, run many times, stopped once."""

    @property
    def name(self) -> str: ...

    def start(self) -> None:
        """Raises UnavailableError."""

    def supports(self, scenario: Scenario) -> bool: ...

    def run(self, scenario: Scenario, plan: Plan, watch: Watch = unwatched) -> Outcome: ...

    def facts(self) -> dict[str, object]:
        """Versions and settings, for the results file."""

    def pss_bytes(self) -> dict[str, int | None]: ...

    def disk_bytes(self) -> int | None:
        """What its data take on disk; None when it keeps none or they cannot be seen."""

    def stop(self) -> None: ...


def bytes_below(folder: Path) -> int:
    """Disk that the files below `folder` occupy. Files that go away meanwhile are left out."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += path.lstat().st_blocks * 512
    return total


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(
    done: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, seconds: float = 60
) -> None:
    """Until `done`. Raises UnavailableError with the end of `log` when the process ends or the time is over."""
    deadline = time.monotonic() + seconds
    while not done():
        if process.poll() is not None or time.monotonic() > deadline:
            raise UnavailableError(
                f"{process.args!r} did not start: {log.read_text(errors='replace')[-2000:]}"
            )
        time.sleep(0.05)


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def stop_process(process: subprocess.Popen[bytes] | None, seconds: float = 20) -> None:
    """SIGTERM, then SIGKILL after `seconds`."""
    if process is None:
        return
    process.terminate()
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
