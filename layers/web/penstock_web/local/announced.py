"""Tells the commands the running services' addresses. Each `penstock up` has a file, and locks the file until the end.
The first line of a file is the address of the service. The second line is the folder of the database if `penstock up`
created it. All further lines are addresses of the database, without passwords.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from .state import cache_directory


class Running(NamedTuple):
    """A service of this machine. `folder` is the folder of its database, or None if DATABASE_URL names the database.
    `databases` lists the addresses of the database and of its pooler.
    """

    address: str
    folder: Path | None
    databases: tuple[str, ...] = ()


def _directory() -> Path:
    return cache_directory() / "endpoints"


@contextmanager
def announce(address: str, folder: Path | None, databases: Sequence[str] = ()) -> Iterator[None]:
    """Lets the same user's commands find this service until the process ends.

    If the file cannot be written, the user has to pass the address to the commands.
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


def running_services() -> list[Running]:
    """Returns all running services by address, and removes the files of killed services."""
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
