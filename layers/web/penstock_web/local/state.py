"""Manages the folders of local data. Each database has a folder, which only one process can lock.

<state>/lock            the lock file, which a running `penstock up` has locked
<state>/postgres/       log, port and passwords
<state>/postgres/data   the database cluster
<state>/pgbouncer/      configuration and log
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from penstock_web.local_error import LocalError

from .guardian import guard_process
from .system_account import SystemAccount


def default_state_directory() -> Path:
    """Returns $XDG_STATE_HOME/penstock or ~/.local/state/penstock. For root, returns /var/lib/penstock, because
    PostgreSQL's user cannot enter root's home folder.
    """
    if base := os.environ.get("XDG_STATE_HOME"):
        return Path(base) / "penstock"
    return Path("/var/lib/penstock") if os.geteuid() == 0 else Path.home() / ".local/state/penstock"


def cache_directory() -> Path:
    """Returns $XDG_CACHE_HOME/penstock or ~/.cache/penstock, and for root /var/cache/penstock. The folder contains
    downloaded and copied programs. Users can delete the folder.
    """
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "penstock"
    return Path("/var/cache/penstock") if os.geteuid() == 0 else Path.home() / ".cache/penstock"


def open_lock(folder: Path) -> IO[str]:
    """Opens a folder's lock file. Only the owner can open the file. Otherwise, another user could lock the file and
    prevent a start.
    """
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "r+")


@contextmanager
def lock_state(path: Path, account: SystemAccount) -> Iterator[Path]:
    """Creates the folder if necessary, and locks the folder until the end of the block. Raises LocalError if another
    process has locked the folder."""
    path = path.absolute()
    path.mkdir(parents=True, exist_ok=True)
    if not account.can_enter(path):
        who = "PostgreSQL does not run as root, and its user" if account.is_other_user else "this user"
        raise LocalError(f"{who} cannot enter {path}. Choose another folder with --data-dir")
    with open_lock(path) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LocalError(
                f"another `penstock up` uses {path}. Stop the other `penstock up`, or choose another folder with "
                "--data-dir"
            ) from None
        yield path


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Locks a folder in which several processes can prepare the same files. Waits until the lock is free."""
    folder.mkdir(parents=True, exist_ok=True)
    with open_lock(folder) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def ephemeral_state(parent: Path | None = None) -> Iterator[Path]:
    """Yields a new folder in `parent` or in the system's temporary folder. Removes the new folder at the end. If this
    process is killed, a guardian ends the database and the pooler in the folder, and removes the folder.
    """
    path = Path(tempfile.mkdtemp(prefix="penstock-", dir=parent))
    path.chmod(0o711)
    with guard_process(path):
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
