"""Tells commands which services run on this machine. Each `penstock up` writes a file, and keeps the file locked while
the service runs. The file's first line is the service's address. The second line is the folder of the database if
`penstock up` runs the database, and is empty otherwise. All further lines are the database's addresses without
passwords.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from .state import cache_directory


class Running(NamedTuple):
    """A service on this machine. `folder` is the database's folder, or None if DATABASE_URL selects the database.
    `databases` contains the addresses of the database and the pooler.
    """

    address: str
    folder: Path | None
    databases: tuple[str, ...] = ()


def _directory() -> Path:
    return cache_directory() / "endpoints"


@contextmanager
def announce(address: str, folder: Path | None, databases: Sequence[str] = ()) -> Iterator[None]:
    """Announces a service to commands of the same user until the end of the block. If the cache folder is not writable,
    the user must pass the address to commands.
    """
    file = _directory() / address.rpartition("/")[2].replace(":", "_")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = file.open("w")
    except OSError:
        yield
        return
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        lines = (address, str(folder.absolute()) if folder else "", *databases)
        handle.write("".join(f"{line}\n" for line in lines))
        handle.flush()
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


def list_running_services() -> list[Running]:
    """Returns the running services, sorted by address. Removes the files of services that were killed."""
    found = []
    with suppress(OSError):
        for file in sorted(_directory().iterdir()):
            with suppress(OSError), file.open() as handle:
                try:
                    fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    address, folder, *databases = (*handle.read().splitlines(), "")
                    place = Path(folder) if folder else None
                    found.append(Running(address, place, tuple(filter(None, databases))))
                else:
                    file.unlink(missing_ok=True)
    return [service for service in found if service.address]
