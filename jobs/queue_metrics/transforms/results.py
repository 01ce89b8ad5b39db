"""The results as DataFrames, from messages: what is put together from the transforms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.queue_metrics.span import Span

from . import events, latency, occupancy
from .columns import GROUP, WHOLE_QUEUE, WINDOW, Cut, with_whole_queues
from .windows import in_windows

_CUBE = ("sent_us", "received_us", "finished_us", "outcome", "messages", "oldest_us", "again")


@dataclass(frozen=True, slots=True)
class Frame:
    """What all results need. `cut`: computes and stores what is used twice. `messages`: about how many."""

    days: DataFrame
    span: Span
    cut: Cut
    messages: int


def windows(messages: DataFrame, live: DataFrame, frame: Frame) -> DataFrame:
    """Rows of metrics_window: whole queues, and their busiest groups."""
    cube = messages.transform(events.occurrences).transform(with_whole_queues(_CUBE))
    cube = frame.cut(cube.transform(events.put_together))
    changed = frame.cut(cube.transform(occupancy.changes))
    happened = cube.transform(events.happenings(frame.span.now_us)).transform(
        in_windows(frame.days, frame.span)
    )
    quiet = changed.where(F.col("group_id") == WHOLE_QUEUE).transform(occupancy.held(frame.days, frame.span))
    counts = frame.cut(happened.unionByName(quiet).transform(events.totals))
    rows = frame.cut(
        counts.where(F.col("group_id") == WHOLE_QUEUE).unionByName(counts.transform(events.busiest))
    )
    moments = frame.cut(rows.select(*GROUP, "ends_us").distinct())
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
        .transform(events.with_states(live.transform(events.states), frame.span.now_us))
    )


def latencies(messages: DataFrame, others: DataFrame, named: DataFrame, frame: Frame) -> DataFrame:
    """Rows of metrics_latency. `others`: durations of the installation; `named`: the windows of groups that count."""
    measured = messages.transform(latency.durations).unionByName(others)
    found = frame.cut(latency.summaries(measured, frame.span, frame.messages))
    is_day = F.col("window_seconds") == 86400
    days = latency.of_days(found.where(is_day), measured, frame.span, frame.cut)
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
