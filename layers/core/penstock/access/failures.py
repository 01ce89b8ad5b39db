"""How often callers at one address have failed to prove who they are, so that guessing costs the database nothing.

An address with too many failures may go on with keys that exist; keys that this process has never seen are not looked
up for it for a while. So whoever shares the address (a company's gateway, a load balancer) keeps working.
"""

from time import monotonic

from .addresses import rate_limit_key

MOST_FAILURES = 50
WINDOW_SECONDS = 10.0
MOST_ADDRESSES = 4096


class FailureCounter:
    """Failures by address (of IPv6 by /64), in windows of `seconds`; it forgets the one that was seen longest ago.

    `most`: so many failures an address may have in its window.
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
        """Whether the address has had more failures than it may in its window."""
        started_at, number = self._windows.get(rate_limit_key(address), (0.0, 0))
        return number > self._most and monotonic() - started_at <= self._seconds
