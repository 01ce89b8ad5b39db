"""Latencies of windows: count, sum, exact percentiles, and sketches with which windows can be merged.

A percentile is that of nearest rank, as percentile_disc of SQL. Spark puts the durations of an hour into one partition;
numpy sorts and counts them (`durations`), and merges pieces of days (`days`).

    measured ─ by queue and hour ─ summaries ─┬─ minutes, hours
        │                                     └─ pieces ─ by queue and day ─ merged days ─┬─ few durations: complete
        └────────── those in the buckets of the wanted ranks ──────────────── ranked ─────┴─ many
"""

from __future__ import annotations

import math
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock_metrics.span import HOUR, Span

from .columns import GROUP, WHOLE_QUEUE, Checkpoint, Transform, floor_to, mapped
from .days import DAY, FOUND, candidates_in, merged_days
from .durations import SUMMARY, summaries_of
from .keys import MEASURES
from .sketch import PERCENTILES

_PARTITION_MESSAGES: Final = 500_000  # some 300 MB of a Python process
_DAY: Final = ("queue_id", "group_id", "measure", "starts_us")
_PERCENTILES: Final = tuple(f"p{percent}_us" for percent in PERCENTILES)


def durations(messages: DataFrame) -> DataFrame:
    """(queue_id, group_id, measure, at_us, us) for each message: wait, processing, lag. us may be negative."""
    entered, received, finished = (F.col(name) for name in ("entered_us", "received_us", "finished_us"))
    deleted = F.when(F.col("outcome") == "deleted", finished)
    measured = F.array(
        _duration("wait", received, entered),
        _duration("processing", deleted, received),
        _duration("lag", deleted, entered),
    )
    exploded = messages.select(*GROUP, F.explode(measured).alias("d")).select(*GROUP, "d.*")
    return exploded.where("us is not null")


def of_installation(rows: DataFrame) -> DataFrame:
    """Durations from rows (measure, began_at, ended_at) that belong to no queue: fire, webhook."""
    end, begin = F.unix_micros("ended_at"), F.unix_micros("began_at")
    queue, group = F.lit(0).alias("queue_id"), F.lit(WHOLE_QUEUE).alias("group_id")
    measure = F.when(F.col("measure") == "fire", _number("fire")).otherwise(_number("webhook"))
    return rows.select(queue, group, measure.alias("measure"), end.alias("at_us"), (end - begin).alias("us"))


def summaries(measured: DataFrame, span: Span, messages: int) -> DataFrame:
    """SUMMARY of windows of a minute and an hour, and of pieces of days. `messages`: their approximate number."""
    low, high = min(span.bounds(3600)[0], span.start_us), max(span.bounds(3600)[1], span.end_us)
    near = measured.where((F.col("at_us") >= low) & (F.col("at_us") < high))
    cores = measured.sparkSession.sparkContext.defaultParallelism
    partitions = max(cores, math.ceil(messages / _PARTITION_MESSAGES))
    by_hour = near.repartition(partitions, "queue_id", floor_to(F.col("at_us"), HOUR))
    return mapped(by_hour, summaries_of(span), SUMMARY)


def of_days(pieces: DataFrame, measured: DataFrame, span: Span, checkpoint: Checkpoint) -> DataFrame:
    """Complete windows of days. `checkpoint`: computes and stores rows that are used twice."""
    days = checkpoint(mapped(pieces.repartition("queue_id", "starts_us"), merged_days(span), DAY))
    many = days.where("rank_buckets is not null")
    wanted = many.select(*_DAY, F.explode("rank_buckets")).distinct().collect()
    if not wanted:
        return days
    found = mapped(measured, candidates_in(span, [tuple(row) for row in wanted]), FOUND)
    joined = days.join(F.broadcast(checkpoint(many.transform(_percentiles_in(found)))), [*_DAY], "left")
    return joined.withColumns({name: F.coalesce(f"found_{name}", name) for name in _PERCENTILES})


def _percentiles_in(found: DataFrame) -> Transform:
    """For windows with ranks in buckets: their key, and found_p50_us … from `found`, the durations of these buckets."""
    in_order = F.array_sort(F.flatten(F.collect_list("us"))).alias("us")
    buckets = found.groupBy(*_DAY, F.col("bucket").alias("rank_buckets")).agg(in_order)

    def transform(windows: DataFrame) -> DataFrame:
        ranks = F.arrays_zip(F.array(*map(F.lit, _PERCENTILES)).alias("name"), "rank_buckets", "rank_places")
        values = windows.select(*_DAY, F.inline(ranks)).join(buckets, [*_DAY, "rank_buckets"])
        value = F.element_at("us", F.col("rank_places").cast("int"))
        columns = (
            F.max(F.when(F.col("name") == name, value)).alias(f"found_{name}") for name in _PERCENTILES
        )
        return values.groupBy(*_DAY).agg(*columns)

    return transform


def named(summaries_: DataFrame) -> DataFrame:
    """Rows of metrics_latency."""
    measure = F.element_at(F.array(*map(F.lit, MEASURES)), F.col("measure") + 1)
    total = F.col("seconds").cast("decimal(20,0)") * 1_000_000 + F.col("rest_us")
    return summaries_.withColumns({"measure": measure, "sum_us": total})


def _number(measure: str) -> Column:
    return F.lit(MEASURES.index(measure)).cast("tinyint")


def _duration(measure: str, end: Column, begin: Column) -> Column:
    return F.struct(_number(measure).alias("measure"), end.alias("at_us"), (end - begin).alias("us"))
