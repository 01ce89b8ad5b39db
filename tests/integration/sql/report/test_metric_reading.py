"""Tests the functions that read the metrics job's rows, which docs/reference/metrics_tables.md defines. Percentiles are
values at the nearest rank.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import psycopg
import pytest

from penstock.postgres.statements.metrics import (
    READ_BUSIEST_QUEUES,
    READ_HOT_GROUPS,
    READ_LAG,
    READ_LAG_HEAT,
    READ_METRICS,
    LagRow,
    MetricsRow,
)
from tests.support.database import Database
from tests.support.sql.calls import ACCOUNT, REGION, Connection, call
from tests.support.sql.metric_rows import add_forecast, add_latency, add_run, add_window, nearest_rank, new_queue

START = datetime(2026, 3, 29, tzinfo=UTC)
END = START + timedelta(days=2)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
PLACE = (ACCOUNT, REGION)


@pytest.fixture
def db(shared_database: Database) -> Iterator[Connection]:
    """Yields a connection in a transaction that is rolled back. The session's time zone differs from UTC."""
    with psycopg.connect(shared_database.api_dsn) as connection:
        connection.execute("set time zone 'Asia/Kolkata'")
        yield connection
        connection.rollback()


def merged(db: Connection, queue_id: int, step: int | None = None, end: datetime = END) -> list[dict[str, Any]]:
    cursor = db.execute(
        "select to_jsonb(m) from queue.merge_latency(array[%s::int], '', 60, %s, %s, %s) m order by m.step_at",
        (queue_id, START, end, step),
    )
    return [row[0] for row in cursor]


# --- merging ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(5))
def test_merged_percentiles_are_within_two_percent(db: Connection, seed: int) -> None:
    rng = Random(seed)
    everything: list[int] = []
    for minute in range(rng.randint(2, 20)):
        values = [int(rng.lognormvariate(12, 3)) + 1 for _ in range(rng.randint(1, 200))]
        add_latency(db, 7, START + minute * MINUTE, values)
        everything += values
    (row,) = merged(db, 7)
    assert (row["count"], row["max_us"], row["exact"]) == (len(everything), max(everything), False)
    assert row["mean_us"] == pytest.approx(sum(everything) / len(everything), abs=0.5)
    for percent in (50, 90, 95, 99):
        true = nearest_rank(everything, percent / 100)
        assert abs(row[f"p{percent}_us"] - true) <= 0.02 * true + 0.5, percent


def test_one_window_keeps_its_exact_percentiles(db: Connection) -> None:
    add_latency(db, 7, START, range(1, 101))
    (row,) = merged(db, 7)
    assert [row[f"p{percent}_us"] for percent in (50, 90, 95, 99)] == [50, 90, 95, 99]
    assert (row["exact"], row["max_us"]) == (True, 100)


def test_zero_and_clock_skew(db: Connection) -> None:
    """A separate bucket counts durations of zero or less."""
    add_latency(db, 7, START, [0, -5, 0, 1000])
    add_latency(db, 7, START + MINUTE, [-1, 0, 0])
    (row,) = merged(db, 7)
    assert (row["p50_us"], row["negative_count"]) == (0, 2)
    assert row["p99_us"] == pytest.approx(1000, rel=0.02)


def test_no_percentile_exceeds_the_maximum(db: Connection) -> None:
    for minute in range(2):
        add_latency(db, 7, START + minute * MINUTE, [10_001])
    (row,) = merged(db, 7)
    assert row["p50_us"] <= row["max_us"] == 10_001


def test_steps_and_the_ends_of_time(db: Connection) -> None:
    """The range is [from, to), so it excludes the window that begins at `to`."""
    for minute in (0, 1, 2, 3, 4):
        add_latency(db, 7, START + minute * MINUTE, [1000 * (minute + 1)])
    rows = merged(db, 7, step=120, end=START + 4 * MINUTE)
    assert [datetime.fromisoformat(row["step_at"]) for row in rows] == [START, START + 2 * MINUTE]
    assert [(row["count"], row["max_us"]) for row in rows] == [(2, 2000), (2, 4000)]


# --- a queue ---------------------------------------------------------------------------------------------------------
def read(db: Connection, name: str, group: str = "", seconds: int = 60, zone: str = "UTC") -> list[MetricsRow]:
    arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"
    return call(db, READ_METRICS, arn, seconds, group, START, START + HOUR, zone)


def test_windows_in_their_order_after_their_sums(db: Connection) -> None:
    queue = new_queue(db, "orders")
    for minute in (2, 0, 1):
        add_window(db, queue, START + minute * MINUTE, arrivals=minute + 1, depth=minute)
        add_window(db, queue, START + minute * MINUTE, group_id="a", arrivals=1)
    add_window(db, queue, START + HOUR, arrivals=100)
    add_window(db, queue, START, seconds=3600, arrivals=1000)
    add_latency(db, queue, START + MINUTE, [5, 6, 7])
    total, *windows = read(db, "orders")
    values: list[object] = [total.starts_at, total.ends_at, total.arrivals]
    assert values == [None, START + HOUR + MINUTE, 6]
    assert [(row.starts_at, row.arrivals, row.depth) for row in windows] == [
        (START, 1, 0), (START + MINUTE, 2, 1), (START + 2 * MINUTE, 3, 2),
    ]  # fmt: skip
    assert [row.latencies is None for row in windows] == [True, False, True]
    assert json.loads(windows[1].latencies or "")["lag"] == {
        "count": 3, "mean_us": 6, "p50_us": 6, "p90_us": 7, "p95_us": 7, "p99_us": 7, "max_us": 7, "negative_count": 0,
        "exact": True,
    }  # fmt: skip
    assert json.loads(total.latencies or "") == json.loads(windows[1].latencies or "")
    assert json.loads(total.hot_groups or "") == [{"group_id": "a", "arrivals": 3}]


def test_a_group_has_its_own(db: Connection) -> None:
    queue = new_queue(db, "orders")
    add_window(db, queue, START, arrivals=9)
    add_window(db, queue, START, group_id="a", arrivals=4)
    add_latency(db, queue, START, [1], group_id="a", measure="wait")
    add_latency(db, queue, START, [2], measure="wait")
    total, window = read(db, "orders", "a")
    assert (total.arrivals, window.arrivals, total.hot_groups) == (4, 4, None)
    assert json.loads(window.latencies or "")["wait"]["max_us"] == 1


def test_without_windows_there_is_a_row_and_without_a_queue_none(db: Connection) -> None:
    new_queue(db, "orders")
    (row,) = read(db, "orders")
    values: list[object] = [row.starts_at, row.ends_at, row.computed_at, row.arrivals]
    assert values == [None, None, None, 0]
    assert read(db, "bills") == []


def test_days_are_those_of_the_zone(db: Connection) -> None:
    """The test has two zones whose days begin at the same moment, and a day without a zone."""
    queue = new_queue(db, "orders")
    for zone, arrivals in (("Africa/Abidjan", 5), ("Europe/London", 7), ("", 9)):
        add_window(db, queue, START, seconds=86400, zone=zone, arrivals=arrivals)
        add_window(db, queue, START, seconds=86400, zone=zone, group_id="a", arrivals=arrivals)
        add_latency(db, queue, START, [arrivals], seconds=86400, zone=zone)
    for zone, arrivals in (("Africa/Abidjan", 5), ("Europe/London", 7)):
        total, *windows = read(db, "orders", seconds=86400, zone=zone)
        assert [row.arrivals for row in (total, *windows)] == [arrivals] * 2
        assert [json.loads(row.latencies or "")["lag"]["max_us"] for row in (total, *windows)] == [arrivals] * 2
        assert json.loads(total.hot_groups or "") == [{"group_id": "a", "arrivals": arrivals}]
        assert call(db, READ_BUSIEST_QUEUES, *PLACE, 86400, START, END, 9, zone) == [("orders", arrivals, 0)]
        assert call(db, READ_LAG_HEAT, *PLACE, ["orders"], 86400, START, END, 86400, zone)[0].p95_us == arrivals
    total, *windows = read(db, "orders", seconds=86400, zone="Asia/Tokyo")
    assert (total.arrivals, windows) == (0, [])


# --- all queues ------------------------------------------------------------------------------------------------------
def lag(db: Connection, name: str | None = None, after: str | None = None, limit: int = 10) -> list[LagRow]:
    return call(db, READ_LAG, *PLACE, name, after, limit)


def test_lag_has_the_present_beside_what_is_stored(db: Connection) -> None:
    queue, other = new_queue(db, "a"), new_queue(db, "b")
    db.execute("select queue.send('a', '1'), queue.send('a', '2', delay => 60)")
    add_forecast(db, queue, START + HOUR)
    ended = START + HOUR + timedelta(seconds=30)
    add_run(db, START)
    add_run(db, ended)
    add_run(db, ended + HOUR, error="no memory")
    add_run(db, None)
    for hour, durations in ((-1, [8_000]), (0, [1_000] * 3), (1, [1_000]), (2, [9_000])):
        add_latency(db, queue, START + hour * HOUR, durations, seconds=3600)
    add_latency(db, 0, START + HOUR, [7], measure="fire", seconds=3600)
    installation, first, second = lag(db)
    assert (installation.from_at, installation.to_at, installation.computed_at) == (START, ended, ended)
    assert json.loads(installation.latencies or "")["fire"]["max_us"] == 7
    assert (first.name, first.visible, first.in_flight, first.delayed) == ("a", 1, 0, 1)
    assert (first.backlog, first.drain_seconds) == (600, 1200.0)
    assert [json.loads(first.latencies or "")["lag"][name] for name in ("count", "max_us")] == [4, 1_000]
    told = json.loads(first.outlook or "")
    assert (told["outlook"]["method"], told["outlook"]["reason"]) == ("daily_fading", None)
    assert told["warnings"] == {"retention_seconds": 172_800}
    assert (second.name, second.computed_at, second.backlog, second.latencies) == ("b", None, None, None)
    assert (installation.outlook, second.outlook) == (None, None)
    assert other != queue


def test_lag_page_by_page_or_of_one(db: Connection) -> None:
    for name in ("a", "b", "c"):
        new_queue(db, name)
    assert [row.name for row in lag(db, limit=2)] == [None, "a", "b"]
    assert [row.name for row in lag(db, after="b")] == [None, "c"]
    assert [row.name for row in lag(db, name="b")] == [None, "b"]
    assert lag(db)[0].computed_at is None


def test_heat_merges_hours(db: Connection) -> None:
    queue = new_queue(db, "a")
    for hour in range(3):
        add_latency(db, queue, START + hour * HOUR, [1000 * (hour + 1)] * 10, seconds=3600)
    rows = call(db, READ_LAG_HEAT, *PLACE, ["a", "none"], 3600, START, END, 7200, "UTC")
    assert [(row.name, row.step_at, row.count) for row in rows] == [
        ("a", START, 20), ("a", START + 2 * HOUR, 10),
    ]  # fmt: skip
    assert rows[0].p95_us == pytest.approx(2000, rel=0.02)
    assert rows[1].p95_us == 3000


def test_hot_groups_and_busy_queues(db: Connection) -> None:
    first, second = new_queue(db, "a"), new_queue(db, "b")
    for queue, group, arrivals in ((first, "x", 5), (first, "y", 7), (second, "x", 6), (first, "z", 0)):
        add_window(db, queue, START, seconds=3600, group_id=group, arrivals=arrivals)
    add_window(db, first, START, seconds=3600, arrivals=20, depth=3)
    add_window(db, second, START, seconds=3600, arrivals=30, depth=2)
    asked = (3600, START, END, 10, "UTC")
    groups = call(db, READ_HOT_GROUPS, *PLACE, None, *asked)
    assert groups == [("a", "y", 7, 50), ("b", "x", 6, 50), ("a", "x", 5, 50)]
    assert call(db, READ_HOT_GROUPS, *PLACE, "b", *asked) == [("b", "x", 6, 30)]
    assert call(db, READ_BUSIEST_QUEUES, *PLACE, *asked) == [("b", 30, 2), ("a", 20, 3)]
    assert call(db, READ_BUSIEST_QUEUES, "111111111111", REGION, *asked) == []
