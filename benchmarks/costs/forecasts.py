"""Forecasts of made-up queues against "it stays as it is": the error of both, and how often the intervals held.

    python -m benchmarks.costs.forecasts                      # the table of docs/metrics.md, about two minutes
    python -m benchmarks.costs.forecasts --process outages --seeds 5

Each process (tests/support/jobs/processes.py) lives for 25 days. In its last three, every 25 minutes, the forecast of
the next hour is made from what was before, as the job makes it, and compared with what then happens. A queue without a
forecast counts as one that stays as it is: that is what its users are told.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence

import numpy as np

from penstock_metrics.transforms.forecasts.intervals import LEVEL
from tests.support.jobs.forecast_scores import Score, judge
from tests.support.jobs.processes import DAY, PROCESSES

LIFE_DAYS = 25
JUDGED_DAYS = 3
EVERY_MINUTES = 25  # all twelfths of an hour in turns


def judged(name: str, seeds: Sequence[int]) -> Score:
    """The score of a process over several random lives."""
    score = Score()
    for seed in seeds:
        made = PROCESSES[name](np.random.default_rng([seed, 17]), LIFE_DAYS * DAY)
        judge(made, score, (LIFE_DAYS - JUDGED_DAYS) * DAY, EVERY_MINUTES)
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
    print(
        f"{LIFE_DAYS} days, forecasts every {EVERY_MINUTES} minutes of the last {JUDGED_DAYS}, level {LEVEL:.0%}"
    )
    for line in lines(
        options.process or list(PROCESSES), range(options.first_seed, options.first_seed + options.seeds)
    ):
        print(line, flush=True)
    print(f"{time.process_time() - began:.0f} s of processor time")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    made.add_argument("--process", action="append", choices=list(PROCESSES), help="default: all")
    made.add_argument("--seeds", type=int, default=3, help="lives of each; default: %(default)s")
    made.add_argument("--first-seed", type=int, default=0, help="default: %(default)s")
    return made


if __name__ == "__main__":
    main()
