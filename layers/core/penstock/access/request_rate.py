"""Limits the requests per second of each caller to this process (QUOTA_REQUESTS_PER_SECOND).

The caller is the account if requests are signed. If requests are unsigned, the caller is the client's address, because
a client can claim any account. A request counts once for each started 64 KiB of its body. A response counts for each
further 64 KiB. AWS's bills count requests in the same way ("Amazon SQS pricing", https://aws.amazon.com/sqs/pricing/).
"""

from threading import Lock
from time import monotonic

from penstock.errors import RequestThrottled
from penstock.settings import Settings

from .failures import rate_limit_key

MAX_CALLERS = 65_536
CHUNK_BYTES = 65_536
"""The number of bytes that count as one request."""


class RequestRate:
    """Allows each caller `per_second` requests per second. A caller can send one second's requests at once.

    Source: the generic cell rate algorithm (ITU-T I.371, annex A). The class stores the time at which each caller's
    requests would have arrived at an even pace. The class forgets the oldest caller when there are more than 65,536
    callers.
    """

    def __init__(self, per_second: int) -> None:
        self._interval = 1 / per_second
        self._paced_at: dict[str, float] = {}
        self._lock = Lock()  # long requests are decoded in a thread

    def check(self, caller: str, size: int = 0) -> None:
        """Counts a request of `size` bytes. Raises RequestThrottled if the caller exceeds the rate.

        A long request is accepted under the same condition as a short request, but all its bytes delay later requests.
        """
        with self._lock:
            self.check_before(caller)
            self._count(caller, max(1, -(-size // CHUNK_BYTES)))

    def check_address(self, address: str, size: int = 0) -> None:
        """Counts a request by the client's address. Raises RequestThrottled."""
        self.check(rate_limit_key(address), size)

    def check_before(self, caller: str) -> None:
        """Raises RequestThrottled if `check` would raise the error, but does not count the request. Callers use this
        method before costly work."""
        now = monotonic()
        # The comparison tolerates half an interval, because the floating-point times are not exact.
        if self._paced_at.get(caller, now) - now > 1 - self._interval / 2:
            raise RequestThrottled

    def count_response(self, caller: str, size: int) -> None:
        """Counts a response of `size` bytes. The bytes after the first 64 KiB delay later requests."""
        with self._lock:
            self._count(caller, max(0, size - 1) // CHUNK_BYTES)  # an empty response returns no credit

    def _count(self, caller: str, requests: int) -> None:
        now = monotonic()
        if caller not in self._paced_at and len(self._paced_at) >= MAX_CALLERS:
            del self._paced_at[next(iter(self._paced_at))]
        self._paced_at[caller] = max(self._paced_at.get(caller, now), now) + requests * self._interval


def request_rate(settings: Settings) -> RequestRate | None:
    """Returns the rate limit of the settings, or None for no limit."""
    per_second = settings.quota_requests_per_second
    return RequestRate(per_second) if per_second else None
