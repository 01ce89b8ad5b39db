"""Tests every method on the last day, by comparing its forecast at every step (origin) with the forecast "no change".

An origin counts only if the depth is known for the whole next hour. A loss is the mean absolute error over the twelve
points. A method wins if its loss is at least a tenth below the loss of "no change", and if it is not worse at any point
or in the recent third. The difference must also be significant. The test of significance is by Diebold and Mariano
(1995), with the variance of a mean of correlated values (Newey and West 1987), because the hours after neighbouring
origins overlap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from .methods import Method, repeat_last
from .series import DAY_STEPS, POINTS, DepthSeries, Floats, Ints

ORIGINS: Final = DAY_STEPS
# The minimum number of origins. With the hour before the first origin and the hour after the last origin, these origins
# make a day.
LEAST_ORIGINS: Final = DAY_STEPS - 2 * POINTS
LEAST_GAIN: Final = 0.1
_HALF: Final = 0.5
# The critical values of one-sided tests at 5 %. The first value is for the best of eleven methods (Bonferroni), and the
# second value for a method that halves the error.
LEAST_STATISTIC: Final = 2.6
HALVING_STATISTIC: Final = 1.645
_ABOUT_AS_GOOD: Final = 0.02


@dataclass(frozen=True, slots=True)
class Backtest:
    """The past forecasts of a method, starting with the oldest origin. An error is the actual depth minus the predicted
    depth.
    """

    method: str
    origins: Ints
    predicted: Floats
    errors: Floats
    unchanged_errors: Floats

    @property
    def loss(self) -> float:
        return float(np.abs(self.errors).mean())

    @property
    def unchanged_loss(self) -> float:
        return float(np.abs(self.unchanged_errors).mean())

    @property
    def ratio(self) -> float:
        """Returns the loss divided by the loss of no change."""
        return self.loss / self.unchanged_loss

    @property
    def gains(self) -> Floats:
        """Returns the loss of no change minus the method's loss, at each origin."""
        return np.asarray((np.abs(self.unchanged_errors) - np.abs(self.errors)).mean(axis=1))


def list_origins(series: DepthSeries) -> Ints:
    """Returns the lags of the origins, starting with the oldest, or no lags if the known past is too short."""
    oldest = min(POINTS + ORIGINS, series.known_steps - POINTS)
    return np.arange(oldest - 1, POINTS - 1, -1)


def backtest(series: DepthSeries, name: str, method: Method) -> Backtest | None:
    """Returns the backtest of a method, or None if the past is too short or the method has no forecast now."""
    origins = list_origins(series)
    if len(origins) < LEAST_ORIGINS or not np.isfinite(method(series, np.zeros(1, np.int64))).all():
        return None
    predicted = method(series, origins)
    complete = np.isfinite(predicted).all(axis=1)
    if complete.sum() < LEAST_ORIGINS:
        return None
    origins, predicted = origins[complete], predicted[complete]
    actual = series.ago(origins[:, None] - np.arange(1, POINTS + 1))
    return Backtest(name, origins, predicted, actual - predicted, actual - repeat_last(series, origins))


def find_best(series: DepthSeries, methods: Mapping[str, Method]) -> Backtest | None:
    """Returns the first winning method whose loss relative to no change is about the smallest, or None if no method
    wins."""
    found = (backtest(series, name, method) for name, method in methods.items())
    winners = [test for test in found if test and is_better(test)]
    least = min((test.ratio for test in winners), default=0.0)
    return next((test for test in winners if test.ratio <= least + _ABOUT_AS_GOOD), None)


def is_better(test: Backtest) -> bool:
    """Returns whether a method was better than the forecast "no change" by LEAST_GAIN, at each point, recently, and not
    by chance.
    """
    if test.unchanged_loss == 0 or test.ratio > 1 - LEAST_GAIN:
        return False
    points = np.abs(test.errors).mean(axis=0) <= np.abs(test.unchanged_errors).mean(axis=0)
    lately = test.gains[-len(test.gains) // 3 :].mean() >= 0
    least = HALVING_STATISTIC if test.ratio <= _HALF else LEAST_STATISTIC
    return bool(points.all() and lately and compute_statistic(test.gains) >= least)


def compute_statistic(gains: Floats) -> float:
    """Returns the mean of values divided by the mean's standard error. The values are correlated over POINTS steps."""
    mean, centred, number = gains.mean(), gains - gains.mean(), len(gains)
    variance = float(centred @ centred) / number
    for lag in range(1, min(POINTS, number - 1) + 1):
        weight = 1 - lag / (POINTS + 1)
        variance += 2 * weight * float(centred[lag:] @ centred[:-lag]) / number
    if variance <= 0:
        return math.copysign(math.inf, mean) if mean else 0.0
    return float(mean / math.sqrt(variance / number))
