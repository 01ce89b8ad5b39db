"""Describes the views that the job reads, and the pieces that the job reads concurrently.

A piece of the history is a range of recorded_at with about PIECE_BYTES of the table, which a transaction reads in a few
seconds. The starts of the ranges come from a sample of pages, so hours without messages have no piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import psycopg

from .address import TRANSACTION_SETTINGS

PIECE_BYTES: Final = 16 * 2**20  # 0.3 to 0.8 million messages
_SAMPLED_PAGES: Final = 400
_LIVE_READERS: Final = 8
_LIVE_ROWS: Final = 200_000  # The number of rows that justifies one more connection.


@dataclass(frozen=True, slots=True)
class Table:
    """A view that the job reads, with the names and types of its columns in Spark, and the SQL that selects the
    columns."""

    name: str
    columns: str  # the type in Spark
    select: str  # the expression in PostgreSQL
    where: str = "true"

    def query(self, condition: str) -> str:
        """Returns the SQL for the rows that meet a condition."""
        return f"select {self.select} from {self.name} where {self.where} and {condition}"


_MESSAGE: Final = (
    "queue_id int, group_id string, entered_at timestamp, first_received_at timestamp, finished_at timestamp, \
redelivered_at array<timestamp>, receive_count int, outcome string"
)
_SELECT: Final = (
    "queue_id, group_id, entered_at, first_received_at, finished_at, redelivered_at, receive_count, outcome"
)
FINISHED: Final = Table("queue.finished_message", _MESSAGE, _SELECT)
LIVE: Final = Table("queue.live_message", f"{_MESSAGE}, state string", f"{_SELECT}, state")
OPEN: Final = Table(
    "queue.metrics_open",
    "queue_id int, minute_at timestamp, counts string",
    "queue_id, minute_at, counts::text as counts",
)
_DURATION: Final = "measure string, began_at timestamp, ended_at timestamp"
DELIVERIES: Final = Table(
    "queue.finished_delivery",
    _DURATION,
    "'delivery' as measure, published_at as began_at, finished_at as ended_at",
    "outcome = 'delivered'",
)
FIRES: Final = Table(
    "queue.schedule_run",
    _DURATION,
    "'fire' as measure, scheduled_for as began_at, fired_at as ended_at",
    "fired_at is not null",
)


@dataclass(frozen=True, slots=True)
class Piece:
    """The rows that were recorded in [low, high), or since `low` if `high` is None."""

    low: datetime
    high: datetime | None

    @property
    def condition(self) -> str:
        below = "" if self.high is None else f" and recorded_at < '{self.high.isoformat()}'"
        return f"recorded_at >= '{self.low.isoformat()}'{below}"


def list_history_pieces(connection: psycopg.Connection[Any], table: str, since: datetime) -> list[Piece]:
    """Returns pieces of about the same size with all rows that were recorded since a time."""
    pages = _read_scalar(
        connection,
        "select coalesce(sum(pg_table_size(t.relid)), 0)::bigint / 8192"
        " from pg_partition_tree(%s::regclass) t where t.isleaf",
        table,
    )
    percent = min(100.0, 100 * _SAMPLED_PAGES / max(pages, 1))
    with connection.transaction():
        for statement in TRANSACTION_SETTINGS:
            connection.execute(statement.encode())
        sample = connection.execute(
            f"select recorded_at from {table} tablesample system ({percent}) order by 1".encode()
        ).fetchall()
    times = [at for (at,) in sample if at >= since]
    size = pages * 8192 * len(times) / max(len(sample), 1)
    return _list_ranges(since, times, int(size // PIECE_BYTES) + 1)


def _list_ranges(since: datetime, times: Sequence[datetime], wanted: int) -> list[Piece]:
    cuts = sorted({times[len(times) * k // wanted] for k in range(1, wanted)} if times else set())
    lows = [since, *(cut for cut in cuts if cut > since)]
    return [Piece(low, high) for low, high in zip(lows, [*lows[1:], None], strict=True)]


def list_live_pieces(connection: psycopg.Connection[Any]) -> list[str]:
    """Returns conditions on queue_id that divide all queues into equal parts. Returns one condition if the messages are
    few."""
    found = connection.execute("select queue_id from queue.queues order by 1").fetchall()
    ids = [queue_id for (queue_id,) in found]
    rows = _read_scalar(
        connection,
        "select sum(greatest(reltuples, 0))::bigint from pg_class"
        " where oid in ('queue.log'::regclass, 'queue.side'::regclass, 'queue.fifo_message'::regclass)",
    )
    step = -(-len(ids) // min(_LIVE_READERS, rows // _LIVE_ROWS + 1)) or 1
    starts = ids[::step][1:]
    lows = ["true", *(f"queue_id >= {start}" for start in starts)]
    highs = [*(f" and queue_id < {start}" for start in starts), ""]
    return [low + high for low, high in zip(lows, highs, strict=True)]


def _read_scalar(connection: psycopg.Connection[Any], query: str, *arguments: object) -> Any:
    row = connection.execute(query.encode(), arguments).fetchone()
    assert row is not None
    return row[0]
