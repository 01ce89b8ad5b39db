"""Warns if messages will reach the retention period in the next days, or if the consumers will never catch up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from .methods import compute_slopes
from .series import Floats

RETENTION_DAYS: Final = 3  # A warning is due if a message will be deleted unread within this many days.
_LEAST_SLOPE: Final = 0.02  # growth in seconds of age for each second. Slower growth may be chance.
_LEAST_HOURS: Final = 6
HOURS_COMPARED: Final = 24


@dataclass(frozen=True, slots=True)
class Hours:
    """The arrived and drained messages of each of the last full clock hours in which the queue existed."""

    arrivals: Floats
    drained: Floats


@dataclass(frozen=True, slots=True)
class Ages:
    """The ages of the oldest message in seconds: in steps of five minutes for the last hour, and at the end of each
    earlier hour. The newest is last. An unknown age is NaN, and an empty queue has the age 0.
    """

    steps: Floats
    hours: Floats


@dataclass(frozen=True, slots=True)
class GrowthWarnings:
    """`retention_seconds` is the time until the oldest message reaches the retention period and is deleted unread. None
    means that no message will do so within RETENTION_DAYS. `fastest_rate` is the number of drained messages for each
    second of the best hour, if it is less than the average arrivals (`mean_rate`). None means that the consumers can
    catch up, or that the rate is unknown.
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
    """Returns the seconds until the oldest message reaches the retention period, at the slower growth of the last hour
    and day."""
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
    """Returns (rate of the fastest hour, mean rate of arrivals) if the first rate is less, and otherwise None. Also
    returns None if no message was drained. The queue then has no consumers, which is a different problem.
    """
    if len(hours.drained) < _LEAST_HOURS or not hours.drained.any():
        return None
    fastest, mean = float(hours.drained.max()) / 3600, float(hours.arrivals.mean()) / 3600
    return (fastest, mean) if fastest < mean else None
