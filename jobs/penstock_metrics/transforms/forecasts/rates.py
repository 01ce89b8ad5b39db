"""Computes the rates of arrivals and drains of a queue, in messages per second, and the time until it is empty.

The rates cover the last quarter of an hour. Over a whole hour, a queue that began to drain 20 minutes ago would seem
never to become empty. The rates of a younger queue cover its life.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock_metrics.span import MINUTE

RATE_MINUTES: Final = 15
_LEAST_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class MeanRates:
    """The rates are in messages per second."""

    arrivals: float
    drained: float


def rates(arrived: int, drained: int, last_us: int, begins_us: int) -> MeanRates:
    """Returns the rates over the last RATE_MINUTES before `last_us`, for a queue that exists since `begins_us`."""
    lived = (last_us - max(begins_us, last_us - RATE_MINUTES * MINUTE)) / 1_000_000
    seconds = max(lived, _LEAST_SECONDS)
    return MeanRates(arrived / seconds, drained / seconds)


def drain_seconds(backlog: int, rate: MeanRates) -> float | None:
    """Returns the seconds until the queue is empty at these rates, or None if it never becomes empty."""
    if backlog == 0:
        return 0.0
    return backlog / (rate.drained - rate.arrivals) if rate.drained > rate.arrivals else None
