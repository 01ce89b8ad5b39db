"""Computes the outlook of one queue from its stored windows. The outlook has rates, the time to drain, a forecast with
intervals, and warnings.

The rates cover the last quarter of an hour, or the life of a younger queue. According to the rates of a whole hour, a
queue that began to drain 20 minutes ago would never become empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock_metrics.span import HOUR, MINUTE

from .backtest import LEAST_ORIGINS, Backtest, find_best, list_origins
from .growth import HOURS_COMPARED, Ages, GrowthWarnings, Hours, find_warnings
from .intervals import LEVEL, Intervals, compute_intervals
from .methods import METHODS
from .series import STEP, STEPS_PER_HOUR, DepthSeries, Floats, Ints, Points

RATE_MINUTES: Final = 15
_LEAST_SECONDS: Final = 1.0
TOO_LITTLE_PAST: Final = "too_little_past"
NOTHING_BETTER: Final = "no_method_beats_unchanged"
UNSURE: Final = "intervals_do_not_hold"
_LEAST_COVERAGE: Final = LEVEL - 0.05
_NOW: Final = np.zeros(1, np.int64)


@dataclass(frozen=True, slots=True)
class MeanRates:
    """Rates in messages per second."""

    arrivals: float
    drained: float


def rates(arrived: int, drained: int, last_us: int, begins_us: int) -> MeanRates:
    """Returns the rates over the last RATE_MINUTES before `last_us`, for a queue that has existed since `begins_us`."""
    lived = (last_us - max(begins_us, last_us - RATE_MINUTES * MINUTE)) / 1_000_000
    seconds = max(lived, _LEAST_SECONDS)
    return MeanRates(arrived / seconds, drained / seconds)


def drain_seconds(backlog: int, rate: MeanRates) -> float | None:
    """Returns the number of seconds until the queue is empty at the current rates, or None if the queue never becomes
    empty."""
    if backlog == 0:
        return 0.0
    return backlog / (rate.drained - rate.arrivals) if rate.drained > rate.arrivals else None


@dataclass(frozen=True, slots=True)
class WindowCounts:
    """The ends and counts of windows of one length, in any order."""

    ends_us: Ints
    arrivals: Ints
    drained: Ints
    depth: Ints
    oldest_age_us: Ints  # 0: the queue was empty.

    def since(self, at_us: int) -> WindowCounts:
        """Returns the windows that end after the given time."""
        held = self.ends_us > at_us
        return WindowCounts(*(getattr(self, name)[held] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class ForecastQueue:
    """A queue. `begins_us` is the first known time. Windows end at `last_us` or earlier."""

    minutes: WindowCounts
    hours: WindowCounts
    backlog: int
    begins_us: int
    last_us: int
    retention_seconds: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """The depths of the next hour, with their intervals and backtest."""

    expected: Floats
    intervals: Intervals
    test: Backtest


@dataclass(frozen=True, slots=True)
class QueueOutlook:
    """The outlook of a queue. `reason` explains a missing forecast."""

    rates: MeanRates
    drain_seconds: float | None
    forecast: Forecast | None
    reason: str | None
    warnings: GrowthWarnings


def build_outlook(queue: ForecastQueue) -> QueueOutlook:
    """Returns the outlook of a queue with messages, or with an event in the last hour."""
    recent = queue.minutes.since(queue.last_us - RATE_MINUTES * MINUTE)
    rate = rates(int(recent.arrivals.sum()), int(recent.drained.sum()), queue.last_us, queue.begins_us)
    series = DepthSeries.of(_list_depths(queue.minutes), _list_depths(queue.hours), queue.last_us, queue.begins_us)
    forecast = choose_forecast(series)
    drained_in = drain_seconds(queue.backlog, rate)
    if isinstance(forecast, str):
        return QueueOutlook(rate, drained_in, None, forecast, _find_warnings(queue))
    return QueueOutlook(rate, drained_in, forecast, None, _find_warnings(queue))


def choose_forecast(series: DepthSeries) -> Forecast | str:
    """Returns the forecast of the best method, or the reason for a missing forecast."""
    if len(list_origins(series)) < LEAST_ORIGINS:
        return TOO_LITTLE_PAST
    test = find_best(series, METHODS)
    if test is None:
        return NOTHING_BETTER
    expected = METHODS[test.method](series, _NOW)[0]
    around = compute_intervals(series, test, expected)
    sure = around.coverage is not None and around.coverage >= _LEAST_COVERAGE
    return Forecast(expected, around, test) if sure else UNSURE


def _list_depths(windows: WindowCounts) -> Points:
    return Points(windows.ends_us, windows.depth.astype(np.float64))


def _find_warnings(queue: ForecastQueue) -> GrowthWarnings:
    hour_us = queue.last_us // HOUR * HOUR
    known = min((hour_us - queue.begins_us) // HOUR, HOURS_COMPARED)
    ends = hour_us - np.arange(known)[::-1] * HOUR
    hours = Hours(*(_interpolate(queue.hours, ends, name) for name in ("arrivals", "drained")))
    steps = queue.last_us - np.arange(STEPS_PER_HOUR + 1)[::-1] * STEP
    steps = steps[steps >= queue.begins_us]
    ages = Ages(
        _interpolate(queue.minutes, steps, "oldest_age_us") / 1e6,
        _interpolate(queue.hours, ends, "oldest_age_us") / 1e6,
    )
    return find_warnings(queue.backlog, ages, hours, queue.retention_seconds)


def _interpolate(windows: WindowCounts, ends: Ints, name: str) -> Floats:
    """Returns the values of the windows that end at the given times, or 0 for missing windows."""
    found = dict(zip(windows.ends_us.tolist(), getattr(windows, name).tolist(), strict=True))
    return np.asarray([found.get(end, 0) for end in ends.tolist()], np.float64)
