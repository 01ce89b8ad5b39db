"""Resolves names to addresses without blocking the event loop or the exit of the process.

The system's resolver cannot be cancelled and can take half a minute. Therefore each look-up runs in a daemon thread,
which the worker abandons after a timeout. At most `MAX_LOOKUPS` look-ups run at a time. At most `MAX_OF_A_DOMAIN`
look-ups are for the same domain, so slow name servers of one domain do not delay other domains. An account can start a
look-up only if it has fewer running look-ups than there are free places. Therefore an account's slow domains do not
delay other accounts. A postponed look-up does not count as an attempt.
"""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Final

from penstock.endpoint import Address

MAX_LOOKUPS: Final = 64
MAX_OF_A_DOMAIN: Final = 8

_of_domain: Counter[str] = Counter()  # running look-ups
_of_account: Counter[str] = Counter()
_lock = threading.Lock()


class ResolverBusyError(OSError):
    """Too many look-ups are running, so the worker sent no request."""


async def resolve(host: str, account_id: str) -> list[Address]:
    """Returns all addresses of a name, in the order in which to try them.

    `account_id` is the owner of the delivery. Raises OSError (socket.gaierror) and ResolverBusyError.
    """
    domain = find_domain(host)
    with _lock:
        if _of_domain[domain] >= MAX_OF_A_DOMAIN or _of_account[account_id] >= MAX_LOOKUPS - _of_account.total():
            raise ResolverBusyError("too many names are being looked up")
        _of_domain[domain] += 1
        _of_account[account_id] += 1
    loop = asyncio.get_running_loop()
    response: asyncio.Future[list[Address]] = loop.create_future()
    threading.Thread(
        target=_resolve_in_thread, args=(host, account_id, loop, response), daemon=True, name=f"resolve {host}"
    ).start()
    return await response


def find_domain(host: str) -> str:
    """Returns the last two labels of a name.

    The last two labels usually name the domain that the name servers serve, except below domains such as `co.uk`.
    """
    return ".".join(host.rstrip(".").lower().rsplit(".", 2)[-2:])


def _resolve_in_thread(
    host: str, account_id: str, loop: asyncio.AbstractEventLoop, response: "asyncio.Future[list[Address]]"
) -> None:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        _set_result(
            loop, response, response.set_result, list(dict.fromkeys(ip_address(str(entry[4][0])) for entry in found))
        )
    except (OSError, ValueError) as error:  # the name cannot be encoded (ValueError)
        _set_result(
            loop, response, response.set_exception, error if isinstance(error, OSError) else OSError(str(error))
        )
    finally:
        with _lock:
            _end(_of_domain, find_domain(host))
            _end(_of_account, account_id)


def _end(running: Counter[str], key: str) -> None:
    running[key] -= 1
    if not running[key]:
        del running[key]


def _set_result(
    loop: asyncio.AbstractEventLoop, response: "asyncio.Future[Any]", method: Callable[[Any], None], value: object
) -> None:
    def deliver() -> None:
        if not response.done():
            method(value)

    try:
        loop.call_soon_threadsafe(deliver)
    except RuntimeError:
        return  # the loop is closed, so no task waits for the result
