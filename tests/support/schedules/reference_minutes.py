"""Evaluates cron expressions from their definitions without croniter, as the reference for
penstock.scheduler.expressions.

The sources are crontab (POSIX): five fields of `*`, numbers, ranges, lists, and if both days are restricted, either
counts; steps as in Vixie cron; and L, W and # in AWS's description ("Cron expressions", EventBridge User Guide). The
reference is slow and simple: it converts every minute of UTC to the zone's local time. A local time that does not
exist therefore never occurs. The second occurrence of a repeated time has fold=1 (PEP 495) and is skipped.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)

ZONES = (
    "Africa/Cairo", "Africa/Casablanca", "America/Asuncion", "America/Caracas", "America/Havana",
    "America/New_York", "America/Santiago", "America/Sao_Paulo", "America/Scoresbysund", "America/St_Johns",
    "Antarctica/Troll", "Asia/Amman", "Asia/Beirut", "Asia/Gaza", "Asia/Hovd", "Asia/Pyongyang",
    "Asia/Tehran", "Atlantic/Azores", "Australia/Lord_Howe", "Australia/Sydney", "Europe/Berlin",
    "Europe/Dublin", "Europe/London", "Europe/Volgograd", "Pacific/Apia", "Pacific/Auckland",
    "Pacific/Chatham", "Pacific/Fiji",
)  # fmt: skip
"""28 zones: some change at midnight or 23:30, some by 30 minutes or 2 hours, and some backwards in summer (Dublin,
Casablanca).
"""
YEARS = (2016, 2026)  # ten, the second excluded


def values(field: str, low: int, high: int) -> set[int]:
    """Returns the values of numbers, ranges, lists and steps. `*` and an open step end at `high`."""
    found: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        first, _, last = span.partition("-")
        start = low if first == "*" else int(first)
        end = int(last) if last else high if first == "*" or step else start
        found |= set(range(start, end + 1, int(step or 1)))
    return found


def matcher(expression: str) -> Callable[[datetime], bool]:
    """Returns a function that checks whether a local minute matches five numeric fields."""
    minute, hour, day, month, weekday = expression.split()
    minutes, hours, months = values(minute, 0, 59), values(hour, 0, 23), values(month, 1, 12)
    days, weekdays = values(day, 1, 31), {value % 7 for value in values(weekday, 0, 6)}

    @cache
    def named(local: date) -> bool:
        of_month, of_week = local.day in days, local.isoweekday() % 7 in weekdays
        return of_month or of_week if "*" not in (day, weekday) else of_month and of_week

    def matches(local: datetime) -> bool:
        return (
            local.minute in minutes and local.hour in hours and local.month in months and named(local.date())
        )

    return matches


def names_day(field: str, day: date) -> bool:
    """Checks a day against AWS's field of days of the month: L, LW, L-3, 15W, numbers, and lists."""
    month = [date(day.year, day.month, n) for n in range(1, 32) if n <= length_of_month(day)]
    weekdays = [other for other in month if other.isoweekday() < 6]
    for item in field.split(","):
        if item in ("*", "?") or (item == "L" and day == month[-1]) or (item == "LW" and day == weekdays[-1]):
            return True
        if item.startswith("L-") and (month[-1] - day).days == int(item[2:]):
            return True
        if item.endswith("W") and item != "LW" and int(item[:-1]) <= len(month):
            wanted = int(item[:-1])
            if day == min(weekdays, key=lambda other: abs(other.day - wanted)):
                return True
        if item[0] in "*0123456789" and not item.endswith("W") and day.day in values(item, 1, 31):
            return True
    return False


def names_weekday(field: str, day: date) -> bool:
    """Checks a day against AWS's field of days of the week: 6L, 6#3, L, numbers, and lists. 1 is Sunday."""
    number = day.isoweekday() % 7 + 1
    for item in field.split(","):
        if item in ("*", "?") or (item == "L" and number == 7):
            return True
        if item.endswith("L") and item != "L":
            if number == int(item[:-1]) and (day + 7 * DAY).month != day.month:
                return True
        elif "#" in item:
            wanted, nth = item.split("#")
            if number == int(wanted) and (day.day - 1) // 7 + 1 == int(nth):
                return True
        elif item != "L" and number in values(item, 1, 7):
            return True
    return False


def length_of_month(day: date) -> int:
    """Returns the days of the given day's month."""
    return (date(day.year + day.month // 12, day.month % 12 + 1, 1) - DAY).day


# --- the clocks of the zones -----------------------------------------------------------------------------------------
def minutes_of(zone: ZoneInfo, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yields (instant, local) of every minute whose local time occurs for the first time."""
    instant = start
    while instant < end:
        local = instant.astimezone(zone)
        if not local.fold:
            yield instant, local
        instant += MINUTE


def changes(zone: ZoneInfo) -> Iterator[datetime]:
    """Yields the hours before the zone's clock moves forward or back."""
    instant, end = datetime(YEARS[0], 1, 1, tzinfo=UTC), datetime(YEARS[1], 1, 1, tzinfo=UTC)
    hour = timedelta(hours=1)
    offset = instant.astimezone(zone).utcoffset()
    while instant < end:
        following = instant + 6 * hour
        if (new := following.astimezone(zone).utcoffset()) != offset:
            while (instant + hour).astimezone(zone).utcoffset() == offset:
                instant += hour
            offset = new
            yield instant
        instant = following
