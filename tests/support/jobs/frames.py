"""Small frames of messages for the tests of transforms. Times are minutes after BASE, which is a full hour."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from penstock_metrics.span import HOUR, MINUTE

BASE = 490_000 * HOUR  # 2025-11-24 16:00 UTC
MESSAGE = (
    "queue_id int, group_id string, entered_us bigint, received_us bigint, finished_us bigint,"
    " redelivered_us array<bigint>, receive_count int, outcome string"
)


def at(minutes: float) -> int:
    """A moment: whole microseconds."""
    return BASE + round(minutes * MINUTE)


def message(
    entered: float,
    received: float | None = None,
    finished: float | None = None,
    outcome: str | None = None,
    *,
    group: str = "",
    count: int = 1,
    again: tuple[float, ...] | None = None,
) -> tuple[object, ...]:
    """A row of queue 1. `outcome`: deleted when it has ended, unless said. `again`: the known redeliveries."""
    times = (None if m is None else at(m) for m in (received, finished))
    known = None if again is None else [at(minute) for minute in again]
    return (
        1,
        group,
        at(entered),
        *times,
        known,
        count,
        outcome or (None if finished is None else "deleted"),
    )


def messages(spark: SparkSession, *rows: tuple[object, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), MESSAGE)
