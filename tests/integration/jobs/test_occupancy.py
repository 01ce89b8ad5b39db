"""Depth, waiting and the oldest message at moments; against a count of every message, too."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock_metrics.span import MINUTE, Span, moment
from penstock_metrics.transforms import occupancy
from penstock_metrics.transforms.events import group_by_minutes
from penstock_metrics.transforms.windows import calendar
from tests.integration.jobs.conftest import rows_of
from tests.support.jobs.frames import at, message, messages

pytestmark = [pytest.mark.metrics, pytest.mark.xdist_group("spark")]


def moments(spark: SparkSession, *minutes: float) -> DataFrame:
    rows = [(1, "", at(minute)) for minute in minutes]
    return spark.createDataFrame(rows, "queue_id int, group_id string, ends_us bigint")


def test_a_message_is_there_from_sending_to_its_end(spark: SparkSession) -> None:
    cube = messages(spark, message(0.5, 2.5, 4.5), message(1.5)).transform(group_by_minutes)
    asked = moments(spark, 0, 1, 2, 3, 4, 5)
    found = cube.transform(occupancy.changes).transform(occupancy.levels(asked))
    assert rows_of(found, "ends_us", "depth", "waiting") == [
        (at(0), 0, 0),
        (at(1), 1, 1),
        (at(2), 2, 2),
        (at(3), 2, 1),
        (at(4), 2, 1),
        (at(5), 1, 1),
    ]


def test_one_that_ended_before_it_was_sent_never_is(spark: SparkSession) -> None:
    cube = messages(spark, message(5, 3, 1), message(5.5, 2, 8)).transform(group_by_minutes)
    asked = moments(spark, 2, 4, 6, 9)
    found = cube.transform(occupancy.changes).transform(occupancy.levels(asked))
    assert rows_of(found, "ends_us", "depth", "waiting") == [
        (at(2), 0, 0),
        (at(4), 0, 0),
        (at(6), 1, 0),
        (at(9), 0, 0),
    ]


def test_as_if_each_message_were_looked_at(spark: SparkSession) -> None:
    """Random messages; expected: the definitions of depth, waiting and oldest, message by message."""
    chance, rows = random.Random(3), []
    for _ in range(120):
        sent = chance.uniform(0, 30)
        received = sent + chance.uniform(-1, 8) if chance.random() < 0.8 else None
        finished = sent + chance.uniform(-2, 15) if chance.random() < 0.8 else None
        rows.append(message(sent, received, finished))
    minutes = range(0, 50, 2)
    cube = messages(spark, *rows).transform(group_by_minutes)
    levels = cube.transform(occupancy.changes).transform(occupancy.levels(moments(spark, *minutes)))
    oldest = cube.transform(occupancy.oldest(moments(spark, *minutes)))
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
    """Sent at minute 30, gone at minute 150: there at the ends of the minutes between, of two hours, of no day yet."""
    day = moment(at(0)).replace(hour=0)
    span = Span.of(day, day + timedelta(days=1), moment(at(170)), ZoneInfo("UTC"))
    changed = (
        messages(spark, message(30.5, None, 150.5)).transform(group_by_minutes).transform(occupancy.changes)
    )
    found = changed.transform(occupancy.windows_with_messages(calendar(spark, span), span))
    ends = {seconds: [] for seconds in (60, 3600, 86400)}  # type: dict[int, list[int]]
    for seconds, end in rows_of(found, "window_seconds", "ends_us"):
        ends[seconds].append(end)
    assert sorted(ends[60]) == [at(minute) for minute in range(31, 151)]
    assert sorted(ends[3600]) == [at(60), at(120)]
    assert ends[86400] == []


def test_windows_that_have_not_begun_are_not_computed(spark: SparkSession) -> None:
    """A message that is still there: the windows around now are the last ones, its day among them."""
    day = moment(at(0)).astimezone(UTC).replace(hour=0)
    now = datetime.fromtimestamp(at(61.5) / 1_000_000, UTC)
    span = Span.of(day, day + timedelta(days=1), now, ZoneInfo("UTC"))
    changed = messages(spark, message(59.5)).transform(group_by_minutes).transform(occupancy.changes)
    found = changed.transform(occupancy.windows_with_messages(calendar(spark, span), span))
    assert rows_of(found.where("window_seconds < 86400"), "window_seconds", "starts_us") == [
        (3600, at(0)),
        (3600, at(60)),
        (60, at(59)),
        (60, at(60)),
        (60, at(61)),
    ]
    assert rows_of(found.where("window_seconds = 86400"), "ends_us") == [(span.end_us,)]
    assert span.end_us - span.start_us == 1440 * MINUTE
