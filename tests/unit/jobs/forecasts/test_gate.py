"""A forecast is told only where it beats "it stays as it is", and its intervals hold: made-up queues with fixed seeds.

80 % intervals are to hold 80 % of the time, give or take 5; no queue may be told much worse than no change. The
queues live 23 days, so that all methods have their past; a queue of the same kind but another seed gives the same table
(`benchmarks.costs.forecasts` of commit 82fb1cae).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest

from penstock_metrics.transforms.forecasts.backtest import list_origins
from penstock_metrics.transforms.forecasts.methods import METHODS, repeat_last
from penstock_metrics.transforms.forecasts.outlook import NOTHING_BETTER, TOO_LITTLE_PAST, choose_forecast
from tests.support.jobs.forecast_scores import Score, judge, series_at
from tests.support.jobs.processes import DAY, PROCESSES, Made

LIFE = 23 * DAY
TOLERANCE = 1.05
# The depth of these processes moves by itself in ways that the past tells.
PREDICTABLE = ("growing", "draining", "diurnal", "weekly", "hourly_batch", "nightly_batch", "changing")
SILENT = ("keeping_up", "idle", "outages")


@cache
def made(name: str, seed: int = 5) -> Made:
    return PROCESSES[name](np.random.default_rng([seed, len(name)]), LIFE)


@cache
def score(name: str) -> Score:
    """30 forecasts of the last two days, at all twelfths of an hour."""
    return judge(made(name), Score(), LIFE - 2 * DAY, 95)


@pytest.mark.parametrize("name", sorted(PROCESSES))
def test_what_is_told_is_not_worse_than_no_change(name: str) -> None:
    assert score(name).ratio <= TOLERANCE


@pytest.mark.parametrize("name", PREDICTABLE)
def test_it_halves_the_error_of_queues_whose_past_tells(name: str) -> None:
    assert score(name).told >= 0.5 * score(name).asked
    assert score(name).ratio <= 0.7


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_told_where_nothing_can_be(name: str) -> None:
    assert score(name).told == 0


def test_the_intervals_hold_as_often_as_they_say() -> None:
    """All forecasts of all queues together; a queue by itself has too few of them here."""
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
    """It has a forecast when a whole day of it is known."""
    growing = made("growing")
    assert choose_forecast(series_at(growing, DAY - 10)) == TOO_LITTLE_PAST
    assert not isinstance(choose_forecast(series_at(growing, DAY + 10)), str)


def test_a_queue_that_never_moves_is_told_nothing() -> None:
    still = Made(*(np.full(LIFE, number) for number in (0, 0, 1000)))
    assert choose_forecast(series_at(still, LIFE)) == NOTHING_BETTER


def test_the_future_is_not_looked_at() -> None:
    """What a method says of an origin in the past is what it says when only that past is there."""
    past, whole = (series_at(made("diurnal"), LIFE - back) for back in (125, 0))
    origin, now = np.asarray([25]), np.asarray([0])
    told: Mapping[str, tuple[np.ndarray, np.ndarray]] = {
        name: (method(whole, origin), method(past, now))
        for name, method in {**METHODS, "unchanged": repeat_last}.items()
    }
    fine = {
        "unchanged",
        "trend_6h",
        "trend_1h",
        "trend_15m",
        "damped_trend",
        "usual_level",
        "hourly",
        "hourly_fading",
    }
    for name in fine:
        np.testing.assert_allclose(*told[name])
    assert set(told) - fine == {"daily", "daily_fading", "weekly", "weekly_fading"}
    assert list_origins(whole).min() == 12
