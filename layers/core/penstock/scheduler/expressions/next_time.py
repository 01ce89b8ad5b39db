"""Computes the next time of a cron expression.

The local times come from croniter, the days beyond croniter's syntax from days.py, and the instants from zones.py.
Croniter receives plain lists of numbers, and local times without a zone, because croniter's rules for time zones are
wrong for schedules. With a zone, croniter 7.0.0 would fire `30 1 * * *` twice in New York's autumn, and `30 2 * * *` at
03:00 in spring (measured). The SQL counterpart is cron_times.sql.
test_schedule_expressions compares the results.
"""

from collections.abc import Iterator
from copy import copy
from datetime import date, datetime, time, timedelta, tzinfo
from functools import lru_cache

from .cron import Cron, read_aws, read_crontab
from .days import Days, list_days
from .fields import AWS_YEAR
from .invalid import raise_flaw
from .zones import end_of_clock_change, find_first_instant

LATEST = datetime(AWS_YEAR.high, 12, 31, 23, 59, 59)  # noqa: DTZ001 - a local time
"""The last second in which a schedule can fire. AWS's `cron()` has no year after 2199."""

_SECOND = timedelta(seconds=1)
_YEARS_OF_CALENDAR = 40  # the longest time between two Februaries with a fifth Monday
_YEARS_OF_DAYS = 8  # the longest time between two 29ths of February


class CronTimes:
    """The times of a cron expression. The object is immutable, so threads can share it."""

    __slots__ = ("_cron", "_plain", "_template")

    def __init__(self, cron: Cron) -> None:
        from croniter import croniter  # noqa: PLC0415 - it takes 60 ms, and most functions never evaluate an expression

        self._cron = cron
        self._plain = not cron.days.special and cron.years is None
        pattern = _build_pattern(cron, dates=self._plain)
        self._template = croniter(
            pattern, 0.0, datetime, second_at_beginning=True, max_years_between_matches=_YEARS_OF_DAYS
        )

    def next_after(self, instant: datetime, zone: tzinfo) -> datetime | None:
        """Returns the first matching instant after the given instant, in UTC, or None if no time until 2199 matches."""
        local = self._next_local(instant.astimezone(zone).replace(tzinfo=None, microsecond=0))
        while local is not None:
            found = find_first_instant(local, zone)
            if found is not None and found > instant:
                return found
            # Each iteration has a later time, so the loop terminates.
            local = self._next_local(max(local, end_of_clock_change(local, zone)))
        return None

    def _next_local(self, after: datetime) -> datetime | None:
        if after >= LATEST or self._cron.days.impossible:
            return None
        found = self._by_croniter(after) if self._plain else self._by_dates(after)
        return found if found is not None and found <= LATEST else None

    def _by_croniter(self, after: datetime) -> datetime | None:
        from croniter import CroniterBadDateError  # noqa: PLC0415 - see above

        try:  # copies the object, because get_next changes its current time
            return copy(self._template).get_next(datetime, start_time=after)
        except CroniterBadDateError:
            return None

    def _by_dates(self, after: datetime) -> datetime | None:
        """Returns the next local time. `days` finds the date, and croniter finds the time of day."""
        for day in _list_dates(self._cron, after.date()):
            midnight = datetime.combine(day, time())
            found = self._by_croniter(max(after, midnight - _SECOND))
            if found is not None and found.date() == day:
                return found
        return None


@lru_cache(maxsize=4096)
def build_cron_times(canonical: str) -> CronTimes:
    """Returns the times of a stored expression. The function caches the object, because its creation takes 0.3 ms.

    Raises ScheduleInvalid for a text that is not a cron expression.
    """
    return CronTimes(raise_flaw(canonical, read_aws if canonical.startswith("cron(") else read_crontab, ()))


def _list_dates(cron: Cron, start: date) -> Iterator[date]:
    """Yields the expression's dates from `start` on."""
    years = sorted(cron.years) if cron.years else range(start.year, start.year + _YEARS_OF_CALENDAR + 1)
    for year in years:
        for month in sorted(cron.months):
            if (year, month) >= (start.year, start.month):
                days = (date(year, month, day) for day in list_days(cron.days, year, month))
                yield from (day for day in days if day >= start)


def _build_pattern(cron: Cron, *, dates: bool) -> str:
    """Returns the expression for croniter, with only numbers, with `*` for all values, and with seconds only if they
    are not 0."""
    times = [_format_numbers(cron.minutes, 60), _format_numbers(cron.hours, 24)]
    if cron.seconds != {0}:
        times.insert(0, _format_numbers(cron.seconds, 60))
    return " ".join([*times, *(_build_date_pattern(cron.days, cron.months) if dates else ("*", "*", "*"))])


def _build_date_pattern(days: Days, months: frozenset[int]) -> tuple[str, str, str]:
    """Returns day-of-month, month and day-of-week. A day counts if it is in either day field, so a field with every day
    makes every day count."""
    of_month = _format_numbers(days.of_month.days, 31) if days.of_month and days.of_month.days else None
    of_week = _format_numbers(days.of_week.days, 7) if days.of_week else None
    if "*" in (of_month, of_week):
        of_month = of_week = None
    return of_month or "*", _format_numbers(months, 12), of_week or "*"


def _format_numbers(values: frozenset[int], all_of_them: int) -> str:
    return "*" if len(values) == all_of_them else ",".join(map(str, sorted(values)))
