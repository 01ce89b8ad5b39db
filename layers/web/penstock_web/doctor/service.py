"""Checks whether a service runs on a folder's database. PostgreSQL continues after the service is killed."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path

from .examination import Finding

SUBJECT = "service"


def check_service(folder: Path) -> Iterator[Finding]:
    """Yields a finding if no `penstock up` has locked the folder (`local/state.py`)."""
    if not _is_locked(folder):
        yield Finding(
            SUBJECT,
            f"the service with the data of {folder} does not run, but its database does: the service was killed",
            "requests get no response, and schedules do not fire",
            "start it as before, such as with `penstock up`: it takes over the running database",
        )


def _is_locked(folder: Path) -> bool:
    try:
        with (folder / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
