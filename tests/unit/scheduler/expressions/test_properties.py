"""Tests properties of every expression against the definitions in reference_minutes.py.

Compares next_after with a walk over the minutes of 28 zones, and covers ten years of clock changes.

Also tests next_after at the edges of calendars and clocks.
"""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.scheduler.expressions.expression import (
    Expression,
    ScheduleInvalid,
    list_occurrences,
    parse,
    parse_aws,
    read_stored,
)
from tests.support.schedules.reference_minutes import (
    AWS_DAYS,
    CALENDAR,
    CLOCKS,
    DAY,
    RATES,
    YEARS,
    ZONES,
    changes,
    crons,
    days,
    fields,
    instants,
    instants_of_years,
    matcher,
    minutes_of,
    names_day,
    names_weekday,
    texts,
    values,
    years,
)

SECOND = timedelta(seconds=1)


@given(crons, instants, st.sampled_from(ZONES))
@settings(max_examples=150, deadline=None)
def test_nothing_between_a_time_and_the_next_one(cron: str, after: datetime, name: str) -> None:
    """The next time matches and is the first of its local time. No earlier minute matches (within two days)."""
    zone, matches = ZoneInfo(name), matcher(cron)
    found = parse(cron=cron, timezone=name).next_after(after)
    minute = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
    end = min(found or minute + 2 * DAY, minute + 2 * DAY)
    while minute < end:
        local = minute.astimezone(zone)
        assert local.fold or not matches(local), minute
        minute += timedelta(minutes=1)
    if found is not None:
        local = found.astimezone(zone)
        assert found > after
        assert matches(local)
        assert not local.fold


@given(fields(0, 59), fields(0, 23), days, fields(1, 12), years, instants_of_years)
@settings(max_examples=80, deadline=None)
def test_days_of_aws(minute: str, hour: str, day: tuple[str, str], month: str, year: str, after: datetime) -> None:
    """Compares with a walk over the days of at most three years."""
    of_month, of_week = day
    expression = parse_aws(f"cron({minute} {hour} {of_month} {month} {of_week} {year})")
    times = sorted(time(h, m) for h in values(hour, 0, 23) for m in values(minute, 0, 59))
    months, in_years = values(month, 1, 12), values(year, 1970, 2199)

    def named(candidate: date) -> bool:
        of_both = names_day(of_month, candidate) and names_weekday(of_week, candidate)
        return of_both and candidate.month in months and candidate.year in in_years

    last = after.date() + 3 * 365 * DAY
    expected = None
    today = after.date()
    while expected is None and today < last:
        if today.month in months and today.year in in_years and named(today):
            instants = (datetime.combine(today, moment, UTC) for moment in times)
            expected = next((instant for instant in instants if instant > after), None)
        today += DAY
    found = expression.next_after(after)
    assert found == expected if expected else found is None or found.date() >= last


@given(crons, instants, st.sampled_from(ZONES), st.integers(2, 6))
@settings(max_examples=100, deadline=None)
def test_times_rise_and_do_not_depend_on_where_one_starts(cron: str, after: datetime, name: str, count: int) -> None:
    """The schedule fires at the previewed times, whenever the worker runs."""
    expression = parse(cron=cron, timezone=name)
    found = list_occurrences(expression, after, count)
    assert found == sorted(set(found))
    assert all(instant.tzinfo is UTC and not instant.microsecond for instant in found)
    for previous, following in zip([after, *found], found, strict=False):
        assert expression.next_after(following - SECOND) == following
        assert expression.next_after(previous + (following - previous) / 2) == following or previous == following


@given(crons | days.map(lambda day: f"cron(0 9 {day[0]} * {day[1]} *)"), st.sampled_from(ZONES))
@settings(max_examples=100, deadline=None)
def test_a_stored_expression_is_the_parsed_one(text: str, zone: str) -> None:
    parsed = parse_aws(text, zone) if text.startswith("cron(") else parse(cron=text, timezone=zone)
    again = read_stored(parsed.form, parsed.written, parsed.canonical, parsed.timezone)
    assert again == parsed
    assert again.next_after(datetime(2026, 1, 1, tzinfo=UTC)) == parsed.next_after(datetime(2026, 1, 1, tzinfo=UTC))
    assert parsed.description()


def read(form: str, text: str) -> Expression:
    return parse_aws(text) if form == "aws" else parse(**{form: text})


def outcome(form: str, text: str) -> Expression | ScheduleInvalid:
    try:
        return read(form, text)
    except ScheduleInvalid as error:
        return error


@given(st.sampled_from(["cron", "every", "when", "fire_at", "aws"]), texts)
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused_with_a_place(form: str, text: str) -> None:
    """The parser raises no other exception. The position lies in the text, and the suggestion is valid."""
    found = outcome(form, text)
    if isinstance(found, Expression):
        assert found.description()
        found.next_after(datetime(2026, 1, 1, tzinfo=UTC))
        return
    assert found.position is not None
    assert 0 <= found.position <= len(text)
    assert found.examples
    if found.suggestion is not None:
        read(form, found.suggestion)


EXPRESSIONS = (
    "* * * * *", "*/7 * * * *", "30 1 * * *", "30 2 * * *", "0 0 * * *", "15 0-3 * * *", "45 23 * * *",
    "59 */2 31 * 0",
)  # fmt: skip


@pytest.mark.parametrize("name", ZONES)
def test_around_every_change_of_the_clock(name: str) -> None:
    zone = ZoneInfo(name)
    matchers = {expression: matcher(expression) for expression in EXPRESSIONS}
    seen = 0
    for change in changes(zone):
        seen += 1
        start = change - timedelta(hours=1)
        minutes = list(minutes_of(zone, start, change + timedelta(hours=3)))
        for expression, matches in matchers.items():
            expected = [instant for instant, local in minutes if matches(local)]
            parsed = parse(cron=expression, timezone=name)
            before = start - timedelta(seconds=1)
            assert list_occurrences(parsed, before, len(expected)) == expected, (expression, change)
    assert seen


@pytest.mark.slow
@pytest.mark.parametrize("name", ZONES)
def test_every_minute_of_ten_years(name: str) -> None:
    zone = ZoneInfo(name)
    start, end = (datetime(year, 1, 1, tzinfo=UTC) for year in YEARS)
    wanted = {expression: matcher(expression) for expression in EXPRESSIONS[2:]}
    expected: dict[str, list[datetime]] = {expression: [] for expression in wanted}
    for instant, local in minutes_of(zone, start, end):
        for expression, matches in wanted.items():
            if matches(local):
                expected[expression].append(instant)
    for expression, moments in expected.items():
        parsed = parse(cron=expression, timezone=name)
        found = list_occurrences(parsed, start - timedelta(seconds=1), len(moments))
        assert found == moments, expression


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def check(expression: Expression, after: str, expected: list[str], anchor: str | None = None) -> None:
    """Checks the first instants after a time. If fewer than two instants are expected, the check also fails for a
    further instant.
    """
    count = max(2, len(expected))
    found = list_occurrences(expression, utc(after), count, utc(anchor) if anchor else None)
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
    """The next time is strictly later and has no fraction."""
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
    """The first case is the example of "One-time schedules" (EventBridge Scheduler User Guide)."""
    parsed = parse_aws(expression, zone)
    assert parsed.is_one_shot
    assert parsed.next_after(utc("2020-01-01")) == utc(instant)
    assert parsed.next_after(utc(instant)) is None
