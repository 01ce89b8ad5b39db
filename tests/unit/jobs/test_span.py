"""Days of zones and the windows in them."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from penstock_metrics.main import instant
from penstock_metrics.span import HOUR, MINUTE, QUARTER, DaySpan, find_zone, micros, moment

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def span(start: str, end: str, zone: str) -> DaySpan:
    return DaySpan.of(datetime.fromisoformat(start), datetime.fromisoformat(end), NOW, ZoneInfo(zone))


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", "2026-03-28", 24),
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("America/New_York", "2026-03-08", 23),
        ("America/New_York", "2026-11-01", 25),
        ("Australia/Lord_Howe", "2026-04-05", 24.5),
        ("Asia/Kolkata", "2026-03-29", 24),
        ("UTC", "2026-03-29", 24),
    ],
)
def test_a_day_is_as_long_as_in_its_zone(zone: str, day: str, hours: float) -> None:
    noon = datetime.fromisoformat(f"{day}T12:00:00").replace(tzinfo=ZoneInfo(zone))
    found = DaySpan.of(noon, noon, NOW, ZoneInfo(zone))
    assert found.end_us - found.start_us == hours * HOUR
    assert moment(found.start_us).astimezone(ZoneInfo(zone)).strftime("%F %T") == f"{day} 00:00:00"


def test_a_span_is_made_of_whole_days_without_gaps() -> None:
    found = span("2026-03-28T23:30+00:00", "2026-03-31T00:00+02:00", "Europe/Berlin")
    starts = [moment(day).astimezone(BERLIN).strftime("%F") for day in found.days]
    assert starts == ["2026-03-29", "2026-03-30", "2026-03-31"]
    assert [later - earlier for earlier, later in pairwise(found.days)] == [23 * HOUR, 24 * HOUR]


def test_the_slots_of_a_day_lie_in_it() -> None:
    found = span("2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00", "Europe/Berlin")
    slots = list(found.slots())
    assert found.slot_us == QUARTER
    assert len(slots) == 100
    assert all(start <= slot < end for slot, start, end in slots)


def test_hours_that_begin_before_the_day_does_are_computed_whole() -> None:
    found = span("2026-03-29T00:00+05:30", "2026-03-30T00:00+05:30", "Asia/Kolkata")
    low, high = found.bounds(3600)
    assert (found.start_us - low, high - found.end_us) == (30 * MINUTE, 30 * MINUTE)
    assert found.bounds(86400) == found.bounds(60) == (found.start_us, found.end_us)


def test_microseconds_are_exact() -> None:
    late = datetime(2261, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert moment(micros(late)) == late


def test_a_time_without_offset_is_one_of_the_zone() -> None:
    assert instant("2026-03-30", BERLIN) == datetime(2026, 3, 29, 22, tzinfo=UTC)
    assert instant("2026-03-30T00:00Z", BERLIN) == datetime(2026, 3, 30, tzinfo=UTC)
    assert instant(None, BERLIN) is None


@pytest.mark.parametrize("name", ["Europe/Nowhere", "", "../etc/passwd"])
def test_a_zone_that_there_is_not(name: str) -> None:
    with pytest.raises(ValueError, match="QUEUE_METRICS_TIMEZONE must be a time zone"):
        find_zone(name)
