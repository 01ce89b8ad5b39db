"""How many requests a second a caller may make of this process (QUOTA_REQUESTS_PER_SECOND).

A caller is the account where requests are signed. Elsewhere an account is whatever the client says, so it is the
client's address. Each 64 KiB of a request's body, begun or full, is a request, and so is each further 64 KiB of an
answer: AWS bills so ("Amazon SQS pricing", https://aws.amazon.com/sqs/pricing/).
"""

from threading import Lock
from time import monotonic
from typing import Protocol

from penstock.errors import RequestThrottled
from penstock.settings import Settings

from .addresses import rate_limit_key

MOST_CALLERS = 65_536
CHUNK_BYTES = 65_536
"""So many bytes count as a request."""


class Environment(Protocol):
    """The environment of the process, as far as it matters here."""

    @property
    def request_rate(self) -> "RequestRate | None": ...


class RequestContext(Protocol):
    """The context of a request, as far as it matters here. `user`: None where nobody proved who he is."""

    @property
    def account_id(self) -> str: ...

    @property
    def client_address(self) -> str: ...

    @property
    def user(self) -> object: ...

    @property
    def environment(self) -> Environment: ...


class RequestRate:
    """Lets each caller make `per_second` requests a second, and a second's worth at once.

    Source: the generic cell rate algorithm (ITU-T I.371, annex A). It keeps one number a caller: the time at which all
    that the caller has asked would have come at an even pace. Of more than 65,536 callers it forgets the one that it
    has known for longest.
    """

    def __init__(self, per_second: int) -> None:
        self._interval = 1 / per_second
        self._paced_at: dict[str, float] = {}
        self._lock = Lock()  # a long request is decoded in a thread

    def check(self, caller: str, size: int = 0) -> None:
        """Counts a request of `size` bytes. Raises RequestThrottled if the caller makes too many.

        A long one is let through like a short one, and those after it wait for all that it counts.
        """
        with self._lock:
            self.check_before(caller)
            self._count(caller, max(1, -(-size // CHUNK_BYTES)))

    def check_address(self, address: str, size: int = 0) -> None:
        """Counts a request of a client of whom only the address is known. Raises RequestThrottled."""
        self.check(rate_limit_key(address), size)

    def check_before(self, caller: str) -> None:
        """Counts nothing. Raises RequestThrottled where `check` would: before costly work for a request."""
        now = monotonic()
        if (
            self._paced_at.get(caller, now) - now > 1 - self._interval / 2
        ):  # half an interval: fractions are not exact
            raise RequestThrottled

    def count_answer(self, caller: str, size: int) -> None:
        """Counts an answer of `size` bytes, of which the first 64 KiB are free: later requests wait for it."""
        with self._lock:
            self._count(caller, max(0, size - 1) // CHUNK_BYTES)  # an empty one gives nothing back

    def _count(self, caller: str, requests: int) -> None:
        now = monotonic()
        if caller not in self._paced_at and len(self._paced_at) >= MOST_CALLERS:
            del self._paced_at[next(iter(self._paced_at))]
        self._paced_at[caller] = max(self._paced_at.get(caller, now), now) + requests * self._interval


def request_rate(settings: Settings) -> RequestRate | None:
    """The rate that the settings allow; None: any."""
    per_second = settings.quota_requests_per_second
    return RequestRate(per_second) if per_second else None


def check_rate(context: RequestContext, size: int) -> None:
    """Counts a request of `size` bytes whose caller is known as well as it will be. Raises RequestThrottled."""
    rate = context.environment.request_rate
    if rate is not None:
        rate.check(_caller(context), size)


def count_answer(context: RequestContext, size: int) -> None:
    """Counts an answer of `size` bytes, of which the first 64 KiB are free."""
    rate = context.environment.request_rate
    if rate is not None:
        rate.count_answer(_caller(context), size)


def _caller(context: RequestContext) -> str:
    return rate_limit_key(context.client_address) if context.user is None else context.account_id
