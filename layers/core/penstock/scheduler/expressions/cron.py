"""Parses cron expressions of 5 fields, cron expressions of 6 fields with seconds first, and AWS's `cron()` of six
fields with the year last.

    crontab  [second] minute hour day-of-month month day-of-week
    AWS      minute hour day-of-month month day-of-week year; one of the two days is `?`; 1 is Sunday

The result is a `Cron`, which has sets of values that next_time.py evaluates. The parser refuses a seventh field, `R`,
`H` and `@daily`, although croniter supports them.

cron_fields.sql and cron_times.sql implement the same rules for the SQL interface. Change a rule in both
places. test_schedule_expressions compares the results.
"""

import re
from dataclasses import dataclass

from . import fields
from .days import Days, MonthDays, WeekDays, read_month_days, read_week_days
from .fields import Field, parse_values
from .invalid import Flaw, Part, refuse_surplus_space

EXAMPLES = ("*/5 * * * *", "0 9 * * MON-FRI", "0 0 1 * *", "*/30 * * * * *")
AWS_EXAMPLES = ("cron(0 12 * * ? *)", "cron(0/5 8-17 ? * MON-FRI *)", "cron(0 9 L * ? *)")

_NAMES = "minute hour day-of-month month day-of-week"
_ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_ALL_YEARS = frozenset(range(fields.AWS_YEAR.low, fields.AWS_YEAR.high + 1))


@dataclass(frozen=True, slots=True)
class Cron:
    """The values of every field. `years` is None for all years."""

    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    months: frozenset[int]
    days: Days
    years: frozenset[int] | None = None


def read_crontab(text: str) -> Cron:
    """Parses an expression of 5 or 6 fields. Raises Flaw."""
    parts = _split_crontab(text)
    seconds = parse_values(fields.SECOND, parts.pop(0)) if len(parts) == 6 else frozenset((0,))
    minute, hour, day_of_month, month, day_of_week = parts
    return Cron(
        seconds,
        parse_values(fields.MINUTE, minute),
        parse_values(fields.HOUR, hour),
        months := parse_values(fields.MONTH, month),
        _parse_days(fields.DAY_OF_MONTH, day_of_month, fields.DAY_OF_WEEK, day_of_week, months),
    )


def read_aws(text: str) -> Cron:
    """Parses AWS's `cron(…)`. Raises Flaw."""
    minute, hour, day_of_month, month, day_of_week, year = _split_aws(text)
    years = parse_values(fields.AWS_YEAR, year)
    _check_question_mark(day_of_month, day_of_week)
    return Cron(
        frozenset((0,)),
        parse_values(fields.AWS_MINUTE, minute),
        parse_values(fields.AWS_HOUR, hour),
        months := parse_values(fields.AWS_MONTH, month),
        _parse_days(fields.AWS_DAY_OF_MONTH, day_of_month, fields.AWS_DAY_OF_WEEK, day_of_week, months),
        None if years == _ALL_YEARS else years,
    )


def format_crontab(text: str) -> str:
    """Returns the stored form, with one space between fields, names in capitals, and `*` for `?`."""
    return " ".join("*" if field == "?" else field.upper() for field in text.split())


def format_aws_cron(text: str) -> str:
    """Returns the stored form: one space between fields, names in capitals."""
    return f"cron({' '.join(text[5:-1].upper().split())})"


def _parse_days(month_field: Field, of_month: Part, week_field: Field, of_week: Part, months: frozenset[int]) -> Days:
    days_of_month: MonthDays | None = read_month_days(month_field, of_month)
    days_of_week: WeekDays | None = read_week_days(week_field, of_week)
    return Days(days_of_month and days_of_month.possible_in(months), days_of_week)


def convert_crontab(text: str) -> str | None:
    """Returns AWS's expression for a crontab's five fields, or None if a conversion is not certain. AWS's days of the
    week begin with 1 for Sunday, so the result has their names.
    """
    parts = text.upper().split()
    if len(parts) != 5 or any(sign in parts[4] for sign in "/#L"):
        return None
    minute, hour, of_month, month, of_week = parts
    names = re.sub("[0-7]", lambda day: fields.WEEKDAYS[int(day[0]) % 7], of_week)
    days = (of_month, "?") if of_week in ("*", "?") else ("?" if of_month == "*" else of_month, names)
    return f"cron({minute} {hour} {days[0]} {month} {days[1]} *)"


# --- splitting -------------------------------------------------------------------------------------------------------
def _split_crontab(text: str) -> list[Part]:
    parts = Part(text, 0).split(None)
    if not parts:
        raise Flaw(f"a cron expression has 5 fields ({_NAMES}); this one is empty", 0)
    _refuse_other_forms(parts[0])
    if len(parts) > 6:
        message = f"a cron expression has at most 6 fields (second {_NAMES}); this one has {len(parts)}"
        raise _find_surplus(message, parts[5], len(text))
    if len(parts) < 5:
        message = f"a cron expression has 5 fields ({_NAMES}), or 6 with seconds first; this one has {len(parts)}"
        raise Flaw(message, len(text.rstrip()), 0, " *" * (5 - len(parts)))
    return parts


def _find_surplus(message: str, last: Part, end: int) -> Flaw:
    """Returns the error for surplus fields. The error suggests the expression without the surplus fields."""
    start = last.position + len(last.text)
    return Flaw(message, start, end - start, "")


def _refuse_other_forms(first: Part) -> None:
    word = first.text.lower()
    if word.startswith("@"):
        raise first.flaw(f'"{first.text}" is not cron; write the fields', _ALIASES.get(word))
    if word.startswith(("cron(", "rate(", "at(")):
        raise first.flaw("cron takes only the fields here; cron(), rate() and at() are for EventBridge Scheduler")
    if word in ("every", "daily", "hourly"):
        raise first.flaw(f'"{first.text}" belongs in `when`; cron has 5 fields ({_NAMES})')


def _split_aws(text: str) -> list[Part]:
    if not text.startswith("cron("):
        instead = convert_crontab(text) or (f"cron({text})" if len(text.split()) == 6 else None)
        raise Flaw("an expression is rate(value unit), cron(fields) or at(yyyy-mm-ddThh:mm:ss)", 0, len(text), instead)
    if not text.endswith(")"):
        raise Flaw("cron( has no closing bracket", len(text), 0, ")")
    refuse_surplus_space(text)
    parts = Part(text[5:-1], 5).split(None)
    message = f"cron() has six fields ({_NAMES} year); this one has {len(parts)}"
    if len(parts) > 6:
        raise _find_surplus(message, parts[5], len(text) - 1)
    if len(parts) < 6:
        raise Flaw(message, len(text) - 1, 0, " *" if len(parts) == 5 else None)
    return parts


def _check_question_mark(day_of_month: Part, day_of_week: Part) -> None:
    """Raises an error unless `?` is in exactly one of the two fields, as AWS requires."""
    question_marks = (day_of_month.text == "?") + (day_of_week.text == "?")
    if question_marks == 1:
        return
    if question_marks == 2:
        raise day_of_week.flaw("day-of-month and day-of-week cannot both be ?", "*")
    wrong = day_of_month if day_of_month.text == "*" else day_of_week
    instead = "?" if wrong.text == "*" else None
    raise wrong.flaw("either day-of-month or day-of-week has to be ?", instead)
