"""Defines the candidate methods for a forecast. Each method forecasts the depths 5, 10 … 60 minutes after its origins.

    trend     continues the median slope between all pairs of points (Theil 1950, Sen 1968), so a burst has no effect
    damped    a trend that loses a tenth of its slope in every step (Gardner and McKenzie 1985)
    usual     returns to the mean of a day, as a queue does whose consumers mostly keep up
    season    repeats the mean of the values after the same time in up to three earlier hours, days or weeks; the
              queue's distance from that mean lasts or fades

Days and weeks are 24 and 168 hours of UTC. After a change of clocks, the seasons of a day and a week are wrong for a
day, and the backtest excludes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from .series import DAY_STEPS, POINTS, STEPS_PER_HOUR, WEEK_STEPS, WEEKS, DepthSeries, Floats, Ints

Method = Callable[[DepthSeries, Ints], Floats]

_AHEAD: Final = np.arange(1, POINTS + 1)
_DAMPING: Final = 0.9
_FADING: Final = 0.85  # With this factor, a deviation halves in 21 minutes.


def repeat_last(series: DepthSeries, origins: Ints) -> Floats:
    """Forecasts an unchanged depth. Every other method has to be better than this forecast."""
    return np.repeat(series.ago(origins)[:, None], POINTS, axis=1)


def build_trend(steps: int, every: int = 1, damping: float = 1.0) -> Method:
    """Continues the slope of every `every`-th of the last `steps`."""
    growth = np.cumsum(damping ** (_AHEAD - 1)) / every

    def predict(series: DepthSeries, origins: Ints) -> Floats:
        recent = series.ago(origins[:, None] + np.arange(steps, -1, -every))
        return np.maximum(recent[:, -1:] + compute_slopes(recent)[:, None] * growth, 0)

    return predict


def build_usual(steps: int, fading: float) -> Method:
    """Returns the depth to the mean of the last `steps`."""

    def predict(series: DepthSeries, origins: Ints) -> Floats:
        recent = series.ago(origins[:, None] + np.arange(steps, -1, -1))
        mean = recent.mean(axis=1, keepdims=True)
        return np.asarray(mean + (recent[:, -1:] - mean) * fading**_AHEAD)

    return predict


def build_season(period: int, seasons: int, fading: float = 1.0) -> Method:
    """Repeats the mean of the values after the same time, 1 to `seasons` periods ago."""

    def predict(series: DepthSeries, origins: Ints) -> Floats:
        back = origins[:, None, None] + period * np.arange(1, seasons + 1)[:, None]
        then = series.ago(back - np.arange(POINTS + 1))
        known = np.isfinite(then).all(axis=2, keepdims=True)
        number = known.sum(axis=1)
        total = np.where(known, then, 0).sum(axis=1)
        mean = np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0)
        deviation = series.ago(origins)[:, None] - mean[:, :1]
        return np.asarray(np.maximum(mean[:, 1:] + deviation * fading**_AHEAD, 0))

    return predict


def compute_slopes(values: Floats) -> Floats:
    """Returns the median slope over all pairs for each row of equally spaced values, per step."""
    first, second = np.triu_indices(values.shape[1], 1)
    return np.asarray(np.median((values[:, second] - values[:, first]) / (second - first), axis=1))


# The candidate methods. The simplest methods come first, because the first of about equally good methods wins.
METHODS: Final[Mapping[str, Method]] = {
    "trend_6h": build_trend(6 * STEPS_PER_HOUR, 6),
    "trend_1h": build_trend(STEPS_PER_HOUR),
    "trend_15m": build_trend(3),
    "damped_trend": build_trend(3, 1, _DAMPING),
    "usual_level": build_usual(DAY_STEPS, _FADING),
    "hourly": build_season(STEPS_PER_HOUR, 3),
    "hourly_fading": build_season(STEPS_PER_HOUR, 3, _FADING),
    "daily": build_season(DAY_STEPS, 3),
    "daily_fading": build_season(DAY_STEPS, 3, _FADING),
    "weekly": build_season(WEEK_STEPS, WEEKS),
    "weekly_fading": build_season(WEEK_STEPS, WEEKS, _FADING),
}
