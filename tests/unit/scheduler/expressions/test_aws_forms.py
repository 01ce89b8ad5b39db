"""Tests rate(), cron() and at() of EventBridge Scheduler.

Sources: "Schedule types" (EventBridge Scheduler User Guide), ScheduleExpression (its API reference), and the examples
of "Cron expressions" (EventBridge User Guide), which have the same six fields.

Also tests the descriptions for people. The first nine descriptions come from the REST API ("Schedules").

Also compares the table of expressions in docs/reference/schedule_expressions.md with the code.

Also tests the modules that an import of the package loads.
"""

import locale
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.scheduler.expressions.expression import ScheduleInvalid, list_occurrences, parse, parse_aws, read_stored

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
        # In 20-2, the range spans midnight.
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
        # Either day-of-month or day-of-week is `?`.
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
        # Invalid rates.
        ("rate(0 minutes)", 5, None),
        ("rate(-5 minutes)", 5, None),
        ("rate(1.5 hours)", 5, None),
        ("rate(5 seconds)", 7, None),
        ("rate(5 mins)", 7, "rate(5 minutes)"),
        ("rate(5)", 0, None),
        ("rate(5 minutes", 0, None),
        ("rate(999999999999 days)", 5, None),
        # AWS refuses this white space.
        ("rate( 10 minutes )", 5, "rate(10 minutes)"),
        ("rate(10  minutes)", 7, "rate(10 minutes)"),
        ("rate(10\tminutes)", 7, "rate(10 minutes)"),
        ("cron( 0 1 * * ? *)", 5, "cron(0 1 * * ? *)"),
        ("cron(0  1 * * ? * )", 6, "cron(0 1 * * ? *)"),
        # Invalid moments.
        ("at(2022-11-20)", 13, "at(2022-11-20T00:00:00)"),
        ("at(2022-11-20T13:00)", 0, None),
        ("at(2022-11-20T13:00:00Z)", 0, None),
        ("at(2022-11-31T13:00:00)", 3, None),
        ("at(2300-01-01T00:00:00)", 3, None),
    ],
)  # fmt: skip
def test_refused(written: str, position: int, suggestion: str | None) -> None:
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
def test_rest(form: str, written: str, zone: str, text: str) -> None:
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
def test_aws(expression: str, zone: str, text: str) -> None:
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
