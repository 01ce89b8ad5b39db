"""Decides when requests are due: at once (closed loop), or at a rate independent of the service (open loop)."""

import random
from time import perf_counter

from .wire import Due, Request


class Pace:
    """The arrivals of one load process: independent messages at an average rate of `rate` a second (Poisson).

    The connections of the process claim arrivals in turn. If all connections are busy, a request is written late, but
    its latency counts from its due time, so it includes the wait of an independent client. Timers wake up to 1 ms
    late, which also counts against the service.
    """

    def __init__(self, rate: float, seed: int = 1) -> None:
        self._rate = rate
        self._dice = random.Random(seed)
        self._next_at = 0.0

    def start(self) -> None:
        """Starts the clock: all arrivals are due after now."""
        self._next_at = perf_counter()

    def timed(self, request: Request, messages: int) -> Request | Due:
        """Returns the request with the next arrival as its due time. The pause before n messages is n times as long.
        In a closed loop a request is due now.
        """
        return Due(request, self.arrival(messages)) if self._rate else request

    def arrival(self, messages: int = 1) -> float:
        """Returns the time of the next arrival (perf_counter). Needs a rate."""
        self._next_at += self._dice.expovariate(self._rate / messages)
        return self._next_at


CLOSED_LOOP = Pace(0.0)
