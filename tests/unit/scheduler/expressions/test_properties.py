"""Properties of every expression, the definitions of reference_minutes.py as the reference."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.scheduler.expressions.expression import (
    Expression,
    ScheduleInvalid,
    occurrences,
    parse,
    parse_aws,
    read_stored,
)
from tests.support.schedules.expression_texts import (
    crons,
    days,
    fields,
    instants,
    instants_of_years,
    texts,
    years,
)
from tests.support.schedules.reference_minutes import DAY, ZONES, matcher, names_day, names_weekday, values

SECOND = timedelta(seconds=1)


@given(crons, instants, st.sampled_from(ZONES))
@settings(max_examples=150, deadline=None)
def test_nothing_between_a_time_and_the_next_one(cron: str, after: datetime, name: str) -> None:
    """The next time matches, is the first of its local time, and no minute in between does (within two days)."""
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
def test_days_of_aws(
    minute: str, hour: str, day: tuple[str, str], month: str, year: str, after: datetime
) -> None:
    """Against a walk over the days, three years at most."""
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
def test_times_rise_and_do_not_depend_on_where_one_starts(
    cron: str, after: datetime, name: str, count: int
) -> None:
    """What a preview shows is what then fires, whenever the worker looks."""
    expression = parse(cron=cron, timezone=name)
    found = occurrences(expression, after, count)
    assert found == sorted(set(found))
    assert all(instant.tzinfo is UTC and not instant.microsecond for instant in found)
    for previous, following in zip([after, *found], found, strict=False):
        assert expression.next_after(following - SECOND) == following
        assert (
            expression.next_after(previous + (following - previous) / 2) == following or previous == following
        )


@given(crons | days.map(lambda day: f"cron(0 9 {day[0]} * {day[1]} *)"), st.sampled_from(ZONES))
@settings(max_examples=100, deadline=None)
def test_a_stored_expression_is_the_parsed_one(text: str, zone: str) -> None:
    parsed = parse_aws(text, zone) if text.startswith("cron(") else parse(cron=text, timezone=zone)
    again = read_stored(parsed.form, parsed.written, parsed.canonical, parsed.timezone)
    assert again == parsed
    assert again.next_after(datetime(2026, 1, 1, tzinfo=UTC)) == parsed.next_after(
        datetime(2026, 1, 1, tzinfo=UTC)
    )
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
    """Nothing else is raised; a position lies in the text; a suggestion can be read."""
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
