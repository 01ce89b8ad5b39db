"""Simulates queues for forecasts minute by minute, with random arrivals and random capacity of consumers.

A minute's arrivals and capacity are Poisson variables. The depth follows Lindley's recursion (1952): the previous
depth, plus arrivals, minus capacity, and never below 0.

Also makes the job's forecasts of a simulated queue, and compares them with the simulated depth.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from penstock_metrics.span import MINUTE
from penstock_metrics.transforms.forecasts.outlook import choose_forecast
from penstock_metrics.transforms.forecasts.series import FINE_STEPS, HOURS, POINTS, STEP, DepthSeries, Points

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DAY: Final = 1440


@dataclass(frozen=True, slots=True)
class Made:
    """Contains each minute's events, and the depth at the end of the minute."""

    arrivals: Ints
    drained: Ints
    depth: Ints


Process = Callable[[np.random.Generator, int], Made]


def queue(random: np.random.Generator, arrivals: Floats, capacity: Floats, backlog: int = 0) -> Made:
    """Simulates a queue with an initial backlog. The rates are in messages a minute."""
    arrived, able = random.poisson(arrivals), random.poisson(capacity)
    level = backlog + np.cumsum(arrived - able)
    depth = level - np.minimum(np.minimum.accumulate(level), 0)
    before = np.append(backlog, depth[:-1])
    return Made(arrived, before + arrived - depth, depth)


def _hours(minutes: int) -> Floats:
    return np.arange(minutes) / 60


def growing(random: np.random.Generator, minutes: int) -> Made:
    """Arrivals exceed the consumers' capacity by a tenth."""
    return queue(random, np.full(minutes, 66.0), np.full(minutes, 60.0))


def draining(random: np.random.Generator, minutes: int) -> Made:
    """Consumers work off a backlog for more than two days."""
    return queue(random, np.full(minutes, 40.0), np.full(minutes, 60.0), backlog=20 * minutes + 20_000)


def balanced(random: np.random.Generator, minutes: int) -> Made:
    """Consumers are busy 97 % of the time. The depth fluctuates unpredictably."""
    return queue(random, np.full(minutes, 58.0), np.full(minutes, 60.0))


def keeping_up(random: np.random.Generator, minutes: int) -> Made:
    return queue(random, np.full(minutes, 30.0), np.full(minutes, 60.0))


def diurnal(random: np.random.Generator, minutes: int) -> Made:
    """Arrivals exceed the consumers' capacity by day, but not by night."""
    wave = 1 + 0.7 * np.sin(2 * np.pi * _hours(minutes) / 24)
    return queue(random, 100 * wave, np.full(minutes, 110.0))


def weekly(random: np.random.Generator, minutes: int) -> Made:
    """On five days of the week, arrivals follow the pattern of `diurnal`. At the weekend, few messages arrive."""
    wave = 1 + 0.7 * np.sin(2 * np.pi * _hours(minutes) / 24)
    workday = (np.arange(minutes) // DAY) % 7 < 5
    return queue(random, 100 * wave * np.where(workday, 1, 0.3), np.full(minutes, 110.0))


def outages(random: np.random.Generator, minutes: int) -> Made:
    """Consumers stop for 10 to 60 minutes, about three times a day."""
    capacity = np.full(minutes, 80.0)
    for start in random.integers(0, minutes, 3 * minutes // DAY):
        capacity[start : start + random.integers(10, 61)] = 0
    return queue(random, np.full(minutes, 40.0), capacity)


def changing(random: np.random.Generator, minutes: int) -> Made:
    """The rate of arrivals changes every two to eight hours. The rate is between half and four thirds of the consumers'
    rate.
    """
    arrivals, start = np.empty(minutes), 0
    while start < minutes:
        length = int(random.integers(120, 481))
        arrivals[start : start + length] = 60 * random.uniform(0.5, 1.35)
        start += length
    return queue(random, arrivals, np.full(minutes, 60.0))


def autoscaled(random: np.random.Generator, minutes: int) -> Made:
    """Every five minutes, the number of consumers is adapted to the number of waiting messages, up to 20 consumers.
    Arrivals come in waves.
    """
    wave = 60 * np.exp(0.5 * np.sin(2 * np.pi * np.arange(minutes) / 97)) * random.gamma(8, 1 / 8, minutes)
    arrived = random.poisson(wave)
    depth, drained, level, consumers = np.zeros(minutes, np.int64), np.zeros(minutes, np.int64), 0, 3
    wanted = consumers
    for minute in range(minutes):
        if minute % 5 == 0:
            wanted = int(np.clip(np.ceil(level / 100), 1, 20))
        if minute % 5 == 2:
            consumers = wanted
        taken = min(level + int(arrived[minute]), int(random.poisson(20 * consumers)))
        level += int(arrived[minute]) - taken
        depth[minute], drained[minute] = level, taken
    return Made(arrived, drained, depth)


def hourly_batch(random: np.random.Generator, minutes: int) -> Made:
    """About 5,000 messages arrive at every full hour. Processing takes about 40 minutes."""
    arrivals = np.full(minutes, 5.0)
    arrivals[::60] = 5000 * random.gamma(100, 1 / 100, len(arrivals[::60]))
    return queue(random, arrivals, np.full(minutes, 130.0))


def nightly_batch(random: np.random.Generator, minutes: int) -> Made:
    """About 60,000 messages arrive at two in the morning. Processing takes about five hours."""
    arrivals = np.full(minutes, 20.0)
    nights = arrivals[120::DAY]
    arrivals[120::DAY] = 60_000 * random.gamma(100, 1 / 100, len(nights))
    return queue(random, arrivals, np.full(minutes, 220.0))


def idle(random: np.random.Generator, minutes: int) -> Made:
    return queue(random, np.zeros(minutes), np.zeros(minutes))


PROCESSES: Final[Mapping[str, Process]] = {
    process.__name__: process
    for process in (
        growing,
        draining,
        balanced,
        keeping_up,
        diurnal,
        weekly,
        outages,
        changing,
        autoscaled,
        hourly_batch,
        nightly_batch,
        idle,
    )
}


STEP_MINUTES = STEP // MINUTE


@dataclass(slots=True)
class Score:
    """Contains the score of one process's forecasts. Errors are mean absolute errors over an hour, in messages."""

    told: int = 0
    asked: int = 0
    unchanged: list[float] = field(default_factory=list)
    gated: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)
    methods: Counter[str] = field(default_factory=Counter)

    @property
    def ratio(self) -> float:
        """Returns the forecast's error divided by the error of an unchanged depth, or 1 if the queue is always
        empty.
        """
        return float(np.sum(self.gated)) / float(np.sum(self.unchanged)) if np.sum(self.unchanged) else 1.0

    @property
    def coverage(self) -> float | None:
        return float(np.mean(self.held)) if self.held else None


def series_at(made: Made, minute: int, begins: int = 0) -> DepthSeries:
    """Returns the job's data at the end of a minute, for a queue that began with minute `begins` + 1."""
    last_us = minute * MINUTE
    fine = np.arange(max(begins + 1, minute - FINE_STEPS * STEP_MINUTES), minute + 1)
    hours = np.arange(max(begins // 60 + 1, minute // 60 - HOURS), minute // 60 + 1) * 60
    near, far = (Points(at * MINUTE, made.depth[at - 1].astype(np.float64)) for at in (fine, hours))
    return DepthSeries.of(near, far, last_us, begins * MINUTE)


def judge(made: Made, score: Score, first: int, every: int) -> Score:
    """Adds the forecasts from every `every`th minute to a score, starting with minute `first`."""
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
