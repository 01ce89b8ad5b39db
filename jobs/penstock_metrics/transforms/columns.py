"""Defines shared parts of the transforms: names of columns, times as whole microseconds, and sums.

A message is (queue_id, group_id, entered_us, received_us, finished_us, redelivered_us, receive_count, outcome).
group_id is '' for a message without a group. entered_us is the time when the message came into this queue: its sending,
or its move into the dead-letter queue. received_us and finished_us are null until the message is received and ends.
redelivered_us is an array of the known times of the receives after the first, or null. Times are bigint microseconds
since 1970, UTC.
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
    """Returns the last multiple of `step_us` that is not after `at`. All numbers are whole."""
    return at - F.pmod(at, F.lit(step_us))


def round_down_to_minute(at: Column) -> Column:
    return round_down(at, MINUTE)


def list_sums(names: Iterable[str]) -> list[Column]:
    return [F.sum(name).alias(name) for name in names]


def add_whole_queues(names: Iterable[str]) -> Transform:
    """Appends a row for each whole queue to the rows of its groups. The result keeps only the columns of the group and
    those in `names`.
    """

    def transform(rows: DataFrame) -> DataFrame:
        kept = rows.select(*GROUP, *names)
        whole = kept.withColumn("group_id", F.lit(WHOLE_QUEUE))
        return whole.unionByName(kept.where(F.col("group_id") != WHOLE_QUEUE))

    return transform


def select_messages(raw: DataFrame) -> DataFrame:
    """Returns messages with times in microseconds, from rows of the views with timestamps."""
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
    """Returns the rows that `function` makes from the batches of each partition."""
    return rows.mapInArrow(function, from_arrow_schema(schema))
