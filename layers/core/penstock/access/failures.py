"""Counts failed authentications by address, so that clients that guess keys do not load the database.

After too many failures, the process does not look up unknown keys for the address until the window is over. The process
continues to accept cached keys. Therefore clients with valid keys can continue behind the same gateway or load
balancer.
"""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from time import monotonic

MAX_FAILURES = 50
WINDOW_SECONDS = 10.0
MAX_ADDRESSES = 4096


class FailureCounter:
    """Counts failures by address (IPv6 by /64 network) in windows of `seconds`. A full table drops the least recently
    seen address.

    `most` is the number of failures that an address can have in a window.
    """

    def __init__(self, most: int = MAX_FAILURES, seconds: float = WINDOW_SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        self._windows: dict[str, tuple[float, int]] = {}

    def add(self, address: str) -> None:
        now, address = monotonic(), rate_limit_key(address)
        started_at, number = self._windows.pop(address, (now, 0))
        if now - started_at > self._seconds:
            started_at, number = now, 0
        if len(self._windows) >= MAX_ADDRESSES:
            del self._windows[next(iter(self._windows))]
        self._windows[address] = started_at, number + 1

    def is_exceeded(self, address: str) -> bool:
        """Returns whether the address has exceeded `most` failures in the current window."""
        started_at, number = self._windows.get(rate_limit_key(address), (0.0, 0))
        return number > self._most and monotonic() - started_at <= self._seconds


@lru_cache(4096)
def rate_limit_key(address: str) -> str:
    """Returns the key under which a limit counts a client's address.

    An IPv6 address is reduced to its /64 network, because one client owns the whole network (RFC 6177).
    """
    if ":" not in address:
        return address
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:  # a proxy can write any text
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    mapped = parsed.ipv4_mapped
    return str(IPv6Address(int(parsed) >> 64 << 64)) if mapped is None else str(mapped)
