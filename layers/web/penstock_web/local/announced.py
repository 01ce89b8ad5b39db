"""Where the commands find a running `penstock up`: a file for each, with its address, locked for as long as it runs."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .state import cache_directory


def _folder() -> Path:
    return cache_directory() / "endpoints"


@contextmanager
def announced(address: str) -> Iterator[None]:
    """Commands of the same user find this address until the end, also that of a process that is killed.

    Where no file can be written, they have to be told the address.
    """
    file = _folder() / address.rpartition("/")[2].replace(":", "_")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = file.open("w")
    except OSError:
        yield
        return
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        handle.write(address)
        handle.flush()
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


def running_addresses() -> list[str]:
    """The addresses of all that run, sorted; files of those that were killed are removed."""
    found = []
    with suppress(OSError):
        for file in sorted(_folder().iterdir()):
            with suppress(OSError), file.open() as handle:
                try:
                    fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    found.append(handle.read())
                else:
                    file.unlink(missing_ok=True)
    return [address for address in found if address]
