"""Assigns rows to the minute, the hour and the calendar day that contain their time."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock_metrics.span import HOUR, MINUTE, DaySpan

from .columns import Transform, round_down

_CALENDAR = "slot_us bigint, day_starts_us bigint, day_ends_us bigint"


def build_calendar(session: SparkSession, span: DaySpan) -> DataFrame:
    """Returns the day of each slot. A day has at most about a hundred slots, so the rows are few enough to
    broadcast."""
    return F.broadcast(session.createDataFrame(list(span.slots()), _CALENDAR))


def assign_windows(days: DataFrame, span: DaySpan, at: str = "at_us") -> Transform:
    """Repeats each row for each window of the span that contains the row's time, and adds window_seconds, starts_us and
    ends_us."""

    def transform(rows: DataFrame) -> DataFrame:
        low = min(span.bounds(3600)[0], span.start_us)
        high = max(span.bounds(3600)[1], span.end_us)
        near = rows.where((F.col(at) >= low) & (F.col(at) < high))
        slotted = near.withColumn("slot_us", round_down(F.col(at), span.slot_us)).join(days, "slot_us", "left")
        around = F.array(*(_build_window(seconds, F.col(at)) for seconds in (60, 3600, 86400)))
        return (
            slotted.withColumn("w", F.explode(around))
            .select(*(name for name in rows.columns if name != at), "w.*")
            .where(is_computed(span))
        )

    return transform


def is_computed(span: DaySpan) -> Column:
    """Returns the condition for windows that belong to the span and have begun."""
    starts, conditions = F.col("starts_us"), []
    for seconds in (60, 3600, 86400):
        low, high = span.bounds(seconds)
        conditions.append((F.col("window_seconds") == seconds) & (starts >= low) & (starts < high))
    return (conditions[0] | conditions[1] | conditions[2]) & (starts <= span.now_us)


def _build_window(seconds: int, at: Column) -> Column:
    if seconds == 86400:
        return _build_bounds(seconds, F.col("day_starts_us"), F.col("day_ends_us"))
    step = HOUR if seconds == 3600 else MINUTE
    return _build_bounds(seconds, round_down(at, step), round_down(at, step) + step)


def _build_bounds(seconds: int, starts: Column, ends: Column) -> Column:
    return F.struct(F.lit(seconds).alias("window_seconds"), starts.alias("starts_us"), ends.alias("ends_us"))
