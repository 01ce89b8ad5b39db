"""Writes the metrics job's rows for tests from exact durations, in the documented format.

The bucket of x in a sketch is ceil(log(x) / log(gamma)) (Masson, Rim, Lee: "DDSketch", VLDB 2019).
"""

import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from penstock.verdicts import Minute

GAMMA = 1.02 / 0.98
START_OF_RUNS = datetime(2026, 3, 28, tzinfo=UTC)
ZERO_BUCKET = -(2**31)
COUNTS = ("arrivals", "deliveries", "redeliveries", "deletions", "dead_lettered", "purged", "expired", "moved", "depth",
          "waiting", "received")  # fmt: skip
Connection = psycopg.Connection[Any]


def nearest_rank(values: Sequence[int], share: float) -> int:
    """Returns the smallest value such that at least the given share of all values is not larger."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(round(share * len(ordered), 9)) - 1)]


def bucket(value: int) -> int:
    return ZERO_BUCKET if value <= 0 else math.ceil(math.log(value) / math.log(GAMMA))


def insert(db: Connection, table: str, **columns: Any) -> None:
    names, marks = ", ".join(columns), ", ".join(f"%({name})s" for name in columns)
    db.execute(f"insert into queue.{table} ({names}) values ({marks})".encode(), columns)


def add_window(
    db: Connection, queue_id: int, starts_at: datetime, seconds: int = 60, group_id: str = "", **columns: Any
) -> None:
    """Adds one window. Missing counts are 0. A window of a day needs a `zone`."""
    counts = dict.fromkeys(COUNTS, 0)
    ends_at = starts_at + timedelta(seconds=seconds)
    place = {"window_seconds": seconds, "queue_id": queue_id, "group_id": group_id}
    insert(db, "metrics_window", **place, starts_at=starts_at, ends_at=ends_at, **{**counts, **columns})


def add_latency(
    db: Connection,
    queue_id: int,
    starts_at: datetime,
    durations: Sequence[int],
    measure: str = "lag",
    seconds: int = 60,
    group_id: str = "",
    **columns: Any,
) -> None:
    """Adds the durations in one window, in microseconds. Durations below 0 count as 0. A window of a day needs a
    `zone`.
    """
    values = [max(0, value) for value in durations]
    sketch = sorted(Counter(map(bucket, values)).items())
    percentiles = {f"p{p}_us": nearest_rank(values, p / 100) for p in (50, 90, 95, 99)}
    insert(
        db, "metrics_latency", window_seconds=seconds, queue_id=queue_id, group_id=group_id, measure=measure,
        starts_at=starts_at, ends_at=starts_at + timedelta(seconds=seconds), count=len(values), sum_us=sum(values),
        max_us=max(values), negative_count=sum(value < 0 for value in durations), **percentiles,
        sketch_buckets=[key for key, _ in sketch], sketch_counts=[count for _, count in sketch], **columns,
    )  # fmt: skip


def add_forecast(db: Connection, queue_id: int, computed_at: datetime, **columns: Any) -> None:
    """Adds a forecast: a backlog of 600 messages shrinks by 50 in 5 minutes, and reaches its retention period in two
    days.
    """
    known = {
        "arrival_rate": 1.5,
        "drain_rate": 2.0,
        "backlog": 600,
        "drain_seconds": 1200.0,
        "forecast_at": [computed_at + timedelta(minutes=5 * n) for n in range(1, 13)],
        "forecast": [600.0 - 50 * n for n in range(1, 13)],
        "forecast_low": [max(0.0, 500.0 - 50 * n) for n in range(1, 13)],
        "forecast_high": [700.0 - 25 * n for n in range(1, 13)],
        "method": "daily_fading",
        "interval_level": 0.8,
        "interval_coverage": 0.79,
        "mean_error": 12.0,
        "unchanged_error": 30.0,
        "backtests": 276,
        "warnings": '{"retention_seconds": 172800}',
    }
    insert(db, "metrics_forecast", queue_id=queue_id, computed_at=computed_at, **{**known, **columns})


def add_run(db: Connection, finished_at: datetime | None, error: str | None = None) -> None:
    insert(db, "metrics_run", mode="once", started_at=START_OF_RUNS, finished_at=finished_at, error=error)


def new_queue(db: Connection, name: str) -> int:
    """Creates a queue and returns its id."""
    db.execute("select queue.create(%s)", (name,))
    row = db.execute("select queue_id from queue.queues where name = %s", (name,)).fetchone()
    assert row is not None
    return int(row[0])


# --- minute rows -----------------------------------------------------------------------------------------------------
# Rows of queue.minute, and messages with the same measurements.


def current_minute(db: Connection) -> datetime:
    """Returns the start of the current minute by the database's clock."""
    row = db.execute("select date_trunc('minute', clock_timestamp(), 'UTC')").fetchone()
    assert row is not None
    start: datetime = row[0]
    return start


def add_minutes(db: Connection, queue_id: int, minutes: Sequence[Minute]) -> None:
    for minute in minutes:
        insert(db, "minute", queue_id=queue_id, **minute._asdict())


def add_messages(db: Connection, name: str, count: int, entered_at: datetime) -> None:
    """Adds visible messages with the given send time."""
    db.execute("select from queue.send_batch(%s, array_fill('1'::jsonb, array[%s]))", (name, count))
    db.execute(
        "update queue.log l set sent_at = %s from queue.queues q where q.queue_id = l.queue_id and q.name = %s",
        (entered_at, name),
    )
