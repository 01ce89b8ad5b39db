"""Describes the exported datasets, which do not contain message bodies. The columns have the same names as in the
source tables and views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from penstock_metrics.database.tables import Table

_INT: Final = pa.int32()
_COUNT: Final = pa.int64()
_TEXT: Final = pa.string()
_TIME: Final = pa.timestamp("us", tz="UTC")
_REAL: Final = pa.float64()
_SPARK: Final = {
    _INT: "int",
    _COUNT: "bigint",
    _TEXT: "string",
    _TIME: "timestamp",
    _REAL: "double",
    pa.list_(_INT): "array<int>",
    pa.list_(_COUNT): "array<bigint>",
    pa.list_(_TIME): "array<timestamp>",
}

# The name of the queue in rows without a queue. No queue can have this name, or a name that begins with DELETED.
INSTALLATION: Final = ".installation"
DELETED: Final = ".deleted-"
# A deleted queue keeps its name until a worker removes its rows.
_QUEUE: Final = {
    "queue_id": (_INT, "t.queue_id"),
    "queue_name": (
        _TEXT,
        (
            f"case when t.queue_id = 0 then '{INSTALLATION}' "
            f"else coalesce(q.name, split_part(d.arn, ':', 6), '{DELETED}' || t.queue_id) end"
        ),
    ),
    "queue_arn": (_TEXT, "coalesce(q.arn, d.arn)"),
}
_NAMED: Final = (
    " t left join queue.queues q on q.queue_id = t.queue_id left join queue.dropped_queue d on d.queue_id = t.queue_id"
)
Columns = dict[str, tuple[pa.DataType, str]]


def _keep_columns(kind: pa.DataType, *names: str) -> Columns:
    return {name: (kind, f"t.{name}") for name in names}


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset. The column `time` decides the day (UTC) of a row.

    `parts` lists the values of the column `part`. The export writes separate files for each part. `order` lists the
    columns that sort the rows of a file, so that equal rows make an equal file.
    """

    name: str
    source: str
    columns: Columns
    time: str
    parts: Sequence[int]
    order: Sequence[str]
    part: str | None = None

    @property
    def table(self) -> Table:
        """Returns the dataset as a table that the job can read."""
        kinds = ", ".join(f"{name} {_SPARK[kind]}" for name, (kind, _) in self.columns.items())
        select = ", ".join(f"{expression} as {name}" for name, (_, expression) in self.columns.items())
        return Table(f"{self.source}{_NAMED}", kinds, select)

    @property
    def schema(self) -> pa.Schema:
        """Returns the schema of the dataset's files."""
        return pa.schema([(name, kind) for name, (kind, _) in self.columns.items()])


_WINDOW: Final = (
    _keep_columns(_INT, "window_seconds")
    | _keep_columns(_TEXT, "zone", "group_id")
    | _keep_columns(_TIME, "starts_at", "ends_at")
)
WINDOWS: Final = Dataset(
    "windows",
    "queue.metrics_window",
    _QUEUE
    | _WINDOW
    | _keep_columns(_COUNT, "arrivals", "deliveries", "redeliveries", "deletions", "dead_lettered", "purged", "expired")
    | _keep_columns(_COUNT, "moved", "depth", "waiting", "received", "oldest_age_us", "visible", "in_flight", "delayed")
    | _keep_columns(_INT, "groups")
    | _keep_columns(_REAL, "top_group_share", "gini"),
    "starts_at",
    (60, 3600, 86400),
    ("queue_id", "group_id", "starts_at", "zone"),
    "window_seconds",
)
LATENCIES: Final = Dataset(
    "latencies",
    "queue.metrics_latency",
    _QUEUE
    | _WINDOW
    | _keep_columns(_TEXT, "measure")
    | _keep_columns(_COUNT, "count")
    | {"sum_us": (_REAL, "t.sum_us::float8")}  # Rounds values beyond 2^53 us, which is 285 years.
    | _keep_columns(_COUNT, "p50_us", "p90_us", "p95_us", "p99_us", "max_us")
    | _keep_columns(pa.list_(_INT), "sketch_buckets")
    | _keep_columns(pa.list_(_COUNT), "sketch_counts")
    | _keep_columns(_COUNT, "negative_count"),
    "starts_at",
    (60, 3600, 86400),
    ("queue_id", "group_id", "measure", "starts_at", "zone"),
    "window_seconds",
)
MESSAGES: Final = Dataset(
    "messages",
    "queue.finished_message",
    _QUEUE
    | _keep_columns(_TEXT, "group_id")
    | _keep_columns(_TIME, "sent_at", "entered_at", "first_received_at", "finished_at")
    | _keep_columns(pa.list_(_TIME), "redelivered_at")
    | _keep_columns(_INT, "receive_count")
    | _keep_columns(_TEXT, "entered_by", "outcome"),
    "finished_at",
    (0,),
    (
        "finished_at",
        "sent_at",
        "queue_id",
        "group_id",
        "entered_at",
        "first_received_at",
        "receive_count",
        "outcome",
        "entered_by",
        "redelivered_at",
    ),
)
DATASETS: Final = (WINDOWS, LATENCIES, MESSAGES)
