"""Warnings about days rather than minutes: messages will reach the retention period, the consumers never catch up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from .methods import slopes
from .series import Floats

RETENTION_DAYS: Final = 3  # a message that is deleted unread in so many days is worth a warning
_LEAST_SLOPE: Final = 0.02  # seconds of age a second; what grows more slowly may be chance
_LEAST_HOURS: Final = 6
HOURS_COMPARED: Final = 24


@dataclass(frozen=True, slots=True)
class Hours:
    """Arrived and drained messages in each of the last full clock hours in which the queue existed."""

    arrivals: Floats
    drained: Floats


@dataclass(frozen=True, slots=True)
class Ages:
    """The oldest message's age in seconds: over the last hour in steps of five minutes, and at the ends of the hours
    before; the newest last, NaN where it is unknown, 0 where nothing was there."""

    steps: Floats
    hours: Floats


@dataclass(frozen=True, slots=True)
class Warnings:
    """`retention_seconds`: until the oldest message reaches the retention period, and is deleted unread; None: it does
    not within RETENTION_DAYS. `fastest_rate`: drained messages a second in the best hour, if even that is less than the
    average arrivals (`mean_rate`); None: the consumers can catch up, or it is unknown."""

    retention_seconds: float | None = None
    fastest_rate: float | None = None
    mean_rate: float | None = None


def warnings(backlog: int, ages: Ages, hours: Hours, retention_seconds: float) -> Warnings:
    """The warnings for a queue with this backlog; none for an empty one."""
    if not backlog:
        return Warnings()
    until = until_retention(ages, retention_seconds)
    fastest = fastest_hour(hours)
    return Warnings(until, *(fastest or (None, None)))


def until_retention(ages: Ages, retention_seconds: float) -> float | None:
    """Seconds until the oldest message reaches the retention period, at the slower growth of an hour and a day."""
    found = [
        slope
        for values, seconds in ((ages.steps, 300.0), (ages.hours, 3600.0))
        if (slope := _growth(values, seconds)) is not None
    ]
    if not found or min(found) < _LEAST_SLOPE:
        return None
    # No message ages faster than time passes.
    seconds = max(retention_seconds - float(ages.steps[-1]), 0.0) / min(*found, 1.0)
    return seconds if seconds <= RETENTION_DAYS * 86_400 else None


def _growth(values: Floats, seconds: float) -> float | None:
    known = values[np.isfinite(values)]
    return float(slopes(known[None, :])[0]) / seconds if len(known) >= _LEAST_HOURS else None


def fastest_hour(hours: Hours) -> tuple[float, float] | None:
    """(rate of the fastest hour, mean rate of arrivals), if the first is less; otherwise None.

    Also None if no message was drained: the queue has no consumers, which is another fault.
    """
    if len(hours.drained) < _LEAST_HOURS or not hours.drained.any():
        return None
    fastest, mean = float(hours.drained.max()) / 3600, float(hours.arrivals.mean()) / 3600
    return (fastest, mean) if fastest < mean else None
