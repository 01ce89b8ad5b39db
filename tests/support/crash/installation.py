"""Kills a running Penstock with SIGKILL: the service, or all of PostgreSQL."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg

from penstock_web.local.postgres import free_port
from tests.support.programs.penstock_up import Up, running
from tests.support.wait import wait_until


class CrashInstallation:
    """Runs `penstock up --data-dir`. `stack` stops the service's processes."""

    def __init__(self, state: Path, stack: ExitStack) -> None:
        self.state = state
        self.port = free_port()
        self._stack = stack
        self.up = self._start()

    def _start(self) -> Up:
        return self._stack.enter_context(running("--data-dir", str(self.state), port=self.port))

    def kill_service(self) -> None:
        """Kills the service. PostgreSQL keeps running, and the next `penstock up` adopts the running server."""
        assert self.up.end(signal.SIGKILL) == -signal.SIGKILL

    def restart_service(self) -> None:
        self.up = self._start()

    def kill_database(self) -> None:
        """Kills the postmaster and all its children. Returns when the postmaster and its children have exited."""
        postmaster = int((self.state / "postgres/data/postmaster.pid").read_text().split("\n")[0])
        everybody = [postmaster, *_children(postmaster)]
        for pid in everybody:
            _kill(pid)
        wait_until(lambda: not any(map(_runs, everybody)))

    def wait_for_database(self) -> None:
        wait_until(self._has_database)

    def _has_database(self) -> bool:
        try:
            psycopg.connect(self.up.dsn).close()
        except psycopg.OperationalError:
            return False
        return True


def _children(parent: int) -> Iterator[int]:
    command = ["ps", "-e", "-o", "pid=,ppid="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        pid, ppid = map(int, line.split())
        if ppid == parent:
            yield pid


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # The process exited when it noticed the postmaster's death.


def _runs(pid: int) -> bool:
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()[:1] not in ("", "Z")
