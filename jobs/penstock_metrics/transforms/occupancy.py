"""Computes the number of messages in a queue at the end of each window, and the age of the oldest message.

Windows end at whole minutes. At time E, the queue contains a message if the minute of the message's arrival is before
E, and the minute of its end is E or later. A message that ended before its arrival, because clocks differ, never
counts.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from penstock_metrics.span import HOUR, MINUTE, DaySpan

from .columns import COUNTS, GROUP, WHOLE_QUEUE, Transform, list_sums, round_down

NEVER: Final = 2**62  # The end of a message that has not ended.
LEVELS: Final = ("depth", "waiting")
_SO_FAR: Final = (Window.unboundedPreceding, Window.currentRow)


def list_changes(cube: DataFrame) -> DataFrame:
    """Returns how the depth and the number of waiting (unreceived) messages change at the time at_us."""
    n, entered, finished = F.col("messages"), F.col("entered_us"), F.col("finished_us")
    touched = F.least("received_us", finished)
    events = F.array(
        _change(entered, n, n),
        _change(F.when(touched.isNotNull(), F.greatest(entered, touched)), F.lit(0), -n),
        _change(F.when(finished.isNotNull(), F.greatest(entered, finished)), -n, F.lit(0)),
    )
    exploded = cube.select(*GROUP, F.explode(events).alias("e")).select(*GROUP, "e.*").where("at_us is not null")
    return exploded.groupBy(*GROUP, "at_us").agg(*list_sums(LEVELS))


def compute_levels(moments: DataFrame) -> Transform:
    """Computes, from changes, the depth and the number of waiting messages at `moments` (queue_id, group_id,
    ends_us)."""

    def transform(changed: DataFrame) -> DataFrame:
        asked = moments.select(*GROUP, F.col("ends_us").alias("at_us"), F.lit(True).alias("asked"))
        both = changed.unionByName(asked, allowMissingColumns=True)
        one = both.groupBy(*GROUP, "at_us").agg(
            *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in LEVELS), F.max("asked").alias("asked")
        )
        so_far = Window.partitionBy(*GROUP).orderBy("at_us").rowsBetween(*_SO_FAR)
        running = one.withColumns({name: F.sum(name).over(so_far) for name in LEVELS})
        return running.where("asked").select(*GROUP, F.col("at_us").alias("ends_us"), *LEVELS)

    return transform


def sum_from_then_on(since: DataFrame) -> Transform:
    """Merges each queue's changes before the queue's time in `since` (queue_id, since_us) into one change at that
    time."""

    def transform(changed: DataFrame) -> DataFrame:
        later = F.greatest("at_us", "since_us").alias("at_us")
        return (
            changed.join(since, "queue_id")
            .select(*GROUP, later, *LEVELS)
            .groupBy(*GROUP, "at_us")
            .agg(*list_sums(LEVELS))
        )

    return transform


def find_windows_with_messages(days: DataFrame, span: DaySpan) -> Transform:
    """Finds windows of whole queues that end with messages but have counts of 0, because these windows also need a
    row."""

    def transform(changed: DataFrame) -> DataFrame:
        order = Window.partitionBy(*GROUP).orderBy("at_us")
        running = changed.select(
            "queue_id",
            "at_us",
            F.sum("depth").over(order.rowsBetween(*_SO_FAR)).alias("depth"),
            (F.lead("at_us", 1, NEVER).over(order) - 1).alias("until_us"),
        ).where("depth > 0")
        even = [_list_even_windows(running, seconds, span) for seconds in (60, 3600)]
        windows = even[0].unionByName(even[1]).unionByName(_select_days(running, days, span))
        return windows.select(
            "window_seconds",
            "queue_id",
            F.lit(WHOLE_QUEUE).alias("group_id"),
            "starts_us",
            "ends_us",
            *(F.lit(0).cast("bigint").alias(name) for name in COUNTS),
        )

    return transform


def find_oldest(moments: DataFrame) -> Transform:
    """Finds oldest_us, the arrival of the oldest message at each of `moments`, or null.

    Only a message that ends later than all earlier messages is a candidate for the oldest message. The ends of the
    candidates are in the same order as their arrivals. At each moment, the oldest message is the first of the
    candidates that ends at that moment or later.
    """

    def transform(cube: DataFrame) -> DataFrame:
        ended = F.coalesce("finished_us", F.lit(NEVER))
        before = Window.partitionBy(*GROUP).orderBy("oldest_us", "ended_us").rowsBetween(Window.unboundedPreceding, -1)
        lasting = (
            cube.withColumn("ended_us", ended)
            .where(F.col("ended_us") > F.col("entered_us"))
            .withColumn("before_us", F.max("ended_us").over(before))
            .where("before_us is null or ended_us > before_us")
            .select(*GROUP, F.col("ended_us").alias("at_us"), "oldest_us", F.lit(0).alias("asked"))
        )
        asked = moments.select(*GROUP, F.col("ends_us").alias("at_us"), F.lit(1).alias("asked"))
        back = Window.partitionBy(*GROUP).orderBy(F.col("at_us").desc(), "asked").rowsBetween(*_SO_FAR)
        found = lasting.unionByName(asked, allowMissingColumns=True).withColumn(
            "oldest_us", F.last("oldest_us", ignorenulls=True).over(back)
        )
        there = F.when(F.col("oldest_us") < F.col("at_us"), F.col("oldest_us"))
        return found.where("asked = 1").select(*GROUP, F.col("at_us").alias("ends_us"), there.alias("oldest_us"))

    return transform


def _change(minute: Column, depth: Column, waiting: Column) -> Column:
    """Returns how an event changes the depth and the number of waiting messages at the end of the event's minute."""
    levels_ = (depth.cast("bigint").alias("depth"), waiting.cast("bigint").alias("waiting"))
    return F.struct((minute + MINUTE).alias("at_us"), *levels_)


def _list_even_windows(running: DataFrame, seconds: int, span: DaySpan) -> DataFrame:
    step = HOUR if seconds == 3600 else MINUTE
    low, high = span.bounds(seconds)
    high = min(high, (span.now_us // step + 1) * step)
    first = round_down(F.greatest(F.col("at_us"), F.lit(low + step)) + (step - 1), step)
    last = round_down(F.least(F.col("until_us"), F.lit(high)), step)
    ends = F.explode(F.sequence(first, last, F.lit(step).cast("bigint"))).alias("ends_us")
    starts = (F.col("ends_us") - step).alias("starts_us")
    found = running.where(first <= last).select("queue_id", ends)
    return found.select("queue_id", F.lit(seconds).alias("window_seconds"), starts, "ends_us")


def _select_days(running: DataFrame, days: DataFrame, span: DaySpan) -> DataFrame:
    whole = days.select(F.col("day_starts_us").alias("starts_us"), F.col("day_ends_us").alias("ends_us")).distinct()
    begun = F.broadcast(whole.where(F.col("starts_us") <= span.now_us))
    inside = F.col("ends_us").between(F.col("at_us"), F.col("until_us"))
    return running.join(begun, inside).select("queue_id", F.lit(86400).alias("window_seconds"), "starts_us", "ends_us")
