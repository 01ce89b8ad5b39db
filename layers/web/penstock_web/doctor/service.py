"""Checks whether a service uses the database in a folder. The database continues to run if the service is killed."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path

from .examination import Finding

SUBJECT = "service"


def check_service(folder: Path) -> Iterator[Finding]:
    """Yields a finding if no `penstock up` runs with the folder. A running `penstock up` has locked the folder
    (`local/state.py`).
    """
    if not _is_locked(folder):
        yield Finding(
            SUBJECT,
            f"the service with the data in {folder} ended without stopping its database",
            "requests receive no response, and schedules do not fire",
            "start the service again, for example with `penstock up`; it takes over the running database",
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
