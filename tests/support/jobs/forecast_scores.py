"""Makes forecasts of a simulated queue as the job does, and compares the forecasts with the messages that arrived."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from penstock_metrics.span import MINUTE
from penstock_metrics.transforms.forecasts.outlook import choose_forecast
from penstock_metrics.transforms.forecasts.series import FINE_STEPS, HOURS, POINTS, STEP, DepthSeries, Points
from tests.support.jobs.processes import Made

STEP_MINUTES = STEP // MINUTE


@dataclass(slots=True)
class Score:
    """The score of the forecasts of one process. Errors are mean absolute errors over an hour, in messages."""

    told: int = 0
    asked: int = 0
    unchanged: list[float] = field(default_factory=list)
    gated: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)
    methods: Counter[str] = field(default_factory=Counter)

    @property
    def ratio(self) -> float:
        """Returns the reported error divided by the error of no change. The quotient is 1 if the queue is always
        empty.
        """
        return float(np.sum(self.gated)) / float(np.sum(self.unchanged)) if np.sum(self.unchanged) else 1.0

    @property
    def coverage(self) -> float | None:
        return float(np.mean(self.held)) if self.held else None


def series_at(made: Made, minute: int, begins: int = 0) -> DepthSeries:
    """Returns the data that the job has at the end of a minute, for a queue that began with minute `begins` + 1."""
    last_us = minute * MINUTE
    fine = np.arange(max(begins + 1, minute - FINE_STEPS * STEP_MINUTES), minute + 1)
    hours = np.arange(max(begins // 60 + 1, minute // 60 - HOURS), minute // 60 + 1) * 60
    near, far = (Points(at * MINUTE, made.depth[at - 1].astype(np.float64)) for at in (fine, hours))
    return DepthSeries.of(near, far, last_us, begins * MINUTE)


def judge(made: Made, score: Score, first: int, every: int) -> Score:
    """Adds the forecasts of every `every`th minute from minute `first` on to a score."""
    ahead = np.arange(1, POINTS + 1) * STEP_MINUTES
    for minute in range(first, len(made.depth) - int(ahead[-1]), every):
        forecast = choose_forecast(series_at(made, minute))
        actual = made.depth[minute + ahead - 1]
        unchanged = float(np.abs(actual - made.depth[minute - 1]).mean())
        error = unchanged if isinstance(forecast, str) else float(np.abs(actual - forecast.expected).mean())
        score.asked += 1
        score.unchanged.append(unchanged)
        score.gated.append(error)
        if not isinstance(forecast, str):
            around = forecast.intervals
            score.told += 1
            score.held.append(float(((around.low <= actual) & (actual <= around.high)).mean()))
            score.methods[forecast.test.method] += 1
    return score
