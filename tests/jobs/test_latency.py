"""Durations, buckets and exact percentiles."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.queue_metrics import latency
from jobs.queue_metrics.columns import WINDOW
from jobs.queue_metrics.span import MINUTE
from tests.jobs.conftest import rows_of
from tests.jobs.frames import at, message, messages

pytestmark = pytest.mark.xdist_group("spark")


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
            ("wait", at(1), MINUTE),
            ("processing", at(3), 2 * MINUTE),
            ("lag", at(3), 3 * MINUTE),
            ("lag", at(5), 5 * MINUTE),
            ("wait", at(2), 2 * MINUTE),
            ("wait", at(4), 4 * MINUTE),
            ("wait", at(9), -MINUTE),
            ("processing", at(12), 3 * MINUTE),
            ("lag", at(12), 2 * MINUTE),
        ],
        key=repr,
    )


def test_fires_and_webhooks_belong_to_no_queue(spark: SparkSession) -> None:
    rows = spark.sql(
        "select 'fire' as measure, timestamp '2026-03-29 01:00:00' as began_at,"
        " timestamp '2026-03-29 01:00:01.5' as ended_at"
    )
    found = rows.transform(latency.of_installation)
    assert rows_of(found, "queue_id", "group_id", "measure", "us") == [(0, "", "fire", 1_500_000)]


def test_a_bucket_is_within_two_percent(spark: SparkSession) -> None:
    """DDSketch: the value 2 g^i / (g + 1) of bucket i is at most 2 % off anything in it."""
    values = sorted({round(1.07**power) for power in range(400)})
    rows = spark.createDataFrame([(value,) for value in values], "us bigint")
    for value, bucket in rows.select("us", latency.bucket_of(F.col("us"))).collect():
        middle = 2 * latency.GAMMA**bucket / (latency.GAMMA + 1)
        assert abs(middle - value) <= 0.02 * value * (1 + 1e-9)


def test_nothing_and_less_than_nothing(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(0,), (-5,), (1,)], "us bigint").transform(latency.with_buckets)
    assert rows_of(rows, "us", "negative", "bucket") == [
        (0, 0, latency.BELOW_ALL),
        (0, 1, latency.BELOW_ALL),
        (1, 0, 0),
    ]


def summarised(spark: SparkSession, values: dict[int, list[int]]) -> list[dict[str, Any]]:
    """The rows of windows 0, 1, … that hold these durations, spread over two minutes each."""
    rows = [
        (1, "", "wait", (2 * window + number % 2) * MINUTE, us)
        for window, durations in values.items()
        for number, us in enumerate(durations)
    ]
    measured = spark.createDataFrame(
        rows, "queue_id int, group_id string, measure string, at_us bigint, us bigint"
    ).transform(latency.with_buckets)
    places = measured.transform(latency.buckets).transform(windowed).transform(latency.merged)
    places = places.transform(latency.ranked).localCheckpoint()
    found = measured.transform(windowed).transform(latency.candidates(places.transform(latency.open_ranks)))
    summary = places.transform(latency.summaries(found)).orderBy("starts_us")
    return [row.asDict() for row in summary.collect()]


def windowed(rows: DataFrame) -> DataFrame:
    starts = F.col("at_us") - F.pmod("at_us", F.lit(2 * MINUTE))
    columns = (column for column in rows.columns if column not in (*WINDOW, "at_us"))
    return rows.select(
        F.lit(120).alias("window_seconds"),
        "queue_id",
        "group_id",
        starts.alias("starts_us"),
        (starts + 2 * MINUTE).alias("ends_us"),
        *columns,
    )


def nearest_rank(values: list[int], percent: int) -> int:
    """percentile_disc: the first value whose place is at least this part of all."""
    return sorted(values)[math.ceil(percent * len(values) / 100) - 1]


def test_percentiles_are_those_of_nearest_rank(spark: SparkSession) -> None:
    """Windows of 1 to 3,000 values: the same value, two values, wide and narrow ranges, many in one bucket."""
    chance = random.Random(11)
    values = {
        0: [77],
        1: [5] * 40,
        2: [1, 1_000_000],
        3: list(range(100_000, 100_100)),
        4: [chance.randrange(1, 10**9) for _ in range(3000)],
        5: [chance.randrange(1_000_000, 1_010_000) for _ in range(1000)],
        6: [0, 0, 3],
    }
    rows = summarised(spark, values)
    assert len(rows) == len(values)
    for row, durations in zip(rows, values.values(), strict=True):
        wanted = {f"p{percent}_us": nearest_rank(durations, percent) for percent in latency.PERCENTILES}
        wanted |= {
            "count": len(durations),
            "sum_us": sum(durations),
            "max_us": max(durations),
            "negative_count": 0,
        }
        assert {name: row[name] for name in wanted} == wanted
        assert sum(row["sketch_counts"]) == len(durations)
        assert row["sketch_buckets"] == sorted(set(row["sketch_buckets"]))


def test_negative_durations_count_as_nothing_and_are_counted(spark: SparkSession) -> None:
    (row,) = summarised(spark, {0: [-7, -1, 10, 20]})
    assert (row["count"], row["negative_count"], row["sum_us"], row["p50_us"], row["max_us"]) == (
        4,
        2,
        30,
        0,
        20,
    )
    assert row["sketch_buckets"][0] == -(2**31)
    assert row["sketch_counts"][0] == 2
