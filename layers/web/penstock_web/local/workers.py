"""Starts, watches and stops several service processes on one port. Each worker listens with SO_REUSEPORT. A worker
reports through a pipe when it is ready, and stops when its standard input closes. Workers therefore stop even if the
parent process is killed. Workers of uvicorn, gunicorn and circus would continue
(docs/decisions/0015-libraries-beside-the-hot-path.md).
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.observing.telemetry import configure_logging
from penstock.settings import SETTINGS, Settings
from penstock_web.local_error import LocalError

_log = logging.getLogger(__name__)

# Seconds between two attempts to restart a worker.
_RESTART_PAUSE_SECONDS: Final = 0.5
_EXTRA_SECONDS: Final = 2


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """The address of all processes, and the folder of their shared metrics."""

    host: str
    port: int
    metrics: Path | None = None


def run_workers(settings: Settings, host: str, port: int, count: int, on_ready: Callable[[], None]) -> None:
    """Runs `count` workers until a signal raises SystemExit, and then stops all workers."""
    with metrics_folder() as folder:
        options = WorkerOptions(host, port, folder)
        workers: list[subprocess.Popen[bytes]] = []
        try:
            workers.extend(_start(settings, options) for _ in range(count))
            if any(worker.poll() is not None for worker in workers):
                raise LocalError("a worker did not start. See the worker's messages above")
            on_ready()
            while True:
                _replace_dead(workers, settings, options)
        finally:
            _stop(workers, settings.queue_drain_seconds + _EXTRA_SECONDS)


@contextmanager
def metrics_folder() -> Iterator[Path]:
    """Yields a folder for the metrics that the workers share. The folder is in memory if possible."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder in it is new and private
    parent = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="penstock-metrics-", dir=parent) as name:
        yield Path(name)


def run_worker(settings: Settings, options: WorkerOptions, ready_fd: int) -> int:
    """Runs one worker in this process until SIGTERM. Returns the exit code."""
    from penstock_web.server import serve  # noqa: PLC0415

    configure_logging(settings.log_level)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    serve(settings, options.host, options.port, lambda: _report_ready(ready_fd), True, options.metrics)
    return 0


def _report_ready(ready_fd: int) -> None:
    os.write(ready_fd, b"1")
    os.close(ready_fd)


def _end_with_parent() -> None:
    # Reading from sys.stdin would hold its lock, and delay the end of the interpreter.
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _start(settings: Settings, options: WorkerOptions) -> subprocess.Popen[bytes]:
    """Starts a worker and waits until the worker is ready or has failed."""
    ready, ready_fd = os.pipe()
    command = [sys.executable, "-m", "penstock_web.cli", "worker", "--host", options.host, "--port", str(options.port)]
    if options.metrics is not None:
        command += ["--metrics-folder", str(options.metrics)]
    worker = subprocess.Popen(
        [*command, "--ready-fd", str(ready_fd)],
        stdin=subprocess.PIPE,
        pass_fds=[ready_fd],
        env={**os.environ, **_variables(settings)},
        start_new_session=True,  # Only the parent receives Ctrl-C. The parent then stops the workers.
    )
    os.close(ready_fd)
    is_ready = os.read(ready, 1) != b""  # The pipe is empty if the worker has ended.
    os.close(ready)
    if not is_ready:
        worker.wait()
    return worker


def _variables(settings: Settings) -> dict[str, str]:
    """Returns the settings that `penstock up` chose, such as the address of its database and the console's access."""
    inherited = Settings.read(os.environ)
    chosen = ((setting, getattr(settings, setting.attribute)) for setting in SETTINGS)
    return {one.name: one.write(value) for one, value in chosen if value != getattr(inherited, one.attribute)}


def _replace_dead(workers: list[subprocess.Popen[bytes]], settings: Settings, options: WorkerOptions) -> None:
    time.sleep(_RESTART_PAUSE_SECONDS)
    for index, worker in enumerate(workers):
        if worker.poll() is not None:
            _log.error("worker ended, starting another", extra={"pid": worker.pid, "exit_code": worker.returncode})
            workers[index] = _start(settings, options)


def _stop(workers: list[subprocess.Popen[bytes]], seconds: float) -> None:
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + seconds
    for worker in workers:
        try:
            worker.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
