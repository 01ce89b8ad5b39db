"""Tests the rates, the time to drain and the warnings of a queue by their definitions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock_metrics.span import HOUR, MINUTE
from penstock_metrics.transforms.forecasts.backtest import list_origins
from penstock_metrics.transforms.forecasts.growth import Ages, GrowthWarnings, Hours, find_warnings
from penstock_metrics.transforms.forecasts.methods import METHODS, compute_slopes, repeat_last
from penstock_metrics.transforms.forecasts.outlook import (
    NOTHING_BETTER,
    TOO_LITTLE_PAST,
    MeanRates,
    choose_forecast,
    drain_seconds,
    rates,
)
from penstock_metrics.transforms.forecasts.rows import FORECAST, WINDOWS, QueueFacts, build_forecaster
from tests.support.jobs.processes import DAY, PROCESSES, Made, Score, judge, series_at

# Several tests use the same scores, so one process computes them.
pytestmark = pytest.mark.xdist_group("forecasts")

DAY_SECONDS = 86_400.0
LAST = 500_000 * HOUR + 7 * MINUTE
NEVER = Hours(np.zeros(0), np.zeros(0))


@pytest.mark.parametrize(
    ("backlog", "arrivals", "drained", "seconds"),
    [(120, 1.0, 3.0, 60.0), (120, 3.0, 3.0, None), (120, 3.0, 1.0, None), (0, 3.0, 1.0, 0.0)],
)
def test_time_to_drain(backlog: int, arrivals: float, drained: float, seconds: float | None) -> None:
    assert drain_seconds(backlog, MeanRates(arrivals, drained)) == seconds


def test_rates_of_a_young_queue_are_those_of_its_life() -> None:
    """A rate usually covers 15 minutes. A queue that is six minutes old and received 720 messages has a rate of two
    messages a second.
    """
    assert rates(720, 360, LAST, LAST - 6 * MINUTE) == MeanRates(2.0, 1.0)
    assert rates(720, 360, LAST, LAST - 90 * MINUTE) == MeanRates(0.8, 0.4)
    assert rates(0, 0, LAST, LAST + 30_000_000) == MeanRates(0, 0)


def test_a_burst_does_not_bend_the_trend() -> None:
    line = np.arange(13, dtype=np.float64) * -3
    line[6] = 5000
    assert compute_slopes(line[None, :]).tolist() == [-3.0]


def ages(now: float, slope: float) -> Ages:
    """Returns the age of the oldest message in seconds, and its growth per second."""
    steps, hours = (np.arange(number, -1, -1, dtype=np.float64) for number in (12, 23))
    return Ages(now - slope * 300 * steps, now - slope * 3600 * hours)


@pytest.mark.parametrize(
    ("now", "slope", "until"),
    [
        (3 * DAY_SECONDS, 1.0, DAY_SECONDS),  # no consumer receives, so the age grows like the time
        (3.5 * DAY_SECONDS, 0.25, 2 * DAY_SECONDS),  # the consumers are too slow
        (DAY_SECONDS, 0.25, None),  # the limit is twelve days away
        (3 * DAY_SECONDS, 0.001, None),
        (3 * DAY_SECONDS, -0.5, None),
        (4.5 * DAY_SECONDS, 1.0, 0.0),
    ],
)
def test_when_retention_is_reached(now: float, slope: float, until: float | None) -> None:
    """The retention is four days. The warning appears three days before messages expire."""
    told = find_warnings(10, ages(now, slope), NEVER, 4 * DAY_SECONDS)
    assert told.retention_seconds == (None if until is None else pytest.approx(until))


def test_consumers_that_never_catch_up() -> None:
    """In their best hour, the consumers process 0.5 messages a second, but 1 message a second arrives."""
    arrivals, drained = np.full(24, 3600.0), np.linspace(900.0, 1800.0, 24)
    quiet = ages(0, 0)
    assert find_warnings(10, quiet, Hours(arrivals, drained), 4 * DAY_SECONDS) == GrowthWarnings(None, 0.5, 1.0)
    assert find_warnings(10, quiet, Hours(arrivals, drained * 2), 4 * DAY_SECONDS) == GrowthWarnings()
    assert find_warnings(10, quiet, Hours(arrivals, drained * 0), 4 * DAY_SECONDS) == GrowthWarnings()
    assert find_warnings(0, quiet, Hours(arrivals, drained), 4 * DAY_SECONDS) == GrowthWarnings()
    assert find_warnings(10, quiet, Hours(arrivals[:5], drained[:5]), 4 * DAY_SECONDS) == GrowthWarnings()


def windows(rows: list[tuple[int, int, int, int, int, int]]) -> pa.Table:
    """Returns (window_seconds, ends_us, arrivals, drained, depth, oldest_age_us) of queue 7."""
    columns = zip(*((7, *row) for row in rows), strict=True)
    return pa.table([pa.array(column) for column in columns], names=WINDOWS.names).cast(WINDOWS)


def told(rows: list[tuple[int, int, int, int, int, int]], facts: QueueFacts) -> dict[str, Any]:
    (row,) = build_forecaster({7: facts}, LAST)(windows(rows)).to_pylist()
    return dict(row)


def test_the_row_of_a_queue_of_six_minutes() -> None:
    """Two messages a second arrive. The row contains the reason instead of a forecast."""
    minutes = [(60, LAST - ago * MINUTE, 120, 0, 120 * (6 - ago), 60_000_000) for ago in range(6)]
    row = told(minutes, QueueFacts(LAST - 6 * MINUTE, 345_600, 730))
    assert (row["queue_id"], row["backlog"], row["arrival_rate"], row["drain_rate"]) == (7, 730, 2.0, 0.0)
    assert (row["drain_seconds"], row["forecast"], row["method"]) == (None, None, None)
    assert (row["reason"], json.loads(row["warnings"])) == ("too_little_past", {})


def test_the_row_of_a_queue_that_drains() -> None:
    """The queue has shrunk by 10 messages a minute for two days, and will shrink by 600 in the next hour."""
    minutes = [(60, LAST - ago * MINUTE, 0, 10, 100_000 + 10 * ago, 0) for ago in range(50 * 60)]
    hour = LAST // HOUR * HOUR
    hours = [(3600, hour - ago * HOUR, 0, 600, 100_070 + 600 * ago, 0) for ago in range(50)]
    row = told(minutes + hours, QueueFacts(0, 345_600, 100_000))
    assert list(row) == FORECAST.names
    assert (row["reason"], row["drain_seconds"]) == (None, pytest.approx(600_000))
    assert row["forecast"] == pytest.approx([100_000 - 50 * point for point in range(1, 13)])
    assert row["forecast_us"][-1] == LAST + HOUR
    assert (row["mean_error"], row["unchanged_error"]) == (pytest.approx(0, abs=1e-6), pytest.approx(325))
    assert all(
        low <= middle <= high
        for low, middle, high in zip(row["forecast_low"], row["forecast"], row["forecast_high"], strict=True)
    )


# --- gate ------------------------------------------------------------------------------------------------------------
# Tests that a queue has a forecast only if the forecast is better than "no change" and its intervals are correct. The
# tests use generated queues with fixed seeds. The 80 % intervals must contain the true value in 80 % of the cases,
# plus or minus 5. A forecast must never be much worse than "no change". The queues have existed for 23 days, so all
# methods have enough history. Another seed gives the same table (`benchmarks.costs.forecasts` of commit 82fb1cae).


LIFE = 23 * DAY
TOLERANCE = 1.05
# The history predicts how the depth of a queue changes in the processes of this list.
PREDICTABLE = ("growing", "draining", "diurnal", "weekly", "hourly_batch", "nightly_batch", "changing")
SILENT = ("keeping_up", "idle", "outages")


@cache
def made(name: str, seed: int = 5) -> Made:
    return PROCESSES[name](np.random.default_rng([seed, len(name)]), LIFE)


@cache
def score(name: str) -> Score:
    """Returns the score of 30 forecasts in the last two days, which begin at all twelfths of an hour."""
    return judge(made(name), Score(), LIFE - 2 * DAY, 95)


@pytest.mark.parametrize("name", sorted(PROCESSES))
def test_a_forecast_is_not_worse_than_no_change(name: str) -> None:
    assert score(name).ratio <= TOLERANCE


@pytest.mark.parametrize("name", PREDICTABLE)
def test_the_outlook_halves_the_error_of_queues_with_a_telling_past(name: str) -> None:
    assert score(name).told >= 0.5 * score(name).asked
    assert score(name).ratio <= 0.7


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_told_where_nothing_can_be(name: str) -> None:
    assert score(name).told == 0


def test_the_intervals_hold_as_often_as_they_say() -> None:
    """The test counts the forecasts of all queues together, because a single queue has too few."""
    held = np.concatenate([score(name).held for name in PROCESSES])
    assert len(held) > 200
    assert 0.75 <= held.mean() <= 0.85


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(PROCESSES) - set(SILENT)))
def test_the_intervals_of_each_queue_hold_as_often_as_they_say(name: str) -> None:
    total = Score()
    for seed in range(3):
        judge(made(name, seed), total, LIFE - 3 * DAY, 25)
    assert total.coverage is not None
    assert 0.75 <= total.coverage <= 0.85
    assert total.ratio <= TOLERANCE


def test_a_young_queue_is_told_nothing() -> None:
    """A queue has its first forecast when it is a day old."""
    growing = made("growing")
    assert choose_forecast(series_at(growing, DAY - 10)) == TOO_LITTLE_PAST
    assert not isinstance(choose_forecast(series_at(growing, DAY + 10)), str)


def test_a_queue_that_never_moves_is_told_nothing() -> None:
    still = Made(*(np.full(LIFE, number) for number in (0, 0, 1000)))
    assert choose_forecast(series_at(still, LIFE)) == NOTHING_BETTER


def test_the_future_is_not_looked_at() -> None:
    """The forecast for a past moment must stay the same when later data is added."""
    past, whole = (series_at(made("diurnal"), LIFE - back) for back in (125, 0))
    origin, now = np.asarray([25]), np.asarray([0])
    told: Mapping[str, tuple[np.ndarray, np.ndarray]] = {
        name: (method(whole, origin), method(past, now))
        for name, method in {**METHODS, "unchanged": repeat_last}.items()
    }
    fine = {"unchanged", "trend_6h", "trend_1h", "trend_15m", "damped_trend", "usual_level", "hourly", "hourly_fading"}
    for name in fine:
        np.testing.assert_allclose(*told[name])
    assert set(told) - fine == {"daily", "daily_fading", "weekly", "weekly_fading"}
    assert list_origins(whole).min() == 12
