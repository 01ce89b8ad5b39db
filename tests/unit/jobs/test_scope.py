"""From when on the windows of each queue are computed."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from penstock_metrics.scope import Scope
from penstock_metrics.span import HOUR, micros

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 30, 12, tzinfo=UTC)


def us(text: str) -> int:
    return micros(datetime.fromisoformat(text))


def scope(first: dict[int, int], kept: dict[int, int], zone: ZoneInfo = BERLIN) -> Scope:
    return Scope.of(first, kept, NOW, NOW, zone)


def test_all_windows_around_the_first_change() -> None:
    """Its day, which is the longest; the span is that of the queue whose change is first."""
    found = scope({1: us("2026-03-29T15:20Z"), 2: us("2026-03-30T11:59Z")}, {1: 0, 2: 0})
    assert found.since_us == {1: us("2026-03-29T00:00+01:00"), 2: us("2026-03-30T00:00+02:00")}
    assert found.start_us == found.span.start_us == us("2026-03-29T00:00+01:00")
    assert found.span.end_us == us("2026-03-31T00:00+02:00")


def test_an_hour_that_begins_before_its_day_does() -> None:
    found = scope({1: us("2026-03-29T18:45Z")}, {1: 0}, ZoneInfo("Asia/Kolkata"))
    assert found.since_us == {1: us("2026-03-29T18:00Z")}
    assert found.span.start_us <= us("2026-03-29T18:00Z")


def test_what_the_history_has_no_more_is_left_out() -> None:
    """And queues that keep none, or that there are no more."""
    kept = us("2026-03-30T05:00Z")
    found = scope({1: us("2026-03-01T00:00Z"), 2: us("2026-03-30T11:59Z"), 3: 0}, {1: kept, 2: 0})
    assert found.since_us == {1: kept, 2: us("2026-03-30T00:00+02:00")}


def test_the_queues_that_need_old_rows() -> None:
    found = scope({1: us("2026-03-29T15:20Z"), 2: us("2026-03-30T11:59Z")}, {1: 0, 2: 0})
    assert found.queues_before(us("2026-03-29T12:00Z")) == [1]
    assert found.queues_before(us("2026-03-30T12:00Z")) == found.queues_before(None) == [1, 2]


def test_nothing_to_compute() -> None:
    found = scope({}, {1: 0})
    assert (found.since_us, found.span.end_us - found.span.start_us) == ({}, 24 * HOUR)
    assert found.start_us == found.span.end_us
