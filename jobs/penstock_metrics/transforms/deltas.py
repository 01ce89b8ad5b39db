"""Finds the changes of each queue since the last run, as differences of the messages' contributions to each minute.

Counts and changes of depth are sums over messages, so sums show the changes:

    new rows + open now - open then = messages that arrived, were received or ended since the last run

New rows are rows of the history since the last run. Open messages are not in the history yet. The last run stored the
sum of the messages that were open then (queue.metrics_open). Each message that was open then is still open or has a new
row, so the order of commits does not matter.

If a message ends 20 days after its arrival, the difference contains only its end, because an earlier run counted its
arrival. If the last run did not see the message, because the sender had not committed, the difference also contains its
arrival. Minutes with equal sums have no change, because a message never takes back a contribution. If a queue has no
change, its groups have no change, so the sums omit groups.

A run computes all windows of a changed queue since the earliest changed minute, because the sums do not determine
percentiles, the busiest groups and the oldest message. The run does not write unchanged windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock_metrics.span import MINUTE

from .columns import COUNTS, WHOLE_QUEUE, Transform, list_sums
from .events import count_by_minute, group_by_minutes
from .occupancy import LEVELS, list_changes

VALUES: Final = (*COUNTS, *LEVELS)
_MINUTE: Final = ("queue_id", "minute_us")


@dataclass(frozen=True, slots=True)
class DepthChange:
    """The change of a queue. `first_us` is the earliest changed minute, or None.

    `is_open` means that the queue has open messages. `changed` means that the contribution of its open messages has
    changed since the last run.
    """

    queue_id: int
    first_us: int | None
    is_open: bool
    changed: bool


def sum_contributions(now_us: int) -> Transform:
    """Computes the contributions of messages, as (queue_id, minute_us, *VALUES)."""

    def transform(messages: DataFrame) -> DataFrame:
        cube = messages.withColumn("group_id", F.lit(WHOLE_QUEUE)).transform(group_by_minutes)
        counts = cube.transform(count_by_minute(now_us)).withColumnRenamed("at_us", "minute_us")
        levels = cube.transform(list_changes).withColumn("minute_us", F.col("at_us") - MINUTE)
        both = counts.select(*_MINUTE, *COUNTS).unionByName(levels.select(*_MINUTE, *LEVELS), allowMissingColumns=True)
        return both.groupBy(*_MINUTE).agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in VALUES))

    return transform


def read_stored(rows: DataFrame) -> DataFrame:
    """Returns contributions from rows of queue.metrics_open, whose counts are texts such as {1,2}."""
    numbers = F.split(F.btrim("counts", F.lit("{}")), ",").cast("array<bigint>")
    return rows.select(
        "queue_id",
        F.unix_micros("minute_at").alias("minute_us"),
        *(F.coalesce(F.get(numbers, i), F.lit(0)).alias(name) for i, name in enumerate(VALUES)),
    )


def list_lines(zone: str, run_id: int) -> Transform:
    """Converts contributions to lines of queue.metrics_open for COPY."""

    def transform(rows: DataFrame) -> DataFrame:
        at = F.date_format(F.timestamp_micros("minute_us"), "yyyy-MM-dd HH:mm:ss'+00'")
        numbers = F.concat(F.lit("{"), F.concat_ws(",", *(F.col(name).cast("string") for name in VALUES)), F.lit("}"))
        cells = (F.lit(zone), F.col("queue_id").cast("string"), at, F.lit(str(run_id)), numbers)
        return rows.select(F.concat_ws("\t", *cells).alias("line"))

    return transform


def find_changed(new: DataFrame, open_now: DataFrame, open_then: DataFrame) -> list[DepthChange]:
    """Returns the queues that have a change, or that have or had open messages, from contributions."""
    tagged = [
        _add_weight(new, all_=1, open_=0, is_open=0),
        _add_weight(open_now, all_=1, open_=1, is_open=1),
        _add_weight(open_then, all_=-1, open_=-1, is_open=0),
    ]
    names = [*(f"all_{name}" for name in VALUES), *(f"open_{name}" for name in VALUES)]
    minutes = (
        reduce(DataFrame.unionByName, tagged)
        .groupBy(*_MINUTE)
        .agg(*list_sums(names), F.max("is_open").alias("is_open"))
    )
    queues = minutes.groupBy("queue_id").agg(
        F.min(F.when(_compare("all"), F.col("minute_us"))).alias("first_us"),
        (F.max("is_open") > 0).alias("is_open"),
        F.max(_compare("open")).alias("changed"),
    )
    return [DepthChange(row["queue_id"], row["first_us"], row["is_open"], row["changed"]) for row in queues.collect()]


def _add_weight(rows: DataFrame, *, all_: int, open_: int, is_open: int) -> DataFrame:
    return rows.select(
        *_MINUTE,
        *((F.col(name) * all_).alias(f"all_{name}") for name in VALUES),
        *((F.col(name) * open_).alias(f"open_{name}") for name in VALUES),
        F.lit(is_open).alias("is_open"),
    )


def _compare(kind: str) -> Column:
    return reduce(Column.__or__, (F.col(f"{kind}_{name}") != 0 for name in VALUES))
