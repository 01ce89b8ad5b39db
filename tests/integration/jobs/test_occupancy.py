"""Tests the depth, the number of waiting messages and the oldest message at given moments against a count of every
message.

Also tests durations, combined days and the new rows since the last run on frames with a few messages.
"""

import math
import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from penstock_metrics.span import HOUR, MINUTE, DaySpan, to_datetime
from penstock_metrics.transforms import deltas, latency, occupancy
from penstock_metrics.transforms.deltas import DepthChange
from penstock_metrics.transforms.durations import FEW
from penstock_metrics.transforms.events import group_by_minutes
from penstock_metrics.transforms.keys import MEASURES
from penstock_metrics.transforms.sketch import PERCENTILES
from penstock_metrics.transforms.windows import build_calendar
from tests.integration.jobs.conftest import rows_of
from tests.support.jobs.reference import BASE, at, message, messages

pytestmark = [pytest.mark.metrics, pytest.mark.xdist_group("spark")]


def moments(spark: SparkSession, *minutes: float) -> DataFrame:
    rows = [(1, "", at(minute)) for minute in minutes]
    return spark.createDataFrame(rows, "queue_id int, group_id string, ends_us bigint")


def test_a_message_is_there_from_sending_to_its_end(spark: SparkSession) -> None:
    cube = messages(spark, message(0.5, 2.5, 4.5), message(1.5)).transform(group_by_minutes)
    asked = moments(spark, 0, 1, 2, 3, 4, 5)
    found = cube.transform(occupancy.list_changes).transform(occupancy.compute_levels(asked))
    assert rows_of(found, "ends_us", "depth", "waiting") == [
        (at(0), 0, 0),
        (at(1), 1, 1),
        (at(2), 2, 2),
        (at(3), 2, 1),
        (at(4), 2, 1),
        (at(5), 1, 1),
    ]


def test_a_message_that_ended_before_it_was_sent_is_never_counted(spark: SparkSession) -> None:
    cube = messages(spark, message(5, 3, 1), message(5.5, 2, 8)).transform(group_by_minutes)
    asked = moments(spark, 2, 4, 6, 9)
    found = cube.transform(occupancy.list_changes).transform(occupancy.compute_levels(asked))
    assert rows_of(found, "ends_us", "depth", "waiting") == [(at(2), 0, 0), (at(4), 0, 0), (at(6), 1, 0), (at(9), 0, 0)]


def test_as_if_each_message_were_looked_at(spark: SparkSession) -> None:
    """The messages are random. The test computes the expected values for each message from the definitions of depth,
    waiting and oldest."""
    chance, rows = random.Random(3), []
    for _ in range(120):
        sent = chance.uniform(0, 30)
        received = sent + chance.uniform(-1, 8) if chance.random() < 0.8 else None
        finished = sent + chance.uniform(-2, 15) if chance.random() < 0.8 else None
        rows.append(message(sent, received, finished))
    minutes = range(0, 50, 2)
    cube = messages(spark, *rows).transform(group_by_minutes)
    levels = cube.transform(occupancy.list_changes).transform(occupancy.compute_levels(moments(spark, *minutes)))
    oldest = cube.transform(occupancy.find_oldest(moments(spark, *minutes)))
    found = rows_of(
        levels.join(oldest, ["queue_id", "group_id", "ends_us"]), "ends_us", "depth", "waiting", "oldest_us"
    )
    assert found == [(at(minute), *expected(rows, at(minute))) for minute in minutes]


def expected(rows: list[tuple[object, ...]], end: int) -> tuple[int, int, int | None]:
    never = 2**62
    lives = [(sent, received or never, finished or never) for _, _, sent, received, finished, *_ in rows]
    there = [life for life in lives if life[0] < end <= life[2]]  # type: ignore[operator]
    waiting = [life for life in there if life[1] >= end]  # type: ignore[operator]
    return len(there), len(waiting), min((life[0] for life in there), default=None)  # type: ignore[type-var, return-value]


def test_quiet_windows_of_a_queue_that_holds_something(spark: SparkSession) -> None:
    """The message is sent at minute 30 and deleted at minute 150. The message is present at the ends of the minutes in
    between and of two hours, but not at the end of a day."""
    day = to_datetime(at(0)).replace(hour=0)
    span = DaySpan.of(day, day + timedelta(days=1), to_datetime(at(170)), ZoneInfo("UTC"))
    changed = messages(spark, message(30.5, None, 150.5)).transform(group_by_minutes).transform(occupancy.list_changes)
    found = changed.transform(occupancy.find_windows_with_messages(build_calendar(spark, span), span))
    ends = {seconds: [] for seconds in (60, 3600, 86400)}  # type: dict[int, list[int]]
    for seconds, end in rows_of(found, "window_seconds", "ends_us"):
        ends[seconds].append(end)
    assert sorted(ends[60]) == [at(minute) for minute in range(31, 151)]
    assert sorted(ends[3600]) == [at(60), at(120)]
    assert ends[86400] == []


def test_windows_that_have_not_begun_are_not_computed(spark: SparkSession) -> None:
    """A message still exists. The last window of each length contains the current time, even the last window of
    days."""
    day = to_datetime(at(0)).astimezone(UTC).replace(hour=0)
    now = datetime.fromtimestamp(at(61.5) / 1_000_000, UTC)
    span = DaySpan.of(day, day + timedelta(days=1), now, ZoneInfo("UTC"))
    changed = messages(spark, message(59.5)).transform(group_by_minutes).transform(occupancy.list_changes)
    found = changed.transform(occupancy.find_windows_with_messages(build_calendar(spark, span), span))
    assert rows_of(found.where("window_seconds < 86400"), "window_seconds", "starts_us") == [
        (3600, at(0)),
        (3600, at(60)),
        (60, at(59)),
        (60, at(60)),
        (60, at(61)),
    ]
    assert rows_of(found.where("window_seconds = 86400"), "ends_us") == [(span.end_us,)]
    assert span.end_us - span.start_us == 1440 * MINUTE


WAIT, PROCESSING, LAG, FIRE, _ = range(len(MEASURES))


def test_a_message_has_these_measures(spark: SparkSession) -> None:
    rows = messages(
        spark,
        message(0, 1, 3),
        message(0, None, 5),
        message(0, 2, 6, "dead_lettered"),
        message(0, 4),
        message(10, 9, 12),
    )
    assert rows_of(rows.transform(latency.list_durations), "measure", "at_us", "us") == sorted(
        [
            (WAIT, at(1), MINUTE),
            (PROCESSING, at(3), 2 * MINUTE),
            (LAG, at(3), 3 * MINUTE),
            (LAG, at(5), 5 * MINUTE),
            (WAIT, at(2), 2 * MINUTE),
            (WAIT, at(4), 4 * MINUTE),
            (WAIT, at(9), -MINUTE),
            (PROCESSING, at(12), 3 * MINUTE),
            (LAG, at(12), 2 * MINUTE),
        ],
        key=repr,
    )


def test_fires_and_webhooks_belong_to_no_queue(spark: SparkSession) -> None:
    rows = spark.sql(
        "select 'fire' as measure, timestamp '2026-03-29 01:00:00' as began_at,"
        " timestamp '2026-03-29 01:00:01.5' as ended_at"
    )
    found = rows.transform(latency.sum_installation)
    assert rows_of(found, "queue_id", "group_id", "measure", "us") == [(0, "", FIRE, 1_500_000)]


@pytest.mark.parametrize("parts", [0, 3])
def test_of_many_durations_the_ranks_are_looked_up(spark: SparkSession, parts: int) -> None:
    """Two hours have too many durations to transfer: n seconds for n up to 6 FEW, twice for each n, plus a group with
    two durations.

    The rows of an hour are in one or three partitions.
    """
    number = 6 * FEW
    span = DaySpan((BASE, BASE + 24 * HOUR), BASE + 24 * HOUR)
    many = spark.range(2, 2 * number + 2).selectExpr(
        "1 as queue_id",
        "if(id > 3, '', 'group') as group_id",
        "cast(0 as tinyint) as measure",
        f"{BASE} + (id div 2 % 2) * {HOUR} as at_us",
        "(id div 2) * 1000000 as us",
    )
    busy = [(1, BASE + hour * HOUR, parts) for hour in (0, 1)] if parts else []
    found = latency.summarise_latencies(many, span, number, busy).localCheckpoint()
    windows = latency.complete(found, many, span, number, lambda rows: rows.localCheckpoint()).collect()
    days = {row["group_id"]: row for row in windows if row["window_seconds"] == 86400}
    check_ranks(days[""], [value for value in range(1, number + 1) for _ in range(2)])
    check_ranks(days["group"], [1, 1])
    for seconds in (60, 3600):
        first, second = (row for row in windows if (row["window_seconds"], row["group_id"]) == (seconds, ""))
        for row in (first, second):
            even = (row["starts_us"] - BASE) // HOUR == 0
            check_ranks(row, [v for v in range(1, number + 1) if (v % 2 == 0) == even for _ in range(2)])


def check_ranks(row: Row, seconds: list[int]) -> None:
    assert (row["count"], row["max_us"]) == (len(seconds), seconds[-1] * 1_000_000)
    ranks = [seconds[math.ceil(percent * len(seconds) / 100) - 1] * 1_000_000 for percent in PERCENTILES]
    assert [row[f"p{percent}_us"] for percent in PERCENTILES] == ranks


def test_hours_that_are_spread_over_partitions(spark: SparkSession) -> None:
    """A first receive has one duration, and each deleted message has two durations."""
    columns = (
        "window_seconds int, queue_id int, group_id string, starts_us bigint, deliveries bigint, redeliveries bigint,"
        " deletions bigint"
    )
    rows = [
        (3600, 1, "", BASE, 60, 10, 25),
        (3600, 1, "g", BASE, 60, 10, 25),
        (60, 1, "", BASE, 60, 10, 25),
        (3600, 2, "", BASE, 60, 10, 24),
    ]
    assert latency.find_busy_hours(spark.createDataFrame(rows, columns), 98) == [(1, BASE, 2)]


Rows = list[tuple[object, ...]]


def changed(spark: SparkSession, recorded: Rows, open_now: Rows, open_then: Rows) -> list[DepthChange]:
    """Returns the run at minute 200 after a run at minute 100."""

    def contributions(rows: Rows, now: float) -> DataFrame:
        return messages(spark, *rows).transform(deltas.sum_contributions(at(now)))

    then = contributions(open_then, 100).transform(as_stored)
    return sorted(
        deltas.find_changed(contributions(recorded, 200), contributions(open_now, 200), then),
        key=lambda change: change.queue_id,
    )


def as_stored(rows: DataFrame) -> DataFrame:
    """Returns the rows that PostgreSQL reads from the lines."""
    columns = rows.transform(deltas.list_lines("UTC", 7)).selectExpr("split(line, '\\t') as cells")
    return columns.selectExpr(
        "cast(cells[1] as int) as queue_id", "to_timestamp(cells[2]) as minute_at", "cells[4] as counts"
    ).transform(deltas.read_stored)


def test_an_old_message_that_ends_changes_its_end_only(spark: SparkSession) -> None:
    """The last run had counted the arrival, the receive and the presence, as it does for open messages."""
    then = [message(-3000, -50), message(-2000), message(-10)]
    assert changed(spark, [message(-3000, -50, 150)], [message(-2000), message(-10)], then) == [
        DepthChange(1, at(150), is_open=True, changed=True)
    ]


def test_a_message_unseen_by_the_last_run_is_new_from_its_first_minute(spark: SparkSession) -> None:
    """The messages were sent before the last run, and some of them also ended before that run. The transactions of the
    messages committed after the last run."""
    then = [message(-10)]
    late = changed(spark, [message(-3000.5, -90, -40)], then, then)
    assert late == [DepthChange(1, at(-3001), is_open=True, changed=False)]
    assert changed(spark, [], [*then, message(-70)], then) == [DepthChange(1, at(-70), is_open=True, changed=True)]


def test_a_message_recorded_after_its_end_is_not_new(spark: SparkSession) -> None:
    ended = message(10, 20, 30)
    assert changed(spark, [ended], [], [ended]) == [DepthChange(1, None, is_open=False, changed=True)]
    assert changed(spark, [], [ended], [ended]) == [DepthChange(1, None, is_open=True, changed=False)]


def test_queues_are_told_apart(spark: SparkSession) -> None:
    now = [message(-10), of_another_queue(-10)]
    found = changed(spark, [of_another_queue(120, 130, 140)], now, now)
    assert found == [
        DepthChange(1, None, is_open=True, changed=False),
        DepthChange(2, at(120), is_open=True, changed=False),
    ]


def of_another_queue(
    entered: float, received: float | None = None, finished: float | None = None
) -> tuple[object, ...]:
    return (2, *message(entered, received, finished, group="g")[1:])


def test_a_receive_is_new(spark: SparkSession) -> None:
    """The second receive counts at its time, or in the minute of the run if the time is unknown."""
    assert changed(spark, [], [message(-10, 110)], [message(-10)]) == [
        DepthChange(1, at(110), is_open=True, changed=True)
    ]
    for known, minute in (((150,), 150), (None, 200)):
        again = changed(spark, [], [message(-10, -5, count=2, again=known)], [message(-10, -5)])
        assert again == [DepthChange(1, at(minute), is_open=True, changed=True)]
