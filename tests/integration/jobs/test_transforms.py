"""Tests the counts of events in windows, on frames with a few messages."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest
from pyspark.sql import SparkSession

from penstock_metrics.database.copy_lines import LATENCY_COLUMNS, CopyPiece, split_pieces, write_lines
from penstock_metrics.database.forecasts import refresh_forecasts
from penstock_metrics.database.read import SourceDatabase as Source
from penstock_metrics.database.write import join_pieces
from penstock_metrics.span import HOUR, DaySpan, to_datetime, to_micros
from penstock_metrics.transforms import events
from penstock_metrics.transforms.columns import COUNTS, add_whole_queues, select_messages
from penstock_metrics.transforms.windows import assign_windows, build_calendar
from tests.integration.jobs.conftest import rows_of
from tests.support.database import Database
from tests.support.jobs.reference import at, message, messages
from tests.support.sql.metric_rows import add_forecast, new_queue

pytestmark = [pytest.mark.metrics, pytest.mark.xdist_group("spark")]
KEY = ("window_seconds", "queue_id", "group_id", "starts_us", "ends_us")


def test_times_become_microseconds(spark: SparkSession) -> None:
    entered = datetime(2026, 3, 29, 1, 0, 0, 123_456, tzinfo=UTC)
    raw = spark.createDataFrame(
        [(7, None, entered, None, None, None, 0, None), (8, None, entered, None, None, [entered], 2, None)],
        "queue_id int, group_id string, entered_at timestamp, first_received_at timestamp, finished_at timestamp,"
        " redelivered_at array<timestamp>, receive_count int, outcome string",
    )
    columns = ("queue_id", "group_id", "entered_us", "received_us", "redelivered_us")
    assert rows_of(raw.transform(select_messages), *columns) == [
        (7, "", to_micros(entered), None, None),
        (8, "", to_micros(entered), None, [to_micros(entered)]),
    ]


def test_events_of_a_message_are_counted_by_the_minute(spark: SparkSession) -> None:
    rows = messages(
        spark,
        message(0.1, 0.9, 2.5, count=3),
        message(0.2, 0.9, 2.9),
        message(0.3, None, 3.0, "purged", count=0),
        message(0.4, 5.0, None, count=2),
        message(0.5, 1.0, 4.0, "dead_lettered", group="g"),
    )
    happened = rows.transform(events.group_by_minutes).transform(events.count_by_minute(at(7.5)))
    assert rows_of(happened, "group_id", "at_us", *COUNTS) == [
        ("", at(0), 4, 2, 0, 0, 0, 0, 0, 0),
        ("", at(2), 0, 2, 2, 2, 0, 0, 0, 0),
        ("", at(3), 0, 0, 0, 0, 0, 1, 0, 0),
        ("", at(5), 0, 1, 0, 0, 0, 0, 0, 0),
        # The time of the second receive is unknown, so the receive counts in the minute of the run.
        ("", at(7), 0, 1, 1, 0, 0, 0, 0, 0),
        ("g", at(0), 1, 0, 0, 0, 0, 0, 0, 0),
        ("g", at(1), 0, 1, 0, 0, 0, 0, 0, 0),
        ("g", at(4), 0, 0, 0, 0, 1, 0, 0, 0),
    ]


def test_receives_after_the_first_count_in_their_minutes(spark: SparkSession) -> None:
    """A receive with a known time counts at that time. Other receives count at the end of the message or in the minute
    of the run."""
    rows = messages(
        spark,
        message(0.1, 0.9, 5.5, count=4, again=(1.5, 1.9, 3.2)),
        message(0.2, 0.9, 5.5, count=6, again=(1.6, 1.7, 3.9)),
        message(0.3, 0.9, None, count=3, again=(4.0,)),
    )
    cube = rows.transform(events.group_by_minutes)
    assert cube.count() == 2
    happened = cube.transform(events.count_by_minute(at(7.5)))
    assert rows_of(happened, "at_us", "arrivals", "deliveries", "redeliveries") == [
        (at(0), 3, 3, 0),
        (at(1), 0, 4, 4),
        (at(3), 0, 2, 2),
        (at(4), 0, 1, 1),
        (at(5), 0, 2, 2),
        (at(7), 0, 1, 1),
    ]


def test_whole_queues_beside_their_groups(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, "", 5), (1, "g", 7)], "queue_id int, group_id string, n int")
    assert rows_of(rows.transform(add_whole_queues(["n"])), "group_id", "n") == [("", 5), ("", 7), ("g", 7)]


def test_windows_of_a_day_on_which_clocks_change(spark: SparkSession) -> None:
    """In Berlin, 2026-10-25 has 25 hours. The job excludes future windows and other days' windows."""
    zone = ZoneInfo("Europe/Berlin")
    start, end = datetime(2026, 10, 25, tzinfo=zone), datetime(2026, 10, 26, tzinfo=zone)
    span = DaySpan.of(start, end, datetime(2026, 10, 25, 12, 0, 30, tzinfo=UTC), zone)
    times = [
        to_micros(start) - 1,
        to_micros(start),
        to_micros(end) - 1,
        to_micros(datetime(2026, 10, 25, 12, 1, tzinfo=UTC)),
    ]
    rows = spark.createDataFrame([(time,) for time in times], "at_us bigint")
    found = rows.transform(assign_windows(build_calendar(spark, span), span))
    day = (86400, to_micros(start), to_micros(start) + 25 * HOUR)
    hour = (3600, to_micros(datetime(2026, 10, 25, 12, tzinfo=UTC)), to_micros(datetime(2026, 10, 25, 13, tzinfo=UTC)))
    assert rows_of(found, "window_seconds", "starts_us", "ends_us") == sorted(
        [
            (60, to_micros(start), to_micros(start) + 60_000_000),
            (3600, to_micros(start), to_micros(start) + HOUR),
            hour,
            day,
            day,
            day,
        ],
        key=repr,
    )
    assert to_datetime(day[2]).astimezone(zone).hour == 0


def counts(spark: SparkSession, **arrivals: int) -> list[tuple[object, ...]]:
    return [(60, 1, name, 0, 60, n) for name, n in {"": sum(arrivals.values()), **arrivals}.items()]


COUNTED = "window_seconds int, queue_id int, group_id string, starts_us bigint, ends_us bigint, arrivals bigint"


def test_the_hundred_busiest_groups(spark: SparkSession) -> None:
    """Among groups with equal counts, the job selects the names that come first in byte order."""
    sent = {f"g{n:03}": 1 for n in range(150)} | {"z": 9, "idle": 0}
    found = spark.createDataFrame(counts(spark, **sent), COUNTED).transform(events.find_busiest)
    assert rows_of(found, "group_id") == [(f"g{n:03}",) for n in range(99)] + [("z",)]


@pytest.mark.parametrize(
    ("arrivals", "share", "gini"),
    [
        ({"a": 5, "b": 5, "c": 5, "d": 5}, 0.25, 0.0),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, 0.4, 0.25),
        ({"a": 10}, 1.0, 0.0),
    ],
)
def test_the_skew_shows_the_top_share_and_the_gini_of_groups(
    spark: SparkSession, arrivals: dict[str, int], share: float, gini: float
) -> None:
    """Gini of 1, 2, 3, 4 is (2 * 30 - 5 * 10) / (4 * 10)."""
    found = spark.createDataFrame(counts(spark, **arrivals), COUNTED).transform(events.measure_skew)
    assert rows_of(found, "group_id", "groups", "top_group_share", "gini") == [("", len(arrivals), share, gini)]


def test_live_messages_count_in_the_window_of_the_run_only(spark: SparkSession) -> None:
    live = spark.createDataFrame(
        [(1, "", "visible"), (1, "g", "visible"), (1, "g", "in_flight"), (1, "", None)],
        "queue_id int, group_id string, state string",
    )
    windows = spark.createDataFrame(
        [(1, "", 0, 60), (1, "", 60, 120), (1, "g", 60, 120), (2, "", 60, 120)],
        "queue_id int, group_id string, starts_us bigint, ends_us bigint",
    )
    found = windows.transform(events.add_states(live.transform(events.list_states), 119))
    assert rows_of(found, "queue_id", "group_id", "starts_us", *events.STATES) == [
        (1, "", 0, None, None, None),
        (1, "", 60, 2, 1, 0),
        (1, "g", 60, 1, 1, 0),
        (2, "", 60, 0, 0, 0),
    ]


# --- copy lines ------------------------------------------------------------------------------------------------------
# Tests the lines for COPY, and the parts of a table that a run replaces.


def test_rows_become_lines_that_copy_reads(spark: SparkSession) -> None:
    """COPY's text format escapes tab, newline, carriage return and backslash, and writes null as \\N."""
    rows = spark.createDataFrame(
        [(60, 7, "a\tb\nc\\N\rd", at(0), None, [3, -(2**31)], 0.25)],
        "window_seconds int, queue_id int, group_id string, starts_us bigint, waiting bigint,"
        " sketch_buckets array<int>, gini double",
    )
    found = rows.transform(write_lines(rows.columns))
    line = "60\t7\ta\\tb\\nc\\\\N\\rd\t2025-11-24 16:00:00.000000+00\t\\N\t{3,-2147483648}\t0.25"
    assert rows_of(found, "piece", "line") == [(f"60 {at(0)}", line)]


def test_pieces_cover_the_windows_once() -> None:
    """One day has 25 hours. Days in Kolkata do not begin at a full hour in UTC."""
    for zone in (ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata")):
        start, end = datetime(2026, 10, 25, tzinfo=zone), datetime(2026, 10, 26, tzinfo=zone)
        span = DaySpan.of(start, end, datetime(2026, 11, 1, tzinfo=UTC), zone)
        for seconds in (60, 3600, 86400):
            found = [piece for _, piece in split_pieces(span) if piece.window_seconds == seconds]
            low, high = span.bounds(seconds)
            assert sum((piece.high - piece.low).total_seconds() for piece in found) * 1_000_000 == high - low
            assert all(earlier.high <= later.low for earlier, later in pairwise(found))


def test_adjacent_pieces_are_joined() -> None:
    first, second, third, fourth = (datetime(2026, 3, day, tzinfo=UTC) for day in (1, 2, 3, 4))
    apart = [
        CopyPiece(60, second, third),
        CopyPiece(3600, third, fourth),
        CopyPiece(60, first, second),
        CopyPiece(3600, first, second),
    ]
    assert join_pieces(apart) == [
        CopyPiece(60, first, third),
        CopyPiece(3600, first, second),
        CopyPiece(3600, third, fourth),
    ]


def test_a_line_knows_the_name_of_its_piece(spark: SparkSession) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    day = datetime(2025, 11, 24, tzinfo=berlin)
    span = DaySpan.of(day, day, datetime(2026, 11, 1, tzinfo=UTC), berlin)
    rows = spark.createDataFrame(
        [(60, at(59)), (3600, at(60)), (86400, span.start_us)], "window_seconds int, starts_us bigint"
    )
    names = {name for (name,) in rows_of(rows.transform(write_lines(["starts_us"])), "piece")}
    assert len(names) == 3
    assert names <= {name for name, _ in split_pieces(span)}
    assert span.end_us - span.start_us == 24 * HOUR


def test_the_columns_are_those_of_the_percentiles() -> None:
    assert [name for name in LATENCY_COLUMNS if name.startswith("p")] == ["p50_us", "p90_us", "p95_us", "p99_us"]


# --- forecasts -------------------------------------------------------------------------------------------------------
# Tests Spark's forecasts from stored windows in two ways: which queues have a forecast, and which rows the job stores.


NOW = datetime(2026, 3, 29, 12, 30, 20, tzinfo=UTC)
LAST = NOW.replace(second=0)
Connection = psycopg.Connection[Any]


def draining(connection: Connection, queue_id: int, minutes: int) -> None:
    """Writes windows for a queue that loses 10 messages a minute and contains 1,000 messages at LAST."""
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
    """Draining queues and new queues have forecasts, but idle and deleted queues do not. The run removes earlier
    forecasts."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        orders, bills, idle = (new_queue(connection, name) for name in ("orders", "bills", "idle"))
        connection.execute("update queue.queues set created_at = %s", (LAST - timedelta(days=40),))
        draining(connection, orders, 3000)
        draining(connection, 99, 3000)
        add_forecast(connection, idle, NOW - timedelta(hours=1))
        backlog = spark.createDataFrame([(orders, 1000), (bills, 3)], "queue_id int, backlog bigint")
        assert refresh_forecasts(Source(spark, database.dsn), to_micros(NOW), backlog) == 2
        rows = connection.execute(
            "select queue_id, backlog, method, reason, forecast[12], forecast_at[12], drain_seconds::int, warnings"
            " from queue.metrics_forecast order by 1"
        ).fetchall()
    assert rows[0] == (orders, 1000, "trend_6h", None, pytest.approx(400), LAST + timedelta(hours=1), 6000, {})
    assert rows[1] == (bills, 3, None, "no_method_beats_unchanged", None, None, None, {})
