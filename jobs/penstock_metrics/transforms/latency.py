"""Computes the latencies of windows, with count, sum, exact percentiles, and sketches with which readers merge windows.

A percentile is the nearest rank, as in SQL's percentile_disc. A partition has the durations of a queue's hour. numpy
sorts and counts these durations (`durations`) and merges pieces (`pieces`).

    measured ─ by queue and hour ─ summaries ─┬─ whole windows
        │                                     └─ pieces ─ by window ─ merged ─┬─ few durations: complete
        └─ durations in the buckets of the wanted ranks, counted by value ─ ranked ─┴─ many

No process needs memory for all durations of a window. Several partitions share an hour with more than BUSY_HOUR
durations, and a process reads a partition in chunks. For windows with too many values to transfer, Spark finds the
ranks from the frequency of each value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from penstock_metrics.span import HOUR, DaySpan

from .columns import GROUP, WHOLE_QUEUE, Checkpoint, Transform, map_batches, round_down
from .durations import CHUNK, SUMMARY, build_summarizer
from .keys import MEASURES
from .pieces import FOUND, MERGED, WANTED, find_candidates, merge_pieces
from .sketch import PERCENTILES

BUSY_HOUR: Final = CHUNK // 2  # The maximum number of durations of a queue and hour in a partition.
# The average number of durations in a partition. With this average, most partitions are one chunk.
_PARTITION_DURATIONS: Final = CHUNK // 2
_EACH: Final = 3  # The maximum number of durations of a message.
_KEY: Final = ("window_seconds", "queue_id", "group_id", "measure", "starts_us")
_PERCENTILES: Final = tuple(f"p{percent}_us" for percent in PERCENTILES)


def list_durations(messages: DataFrame) -> DataFrame:
    """Returns the durations wait, processing and lag: (queue_id, group_id, measure, at_us, us). us may be negative."""
    entered, received, finished = (F.col(name) for name in ("entered_us", "received_us", "finished_us"))
    deleted = F.when(F.col("outcome") == "deleted", finished)
    measured = F.array(
        _compute_duration("wait", received, entered),
        _compute_duration("processing", deleted, received),
        _compute_duration("lag", deleted, entered),
    )
    exploded = messages.select(*GROUP, F.explode(measured).alias("d")).select(*GROUP, "d.*")
    return exploded.where("us is not null")


def sum_installation(rows: DataFrame) -> DataFrame:
    """Returns the durations fire and delivery, which belong to no queue, from (measure, began_at, ended_at)."""
    end, begin = F.unix_micros("ended_at"), F.unix_micros("began_at")
    queue, group = F.lit(0).alias("queue_id"), F.lit(WHOLE_QUEUE).alias("group_id")
    measure = F.when(F.col("measure") == "fire", _number("fire")).otherwise(_number("delivery"))
    return rows.select(queue, group, measure.alias("measure"), end.alias("at_us"), (end - begin).alias("us"))


def find_busy_hours(rows: DataFrame, most: int = BUSY_HOUR) -> list[tuple[int, int, int]]:
    """Returns rows (queue, start of the hour, parts) for hours with more than `most` durations in metrics_window."""
    first = F.col("deliveries") - F.col("redeliveries")
    number = (first + (_EACH - 1) * F.col("deletions")).alias("number")
    hours = rows.where((F.col("window_seconds") == 3600) & (F.col("group_id") == WHOLE_QUEUE))
    busy = hours.select("queue_id", "starts_us", number).where(F.col("number") > most).collect()
    return [(row["queue_id"], row["starts_us"], math.ceil(row["number"] / most)) for row in busy]


def summarise_latencies(
    measured: DataFrame, span: DaySpan, messages: int, busy: Sequence[tuple[int, int, int]] = ()
) -> DataFrame:
    """Returns SUMMARY rows of minute and hour windows, and of pieces.

    `messages` is the approximate number of messages. Several partitions share the durations of `busy` hours.
    """
    low, high = min(span.bounds(3600)[0], span.start_us), max(span.bounds(3600)[1], span.end_us)
    near = measured.where((F.col("at_us") >= low) & (F.col("at_us") < high))
    parted = near.withColumn("hour_us", round_down(F.col("at_us"), HOUR)).transform(_add_parts(busy))
    by_hour = parted.repartition(_count_partitions(near, messages), "queue_id", "hour_us", "part").drop("hour_us")
    return map_batches(by_hour, build_summarizer(span), SUMMARY)


def _count_partitions(rows: DataFrame, messages: int) -> int:
    cores = rows.sparkSession.sparkContext.defaultParallelism
    return max(cores, math.ceil(messages * _EACH / _PARTITION_DURATIONS))


def _add_parts(busy: Sequence[tuple[int, int, int]]) -> Transform:
    """Adds the column `part`, which is 0, or a number from 1 in a busy hour. Equal rows have the same number."""

    def transform(rows: DataFrame) -> DataFrame:
        if not busy:
            return rows.withColumn("part", F.lit(0))
        hours = rows.sparkSession.createDataFrame(list(busy), "queue_id int, hour_us bigint, parts int")
        joined = rows.join(F.broadcast(hours), ["queue_id", "hour_us"], "left")
        number = F.pmod(F.hash("group_id", "at_us", "us"), F.col("parts")) + 1
        return joined.withColumn("part", F.coalesce(number, F.lit(0))).drop("parts")

    return transform


def complete(found: DataFrame, measured: DataFrame, span: DaySpan, messages: int, checkpoint: Checkpoint) -> DataFrame:
    """Returns all windows from SUMMARY rows of windows and pieces. `checkpoint` stores rows that two computations
    use."""
    pieces = found.where("not whole").repartition(_count_partitions(found, messages), *_KEY)
    windows = checkpoint(map_batches(pieces, merge_pieces(span), MERGED))
    many = windows.where("rank_buckets is not null")
    wanted = many.select(*_KEY, F.explode("rank_buckets").alias("bucket")).distinct().collect()
    if wanted:
        columns = zip(*wanted, strict=True)
        buckets = pa.table(
            [pa.array(column, field.type) for column, field in zip(columns, WANTED, strict=True)], WANTED
        )
        values = map_batches(measured, find_candidates(span, buckets), FOUND)
        ranked = F.broadcast(checkpoint(many.transform(_compute_percentiles(values))))
        windows = windows.join(ranked, [*_KEY], "left").withColumns(
            {name: F.coalesce(f"found_{name}", name) for name in _PERCENTILES}
        )
    columns_ = [name for name in MERGED.names if not name.startswith("rank_")]
    return found.where("whole").select(*columns_).unionByName(windows.select(*columns_))


def _compute_percentiles(found: DataFrame) -> Transform:
    """Computes the columns found_p50_us, found_p90_us and so on, for the windows with ranks in buckets. `found` has the
    values in the buckets."""
    values = found.groupBy(*_KEY, F.col("bucket").alias("rank_buckets"), "us").agg(F.sum("number").alias("number"))
    in_order = Window.partitionBy(*_KEY, "rank_buckets").orderBy("us")
    up_to = values.withColumn("up_to", F.sum("number").over(in_order))

    def transform(windows: DataFrame) -> DataFrame:
        ranks = F.arrays_zip(F.array(*map(F.lit, _PERCENTILES)).alias("name"), "rank_buckets", "rank_places")
        wanted = windows.select(*_KEY, F.inline(ranks))
        reached = wanted.join(up_to, [*_KEY, "rank_buckets"]).where("up_to >= rank_places")
        columns = (F.min(F.when(F.col("name") == name, F.col("us"))).alias(f"found_{name}") for name in _PERCENTILES)
        return reached.groupBy(*_KEY).agg(*columns)

    return transform


def name_columns(summaries_: DataFrame) -> DataFrame:
    """Returns rows of metrics_latency."""
    measure = F.element_at(F.array(*map(F.lit, MEASURES)), F.col("measure") + 1)
    total = F.col("seconds").cast("decimal(20,0)") * 1_000_000 + F.col("rest_us")
    return summaries_.withColumns({"measure": measure, "sum_us": total})


def _number(measure: str) -> Column:
    return F.lit(MEASURES.index(measure)).cast("tinyint")


def _compute_duration(measure: str, end: Column, begin: Column) -> Column:
    return F.struct(_number(measure).alias("measure"), end.alias("at_us"), (end - begin).alias("us"))
