"""Defines the parts that the transforms share, such as names of columns, rounding of times, and sums.

The list below has the columns of a message. Times are bigint microseconds since 1970.

    queue_id
    group_id         '' without a group
    entered_us       when the message was sent, or moved to the dead-letter queue
    received_us      the first receive, or null
    finished_us      the end, or null
    redelivered_us   the known times of later receives, or null
    receive_count
    outcome
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from penstock_metrics.span import MINUTE

Transform = Callable[[DataFrame], DataFrame]
Checkpoint = Callable[[DataFrame], DataFrame]
Batches = Iterator[pa.RecordBatch]

WHOLE_QUEUE: Final = ""
GROUP: Final = ("queue_id", "group_id")
WINDOW: Final = ("window_seconds", "queue_id", "group_id", "starts_us", "ends_us")
ENDINGS: Final = {
    "deleted": "deletions",
    "dead_lettered": "dead_lettered",
    "purged": "purged",
    "expired": "expired",
    "moved": "moved",
}
COUNTS: Final = ("arrivals", "deliveries", "redeliveries", *ENDINGS.values())


def round_down(at: Column, step_us: int) -> Column:
    """Returns the last multiple of `step_us` up to `at`. The arithmetic uses only whole numbers."""
    return at - F.pmod(at, F.lit(step_us))


def round_down_to_minute(at: Column) -> Column:
    return round_down(at, MINUTE)


def list_sums(names: Iterable[str]) -> list[Column]:
    return [F.sum(name).alias(name) for name in names]


def add_whole_queues(names: Iterable[str]) -> Transform:
    """Duplicates each row for the whole queue. The result has the columns of GROUP and `names`."""

    def transform(rows: DataFrame) -> DataFrame:
        kept = rows.select(*GROUP, *names)
        whole = kept.withColumn("group_id", F.lit(WHOLE_QUEUE))
        return whole.unionByName(kept.where(F.col("group_id") != WHOLE_QUEUE))

    return transform


def select_messages(raw: DataFrame) -> DataFrame:
    """Returns messages with times in microseconds from rows of the views."""
    return raw.select(
        "queue_id",
        F.coalesce("group_id", F.lit(WHOLE_QUEUE)).alias("group_id"),
        F.unix_micros("entered_at").alias("entered_us"),
        F.unix_micros("first_received_at").alias("received_us"),
        F.unix_micros("finished_at").alias("finished_us"),
        F.transform("redelivered_at", F.unix_micros).alias("redelivered_us"),
        "receive_count",
        "outcome",
        *(name for name in ("state",) if name in raw.columns),
    )


def map_batches(rows: DataFrame, function: Callable[[Batches], Batches], schema: pa.Schema) -> DataFrame:
    """Applies `function` to the batches of each partition."""
    return rows.mapInArrow(function, from_arrow_schema(schema))
