"""Forecasts by Spark out of stored windows: which queues have one, and the rows that are stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from penstock_metrics.database.forecasts import refresh_forecasts
from penstock_metrics.database.read import SourceDatabase as Source
from penstock_metrics.span import micros
from tests.support.database import Database
from tests.support.sql.metric_rows import add_forecast, new_queue

pytestmark = [pytest.mark.metrics, pytest.mark.xdist_group("spark")]
NOW = datetime(2026, 3, 29, 12, 30, 20, tzinfo=UTC)
LAST = NOW.replace(second=0)
Connection = psycopg.Connection[Any]


def draining(connection: Connection, queue_id: int, minutes: int) -> None:
    """Windows of a queue that loses 10 messages a minute, of which 1,000 are left at LAST."""
    connection.execute(
        "insert into queue.metrics_window (window_seconds, queue_id, group_id, starts_at, ends_at, arrivals,"
        " deliveries, redeliveries, deletions, dead_lettered, purged, expired, moved, depth, waiting, received)"
        " select s, %(queue)s, '', e - s * interval '1 s', e, 0, 0, 0, s / 6, 0, 0, 0, 0,"
        " 1000 + 10 * extract(epoch from %(last)s - e) / 60, 0, 0"
        " from (values (60, %(last)s), (3600, date_trunc('hour', %(last)s, 'UTC'))) t(s, last),"
        " generate_series(last - %(minutes)s * interval '1 minute', last, s * interval '1 s') e",
        {"queue": queue_id, "last": LAST, "minutes": minutes},
    )


def test_forecasts_are_replaced(spark: SparkSession, database: Database) -> None:
    """Of a queue that drains, of one that is new; none of idle and of deleted queues. Earlier forecasts are gone."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        orders, bills, idle = (new_queue(connection, name) for name in ("orders", "bills", "idle"))
        connection.execute("update queue.queues set created_at = %s", (LAST - timedelta(days=40),))
        draining(connection, orders, 3000)
        draining(connection, 99, 3000)
        add_forecast(connection, idle, NOW - timedelta(hours=1))
        backlog = spark.createDataFrame([(orders, 1000), (bills, 3)], "queue_id int, backlog bigint")
        assert refresh_forecasts(Source(spark, database.dsn), micros(NOW), backlog) == 2
        rows = connection.execute(
            "select queue_id, backlog, method, reason, forecast[12], forecast_at[12], drain_seconds::int, warnings"
            " from queue.metrics_forecast order by 1"
        ).fetchall()
    assert rows[0] == (
        orders,
        1000,
        "trend_6h",
        None,
        pytest.approx(400),
        LAST + timedelta(hours=1),
        6000,
        {},
    )
    assert rows[1] == (bills, 3, None, "no_method_beats_unchanged", None, None, None, {})
