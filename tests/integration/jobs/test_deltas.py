"""The rows that are new since the last run, on frames of a few messages."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock_metrics.transforms import deltas
from penstock_metrics.transforms.deltas import Change
from tests.support.jobs.frames import at, message, messages

pytestmark = [pytest.mark.metrics, pytest.mark.xdist_group("spark")]
Rows = list[tuple[object, ...]]


def changed(spark: SparkSession, recorded: Rows, open_now: Rows, open_then: Rows) -> list[Change]:
    """The run at minute 200, after one at minute 100."""

    def contributions(rows: Rows, now: float) -> DataFrame:
        return messages(spark, *rows).transform(deltas.contributions(at(now)))

    then = contributions(open_then, 100).transform(as_stored)
    return sorted(
        deltas.find_changed(contributions(recorded, 200), contributions(open_now, 200), then),
        key=lambda change: change.queue_id,
    )


def as_stored(rows: DataFrame) -> DataFrame:
    """What PostgreSQL gives back of the lines that are written for it."""
    columns = rows.transform(deltas.lines("UTC", 7)).selectExpr("split(line, '\\t') as cells")
    return columns.selectExpr(
        "cast(cells[1] as int) as queue_id", "to_timestamp(cells[2]) as minute_at", "cells[4] as counts"
    ).transform(deltas.read_stored)


def test_an_old_message_that_ends_changes_its_end_only(spark: SparkSession) -> None:
    """Its arrival, its receive and its presence are known already, as are those of open messages."""
    then = [message(-3000, -50), message(-2000), message(-10)]
    assert changed(spark, [message(-3000, -50, 150)], [message(-2000), message(-10)], then) == [
        Change(1, at(150), is_open=True, changed=True)
    ]


def test_what_the_last_run_could_not_see_is_new_from_its_first_minute(spark: SparkSession) -> None:
    """Sent and ended before that run, or sent only; the transactions committed after it."""
    then = [message(-10)]
    late = changed(spark, [message(-3000.5, -90, -40)], then, then)
    assert late == [Change(1, at(-3001), is_open=True, changed=False)]
    assert changed(spark, [], [*then, message(-70)], then) == [Change(1, at(-70), is_open=True, changed=True)]


def test_what_has_ended_and_is_then_recorded_is_not_new(spark: SparkSession) -> None:
    ended = message(10, 20, 30)
    assert changed(spark, [ended], [], [ended]) == [Change(1, None, is_open=False, changed=True)]
    assert changed(spark, [], [ended], [ended]) == [Change(1, None, is_open=True, changed=False)]


def test_queues_are_told_apart(spark: SparkSession) -> None:
    now = [message(-10), of_another_queue(-10)]
    found = changed(spark, [of_another_queue(120, 130, 140)], now, now)
    assert found == [
        Change(1, None, is_open=True, changed=False),
        Change(2, at(120), is_open=True, changed=False),
    ]


def of_another_queue(
    entered: float, received: float | None = None, finished: float | None = None
) -> tuple[object, ...]:
    return (2, *message(entered, received, finished, group="g")[1:])


def test_a_receive_is_new(spark: SparkSession) -> None:
    """The second one when it was, or, if that is not known, in the minute of the run."""
    assert changed(spark, [], [message(-10, 110)], [message(-10)]) == [
        Change(1, at(110), is_open=True, changed=True)
    ]
    for known, minute in (((150,), 150), (None, 200)):
        again = changed(spark, [], [message(-10, -5, count=2, again=known)], [message(-10, -5)])
        assert again == [Change(1, at(minute), is_open=True, changed=True)]
