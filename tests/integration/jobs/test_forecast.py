"""Rates, time to drain, and how often the interval holds what comes."""

from __future__ import annotations

import random
from itertools import accumulate

import pytest
from pyspark.sql import SparkSession

from penstock_metrics.transforms import forecast
from penstock_metrics.transforms.columns import COUNTS, WINDOW
from tests.support.jobs.frames import at

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.parametrize(
    ("backlog", "arrival", "drain", "seconds"),
    [(0, 5.0, 1.0, 0.0), (600, 1.0, 3.0, 300.0), (600, 3.0, 3.0, None), (600, 3.0, 1.0, None)],
)
def test_the_time_to_drain(backlog: int, arrival: float, drain: float, seconds: float | None) -> None:
    assert forecast.drain_seconds(backlog, arrival, drain) == seconds


def test_a_burst_does_not_bend_the_trend() -> None:
    steady = [1000 - 3 * minute for minute in range(61)]
    steady[30] += 5000
    assert forecast.slope(steady) == -3


def test_a_steady_queue_is_foreseen_exactly() -> None:
    expected, low, high = forecast.outlook([100 + 2 * minute for minute in range(61)], 220)
    assert expected == low == high == [220 + 2 * ahead for ahead in range(5, 61, 5)]


def test_a_backlog_is_never_negative() -> None:
    expected, low, _ = forecast.outlook([600 - 10 * minute for minute in range(61)], 0)
    assert set(expected) == set(low) == {0.0}


def test_the_interval_holds_what_comes_about_as_often_as_it_says() -> None:
    """Random walks with a drift, as the interval assumes them: 95 % in the limit; here 500 of them, an hour ahead."""
    chance, held = random.Random(7), 0
    for _ in range(500):
        drift, spread = chance.uniform(-2, 5), chance.uniform(1, 30)
        walk = list(accumulate((chance.gauss(drift, spread) for _ in range(120)), initial=100_000))
        _, low, high = forecast.outlook([round(value) for value in walk[:61]], round(walk[60]))
        held += low[-1] <= walk[120] <= high[-1]
    assert 0.90 <= held / 500 <= 0.98


def test_from_windows(spark: SparkSession) -> None:
    """Queue 1 had 120 arrivals in each of the last two minutes, and had nothing before; queue 2 only has a backlog."""
    columns = ", ".join(
        [
            *(f"{name} {'string' if name == 'group_id' else 'bigint'}" for name in WINDOW),
            *(f"{name} bigint" for name in COUNTS),
            "depth bigint",
        ]
    )
    rows = [
        (60, 1, "", at(minute), at(minute + 1), 120, 0, 0, 60, 0, 0, 0, 0, depth)
        for minute, depth in ((58, 60), (59, 120), (60, 999))
    ]
    windows = spark.createDataFrame(rows, columns)
    backlog = spark.createDataFrame([(1, 120), (2, 50)], "queue_id bigint, backlog bigint")
    told = windows.transform(forecast.forecasts(at(60.5), backlog)).orderBy("queue_id").collect()
    assert [(row.queue_id, row.backlog, row.drain_seconds) for row in told] == [(1, 120, None), (2, 50, None)]
    assert (told[0].arrival_rate, told[0].drain_rate) == (240 / 3600, 120 / 3600)
    assert (told[0].forecast_us[0], told[0].forecast_us[-1]) == (at(65), at(120))
    assert told[1].forecast == [50.0] * 12
