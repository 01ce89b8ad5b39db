"""How long it took, in windows: count, sum, exact percentiles, and sketches to merge windows.

A percentile is that of nearest rank, as percentile_disc of SQL. Nothing is sorted as a whole to find it: a value falls
into a bucket of the sketch, 4 % wide; counting tells which bucket holds a rank, and mostly its least or greatest value
is the one. Only the values of the buckets that are left are looked at again (`candidates`) and ranked.

    durations(messages) -> buckets -> in windows -> ranked -> open_ranks -> candidates -> found
                                                       └────────────────────────────────────┴-> summaries
"""

from __future__ import annotations

import math
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from .columns import GROUP, WHOLE_QUEUE, WINDOW, Transform, minute_of, sums

GAMMA: Final = 1.02 / 0.98  # DDSketch (Masson, Rim, Lee 2019) with a relative error of 2 %
BELOW_ALL: Final = -(2**31)  # the bucket of 0 and of negative durations
PERCENTILES: Final = (50, 90, 95, 99)
_KEY: Final = (*WINDOW, "measure")
# A sum of microseconds can exceed 64 bits, and decimals are slow: whole seconds and what is left are added apart.
_ADDED: Final = ("seconds", "rest_us", "negative")
COUNTED: Final = ("measure", "at_us", "bucket", "n", "least", "most", *_ADDED)


def durations(messages: DataFrame) -> DataFrame:
    """(queue_id, group_id, measure, at_us, us) for each message: wait, processing, lag. us may be negative."""
    sent, received, finished = (F.col(name) for name in ("sent_us", "received_us", "finished_us"))
    deleted = F.when(F.col("outcome") == "deleted", finished)
    measured = F.array(
        _duration("wait", received, sent),
        _duration("processing", deleted, received),
        _duration("lag", deleted, sent),
    )
    exploded = messages.select(*GROUP, F.explode(measured).alias("d")).select(*GROUP, "d.*")
    return exploded.where("us is not null")


def of_installation(rows: DataFrame) -> DataFrame:
    """The same from rows (measure, began_at, ended_at) that belong to no queue: fire, webhook."""
    end, begin = F.unix_micros("ended_at"), F.unix_micros("began_at")
    queue, group = F.lit(0).alias("queue_id"), F.lit(WHOLE_QUEUE).alias("group_id")
    return rows.select(queue, group, "measure", end.alias("at_us"), (end - begin).alias("us"))


def with_buckets(measured: DataFrame) -> DataFrame:
    """Negative durations become 0 and are marked; bucket: of the sketch."""
    us = F.greatest(F.col("us"), F.lit(0).cast("bigint"))
    clean = measured.withColumns({"negative": (F.col("us") < 0).cast("bigint"), "us": us})
    return clean.withColumn("bucket", bucket_of(F.col("us")))


def bucket_of(us: Column) -> Column:
    """The bucket i with gamma^(i-1) < us <= gamma^i."""
    index = F.ceil(F.log(us.cast("double")) / F.lit(math.log(GAMMA))).cast("int")
    return F.when(us > 0, index).otherwise(F.lit(BELOW_ALL))


def buckets(measured: DataFrame) -> DataFrame:
    """Counted by minute (at_us) and bucket, from with_buckets."""
    second = F.lit(1_000_000)
    split = measured.withColumns({"seconds": F.expr("us div 1000000"), "rest_us": F.pmod("us", second)})
    return split.groupBy(*GROUP, "measure", minute_of(F.col("at_us")).alias("at_us"), "bucket").agg(
        F.count("*").alias("n"),
        F.min("us").alias("least"),
        F.max("us").alias("most"),
        *sums(_ADDED),
    )


def merged(counted: DataFrame) -> DataFrame:
    """Buckets of the minutes of a window put together."""
    return counted.groupBy(*_KEY, "bucket").agg(
        F.sum("n").alias("n"),
        F.min("least").alias("least"),
        F.max("most").alias("most"),
        *sums(_ADDED),
    )


def ranked(buckets_of_windows: DataFrame) -> DataFrame:
    """For each bucket and percentile NN: rNN, its place in the bucket (1: the least value); null: it is elsewhere."""
    key = Window.partitionBy(*_KEY)
    up_to = F.sum("n").over(key.orderBy("bucket").rowsBetween(Window.unboundedPreceding, Window.currentRow))
    counted = buckets_of_windows.withColumns({"up_to": up_to, "all": F.sum("n").over(key)})
    return counted.withColumns({f"r{percent}": _place(percent) for percent in PERCENTILES}).drop(
        "up_to", "all"
    )


def open_ranks(places: DataFrame) -> DataFrame:
    """The buckets in which a wanted value is neither the least nor the greatest: (key, bucket, places)."""
    unknown = [F.when(_known(percent).isNull(), F.col(f"r{percent}")) for percent in PERCENTILES]
    wanted = F.array_compact(F.array(*unknown)).alias("places")
    return places.select(*_KEY, "bucket", wanted).where(F.size("places") > 0)


def candidates(wanted: DataFrame) -> Transform:
    """Of durations in windows, those that open_ranks asks for: (key, bucket, place, value)."""

    def transform(measured: DataFrame) -> DataFrame:
        order = Window.partitionBy(*_KEY, "bucket").orderBy("us")
        joined = measured.join(wanted, [*_KEY, "bucket"]).withColumn("place", F.row_number().over(order))
        hits = joined.where(F.array_contains("places", F.col("place").cast("bigint")))
        return hits.select(
            *_KEY, "bucket", F.col("place").cast("bigint").alias("place"), F.col("us").alias("value")
        )

    return transform


def summaries(found: DataFrame) -> Transform:
    """One row a window and measure, from ranked; `found`: what candidates found."""

    def transform(places: DataFrame) -> DataFrame:
        by_bucket = found.groupBy(*_KEY, "bucket").agg(
            F.map_from_entries(F.collect_list(F.struct("place", "value"))).alias("found")
        )
        joined = places.join(by_bucket, [*_KEY, "bucket"], "left")
        total = F.sum("seconds").cast("decimal(20,0)") * 1_000_000 + F.sum("rest_us")
        pairs = F.sort_array(F.collect_list(F.struct("bucket", "n")))
        rows = joined.groupBy(*_KEY).agg(
            F.sum("n").alias("count"),
            total.alias("sum_us"),
            *(F.max(_value(percent)).alias(f"p{percent}_us") for percent in PERCENTILES),
            F.max("most").alias("max_us"),
            pairs.alias("pairs"),
            F.sum("negative").alias("negative_count"),
        )
        sketch = {"sketch_buckets": F.col("pairs.bucket"), "sketch_counts": F.col("pairs.n")}
        return rows.withColumns(sketch).drop("pairs")

    return transform


def _duration(measure: str, end: Column, begin: Column) -> Column:
    return F.struct(F.lit(measure).alias("measure"), end.alias("at_us"), (end - begin).alias("us"))


def _place(percent: int) -> Column:
    rank = F.expr(f"(`all` * {percent} + 99) div 100")
    before = F.col("up_to") - F.col("n")
    return F.when((before < rank) & (rank <= F.col("up_to")), rank - before)


def _known(percent: int) -> Column:
    """The value at the place, where it can be told without looking at the values again; 0 for no place in here."""
    place, least, most = F.col(f"r{percent}"), F.col("least"), F.col("most")
    ends = F.when((place == 1) | (least == most), least).when(place == F.col("n"), most)
    return F.when(place.isNull(), F.lit(0).cast("bigint")).otherwise(ends)


def _value(percent: int) -> Column:
    place = F.col(f"r{percent}")
    looked_up = F.when(F.col("found").isNotNull(), F.try_element_at("found", place))
    return F.when(place.isNotNull(), F.coalesce(_known(percent), looked_up))
