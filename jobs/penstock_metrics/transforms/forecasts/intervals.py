"""Computes a forecast's intervals from its method's errors in the backtest, and computes how many intervals contained
the depth.

The interval of a point goes from one quantile of the past errors at the point's horizon to another quantile (conformal
prediction, Vovk and others 2005). The method makes no assumption about the distribution. The function divides errors by
the movement of the queue in the hour before their origin, because quiet hours differ from busy hours. If past intervals
contained the depth too seldom or too often, the function moves the quantiles (adaptive conformal inference, Gibbs and
Candès 2021). The coverage is the share of past intervals that contained the depth. Each past interval uses only earlier
errors.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from .backtest import Backtest
from .series import POINTS, STEPS_PER_HOUR, DepthSeries, Floats, Ints

LEVEL: Final = 0.8
_LEARNING: Final = 0.02
_WARM_UP: Final = 24  # The minimum number of errors for an interval.


@dataclass(frozen=True, slots=True)
class Intervals:
    """The bounds of each point, and the share of backtest intervals that contained the depth. The share is None if the
    backtest has no intervals."""

    low: Floats
    high: Floats
    coverage: float | None


def compute_intervals(series: DepthSeries, test: Backtest, expected: Floats) -> Intervals:
    """Returns the intervals around `expected`, the forecast of the last complete minute."""
    scales = measure_activity(series, test.origins)
    now = float(measure_activity(series, np.zeros(1, np.int64))[0])
    low, high, held = np.empty(POINTS), np.empty(POINTS), list[bool]()
    for point in range(POINTS):
        rolled = _roll(test, scales, point)
        held += rolled.held
        bottom, top = compute_quantiles(sorted((test.errors[:, point] / scales).tolist()), rolled.miss)
        low[point], high[point] = expected[point] + bottom * now, expected[point] + top * now
    low, high = np.minimum(np.maximum(low, 0), expected), np.maximum(high, expected)
    return Intervals(low, high, sum(held) / len(held) if held else None)


def measure_activity(series: DepthSeries, origins: Ints) -> Floats:
    """Returns 1 plus the mean movement of the depth in a step, in the hour before each origin."""
    recent = series.ago(origins[:, None] + np.arange(STEPS_PER_HOUR, -1, -1))
    return np.asarray(1.0 + np.abs(np.diff(recent, axis=1)).mean(axis=1))


@dataclass(frozen=True, slots=True)
class _Rolled:
    """The past intervals for one horizon, with the record of intervals that contained the actual value, and the current
    share of allowed misses.
    """

    held: Sequence[bool]
    miss: float


def _roll(test: Backtest, scales: Floats, point: int) -> _Rolled:
    """Computes the interval of each origin from the errors and results before that origin."""
    errors = (test.errors[:, point] / scales).tolist()
    known: list[float] = sorted(errors[:_WARM_UP])
    miss, held = 1 - LEVEL, list[bool]()
    for place in range(_WARM_UP + point + 1, len(errors)):
        insort(known, errors[place - point - 1])
        if len(held) > point:
            miss += _compute_correction(held[-point - 1])
        bottom, top = compute_quantiles(known, miss)
        held.append(_is_inside(test, place, point, (bottom * scales[place], top * scales[place])))
    miss += sum(map(_compute_correction, held[-point - 1 :]))
    return _Rolled(held, miss)


def _compute_correction(held: bool) -> float:
    return _LEARNING * ((1 - LEVEL) - (not held))


def _is_inside(test: Backtest, place: int, point: int, around: tuple[float, float]) -> bool:
    """Returns whether the actual depth was in the interval. The interval contains the forecast, and no values below
    0."""
    expected = float(test.predicted[place, point])
    actual = expected + float(test.errors[place, point])
    return min(max(expected + around[0], 0), expected) <= actual <= max(expected + around[1], expected)


def compute_quantiles(ordered: Sequence[float], miss: float) -> tuple[float, float]:
    """Returns the values with `miss` / 2 of the errors below and above, by linear interpolation."""
    half = min(max(miss / 2, 0.0), 0.5)
    return _interpolate(ordered, half), _interpolate(ordered, 1 - half)


def _interpolate(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
