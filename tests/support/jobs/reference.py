"""Runs reference.sql, which computes the tables of metrics in plain SQL, and compares the job's tables with them.

Also makes small frames of messages for tests of transforms. Times are minutes after BASE, which is a full hour.
"""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock_metrics.span import HOUR, MINUTE
from tests.support.jobs.history_generator import Span

Connection = psycopg.Connection[Any]
_SCRIPT = Path(__file__).with_name("reference.sql")
# The service's role disables query plans that a computation over millions of rows needs.
_PLANNER = (
    *(f"set local enable_{name} = on" for name in ("seqscan", "bitmapscan", "hashjoin", "mergejoin")),
    "set local plan_cache_mode = auto",
    "set local jit = off",
    "set local work_mem = '256MB'",
    "set local temp_buffers = '64MB'",
)


def compute(connection: Connection, from_at: datetime, to_at: datetime, timezone: str = "UTC") -> None:
    """Fills oracle_window and oracle_latency for the windows in [from_at, to_at), which are whole days in the zone.

    The caller opens a transaction, which must be repeatable read if others write at the same time. Each call needs a
    new transaction, because `rollback` removes the tables.
    """
    for statement in _PLANNER:
        connection.execute(statement.encode())
    for name, value in (("from_at", from_at.isoformat()), ("to_at", to_at.isoformat()), ("timezone", timezone)):
        connection.execute("select set_config(%s, %s, true)", (f"oracle.{name}", value))
    connection.execute(_SCRIPT.read_bytes())


BASE = 490_000 * HOUR  # 2025-11-24 16:00 UTC
MESSAGE = (
    "queue_id int, group_id string, entered_us bigint, received_us bigint, finished_us bigint,"
    " redelivered_us array<bigint>, receive_count int, outcome string"
)


def at(minutes: float) -> int:
    return BASE + round(minutes * MINUTE)


def message(
    entered: float,
    received: float | None = None,
    finished: float | None = None,
    outcome: str | None = None,
    *,
    group: str = "",
    count: int = 1,
    again: tuple[float, ...] | None = None,
) -> tuple[object, ...]:
    """Returns a row of queue 1. `outcome` defaults to deleted for a finished message. `again` lists the known
    redeliveries.
    """
    times = (None if m is None else at(m) for m in (received, finished))
    known = None if again is None else [at(minute) for minute in again]
    return (1, group, at(entered), *times, known, count, outcome or (None if finished is None else "deleted"))


def messages(spark: SparkSession, *rows: tuple[object, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), MESSAGE)


CHANGING_CLOCKS = Span(date(2026, 3, 28), 2, "Europe/Berlin")  # 24 and 23 hours
COUNTED = (
    "window_seconds, queue_id, group_id, starts_at, ends_at, arrivals, deliveries, redeliveries, deletions,"
    " dead_lettered, purged, expired, moved, depth, waiting, received, oldest_age_us,"
    " visible, in_flight, delayed, groups"
)
SHARES = "window_seconds, queue_id, starts_at, top_group_share, gini"
TIMED = (
    "window_seconds, queue_id, group_id, measure, starts_at, ends_at, count, sum_us, p50_us, p90_us, p95_us, p99_us,"
    " max_us, sketch_buckets, sketch_counts, negative_count"
)


def read_rows(connection: Connection, columns: str, table: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"select {columns} from {table} order by {columns}".encode()).fetchall()


def check_against_sql(connection: Connection, span: Span) -> None:
    """Compares all values. Floating-point numbers may differ by a billionth."""
    with connection.transaction(force_rollback=True):
        compute(connection, span.from_at, span.to_at, span.timezone)
        assert read_rows(connection, COUNTED, "queue.metrics_window") == read_rows(connection, COUNTED, "oracle_window")
        assert read_rows(connection, TIMED, "queue.metrics_latency") == read_rows(connection, TIMED, "oracle_latency")
        where = "where group_id = ''"
        mine, theirs = (
            read_rows(connection, SHARES, f"{t} {where}") for t in ("queue.metrics_window", "oracle_window")
        )
        assert mine == [(*row[:3], *(pytest.approx(value, abs=1e-9) for value in row[3:])) for row in theirs]
