"""Resolves names to addresses without blocking the event loop or the end of the process.

The system's resolver cannot be cancelled and may take half a minute. A look-up therefore runs in a daemon thread of
its own, which the worker abandons after a timeout; at most `MOST_LOOKUPS` run at a time.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Final

from .endpoint import Address

MOST_LOOKUPS: Final = 32

_slots = threading.BoundedSemaphore(MOST_LOOKUPS)


async def resolve(host: str) -> list[Address]:
    """All addresses of a name, in the order in which the caller should try them. Raises OSError (socket.gaierror)."""
    if not _slots.acquire(blocking=False):
        raise OSError("too many names are being looked up")
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[Address]] = loop.create_future()
    threading.Thread(
        target=_resolve_in_thread, args=(host, loop, answer), daemon=True, name=f"resolve {host}"
    ).start()
    return await answer


def _resolve_in_thread(
    host: str, loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[list[Address]]"
) -> None:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        _set_result(
            loop,
            answer,
            answer.set_result,
            list(dict.fromkeys(ip_address(str(entry[4][0])) for entry in found)),
        )
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be encoded
        _set_result(
            loop, answer, answer.set_exception, error if isinstance(error, OSError) else OSError(str(error))
        )
    finally:
        _slots.release()


def _set_result(
    loop: asyncio.AbstractEventLoop,
    answer: "asyncio.Future[Any]",
    method: Callable[[Any], None],
    value: object,
) -> None:
    def deliver() -> None:
        if not answer.done():
            method(value)

    try:
        loop.call_soon_threadsafe(deliver)
    except RuntimeError:
        return  # the loop is closed, so no task waits any more
