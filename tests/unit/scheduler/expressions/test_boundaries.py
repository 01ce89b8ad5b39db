"""next_after where calendars and clocks have edges."""

from datetime import UTC, datetime

import pytest

from penstock.scheduler.expressions.expression import Expression, occurrences, parse, parse_aws
from tests.support.schedules.calendar_edges import AWS_DAYS, CALENDAR, CLOCKS, RATES


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def check(expression: Expression, after: str, expected: list[str], anchor: str | None = None) -> None:
    """The first instants after a time; one more is asked for when fewer than two are expected: there is no more."""
    count = max(2, len(expected))
    found = occurrences(expression, utc(after), count, utc(anchor) if anchor else None)
    assert [f"{instant:%Y-%m-%d %H:%M:%S}" for instant in found] == expected


@pytest.mark.parametrize(("cron", "zone", "after", "expected"), CLOCKS)
def test_changes_of_the_clock(cron: str, zone: str, after: str, expected: list[str]) -> None:
    check(parse(cron=cron, timezone=zone), after, expected)


@pytest.mark.parametrize(("cron", "after", "expected"), CALENDAR)
def test_edges_of_the_calendar(cron: str, after: str, expected: list[str]) -> None:
    check(parse(cron=cron), after, expected)


@pytest.mark.parametrize(("expression", "after", "expected"), AWS_DAYS)
def test_days_and_years_of_aws(expression: str, after: str, expected: list[str]) -> None:
    check(parse_aws(expression), after, expected)


@pytest.mark.parametrize(("expression", "after", "anchor", "expected"), RATES)
def test_rates(expression: str, after: str, anchor: str, expected: list[str]) -> None:
    check(parse_aws(expression, "America/New_York"), after, expected, anchor)


def test_a_rate_without_an_anchor_counts_from_the_time_itself() -> None:
    check(parse_aws("rate(2 hours)"), "2026-01-01 00:30", ["2026-01-01 02:30:00", "2026-01-01 04:30:00"])


def test_an_anchor_counts_in_whole_seconds() -> None:
    expression = parse_aws("rate(1 minute)")
    anchor = datetime(2026, 1, 1, 0, 0, 0, 750_000, tzinfo=UTC)
    assert expression.next_after(anchor, anchor) == utc("2026-01-01 00:01:00")


def test_fractions_of_a_second_do_not_matter() -> None:
    """Strictly after, and never a fraction."""
    expression = parse(cron="*/10 * * * * *")
    assert expression.next_after(datetime(2026, 1, 1, 0, 0, 9, 999_999, UTC)) == utc("2026-01-01 00:00:10")
    assert expression.next_after(datetime(2026, 1, 1, 0, 0, 10, 1, UTC)) == utc("2026-01-01 00:00:20")


@pytest.mark.parametrize(
    ("expression", "zone", "instant"),
    [
        ("at(2022-11-20T13:00:00)", "America/New_York", "2022-11-20 18:00"),
        ("at(2026-11-01T01:30:00)", "America/New_York", "2026-11-01 05:30"),
        ("at(2026-07-01T00:00:00)", "UTC", "2026-07-01"),
    ],
)
def test_one_time_schedules(expression: str, zone: str, instant: str) -> None:
    """The first is the example of "One-time schedules" (EventBridge Scheduler User Guide)."""
    parsed = parse_aws(expression, zone)
    assert parsed.is_one_shot
    assert parsed.next_after(utc("2020-01-01")) == utc(instant)
    assert parsed.next_after(utc(instant)) is None
