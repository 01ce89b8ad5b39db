"""Counts the events in windows, which are arrivals, deliveries and ends of messages, and computes the skew of arrivals
between groups.

    messages.transform(group_by_minutes)           counts by the minutes of arrival, receive and end: much fewer rows
            .transform(count_by_minute(now_us))    counts by queue, group and minute
            .transform(assign_windows(days, span))
            .transform(sum_totals)                 counts by window, queue and group

A message stores only a limited number of times of later deliveries (queue.add_redelivery). Deliveries without a time
count in the window in which the message ended or, for an open message, in the window of the run.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from penstock_metrics.span import MINUTE

from .columns import (
    COUNTS,
    ENDINGS,
    GROUP,
    WHOLE_QUEUE,
    WINDOW,
    Transform,
    add_whole_queues,
    list_sums,
    round_down_to_minute,
)

BUSIEST_GROUPS: Final = 100
STATES: Final = ("visible", "in_flight", "delayed")
_SAME_WINDOW: Final = ("window_seconds", "queue_id", "starts_us", "ends_us")


def group_by_minutes(messages: DataFrame) -> DataFrame:
    """Merges messages that arrived, were received and ended in the same minutes into one row.

    Windows are whole minutes, so the result is exact. `again` counts the later deliveries without a time.
    """
    minutes = {
        "entered_us": round_down_to_minute(F.col("entered_us")),
        "received_us": round_down_to_minute(F.col("received_us")),
        "finished_us": round_down_to_minute(F.col("finished_us")),
        "redelivered_us": F.transform("redelivered_us", round_down_to_minute),
    }
    known = F.coalesce(F.array_size("redelivered_us"), F.lit(0))
    return messages.groupBy(*GROUP, *(at.alias(name) for name, at in minutes.items()), "outcome").agg(
        F.count("*").alias("messages"),
        F.min("entered_us").alias("oldest_us"),
        F.sum(F.greatest(F.col("receive_count") - 1 - known, F.lit(0))).alias("again"),
    )


def sum_by_minutes(cube: DataFrame) -> DataFrame:
    """Merges rows of the same minutes into one row. Each group of a queue contributes a row to the whole queue."""
    minutes = ("entered_us", "received_us", "finished_us", "redelivered_us", "outcome")
    return cube.groupBy(*GROUP, *minutes).agg(
        F.sum("messages").alias("messages"), F.min("oldest_us").alias("oldest_us"), F.sum("again").alias("again")
    )


def count_by_minute(now_us: int) -> Transform:
    """Counts the events of each group and minute (at_us)."""

    def transform(cube: DataFrame) -> DataFrame:
        n, finished = F.col("messages"), F.col("finished_us")
        ended = {name: F.when(F.col("outcome") == outcome, n) for outcome, name in ENDINGS.items()}
        again_at = F.coalesce(finished, F.lit(now_us // MINUTE * MINUTE))
        events = F.array(
            _build_event(F.col("entered_us"), arrivals=n),
            _build_event(F.col("received_us"), deliveries=n),
            _build_event(F.when(F.col("again") > 0, again_at), deliveries=F.col("again"), redeliveries=F.col("again")),
            _build_event(finished, **ended),
        )
        again = F.transform("redelivered_us", lambda at: _build_event(at, deliveries=n, redeliveries=n))
        events = F.when(again.isNull(), events).otherwise(F.concat(events, again))
        exploded = cube.select(*GROUP, F.explode(events).alias("event")).select(*GROUP, "event.*")
        return exploded.where("at_us is not null").groupBy(*GROUP, "at_us").agg(*list_sums(COUNTS))

    return transform


def sum_totals(happened: DataFrame) -> DataFrame:
    """Returns the sums of counts for each window, queue and group."""
    return happened.groupBy(*WINDOW).agg(*list_sums(COUNTS))


def find_busiest(counts: DataFrame) -> DataFrame:
    """Returns the BUSIEST_GROUPS groups with the most arrivals in each window. The order of bytes decides between
    groups with equal arrivals."""
    order = Window.partitionBy(*_SAME_WINDOW).orderBy(F.col("arrivals").desc(), F.col("group_id"))
    ranked = counts.where(_is_sending_group()).withColumn("rank", F.row_number().over(order))
    return ranked.where(F.col("rank") <= BUSIEST_GROUPS).drop("rank")


def measure_skew(counts: DataFrame) -> DataFrame:
    """Returns each window's number of groups with arrivals, share of the busiest group, and Gini coefficient."""
    order = Window.partitionBy(*_SAME_WINDOW).orderBy("arrivals")
    groups = counts.where(_is_sending_group()).withColumn("place", F.row_number().over(order))
    added = groups.groupBy(*_SAME_WINDOW).agg(
        F.count("*").cast("int").alias("groups"),
        F.sum("arrivals").alias("sent"),
        F.max("arrivals").alias("most"),
        F.sum(F.col("place") * F.col("arrivals")).alias("weighted"),
    )
    whole = counts.where(F.col("group_id") == WHOLE_QUEUE).select(*_SAME_WINDOW, F.col("arrivals").alias("all"))
    n, sent = F.col("groups"), F.col("sent")
    return added.join(whole, [*_SAME_WINDOW]).select(
        *_SAME_WINDOW,
        F.lit(WHOLE_QUEUE).alias("group_id"),
        "groups",
        (F.col("most") / F.col("all")).alias("top_group_share"),
        ((2 * F.col("weighted") - (n + 1) * sent) / (n * sent)).alias("gini"),
    )


def list_states(live: DataFrame) -> DataFrame:
    """Returns the numbers of visible, in-flight and delayed messages of each queue and group."""
    each = live.select(*GROUP, *((F.col("state") == name).cast("bigint").alias(name) for name in STATES))
    return each.transform(add_whole_queues(STATES)).groupBy(*GROUP).agg(*list_sums(STATES))


def add_states(counted: DataFrame, now_us: int) -> Transform:
    """Adds the counts of `list_states` to the windows that contain `now_us`, and null to other windows."""

    def transform(windows: DataFrame) -> DataFrame:
        now = (F.col("starts_us") <= now_us) & (F.col("ends_us") > now_us)
        joined = windows.join(counted, [*GROUP], "left")
        return joined.withColumns({name: F.when(now, F.coalesce(name, F.lit(0))) for name in STATES})

    return transform


def _is_sending_group() -> Column:
    return (F.col("group_id") != WHOLE_QUEUE) & (F.col("arrivals") > 0)


def _build_event(at: Column, **counts: Column) -> Column:
    values = (F.coalesce(counts.get(name, F.lit(None)), F.lit(0)).cast("bigint").alias(name) for name in COUNTS)
    return F.struct(at.alias("at_us"), *values)
