"""Tests rate(), cron() and at() of EventBridge Scheduler.

The sources are "Schedule types" (EventBridge Scheduler User Guide), ScheduleExpression (its API reference), and the
examples of "Cron expressions" (EventBridge User Guide), which have the same six fields.

Also tests the descriptions of expressions in words. The first nine descriptions come from the documentation of the REST
API ("Schedules").

Also compares the table of expressions in docs/reference/schedule_expressions.md with the code.

Also tests which modules an import of the package loads.
"""

import locale
import re
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.scheduler.expressions.expression import (
    Expression,
    ScheduleInvalid,
    convert_sentence,
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

MONDAY = datetime(2022, 1, 3, 0, 0, tzinfo=UTC)


def next_times(expression: str, count: int) -> list[str]:
    found = list_occurrences(parse_aws(expression), MONDAY, count)
    return [f"{instant:%a %d %b %H:%M}" for instant in found]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("cron(0 10 * * ? *)", ["Mon 03 Jan 10:00", "Tue 04 Jan 10:00"]),
        ("cron(15 12 * * ? *)", ["Mon 03 Jan 12:15", "Tue 04 Jan 12:15"]),
        ("cron(0 18 ? * MON-FRI *)", [f"{day} Jan 18:00" for day in
                                      ("Mon 03", "Tue 04", "Wed 05", "Thu 06", "Fri 07", "Mon 10")]),
        ("cron(0 8 1 * ? *)", ["Tue 01 Feb 08:00", "Tue 01 Mar 08:00"]),
        ("cron(0/15 * * * ? *)", ["Mon 03 Jan 00:15", "Mon 03 Jan 00:30", "Mon 03 Jan 00:45", "Mon 03 Jan 01:00"]),
        ("cron(0/10 * ? * MON-FRI *)", ["Mon 03 Jan 00:10", "Mon 03 Jan 00:20"]),
        ("cron(0/5 8-17 ? * MON-FRI *)", ["Mon 03 Jan 08:00", "Mon 03 Jan 08:05"]),
        # The range 20-2 spans midnight.
        ("cron(0/30 20-2 ? * MON-FRI *)", ["Mon 03 Jan 00:30", "Mon 03 Jan 01:00", "Mon 03 Jan 01:30",
                                           "Mon 03 Jan 02:00", "Mon 03 Jan 02:30", "Mon 03 Jan 20:00"]),
        ("cron(0 12 * * ? *)", ["Mon 03 Jan 12:00", "Tue 04 Jan 12:00"]),
        ("cron(5,35 14 * * ? *)", ["Mon 03 Jan 14:05", "Mon 03 Jan 14:35", "Tue 04 Jan 14:05"]),
        ("cron(15 10 ? * 6L 2019-2022)", ["Fri 28 Jan 10:15", "Fri 25 Feb 10:15"]),
        ("cron(1/10 * * * ? *)", ["Mon 03 Jan 00:01", "Mon 03 Jan 00:11", "Mon 03 Jan 00:21"]),
        ("cron(0 0 ? * 3#2 *)", ["Tue 11 Jan 00:00", "Tue 08 Feb 00:00"]),
        ("cron(0 0 3W * ? *)", ["Thu 03 Feb 00:00", "Thu 03 Mar 00:00", "Mon 04 Apr 00:00"]),
        ("cron(30-30 13-13 ? * 2,4,6 *)", ["Mon 03 Jan 13:30", "Wed 05 Jan 13:30", "Fri 07 Jan 13:30"]),
    ],
)  # fmt: skip
def test_examples_of_the_documentation(expression: str, expected: list[str]) -> None:
    assert next_times(expression, len(expected)) == expected


def test_the_example_with_years_ends() -> None:
    """The source says "at 10:15am UTC+0 on the last Friday of each month during the years 2019 to 2022"."""
    found = list_occurrences(parse_aws("cron(15 10 ? * 6L 2019-2022)"), datetime(2019, 1, 1, tzinfo=UTC), 100)
    assert len(found) == 48
    assert found[-1] == datetime(2022, 12, 30, 10, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "form", "canonical"),
    [
        ("cron(0 12 * * ? *)", "aws_cron", "cron(0 12 * * ? *)"),
        ("cron(0 12 ? * mon-fri 2026)", "aws_cron", "cron(0 12 ? * MON-FRI 2026)"),
        ("rate(5 minutes)", "rate", "rate(5 minutes)"),
        ("rate(1 minute)", "rate", "rate(1 minute)"),
        ("rate(01 hours)", "rate", "rate(1 hour)"),
        ("rate(7 days)", "rate", "rate(7 days)"),
        ("rate(7 day)", "rate", "rate(7 days)"),
        ("at(2022-11-20T13:00:00)", "at", "at(2022-11-20T13:00:00)"),
    ],
)
def test_canonical_forms(written: str, form: str, canonical: str) -> None:
    parsed = parse_aws(written, "America/New_York")
    assert (parsed.form, parsed.written, parsed.canonical) == (form, written, canonical)


@pytest.mark.parametrize(
    ("written", "position", "suggestion"),
    [
        # One of day-of-month and day-of-week must be `?`.
        ("cron(0 9 * * * *)", 9, "cron(0 9 ? * * *)"),
        ("cron(0 9 * * MON *)", 9, "cron(0 9 ? * MON *)"),
        ("cron(0 9 1 * * *)", 13, "cron(0 9 1 * ? *)"),
        ("cron(0 9 1 * MON *)", 13, None),
        ("cron(0 9 ? * ? *)", 13, "cron(0 9 ? * * *)"),
        # An expression has six fields, and only `cron` is allowed.
        ("cron(0 9 * * ?)", 14, "cron(0 9 * * ? *)"),
        ("cron(0 9 * * 1-5)", 16, "cron(0 9 ? * 1-5 *)"),
        ("cron(0 9 * *)", 12, None),
        ("cron(0 0 9 * * ? *)", 16, None),
        ("cron()", 5, None),
        ("cron(0 9 * * ? *", 16, "cron(0 9 * * ? *)"),
        ("0 9 * * ? *", 0, "cron(0 9 * * ? *)"),
        ("CRON(0 9 * * ? *)", 0, None),
        ("every 5 minutes", 0, None),
        # Invalid values.
        ("cron(60 9 * * ? *)", 5, "cron(0 9 * * ? *)"),
        ("cron(0 9 ? * 0 *)", 13, "cron(0 9 ? * 1 *)"),
        ("cron(0 9 ? * 8 *)", 13, None),
        ("cron(0 9 ? * monday *)", 13, "cron(0 9 ? * MON *)"),
        ("cron(0 9 * * ? 1969)", 15, "cron(0 9 * * ? 1970)"),
        ("cron(0 9 * * ? 2200)", 15, None),
        ("cron(? 9 * * ? *)", 5, None),
        ("cron(0 9 32W * ? *)", 9, None),
        # The guide says "3#1,6#3 is not valid because it is interpreted as two expressions".
        ("cron(0 9 ? * 3#1,6#3 *)", 13, None),
        ("cron(0 9 ? * 3#0 *)", 15, None),
        # invalid rates
        ("rate(0 minutes)", 5, None),
        ("rate(-5 minutes)", 5, None),
        ("rate(1.5 hours)", 5, None),
        ("rate(5 seconds)", 7, None),
        ("rate(5 mins)", 7, "rate(5 minutes)"),
        ("rate(5)", 0, "rate(5 minutes)"),
        ("rate(5 minutes", 0, "rate(5 minutes)"),
        ("rate(999999999999 days)", 5, None),
        # AWS refuses expressions with additional white space.
        ("rate( 10 minutes )", 5, "rate(10 minutes)"),
        ("rate(10  minutes)", 7, "rate(10 minutes)"),
        ("rate(10\tminutes)", 7, "rate(10 minutes)"),
        ("cron( 0 1 * * ? *)", 5, "cron(0 1 * * ? *)"),
        ("cron(0  1 * * ? * )", 6, "cron(0 1 * * ? *)"),
        # invalid times
        ("at(2022-11-20)", 13, "at(2022-11-20T00:00:00)"),
        ("at(2022-11-20T13:00)", 0, "at(2022-11-20T13:00:00)"),
        ("at(2022-11-20T13:00:00Z)", 0, None),
        ("at(2022-11-31T13:00:00)", 3, None),
        ("at(2300-01-01T00:00:00)", 3, None),
    ],
)  # fmt: skip
def test_a_refused_expression_names_the_position_and_a_suggestion(
    written: str, position: int, suggestion: str | None
) -> None:
    with pytest.raises(ScheduleInvalid) as raised:
        parse_aws(written)
    error = raised.value
    assert (error.position, error.suggestion) == (position, suggestion), error.message
    assert error.message
    assert error.examples


def test_a_moment_in_a_gap_is_refused() -> None:
    with pytest.raises(ScheduleInvalid, match="does not exist"):
        parse_aws("at(2026-03-08T02:30:00)", "America/New_York")


def test_the_length_of_an_expression() -> None:
    """An expression has at most 256 characters (API reference)."""
    longest = f"cron({','.join(['0'] * 120)} 9 * * ? *)"
    assert len(longest) == 256 - 1
    assert parse_aws(longest).form == "aws_cron"
    with pytest.raises(ScheduleInvalid, match="at most 256"):
        parse_aws(longest.replace("cron(", "cron(  "))


@pytest.mark.parametrize(
    ("form", "written", "zone", "text"),
    [
        ("cron", "* * * * *", "UTC", "Every minute"),
        ("every", "5m", "UTC", "Every 5 minutes"),
        ("when", "every day", "UTC", "Every day at 00:00"),
        ("when", "every weekday at 9am", "America/New_York", "At 09:00, Monday through Friday, America/New_York"),
        ("fire_at", "2026-01-02T03:04:05Z", "UTC", "Once at 2026-01-02 03:04:05 UTC"),
        ("fire_at", "2026-01-02T09:00:00", "Europe/Berlin", "Once at 2026-01-02 09:00:00, Europe/Berlin"),
        ("every", "30s", "UTC", "Every 30 seconds"),
        ("when", "hourly", "Etc/UTC", "Every hour"),
        ("cron", "15 9 * * *", "Asia/Tokyo", "Every day at 09:15, Asia/Tokyo"),
        ("cron", "30 0 9 * * *", "UTC", "Every day at 09:00:30"),
        ("cron", "0 0 13 * 5", "UTC", "At 00:00, on day 13 of the month, or on Friday"),
    ],
)  # fmt: skip
def test_an_expression_of_rest_has_a_description(form: str, written: str, zone: str, text: str) -> None:
    assert parse(**{form: written}, timezone=zone).description() == text


@pytest.mark.parametrize(
    ("expression", "zone", "text"),
    [
        ("rate(1 minute)", "UTC", "Every minute"),
        ("rate(12 hours)", "Europe/Berlin", "Every 12 hours"),
        ("cron(0 12 * * ? *)", "UTC", "Every day at 12:00"),
        ("cron(0 18 ? * 2-6 *)", "UTC", "At 18:00, Monday through Friday"),
        ("cron(15 10 ? * 6L 2022-2023)", "UTC", "At 10:15, on the last Friday of the month, 2022 through 2023"),
        ("cron(0 9 ? * 3#2 *)", "UTC", "At 09:00, on the second Tuesday of the month"),
        ("cron(0 9 ? * L *)", "UTC", "At 09:00, only on Saturday"),
        ("cron(0 9 LW * ? *)", "Asia/Tokyo", "At 09:00, on the last weekday of the month, Asia/Tokyo"),
        ("at(2022-11-20T13:00:00)", "America/New_York", "Once at 2022-11-20 13:00:00, America/New_York"),
    ],
)
def test_an_expression_of_aws_has_a_description(expression: str, zone: str, text: str) -> None:
    assert parse_aws(expression, zone).description() == text


def test_the_language_is_not_that_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locale, "getlocale", lambda *_: ("de_DE", "UTF-8"))
    assert read_stored("cron", "0 7 * * 2", "0 7 * * 2", "UTC").description() == "At 07:00, only on Tuesday"


ROW = re.compile(r"\| `?([A-Za-z_ ]+?)`? \| `([^`]+)` \| `([^`]+)` \| (.+) \|")


def test_the_table_of_expressions() -> None:
    text = (Path(__file__).parents[4] / "docs/reference/schedule_expressions.md").read_text()
    rows = ROW.findall(text)
    assert {form for form, *_ in rows} == {"cron", "every", "when", "fire_at", "EventBridge Scheduler"}
    for form, written, canonical, description in rows:
        expression = parse_aws(written) if form.startswith("EventBridge") else parse(**{form: written})
        assert (expression.canonical, expression.description()) == (canonical, description)


def test_the_slow_libraries_are_imported_when_they_are_needed() -> None:
    """The first evaluation imports croniter (60 ms), and the first description imports cron-descriptor (35 ms)."""
    program = (
        "import sys\n"
        "from penstock.scheduler.expressions.expression import parse\n"
        "parse(when='every day at 9am')\n"
        "print([name for name in ('croniter', 'cron_descriptor', 'difflib') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- properties ------------------------------------------------------------------------------------------------------
# Tests the properties of expressions against the definitions in reference_minutes.py. Compares next_after with a search
# through all minutes in 28 zones, and covers ten years of clock changes. Also tests next_after at calendar and clock
# changes.

SECOND = timedelta(seconds=1)


@given(crons, instants, st.sampled_from(ZONES))
@settings(max_examples=150, deadline=None)
def test_nothing_between_a_time_and_the_next_one(cron: str, after: datetime, name: str) -> None:
    """The next time matches the expression and is the first occurrence of its local time. No earlier minute within two
    days matches the expression.
    """
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
    """Compares the next time with a search through the days of at most three years."""
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
    """The schedule fires at the previewed times, regardless of when the worker runs."""
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
    """The parser raises no other exception. The position lies within the text, and the suggestion is a valid
    expression."""
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
    """Checks the first occurrences after a time. If `expected` contains fewer than two times, the expression must not
    have a later occurrence.
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
def test_a_rate_has_its_next_times(expression: str, after: str, anchor: str, expected: list[str]) -> None:
    check(parse_aws(expression, "America/New_York"), after, expected, anchor)


def test_a_rate_without_an_anchor_counts_from_the_time_itself() -> None:
    check(parse_aws("rate(2 hours)"), "2026-01-01 00:30", ["2026-01-01 02:30:00", "2026-01-01 04:30:00"])


def test_an_anchor_counts_in_whole_seconds() -> None:
    expression = parse_aws("rate(1 minute)")
    anchor = datetime(2026, 1, 1, 0, 0, 0, 750_000, tzinfo=UTC)
    assert expression.next_after(anchor, anchor) == utc("2026-01-01 00:01:00")


def test_fractions_of_a_second_do_not_matter() -> None:
    """The next time is strictly later and has no fraction of a second."""
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


@pytest.mark.parametrize(
    ("text", "meant"),
    [("rate 5 minutes", "rate(5 minutes)"), ("5 minutes", "rate(5 minutes)"), ("Rate(5 minuts)", "rate(5 minutes)"),
     ("evry weekday at 9am", "every weekday at 9am"), ("weekdays at 9am", "every weekday at 9am"),
     ("crn(0 9 ? * MON-FRI *)", "cron(0 9 ? * MON-FRI *)"), ("0 9 * * 1-5", "cron(0 9 ? * MON-FRI *)"),
     ("2030-01-31 09:00", "at(2030-01-31T09:00:00)"), ("@hourly", "hourly"), ("hello", None)],
)  # fmt: skip
def test_a_text_of_no_form_names_the_forms_and_what_is_meant(text: str, meant: str | None) -> None:
    """The form of a schedule takes sentences and AWS's expressions. A crontab's Monday is 1, and AWS's is 2."""
    with pytest.raises(ScheduleInvalid) as caught:
        convert_sentence(text)
    assert caught.value.suggestion == meant
    assert all(form in caught.value.message for form in ("every weekday at 9am", "rate(", "cron(", "at("))
    for example in caught.value.examples:
        parse_aws(convert_sentence(example))
