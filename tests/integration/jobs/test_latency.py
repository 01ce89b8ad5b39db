"""Durations as Spark makes them of messages, and its part in putting days together."""

from __future__ import annotations

import math

import pytest
from pyspark.sql import SparkSession

from penstock_metrics.span import HOUR, MINUTE, Span
from penstock_metrics.transforms import latency
from penstock_metrics.transforms.durations import FEW
from penstock_metrics.transforms.keys import MEASURES
from penstock_metrics.transforms.sketch import PERCENTILES
from tests.integration.jobs.conftest import rows_of
from tests.support.jobs.frames import BASE, at, message, messages

pytestmark = pytest.mark.xdist_group("spark")
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


def test_of_many_durations_of_a_day_the_ranks_are_looked_up(spark: SparkSession) -> None:
    """More than travel, of two hours: n seconds for n up to 3 FEW; and a group with two."""
    number = 3 * FEW
    span = Span((BASE, BASE + 24 * HOUR), BASE + 24 * HOUR)
    many = spark.range(1, number + 1).selectExpr(
        "1 as queue_id",
        "if(id > 2, '', 'group') as group_id",
        "cast(0 as tinyint) as measure",
        f"{BASE} + (id % 2) * {HOUR} as at_us",
        "id * 1000000 as us",
    )
    found = latency.summaries(many, span, number).where("window_seconds = 86400")
    days = latency.of_days(found, many, span, lambda rows: rows.localCheckpoint())
    expected = {"": number, "group": 2}
    rows = {row["group_id"]: row for row in days.collect()}
    assert set(rows) == set(expected)
    for group, count in expected.items():
        assert (rows[group]["count"], rows[group]["max_us"]) == (count, count * 1_000_000)
        ranks = [math.ceil(percent * count / 100) * 1_000_000 for percent in PERCENTILES]
        assert [rows[group][f"p{percent}_us"] for percent in PERCENTILES] == ranks
