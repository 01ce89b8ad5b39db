"""Compares `penstock up --workers 2` with libraries that run several processes on one port.

    python -m benchmarks.costs.supervisors        # docs/decisions/0015-libraries-beside-the-hot-path.md has figures

Columns: the time until two processes listen again after one was killed; how many still listen ten seconds after their
parent was killed; and what a parent does when its processes cannot start. Libraries serve an application that starts at
once.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.measure.cpu import PROC
from benchmarks.peers import packages
from benchmarks.report.rows import Row, text
from benchmarks.system import free_port, stop_process

ROOT: Final = Path(__file__).parents[2]
NEEDED: Final = ["uvicorn==0.54.0", "gunicorn==27.0.1", "uvicorn-worker==0.4.0", "circus==0.19.0"]
APP: Final = "benchmarks.peers.small_app:app"
LISTENING: Final = "0A"
START_SECONDS, ORPHAN_SECONDS, BROKEN_SECONDS = 60, 10, 20
BROKEN: Final = {"QUEUE_POOL_TIMEOUT_MS": "wrong"}
CIRCUS: Final = """[circus]
endpoint = tcp://127.0.0.1:{0}
pubsub_endpoint = tcp://127.0.0.1:{1}
[watcher:app]
cmd = {python} -m uvicorn {app} --fd $(circus.sockets.web) --log-level error
use_sockets = True
numprocesses = 2
copy_env = True
[socket:web]
host = 127.0.0.1
port = {port}
"""


def commands(folder: Path) -> dict[str, Callable[[int], list[str]]]:
    """Functions that make the command of each supervisor for a port, by name."""
    python = str(packages.python("supervisors", NEEDED))

    def circus(port: int) -> list[str]:
        file = folder / "circus.ini"
        file.write_text(CIRCUS.format(free_port(), free_port(), python=python, app=APP, port=port))
        return [python, "-m", "circus.circusd", str(file)]

    gunicorn = [python, "-m", "gunicorn", APP, "-w", "2", "-k", "uvicorn_worker.UvicornWorker"]
    ours = [sys.executable, "-m", "penstock_web.cli", "up", "--ephemeral", "--workers", "2"]
    return {
        "penstock": lambda port: [*ours, "--port", str(port)],
        "uvicorn": lambda port: [python, "-m", "uvicorn", APP, "--workers", "2", "--port", str(port)],
        "gunicorn": lambda port: [*gunicorn, "-b", f"127.0.0.1:{port}"],
        "circus": circus,
    }


def listeners(port: int) -> set[int]:
    """The processes that have a listening socket of this port."""
    table = [line.split() for line in (PROC / "net/tcp").read_text().splitlines()[1:]]
    sockets = {
        f"socket:[{row[9]}]"
        for row in table
        if row[3] == LISTENING and int(row[1].rpartition(":")[2], 16) == port
    }
    found = set()
    for descriptor in PROC.glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if str(descriptor.readlink()) in sockets:
                found.add(int(descriptor.parts[2]))
    return found


def start_process(command: list[str], environment: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command, cwd=ROOT, env=os.environ | (environment or {}), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def wait_for_two_listeners(parent: int, port: int, without: int = 0) -> list[int]:
    """Waits until two processes listen, without the parent, which may share the socket, and without `without`."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if len(found := sorted(listeners(port) - {parent, without})) >= 2:
            return found
        time.sleep(0.05)
    raise TimeoutError(f"no two processes on {port}")


def killed_worker(command: Callable[[int], list[str]]) -> float:
    port = free_port()
    parent = start_process(command(port))
    try:
        first, *_ = wait_for_two_listeners(parent.pid, port)
        began = time.monotonic()
        os.kill(first, signal.SIGKILL)
        wait_for_two_listeners(parent.pid, port, without=first)
        return time.monotonic() - began
    finally:
        stop_process(parent)


def killed_parent(command: Callable[[int], list[str]]) -> int:
    """How many processes still listen after their parent was killed; they are killed afterwards."""
    port = free_port()
    parent = start_process(command(port))
    wait_for_two_listeners(parent.pid, port)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + ORPHAN_SECONDS
    while (left := listeners(port)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return len(left)


def broken_start(command: Callable[[int], list[str]]) -> str:
    parent, began = start_process(command(free_port()), BROKEN), time.monotonic()
    try:
        code = parent.wait(BROKEN_SECONDS)
    except subprocess.TimeoutExpired:
        return f"tries on after {BROKEN_SECONDS} s"
    finally:
        stop_process(parent, seconds=5)
    return f"ends with {code} after {time.monotonic() - began:.1f} s"


def own_code_lines(name: str) -> str:
    """The lines of our own code, which a library would save at most; empty for libraries."""
    source = (ROOT / "layers/web/penstock_web/local/workers.py").read_text()
    code = [line for line in source.splitlines() if line.strip() and not re.match(r"\s*#", line)]
    return str(len(code)) if name == "penstock" else ""


def main() -> None:
    """Prints a row for each supervisor."""
    rows: list[Row] = []
    with TemporaryDirectory() as folder:
        for name, command in commands(Path(folder)).items():
            rows.append(
                {
                    "supervisor": name,
                    "replaced after s": round(killed_worker(command), 1),
                    "left without parent": killed_parent(command),
                    "broken start": broken_start(command),
                    "lines of ours": own_code_lines(name),
                }
            )
            print(text(rows[-1:]), flush=True)
    print(text(rows))


if __name__ == "__main__":
    main()
