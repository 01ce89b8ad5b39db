"""Forecasts of made-up queues against "it stays as it is": the error of both, and how often the intervals held.

    python -m benchmarks.costs.forecasts                      # the table of docs/metrics.md, about two minutes
    python -m benchmarks.costs.forecasts --process outages --seeds 5

Each process (tests/support/jobs/processes.py) lives for 25 days. In its last three, every 25 minutes, the forecast of
the next hour is made from what was before, as the job makes it, and compared with what then happens. A queue without a
forecast counts as one that stays as it is: `gated` is the error of what the user is told, `unchanged` that of no change.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock_metrics.span import HOUR, MINUTE
from penstock_metrics.transforms.forecasts.intervals import LEVEL
from penstock_metrics.transforms.forecasts.outlook import forecast_of
from penstock_metrics.transforms.forecasts.series import FINE_STEPS, HOURS, POINTS, STEP, Points, Series
from tests.support.jobs.processes import DAY, PROCESSES, Made

LIFE_DAYS = 25
JUDGED_DAYS = 3
EVERY_MINUTES = 25  # all twelfths of an hour in turns
STEP_MINUTES = STEP // MINUTE


@dataclass(slots=True)
class Score:
    """What became of the forecasts of one process. Errors are mean absolute errors over an hour, in messages."""

    told: int = 0
    asked: int = 0
    unchanged: list[float] = field(default_factory=list)
    gated: list[float] = field(default_factory=list)
    told_unchanged: list[float] = field(default_factory=list)
    told_error: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)
    claimed: list[float] = field(default_factory=list)
    methods: Counter[str] = field(default_factory=Counter)

    @property
    def ratio(self) -> float:
        """The error of what users are told, over that of no change; 1 when nothing is ever there."""
        return float(np.sum(self.gated)) / float(np.sum(self.unchanged)) if np.sum(self.unchanged) else 1.0

    @property
    def coverage(self) -> float | None:
        return float(np.mean(self.held)) if self.held else None


def series_at(made: Made, minute: int, begins: int = 0) -> Series:
    """What the job knows at the end of a minute, of a queue that began with minute `begins` + 1. Hours are of the clock."""
    last_us = minute * MINUTE
    fine = np.arange(max(begins + 1, minute - FINE_STEPS * STEP_MINUTES), minute + 1)
    hours = np.arange(max(begins // 60 + 1, minute // 60 - HOURS), minute // 60 + 1) * 60
    points = (Points(at * MINUTE, made.depth[at - 1].astype(np.float64)) for at in (fine, hours))
    assert HOUR == 60 * MINUTE
    return Series.of(*points, last_us, begins * MINUTE)


def judge(made: Made, score: Score, first: int, every: int = EVERY_MINUTES) -> Score:
    """Adds the forecasts from minute `first` on, each `every` minutes, to a score."""
    ahead = np.arange(1, POINTS + 1) * STEP_MINUTES
    for minute in range(first, len(made.depth) - int(ahead[-1]), every):
        forecast = forecast_of(series_at(made, minute))
        actual = made.depth[minute + ahead - 1]
        unchanged = float(np.abs(actual - made.depth[minute - 1]).mean())
        error = unchanged if isinstance(forecast, str) else float(np.abs(actual - forecast.expected).mean())
        score.asked += 1
        score.unchanged.append(unchanged)
        score.gated.append(error)
        if not isinstance(forecast, str):
            around = forecast.intervals
            score.told += 1
            score.told_unchanged.append(unchanged)
            score.told_error.append(error)
            score.held.append(float(((around.low <= actual) & (actual <= around.high)).mean()))
            score.methods[forecast.test.method] += 1
            if around.coverage is not None:
                score.claimed.append(around.coverage)
    return score


def judged(name: str, seeds: Sequence[int]) -> Score:
    """The score of a process over several random lives."""
    score = Score()
    for seed in seeds:
        made = PROCESSES[name](np.random.default_rng([seed, 17]), LIFE_DAYS * DAY)
        judge(made, score, (LIFE_DAYS - JUDGED_DAYS) * DAY)
    return score


def lines(names: Sequence[str], seeds: Sequence[int]) -> Iterator[str]:
    """The table, in Markdown."""
    yield "| queue | told | error, unchanged | error, told | told / unchanged | intervals that held | methods |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    for name in names:
        score = judged(name, seeds)
        methods = ", ".join(f"{method} {number}" for method, number in score.methods.most_common(3))
        held = "" if score.coverage is None else f"{score.coverage:.0%}"
        yield (
            f"| {name} | {score.told / score.asked:.0%} | {np.mean(score.unchanged):,.1f} | "
            f"{np.mean(score.gated):,.1f} | {score.ratio:.2f} | {held} | {methods} |"
        )


def main() -> None:
    """Prints the table."""
    options = parser().parse_args()
    began = time.process_time()
    print(f"{LIFE_DAYS} days, forecasts every {EVERY_MINUTES} minutes of the last {JUDGED_DAYS}, level {LEVEL:.0%}")
    for line in lines(options.process or list(PROCESSES), range(options.seeds)):
        print(line, flush=True)
    print(f"{time.process_time() - began:.0f} s of processor time")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    made.add_argument("--process", action="append", choices=list(PROCESSES), help="default: all")
    made.add_argument("--seeds", type=int, default=3, help="lives of each; default: %(default)s")
    return made


if __name__ == "__main__":
    main()
