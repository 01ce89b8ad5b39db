"""When requests are due: at once (closed loop), or at a rate that does not wait for the service (open loop)."""

import random
from time import perf_counter

from .wire import Due, Request


class Pace:
    """Arrivals of one load process: messages at `rate` a second on average, independent of each other (Poisson).

    The connections of the process claim arrivals in turn. When all are busy, arrivals wait and their requests are
    written late, but their latency counts from when they were due: nothing is omitted that clients of their own accord
    would have sent meanwhile. Timers wake up to 1 ms late; that counts too, never in favour of the service.
    """

    def __init__(self, rate: float, seed: int = 1) -> None:
        self._rate = rate
        self._dice = random.Random(seed)
        self._next_at = 0.0

    def start(self) -> None:
        """The first arrival is due after now."""
        self._next_at = perf_counter()

    def timed(self, request: Request, messages: int) -> Request | Due:
        """The request, due at the next arrival, n times as late for n messages; of a closed loop as it is."""
        if not self._rate:
            return request
        self._next_at += self._dice.expovariate(self._rate / messages)
        return Due(request, self._next_at)


CLOSED_LOOP = Pace(0.0)
