"""Cleans up after a process that created a temporary folder with a database and was then killed. Ends the folder's
database and pooler, and removes the folder.

    python -m penstock_web.local.guardian FOLDER

Standard input is a pipe from the process that created the folder. The kernel closes the pipe when that process ends. A
process that ends normally cleans up itself. The guardian ends only processes whose command lines contain the folder's
name.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

# PgBouncer needs SIGKILL, because it can ignore SIGQUIT: programs that a shell starts in the background ignore SIGQUIT,
# and PgBouncer inherits this setting.
_SIGNALS: Final = {"postgres/data/postmaster.pid": signal.SIGQUIT, "pgbouncer/pid": signal.SIGKILL}
_MAX_END_SECONDS: Final = 20.0


@contextmanager
def guard_process(folder: Path) -> Iterator[None]:
    """Runs a guardian until the end of the block. If this process is killed, the guardian cleans up."""
    guardian = subprocess.Popen(
        [sys.executable, "-m", __name__, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C must not reach the guardian.
    )
    try:
        yield
    finally:
        guardian.communicate()


def clean_up(folder: Path) -> None:
    """Ends the folder's processes immediately, and removes the folder."""
    found = {pid: number for name, number in _SIGNALS.items() if (pid := _pid_in(folder / name))}
    running = [pid for pid in found if _runs_in(folder, pid)]
    for pid in running:
        with suppress(ProcessLookupError):
            os.kill(pid, found[pid])
    deadline = time.monotonic() + _MAX_END_SECONDS
    while any(_runs_in(folder, pid) for pid in running) and time.monotonic() < deadline:
        time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)


def _pid_in(file: Path) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        return int(file.read_text().split()[0])
    return None


def _runs_in(folder: Path, pid: int) -> bool:
    return str(folder) in build_command_line(pid)


def build_command_line(pid: int) -> str:
    """Returns the command line of a process, or "" if the process does not run. Reads /proc if possible, because slim
    container images have no ps. macOS has only ps.
    """
    if Path("/proc/self/cmdline").exists():
        with suppress(OSError):  # The process has ended.
            return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        return ""
    command = ["ps", "-ww", "-o", "args=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    sys.stdin.buffer.read()
    clean_up(Path(sys.argv[1]))
