"""Counts failed authentications by address, so that guessing keys does not load the database.

An address with too many failures may still use keys that the process knows. The process looks up no unknown keys for
that address until the window ends. Therefore other clients behind the address (a company's gateway, a load balancer)
keep working.
"""

from time import monotonic

from .addresses import rate_limit_key

MOST_FAILURES = 50
WINDOW_SECONDS = 10.0
MOST_ADDRESSES = 4096


class FailureCounter:
    """Counts failures by address (IPv6 by /64) in windows of `seconds`. A full table drops its least recently seen
    address.

    `most` is the number of failures that an address may have in its window.
    """

    def __init__(self, most: int = MOST_FAILURES, seconds: float = WINDOW_SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        self._windows: dict[str, tuple[float, int]] = {}

    def add(self, address: str) -> None:
        """Counts a failure."""
        now, address = monotonic(), rate_limit_key(address)
        started_at, number = self._windows.pop(address, (now, 0))
        if now - started_at > self._seconds:
            started_at, number = now, 0
        if len(self._windows) >= MOST_ADDRESSES:
            del self._windows[next(iter(self._windows))]
        self._windows[address] = started_at, number + 1

    def is_exceeded(self, address: str) -> bool:
        """Returns whether the address has had more than `most` failures in its window."""
        started_at, number = self._windows.get(rate_limit_key(address), (0.0, 0))
        return number > self._most and monotonic() - started_at <= self._seconds
