"""The rows of queue.metrics_* as DataFrames, computed from messages by the transforms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock_metrics.span import Span

from . import events, latency, occupancy
from .columns import GROUP, WHOLE_QUEUE, WINDOW, Checkpoint, with_whole_queues
from .windows import in_windows

_CUBE = (
    "entered_us", "received_us", "finished_us", "redelivered_us", "outcome", "messages", "oldest_us", "again"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ResultInputs:
    """Inputs of all results. `checkpoint`: stores rows that are used twice. `messages`: their approximate number."""

    days: DataFrame
    span: Span
    checkpoint: Checkpoint
    messages: int


def windows(messages: DataFrame, live: DataFrame, inputs: ResultInputs) -> DataFrame:
    """Rows of metrics_window: whole queues, and their busiest groups."""
    cube = messages.transform(events.grouped_by_minutes).transform(with_whole_queues(_CUBE))
    cube = inputs.checkpoint(cube.transform(events.summed_by_minutes))
    changed = inputs.checkpoint(cube.transform(occupancy.changes))
    happened = cube.transform(events.counts_by_minute(inputs.span.now_us)).transform(
        in_windows(inputs.days, inputs.span)
    )
    quiet = changed.where(F.col("group_id") == WHOLE_QUEUE).transform(
        occupancy.windows_with_messages(inputs.days, inputs.span)
    )
    counts = inputs.checkpoint(happened.unionByName(quiet).transform(events.totals))
    rows = inputs.checkpoint(
        counts.where(F.col("group_id") == WHOLE_QUEUE).unionByName(counts.transform(events.busiest))
    )
    moments = inputs.checkpoint(rows.select(*GROUP, "ends_us").distinct())
    named = moments.select(*GROUP).distinct()
    at = [*GROUP, "ends_us"]
    return (
        rows.join(changed.join(named, [*GROUP], "left_semi").transform(occupancy.levels(moments)), at)
        .join(cube.join(named, [*GROUP], "left_semi").transform(occupancy.oldest(moments)), at)
        .join(counts.transform(events.skew), [*WINDOW], "left")
        .withColumns(
            {
                "received": F.col("depth") - F.col("waiting"),
                "groups": F.when(F.col("group_id") == WHOLE_QUEUE, F.coalesce("groups", F.lit(0))),
                "oldest_age_us": F.col("ends_us") - F.col("oldest_us"),
            }
        )
        .transform(events.with_states(live.transform(events.states), inputs.span.now_us))
    )


def latencies(messages: DataFrame, others: DataFrame, named: DataFrame, inputs: ResultInputs) -> DataFrame:
    """Rows of metrics_latency. `others`: durations of the installation; `named`: the windows of groups to keep."""
    measured = messages.transform(latency.durations).unionByName(others)
    found = inputs.checkpoint(latency.summaries(measured, inputs.span, inputs.messages))
    is_day = F.col("window_seconds") == 86400
    days = latency.of_days(found.where(is_day), measured, inputs.span, inputs.checkpoint)
    complete = found.where(~is_day).unionByName(days, allowMissingColumns=True)
    return complete.transform(_only(named)).transform(latency.named)


def groups_of(rows: DataFrame) -> DataFrame:
    """The windows of groups that are in metrics_window."""
    return rows.where(F.col("group_id") != WHOLE_QUEUE).select(*WINDOW)


def _only(named: DataFrame) -> Callable[[DataFrame], DataFrame]:
    def transform(rows: DataFrame) -> DataFrame:
        whole = rows.where(F.col("group_id") == WHOLE_QUEUE)
        groups = rows.where(F.col("group_id") != WHOLE_QUEUE).join(named, [*WINDOW], "left_semi")
        return whole.unionByName(groups)

    return transform
