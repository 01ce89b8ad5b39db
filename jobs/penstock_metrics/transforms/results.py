"""Computes the rows of queue.metrics_* as DataFrames from messages, with the transforms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock_metrics.span import DaySpan

from . import events, latency, occupancy
from .columns import GROUP, WHOLE_QUEUE, WINDOW, Checkpoint, add_whole_queues
from .windows import assign_windows

_CUBE = (
    "entered_us", "received_us", "finished_us", "redelivered_us", "outcome", "messages", "oldest_us", "again"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ResultInputs:
    """The inputs of all results. `checkpoint` stores rows that two computations use.

    `messages` is the approximate number of messages. `since` has rows (queue_id, since_us), where `since_us` is the
    time from which the run computes a queue's windows.
    """

    days: DataFrame
    span: DaySpan
    since: DataFrame
    checkpoint: Checkpoint
    messages: int


def build_windows(messages: DataFrame, live: DataFrame, inputs: ResultInputs) -> DataFrame:
    """Returns rows of metrics_window for whole queues and their busiest groups."""
    cube = messages.transform(events.group_by_minutes).transform(add_whole_queues(_CUBE))
    cube = inputs.checkpoint(cube.transform(events.sum_by_minutes))
    changed = inputs.checkpoint(cube.transform(occupancy.list_changes))
    happened = cube.transform(events.count_by_minute(inputs.span.now_us)).transform(
        assign_windows(inputs.days, inputs.span)
    )
    whole = changed.where(F.col("group_id") == WHOLE_QUEUE).transform(occupancy.sum_from_then_on(inputs.since))
    quiet = whole.transform(occupancy.find_windows_with_messages(inputs.days, inputs.span))
    all_ = happened.unionByName(quiet).transform(_drop_early(inputs.since))
    counts = inputs.checkpoint(all_.transform(events.sum_totals))
    rows = inputs.checkpoint(
        counts.where(F.col("group_id") == WHOLE_QUEUE).unionByName(counts.transform(events.find_busiest))
    )
    moments = inputs.checkpoint(rows.select(*GROUP, "ends_us").distinct())
    named = moments.select(*GROUP).distinct()
    at = [*GROUP, "ends_us"]
    return (
        rows.join(changed.join(named, [*GROUP], "left_semi").transform(occupancy.compute_levels(moments)), at)
        .join(cube.join(named, [*GROUP], "left_semi").transform(occupancy.find_oldest(moments)), at)
        .join(counts.transform(events.measure_skew), [*WINDOW], "left")
        .withColumns(
            {
                "received": F.col("depth") - F.col("waiting"),
                "groups": F.when(F.col("group_id") == WHOLE_QUEUE, F.coalesce("groups", F.lit(0))),
                "oldest_age_us": F.col("ends_us") - F.col("oldest_us"),
            }
        )
        .transform(events.add_states(live.transform(events.list_states), inputs.span.now_us))
    )


def build_latencies(messages: DataFrame, others: DataFrame, rows: DataFrame, inputs: ResultInputs) -> DataFrame:
    """Returns rows of metrics_latency. `others` has the installation's durations, and `rows` has rows of
    metrics_window."""
    span = inputs.span
    every = messages.transform(latency.list_durations).unionByName(others)
    measured = every.join(inputs.since, "queue_id").where("at_us >= since_us").drop("since_us")
    busy = latency.find_busy_hours(rows)
    summaries = latency.summarise_latencies(measured, span, inputs.messages, busy)
    found = inputs.checkpoint(
        summaries.transform(_drop_early(inputs.since)).transform(_select_only(select_groups(rows)))
    )
    windows_ = latency.complete(found, measured, span, inputs.messages, inputs.checkpoint)
    return windows_.transform(latency.name_columns)


def _drop_early(since: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Drops windows that start before their queue's time. The run did not read all messages of the dropped windows."""

    def transform(rows: DataFrame) -> DataFrame:
        return rows.join(since, "queue_id").where(F.col("starts_us") >= F.col("since_us")).select(*rows.columns)

    return transform


def select_groups(rows: DataFrame) -> DataFrame:
    """Returns the windows of groups in `rows`."""
    return rows.where(F.col("group_id") != WHOLE_QUEUE).select(*WINDOW)


def _select_only(groups: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """The filter selects whole queues and the groups' windows in one pass, because the rows are expensive to
    compute."""

    def transform(rows: DataFrame) -> DataFrame:
        joined = rows.join(groups.withColumn("is_kept", F.lit(True)), [*WINDOW], "left")
        return joined.where((F.col("group_id") == WHOLE_QUEUE) | F.col("is_kept")).select(*rows.columns)

    return transform
