"""Durations as Spark makes them of messages, and its part in putting days together."""

from __future__ import annotations

import math

import pytest
from pyspark.sql import Row, SparkSession

from penstock_metrics.span import HOUR, MINUTE, Span
from penstock_metrics.transforms import latency
from penstock_metrics.transforms.durations import FEW
from penstock_metrics.transforms.keys import MEASURES
from penstock_metrics.transforms.sketch import PERCENTILES
from tests.integration.jobs.conftest import rows_of
from tests.support.jobs.frames import BASE, at, message, messages

pytestmark = [pytest.mark.metrics, pytest.mark.xdist_group("spark")]
WAIT, PROCESSING, LAG, FIRE, _ = range(len(MEASURES))


def test_what_is_measured_of_a_message(spark: SparkSession) -> None:
    rows = messages(
        spark,
        message(0, 1, 3),
        message(0, None, 5),
        message(0, 2, 6, "dead_lettered"),
        message(0, 4),
        message(10, 9, 12),
    )
    assert rows_of(rows.transform(latency.durations), "measure", "at_us", "us") == sorted(
        [
            (WAIT, at(1), MINUTE),
            (PROCESSING, at(3), 2 * MINUTE),
            (LAG, at(3), 3 * MINUTE),
            (LAG, at(5), 5 * MINUTE),
            (WAIT, at(2), 2 * MINUTE),
            (WAIT, at(4), 4 * MINUTE),
            (WAIT, at(9), -MINUTE),
            (PROCESSING, at(12), 3 * MINUTE),
            (LAG, at(12), 2 * MINUTE),
        ],
        key=repr,
    )


def test_fires_and_webhooks_belong_to_no_queue(spark: SparkSession) -> None:
    rows = spark.sql(
        "select 'fire' as measure, timestamp '2026-03-29 01:00:00' as began_at,"
        " timestamp '2026-03-29 01:00:01.5' as ended_at"
    )
    found = rows.transform(latency.of_installation)
    assert rows_of(found, "queue_id", "group_id", "measure", "us") == [(0, "", FIRE, 1_500_000)]


@pytest.mark.parametrize("parts", [0, 3])
def test_of_many_durations_the_ranks_are_looked_up(spark: SparkSession, parts: int) -> None:
    """More than travel, of two hours: n seconds for n up to 6 FEW, each twice; and a group with two.

    An hour is in one partition, or in three.
    """
    number = 6 * FEW
    span = Span((BASE, BASE + 24 * HOUR), BASE + 24 * HOUR)
    many = spark.range(2, 2 * number + 2).selectExpr(
        "1 as queue_id",
        "if(id > 3, '', 'group') as group_id",
        "cast(0 as tinyint) as measure",
        f"{BASE} + (id div 2 % 2) * {HOUR} as at_us",
        "(id div 2) * 1000000 as us",
    )
    busy = [(1, BASE + hour * HOUR, parts) for hour in (0, 1)] if parts else []
    found = latency.summaries(many, span, number, busy).localCheckpoint()
    windows = latency.complete(found, many, span, number, lambda rows: rows.localCheckpoint()).collect()
    days = {row["group_id"]: row for row in windows if row["window_seconds"] == 86400}
    check_ranks(days[""], [value for value in range(1, number + 1) for _ in range(2)])
    check_ranks(days["group"], [1, 1])
    for seconds in (60, 3600):
        first, second = (row for row in windows if (row["window_seconds"], row["group_id"]) == (seconds, ""))
        for row in (first, second):
            even = (row["starts_us"] - BASE) // HOUR == 0
            check_ranks(row, [v for v in range(1, number + 1) if (v % 2 == 0) == even for _ in range(2)])


def check_ranks(row: Row, seconds: list[int]) -> None:
    assert (row["count"], row["max_us"]) == (len(seconds), seconds[-1] * 1_000_000)
    ranks = [seconds[math.ceil(percent * len(seconds) / 100) - 1] * 1_000_000 for percent in PERCENTILES]
    assert [row[f"p{percent}_us"] for percent in PERCENTILES] == ranks


def test_hours_that_are_spread_over_partitions(spark: SparkSession) -> None:
    """By durations: first receives, and two of each deleted message."""
    columns = (
        "window_seconds int, queue_id int, group_id string, starts_us bigint, deliveries bigint, redeliveries bigint,"
        " deletions bigint"
    )
    rows = [
        (3600, 1, "", BASE, 60, 10, 25),
        (3600, 1, "g", BASE, 60, 10, 25),
        (60, 1, "", BASE, 60, 10, 25),
        (3600, 2, "", BASE, 60, 10, 24),
    ]
    assert latency.busy_hours(spark.createDataFrame(rows, columns), 98) == [(1, BASE, 2)]
