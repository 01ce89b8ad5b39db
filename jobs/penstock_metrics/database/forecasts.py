"""Reads the windows for forecasts, and replaces the rows of queue.metrics_forecast.

A run computes only changed windows, so the windows come from queue.metrics_window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import psycopg
from psycopg import sql
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from penstock_metrics.span import MINUTE, to_datetime, to_micros
from penstock_metrics.transforms.forecasts.rows import FORECAST, WINDOWS, QueueFacts, build_forecaster, forecast_row
from penstock_metrics.transforms.forecasts.series import FINE_STEPS, HOURS, STEP

from .address import TRANSACTION_SETTINGS, open_connection
from .read import SourceDatabase
from .tables import Table

Row = Mapping[str, Any]

_QUEUES_PER_PIECE: Final = 200
_STORED: Final = Table(
    "queue.metrics_window",
    "queue_id int, window_seconds int, ends_at timestamp, arrivals bigint, drained bigint, depth bigint, "
    "oldest_age_us bigint",
    "queue_id, window_seconds, ends_at, arrivals, deletions + dead_lettered + purged + expired + moved as drained, "
    "depth, coalesce(oldest_age_us, 0) as oldest_age_us",
    "group_id = ''",
)
# Selects queues with messages, and queues with a stored window of the last hour, because a stored window shows recent
# activity.
_ACTIVE: Final = """
    select q.queue_id, q.created_at, q.retention_seconds from queue.queues q
    where q.keeps_history and (q.queue_id = any(%(held)s) or q.queue_id in (
        select w.queue_id from queue.metrics_window w
        where w.window_seconds = 60 and w.starts_at >= %(since)s and w.starts_at < %(last)s and w.group_id = ''))"""


def refresh_forecasts(database: SourceDatabase, now_us: int, backlog: DataFrame) -> int:
    """Replaces all forecasts. Returns the number of new forecasts. An idle queue has no forecast.

    `backlog` has the columns queue_id and backlog.
    """
    last_us = now_us // MINUTE * MINUTE
    held = {row["queue_id"]: row["backlog"] for row in backlog.collect()}
    with open_connection(database.address) as connection:
        facts = read_active_queues(connection, held, last_us)
    rows = [row.asDict() for row in _forecast_rows(database, facts, last_us)]
    judged = {row["queue_id"] for row in rows}
    nothing = WINDOWS.empty_table()
    rows += [forecast_row(queue, nothing, facts[queue], last_us) for queue in facts.keys() - judged]
    return replace_forecasts(rows, database.address)


def read_active_queues(
    connection: psycopg.Connection[Any], backlog: Mapping[int, int], last_us: int
) -> dict[int, QueueFacts]:
    """Returns the queues with messages now, or with messages or events in the last 60 complete minutes."""
    last = to_datetime(last_us)
    asked = {"held": list(backlog), "since": last - timedelta(hours=1), "last": last}
    found = connection.execute(_ACTIVE, asked).fetchall()
    return {
        queue: QueueFacts(to_micros(created), retention, backlog.get(queue, 0)) for queue, created, retention in found
    }


def _forecast_rows(database: SourceDatabase, facts: Mapping[int, QueueFacts], last_us: int) -> Sequence[Any]:
    if not facts:
        return ()
    stored = database.read({_STORED: list(write_pieces(sorted(facts), to_datetime(last_us)))})
    windows = stored.withColumn("ends_us", F.unix_micros("ends_at")).select(*WINDOWS.names)
    rows = windows.groupBy("queue_id").applyInArrow(build_forecaster(facts, last_us), from_arrow_schema(FORECAST))
    return rows.collect()


def write_pieces(queues: Sequence[int], last: datetime) -> Iterator[str]:
    """Yields conditions for each minute of the last hour, each fifth minute before that hour, and each hour of the last
    weeks."""
    hours = last - timedelta(hours=HOURS + 1)
    minutes = last - timedelta(microseconds=STEP * (FINE_STEPS + 1))
    recent, fifth = last - timedelta(minutes=61), STEP // MINUTE * 60
    for place in range(0, len(queues), _QUEUES_PER_PIECE):
        names = ",".join(map(str, queues[place : place + _QUEUES_PER_PIECE]))
        these = f"queue_id = any('{{{names}}}'::int[]) and starts_at < '{last.isoformat()}'"
        yield (
            f"window_seconds = 60 and {these} and starts_at >= '{minutes.isoformat()}' and "
            f"(starts_at >= '{recent.isoformat()}' or "
            f"extract(epoch from '{last.isoformat()}'::timestamptz - starts_at)::int % {fifth} = 60)"
        )
        yield (
            f"window_seconds = 3600 and {these} and starts_at >= '{hours.isoformat()}' and "
            f"ends_at <= '{last.isoformat()}'"
        )


def replace_forecasts(rows: Sequence[Row], address: str) -> int:
    """Replaces all rows of queue.metrics_forecast with the given rows (FORECAST). Returns their number."""
    names = [("forecast_at" if name == "forecast_us" else name) for name in FORECAST.names]
    insert = sql.SQL("insert into queue.metrics_forecast ({}) values ({})").format(
        sql.SQL(", ").join(map(sql.Identifier, names)), sql.SQL(", ").join([sql.Placeholder()] * len(names))
    )
    with open_connection(address) as connection, connection.transaction():
        for statement in TRANSACTION_SETTINGS:
            connection.execute(statement.encode())
        connection.execute("delete from queue.metrics_forecast")
        connection.cursor().executemany(insert, [_list_values(row) for row in rows])
    return len(rows)


def _list_values(row: Row) -> tuple[Any, ...]:
    times = row.get("forecast_us")
    return tuple(
        (None if times is None else [to_datetime(at) for at in times]) if name == "forecast_us" else row.get(name)
        for name in FORECAST.names
    )
