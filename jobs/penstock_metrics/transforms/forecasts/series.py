"""Represents the past of a queue for the forecast, with the depth at every five minutes, and hourly depths for earlier
times.

Times are lags, which count steps of five minutes before the end of the last complete minute. A depth from before the
queue's creation is unknown (NaN). A missing window means that the queue was empty (depth 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from penstock_metrics.span import HOUR, MINUTE

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

STEP: Final = 5 * MINUTE
POINTS: Final = 12  # The number of points in a forecast, which are at 5, 10 … 60 minutes.
STEPS_PER_HOUR: Final = HOUR // STEP
DAY_STEPS: Final = 24 * STEPS_PER_HOUR
WEEK_STEPS: Final = 7 * DAY_STEPS
# The steps of the backtest's day, of the day before, and of two hours for trends.
FINE_STEPS: Final = 50 * STEPS_PER_HOUR
WEEKS: Final = 3
HOURS: Final = (WEEKS * WEEK_STEPS + DAY_STEPS) // STEPS_PER_HOUR + 3


@dataclass(frozen=True, slots=True)
class DepthSeries:
    """Depths by lag. `fine[k]` is the depth k steps ago, and `hourly[k]` is the depth at the end of the k-th last hour.

    `hour_lag` is the number of steps since the end of the last clock hour, usually a fraction.
    """

    fine: Floats
    hourly: Floats
    hour_lag: float

    def ago(self, lags: Ints) -> Floats:
        """Returns the depths at the given lags, by linear interpolation between ends of hours. An unknown depth is
        NaN."""
        near = lags < len(self.fine)
        found = self.fine[np.where(near, lags, 0)]
        return found if near.all() else np.where(near, found, self._between_hours(lags))

    def _between_hours(self, lags: Ints) -> Floats:
        place = np.clip((lags - self.hour_lag) / STEPS_PER_HOUR, 0, None)
        before = np.floor(place).astype(np.int64)
        share = place - before
        padded = np.append(self.hourly, [np.nan, np.nan])
        last = len(padded) - 1
        newer, older = padded[np.minimum(before, last)], padded[np.minimum(before + 1, last)]
        return np.where(share == 0, newer, newer + (older - newer) * share)

    @classmethod
    def of(cls, fine: Points, hourly: Points, last_us: int, begins_us: int) -> DepthSeries:
        """Makes a series from depths at given times. The lags end at `last_us`. Depths before `begins_us` are
        unknown."""
        hour_us = last_us // HOUR * HOUR
        return cls(
            _lag(fine, last_us, begins_us, STEP, FINE_STEPS + 1),
            _lag(hourly, hour_us, begins_us, HOUR, HOURS),
            (last_us - hour_us) / STEP,
        )

    @property
    def known_steps(self) -> int:
        """Returns the number of past steps with a known depth in the five-minute series."""
        unknown = np.flatnonzero(np.isnan(self.fine))
        return int(unknown[0]) if len(unknown) else len(self.fine)


@dataclass(frozen=True, slots=True)
class Points:
    """Values at given times, in any order. The value for any other time is 0."""

    at_us: Ints
    value: Floats


def _lag(points: Points, last_us: int, begins_us: int, step: int, length: int) -> Floats:
    values = np.zeros(length)
    lags, rest = np.divmod(last_us - points.at_us, step)
    held = (rest == 0) & (lags >= 0) & (lags < length)
    values[lags[held]] = points.value[held]
    values[last_us - np.arange(length) * step < begins_us] = np.nan
    return values
