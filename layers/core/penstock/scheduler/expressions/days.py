"""Finds the days of a month that a cron expression selects with numbers, weekdays, and AWS's `L`, `W` and `#`.

    L       the last day of the month; in day-of-week the last of the week, Saturday
    L-3     the third day before the last        LW      the last weekday (Monday to Friday) of the month
    15W     the weekday nearest to the 15th, within the month
    FRI#2   the second Friday; 6#2 in AWS        FRIL    the last Friday; 6L in AWS

Source: "Cron-based schedules" (EventBridge Scheduler User Guide). AWS accepts `L-3` and `LW` but does not document
them. If the expression restricts both fields, a day in either field counts (crontab, POSIX). AWS refuses an expression
that restricts both fields. The SQL counterpart is cron_fields.sql.
"""

from calendar import monthrange
from dataclasses import dataclass
from functools import lru_cache

from .fields import Field, is_number, list_values, parse_value
from .invalid import Part

Nth = tuple[int, int]

_MAX_DAYS_OF_MONTH = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, slots=True)
class MonthDays:
    """The day-of-month field. `before_last` is 0 for `L`, and 3 for `L-3`."""

    days: frozenset[int] = frozenset()
    before_last: frozenset[int] = frozenset()
    nearest: frozenset[int] = frozenset()
    last_weekday: bool = False

    @property
    def special(self) -> bool:
        """Returns whether croniter cannot evaluate the field."""
        return bool(self.before_last or self.nearest or self.last_weekday)

    def of(self, year: int, month: int) -> set[int]:
        """Returns the field's days in that month."""
        first, last = monthrange(year, month)
        found = {day for day in self.days if day <= last} | {last - n for n in self.before_last if n < last}
        found.update(_find_nearest_weekday(first, last, day) for day in self.nearest if day <= last)
        if self.last_weekday:
            found.add(_find_nearest_weekday(first, last, last))
        return found

    def possible_in(self, months: frozenset[int]) -> "MonthDays":
        """Returns the field without days that never occur in the months, such as `30` in February."""
        longest = max(_MAX_DAYS_OF_MONTH[month] for month in months)
        return MonthDays(
            frozenset(day for day in self.days if day <= longest),
            self.before_last,
            frozenset(day for day in self.nearest if day <= longest),
            self.last_weekday,
        )


@dataclass(frozen=True, slots=True)
class WeekDays:
    """The day-of-week field. 0 is Sunday, for cron expressions of AWS and of the REST API."""

    days: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    nth: frozenset[Nth] = frozenset()

    @property
    def special(self) -> bool:
        """Returns whether croniter cannot evaluate the field."""
        return bool(self.last or self.nth)

    def of(self, year: int, month: int) -> set[int]:
        """Returns the field's days in that month."""
        first, last = monthrange(year, month)
        return {day for day in range(1, last + 1) if self._has((first + day) % 7, day, last)}

    def _has(self, weekday: int, day: int, last: int) -> bool:
        if weekday in self.days or (weekday, (day + 6) // 7) in self.nth:
            return True
        return weekday in self.last and day + 7 > last


@dataclass(frozen=True, slots=True)
class Days:
    """Both day fields. An unrestricted field (`*` or `?`) is None."""

    of_month: MonthDays | None
    of_week: WeekDays | None

    @property
    def special(self) -> bool:
        """Returns whether croniter cannot evaluate the fields."""
        return any(part.special for part in (self.of_month, self.of_week) if part)

    @property
    def impossible(self) -> bool:
        """Returns whether no day ever matches, as for `0 0 30 2 *`."""
        return self.of_month == MonthDays() and self.of_week is None


@lru_cache(maxsize=1024)
def list_days(days: Days, year: int, month: int) -> tuple[int, ...]:
    """Returns the days of a month that either field selects, in order."""
    parts = [part for part in (days.of_month, days.of_week) if part]
    if not parts:
        return tuple(range(1, monthrange(year, month)[1] + 1))
    return tuple(sorted(set().union(*(part.of(year, month) for part in parts))))


def _find_nearest_weekday(first: int, last: int, day: int) -> int:
    """Returns the nearest weekday (Monday to Friday) in the same month. `first` is the weekday of the month's first day
    (0 for Monday)."""
    weekday = (first + day - 1) % 7
    if weekday == 5:
        return day - 1 if day > 1 else 3
    if weekday == 6:
        return day + 1 if day < last else day - 2
    return day


# --- reading ---------------------------------------------------------------------------------------------------------
def read_month_days(field: Field, part: Part) -> MonthDays | None:
    """Parses the day-of-month field. Raises Flaw."""
    if part.text in ("*", "?"):
        return None
    days: set[int] = set()
    before_last: set[int] = set()
    nearest: set[int] = set()
    items = part.split(",")
    for item in items:
        text = item.text.upper()
        if text == "L" or text.startswith("L-"):
            before_last.add(_count_before_last(item))
        elif text.endswith("W") and text != "LW":
            nearest.add(parse_value(field, Part(item.text[:-1], item.position)))
        elif text != "LW":
            days.update(list_values(field, item))
    last_weekday = any(item.text.upper() == "LW" for item in items)
    return MonthDays(frozenset(days), frozenset(before_last), frozenset(nearest), last_weekday)


def _count_before_last(item: Part) -> int:
    number = item.text[2:]
    if item.text.upper() == "L":
        return 0
    if not is_number(number) or not 1 <= int(number) <= 30:
        raise item.flaw(f"L- needs the number of days before the last day, 1 to 30, not {number}")
    return int(number)


def read_week_days(field: Field, part: Part) -> WeekDays | None:
    """Parses the day-of-week field. Raises Flaw."""
    if part.text in ("*", "?"):
        return None
    days: set[int] = set()
    last: set[int] = set()
    nth: set[Nth] = set()
    items = part.split(",")
    for item in items:
        text = item.text.upper()
        if "#" in text:
            nth.add(_parse_nth(field, item, alone=len(items) == 1))
        elif text == "L" and field.wraps:
            days.add(6)
        elif text.endswith("L") and text != "L":
            last.add(_find_weekday(field, Part(item.text[:-1], item.position)))
        else:
            days.update((value - field.low) % 7 for value in list_values(field, item))
    return WeekDays(frozenset(days), frozenset(last), frozenset(nth))


def _find_weekday(field: Field, part: Part) -> int:
    return (parse_value(field, part) - field.low) % 7


def _parse_nth(field: Field, item: Part, *, alone: bool) -> Nth:
    """Parses `6#2`. AWS: "If you use a '#' character, you can define only one expression in the day-of-week field"."""
    day, *numbers = item.split("#")
    if len(numbers) > 1 or not is_number(numbers[0].text) or not 1 <= int(numbers[0].text) <= 5:
        raise numbers[-1].flaw("# needs a number from 1 to 5, which counts the weekday in the month")
    if field.wraps and not alone:
        raise item.flaw("with # the day-of-week has only one expression")
    return _find_weekday(field, day), int(numbers[0].text)
