"""Warns if messages will expire in the next days, or if the consumers will never catch up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from .methods import compute_slopes
from .series import Floats

RETENTION_DAYS: Final = 3  # The number of days before a message's expiry from which a warning is possible.
_LEAST_SLOPE: Final = 0.02  # The minimum growth of the age, in seconds per second. Slower growth can be chance.
_LEAST_HOURS: Final = 6
HOURS_COMPARED: Final = 24


@dataclass(frozen=True, slots=True)
class Hours:
    """The arrivals and drained messages of the last full clock hours in which the queue existed."""

    arrivals: Floats
    drained: Floats


@dataclass(frozen=True, slots=True)
class Ages:
    """The ages of the oldest message in seconds, at five-minute steps and at the ends of hours. The newest age comes
    last.

    The steps cover the last hour. An unknown age is NaN, and the age of an empty queue is 0.
    """

    steps: Floats
    hours: Floats


@dataclass(frozen=True, slots=True)
class GrowthWarnings:
    """The warnings of a queue, or None for each missing warning.

    `retention_seconds` is the time until the oldest message expires, if the time is less than RETENTION_DAYS.
    `fastest_rate` is the rate of drained messages in the best hour, if it is less than the mean rate of arrivals
    (`mean_rate`). Rates are in messages per second.
    """

    retention_seconds: float | None = None
    fastest_rate: float | None = None
    mean_rate: float | None = None


def find_warnings(backlog: int, ages: Ages, hours: Hours, retention_seconds: float) -> GrowthWarnings:
    """Returns the warnings for a queue with this backlog. An empty queue has no warnings."""
    if not backlog:
        return GrowthWarnings()
    until = estimate_until_retention(ages, retention_seconds)
    fastest = find_fastest_hour(hours)
    return GrowthWarnings(until, *(fastest or (None, None)))


def estimate_until_retention(ages: Ages, retention_seconds: float) -> float | None:
    """Returns the number of seconds until the oldest message expires, if its age grows at the slower of two rates,
    which are the rate of the last hour and the rate of the last day.
    """
    found = [
        slope
        for values, seconds in ((ages.steps, 300.0), (ages.hours, 3600.0))
        if (slope := _estimate_growth(values, seconds)) is not None
    ]
    if not found or min(found) < _LEAST_SLOPE:
        return None
    # No message ages faster than time passes.
    seconds = max(retention_seconds - float(ages.steps[-1]), 0.0) / min(*found, 1.0)
    return seconds if seconds <= RETENTION_DAYS * 86_400 else None


def _estimate_growth(values: Floats, seconds: float) -> float | None:
    known = values[np.isfinite(values)]
    return float(compute_slopes(known[None, :])[0]) / seconds if len(known) >= _LEAST_HOURS else None


def find_fastest_hour(hours: Hours) -> tuple[float, float] | None:
    """Returns (rate of the fastest hour, mean rate of arrivals) if the first rate is lower, and otherwise None.

    Returns None also if no message was drained, because a queue without drained messages has no consumers.
    """
    if len(hours.drained) < _LEAST_HOURS or not hours.drained.any():
        return None
    fastest, mean = float(hours.drained.max()) / 3600, float(hours.arrivals.mean()) / 3600
    return (fastest, mean) if fastest < mean else None
