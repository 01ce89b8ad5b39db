"""Evaluates cron expressions by their definitions without croniter, as a reference for penstock.scheduler.expressions.

The sources are crontab (POSIX) for five fields of `*`, numbers, ranges and lists (if both day fields are restricted,
either may match), Vixie cron for steps, and AWS for L, W and # ("Cron expressions", EventBridge User Guide). The
reference is slow and simple: it converts every minute of UTC to the zone's local time. A local time that does not exist
therefore never occurs. The reference skips the second occurrence of a repeated time, which has fold=1 (PEP 495).

Also lists calendar and clock changes: an expression, an instant, and the first instants that must follow. The instants
are calculated by hand from the zones' rules. Fewer than two instants mean that no other instant follows.

Also makes expressions with Hypothesis: valid expressions, and texts of the same words, which are mostly invalid.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)

ZONES = (
    "Africa/Cairo", "Africa/Casablanca", "America/Asuncion", "America/Caracas", "America/Havana",
    "America/New_York", "America/Santiago", "America/Sao_Paulo", "America/Scoresbysund", "America/St_Johns",
    "Antarctica/Troll", "Asia/Amman", "Asia/Beirut", "Asia/Gaza", "Asia/Hovd", "Asia/Pyongyang",
    "Asia/Tehran", "Atlantic/Azores", "Australia/Lord_Howe", "Australia/Sydney", "Europe/Berlin",
    "Europe/Dublin", "Europe/London", "Europe/Volgograd", "Pacific/Apia", "Pacific/Auckland",
    "Pacific/Chatham", "Pacific/Fiji",
)  # fmt: skip
"""28 zones. Some change their clocks at midnight or 23:30, some by 30 minutes or 2 hours, and some turn them back
in summer (Dublin, Casablanca).
"""
YEARS = (2016, 2026)  # ten years; the second is excluded


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
        return local.minute in minutes and local.hour in hours and local.month in months and named(local.date())

    return matches


def names_day(field: str, day: date) -> bool:
    """Checks a day against AWS's day-of-month field: L, LW, L-3, 15W, numbers, and lists."""
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
    """Checks a day against AWS's day-of-week field: 6L, 6#3, L, numbers, and lists. 1 is Sunday."""
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
    return (date(day.year + day.month // 12, day.month % 12 + 1, 1) - DAY).day


# --- the clocks of the zones -----------------------------------------------------------------------------------------
def minutes_of(zone: ZoneInfo, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yields (instant, local) for every minute whose local time occurs for the first time."""
    instant = start
    while instant < end:
        local = instant.astimezone(zone)
        if not local.fold:
            yield instant, local
        instant += MINUTE


def changes(zone: ZoneInfo) -> Iterator[datetime]:
    """Yields the hours before the zone's clock changes."""
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


NEW_YORK, LORD_HOWE, BEIRUT = "America/New_York", "Australia/Lord_Howe", "Asia/Beirut"

# cron, zone, after, expected
CLOCKS: list[tuple[str, str, str, list[str]]] = [
    # 8 March 2026: 2:00 EST becomes 3:00 EDT.
    ("30 2 * * *", NEW_YORK, "2026-03-07 12:00", ["2026-03-09 06:30:00", "2026-03-10 06:30:00"]),
    ("0 2 * * *", NEW_YORK, "2026-03-07 12:00", ["2026-03-09 06:00:00", "2026-03-10 06:00:00"]),
    ("0 3 * * *", NEW_YORK, "2026-03-07 12:00", ["2026-03-08 07:00:00", "2026-03-09 07:00:00"]),
    ("*/30 * * * *", NEW_YORK, "2026-03-08 06:00", ["2026-03-08 06:30:00", "2026-03-08 07:00:00"]),
    ("*/20 2-3 8 3 *", NEW_YORK, "2026-03-08 06:59", ["2026-03-08 07:00:00", "2026-03-08 07:20:00"]),
    # 1 November 2026: 2:00 EDT becomes 1:00 EST.
    ("30 1 * * *", NEW_YORK, "2026-10-31 12:00", ["2026-11-01 05:30:00", "2026-11-02 06:30:00"]),
    ("0 2 * * *", NEW_YORK, "2026-10-31 12:00", ["2026-11-01 07:00:00", "2026-11-02 07:00:00"]),
    ("*/30 * * * *", NEW_YORK, "2026-11-01 05:00", ["2026-11-01 05:30:00", "2026-11-01 07:00:00"]),
    ("*/30 * * * *", NEW_YORK, "2026-11-01 06:10", ["2026-11-01 07:00:00", "2026-11-01 07:30:00"]),
    ("* * * * * *", NEW_YORK, "2026-11-01 05:59:58", ["2026-11-01 05:59:59", "2026-11-01 07:00:00"]),
    ("* * * * * *", NEW_YORK, "2026-11-01 06:00:00", ["2026-11-01 07:00:00", "2026-11-01 07:00:01"]),
    ("* * * * * *", NEW_YORK, "2026-03-08 06:59:58", ["2026-03-08 06:59:59", "2026-03-08 07:00:00"]),
    # The clock changes by half an hour: 2:00 becomes 2:30 on 4 October 2026, and 1:30 on 5 April 2026.
    ("15 2 * * *", LORD_HOWE, "2026-10-02 16:00", ["2026-10-04 15:15:00", "2026-10-05 15:15:00"]),
    ("45 1 * * *", LORD_HOWE, "2026-04-04 12:00", ["2026-04-04 14:45:00", "2026-04-05 15:15:00"]),
    ("*/15 * * * *", LORD_HOWE, "2026-04-04 14:45", ["2026-04-04 15:30:00", "2026-04-04 15:45:00"]),
    ("*/15 * * * *", LORD_HOWE, "2026-10-03 15:15", ["2026-10-03 15:30:00", "2026-10-03 15:45:00"]),
    # Some days have no midnight: 29 March in Beirut, 6 September in Santiago, and 8 March 2026 in Havana.
    ("0 0 * * *", BEIRUT, "2026-03-28 12:00", ["2026-03-29 21:00:00", "2026-03-30 21:00:00"]),
    ("0 0 * * *", "America/Santiago", "2026-09-05 12:00", ["2026-09-07 03:00:00", "2026-09-08 03:00:00"]),
    ("0 0 8 3 *", "America/Havana", "2026-01-01 00:00", ["2027-03-08 05:00:00", "2028-03-08 05:00:00"]),
    # The Azores have two midnights on 25 October 2026.
    ("0 0 * * *", "Atlantic/Azores", "2026-10-24 12:00", ["2026-10-25 00:00:00", "2026-10-26 01:00:00"]),
    # The clock at Troll changes by two hours: 1:00 becomes 3:00 on 29 March 2026.
    ("30 1,2,3 * * *", "Antarctica/Troll", "2026-03-29 00:00", ["2026-03-29 01:30:00", "2026-03-29 23:30:00"]),
    # The clock changes by a whole day: Samoa had no 30 December 2011.
    ("0 12 * * *", "Pacific/Apia", "2011-12-29 23:00", ["2011-12-30 22:00:00", "2011-12-31 22:00:00"]),
    # The following zones have offsets of a quarter of an hour.
    ("0 9 * * *", "Asia/Kathmandu", "2026-01-01 00:00", ["2026-01-01 03:15:00", "2026-01-02 03:15:00"]),
]  # fmt: skip

# cron, after, expected
CALENDAR: list[tuple[str, str, list[str]]] = [
    ("0 0 29 2 *", "2026-01-01", ["2028-02-29 00:00:00", "2032-02-29 00:00:00"]),
    ("0 0 29 2 *", "2096-03-01", ["2104-02-29 00:00:00", "2108-02-29 00:00:00"]),
    ("0 0 28 2 *", "2028-02-28", ["2029-02-28 00:00:00", "2030-02-28 00:00:00"]),
    ("59 23 28-29 2 *", "2028-02-28 23:59", ["2028-02-29 23:59:00", "2029-02-28 23:59:00"]),
    ("0 0 31 * *", "2026-01-31", ["2026-03-31 00:00:00", "2026-05-31 00:00:00"]),
    ("0 0 30 * *", "2026-01-30", ["2026-03-30 00:00:00", "2026-04-30 00:00:00"]),
    ("0 0 L * *", "2028-01-31", ["2028-02-29 00:00:00", "2028-03-31 00:00:00"]),
    ("0 0 1 * *", "2026-12-01", ["2027-01-01 00:00:00", "2027-02-01 00:00:00"]),
    ("59 23 31 12 *", "2026-12-31 23:59", ["2027-12-31 23:59:00", "2028-12-31 23:59:00"]),
    ("* * * * *", "2026-12-31 23:59:30", ["2027-01-01 00:00:00", "2027-01-01 00:01:00"]),
    ("59 59 23 31 12 *", "2026-12-31 23:59:58", ["2026-12-31 23:59:59", "2027-12-31 23:59:59"]),
    ("0 0 30 2 *", "2026-01-01", []),
    ("0 0 31 4,6,9,11 *", "2026-01-01", []),
    ("0 0 30W 2 *", "2026-01-01", []),
    ("0 0 30 2 1", "2026-01-01", ["2026-02-02 00:00:00", "2026-02-09 00:00:00"]),
    ("0 0 1 1 *", "2198-12-31", ["2199-01-01 00:00:00"]),
    ("* * * * *", "2199-12-31 23:59:00", []),
    # If both day fields are restricted, either may match (crontab). A field that lists all days counts as restricted.
    ("0 0 13 * 5", "2026-01-03", ["2026-01-09 00:00:00", "2026-01-13 00:00:00"]),
    ("0 0 1-31 * 1", "2026-01-06", ["2026-01-07 00:00:00", "2026-01-08 00:00:00"]),
    ("0 0 13 * 0-7", "2026-01-06", ["2026-01-07 00:00:00", "2026-01-08 00:00:00"]),
    ("0 0 15W * 5", "2026-01-08", ["2026-01-09 00:00:00", "2026-01-15 00:00:00"]),
    # Both 0 and 7 mean Sunday.
    ("0 0 * * 7", "2026-01-01", ["2026-01-04 00:00:00", "2026-01-11 00:00:00"]),
    ("0 0 * * 5-7", "2026-01-01", ["2026-01-02 00:00:00", "2026-01-03 00:00:00"]),
    ("0 0 * * SAT-SUN", "2026-01-01", ["2026-01-03 00:00:00", "2026-01-04 00:00:00"]),
    # croniter treats a range of one value as all values.
    ("30-30 5-5 * * *", "2026-01-01", ["2026-01-01 05:30:00", "2026-01-02 05:30:00"]),
    ("59/15 * * * *", "2026-01-01", ["2026-01-01 00:59:00", "2026-01-01 01:59:00"]),
]  # fmt: skip

# expression, after, expected
AWS_DAYS: list[tuple[str, str, list[str]]] = [
    # W: 15 August 2026 and 1 August 2026 are Saturdays, and 15 November 2026 and 31 May 2026 are Sundays.
    ("cron(0 9 15W 8 ? *)", "2026-01-01", ["2026-08-14 09:00:00", "2027-08-16 09:00:00"]),
    ("cron(0 9 15W 11 ? *)", "2026-01-01", ["2026-11-16 09:00:00", "2027-11-15 09:00:00"]),
    ("cron(0 9 1W 8 ? *)", "2026-01-01", ["2026-08-03 09:00:00", "2027-08-02 09:00:00"]),
    ("cron(0 9 31W 5 ? *)", "2026-01-01", ["2026-05-29 09:00:00", "2027-05-31 09:00:00"]),
    ("cron(0 9 31W * ? *)", "2026-01-31", ["2026-03-31 09:00:00", "2026-05-29 09:00:00"]),
    ("cron(0 9 LW 5 ? *)", "2026-01-01", ["2026-05-29 09:00:00", "2027-05-31 09:00:00"]),
    ("cron(0 9 L 2 ? *)", "2026-03-01", ["2027-02-28 09:00:00", "2028-02-29 09:00:00"]),
    ("cron(0 9 L-1 2 ? *)", "2027-01-01", ["2027-02-27 09:00:00", "2028-02-28 09:00:00"]),
    ("cron(0 9 L-29 2 ? *)", "2026-01-01", []),
    ("cron(0 9 1,L * ? *)", "2026-01-01 09:00", ["2026-01-31 09:00:00", "2026-02-01 09:00:00"]),
    # L and # in day-of-week: 6 is Friday, 3 is Tuesday, and 7 is Saturday.
    ("cron(15 10 ? * 6L *)", "2026-01-01", ["2026-01-30 10:15:00", "2026-02-27 10:15:00"]),
    ("cron(15 10 ? * FRIL *)", "2026-01-01", ["2026-01-30 10:15:00", "2026-02-27 10:15:00"]),
    ("cron(0 0 ? * 3#2 *)", "2026-01-01", ["2026-01-13 00:00:00", "2026-02-10 00:00:00"]),
    ("cron(0 0 ? * TUE#2 *)", "2026-01-01", ["2026-01-13 00:00:00", "2026-02-10 00:00:00"]),
    ("cron(0 0 ? * L *)", "2026-01-01", ["2026-01-03 00:00:00", "2026-01-10 00:00:00"]),
    ("cron(0 0 ? * 1 *)", "2026-01-01", ["2026-01-04 00:00:00", "2026-01-11 00:00:00"]),
    ("cron(0 0 ? 2 2#5 *)", "2044-03-01", ["2072-02-29 00:00:00", "2112-02-29 00:00:00"]),
    ("cron(0 0 ? * SAT-MON *)", "2026-01-01", ["2026-01-03 00:00:00", "2026-01-04 00:00:00"]),
    # Years.
    ("cron(0 0 1 1 ? 2030,2199)", "2026-01-01", ["2030-01-01 00:00:00", "2199-01-01 00:00:00"]),
    ("cron(59 23 31 12 ? 2026)", "2026-01-01", ["2026-12-31 23:59:00"]),
    ("cron(59 23 31 12 ? 2025)", "2026-01-01", []),
    ("cron(0 0 29 2 ? 2027/2)", "2026-01-01", []),
    ("cron(0 0 1 1 ? 2027/50)", "2026-01-01", ["2027-01-01 00:00:00", "2077-01-01 00:00:00", "2127-01-01 00:00:00",
                                               "2177-01-01 00:00:00"]),
]  # fmt: skip

# expression, after, anchor, expected
RATES: list[tuple[str, str, str, list[str]]] = [
    ("rate(5 minutes)", "2026-01-01 00:07", "2026-01-01 00:01", ["2026-01-01 00:11:00", "2026-01-01 00:16:00"]),
    ("rate(5 minutes)", "2026-01-01 00:11", "2026-01-01 00:01", ["2026-01-01 00:16:00", "2026-01-01 00:21:00"]),
    # The first occurrence is the anchor: StartDate "to set the first occurrence of the schedule".
    ("rate(1 hour)", "2026-01-01 00:00", "2026-05-05 05:05:05", ["2026-05-05 05:05:05", "2026-05-05 06:05:05"]),
    # A day has 24 hours, even when daylight saving time begins in New York.
    ("rate(1 day)", "2026-03-07 14:00", "2026-03-06 14:00", ["2026-03-08 14:00:00", "2026-03-09 14:00:00"]),
    ("rate(100 days)", "2026-12-31", "2026-01-01", ["2027-02-05 00:00:00", "2027-05-16 00:00:00"]),
]  # fmt: skip


instants = st.integers(315_532_800, 4_733_510_400).map(lambda second: datetime.fromtimestamp(second, UTC))
"""1980 to 2119."""


@st.composite
def fields(draw: st.DrawFn, low: int, high: int) -> str:
    """Draws a numeric field of a cron expression: `*`, `*/n`, `a`, `a/n`, `a-b`, `a-b/n`, and lists of these forms."""
    steps = st.integers(1, high)
    items = []
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(low, high))
        last = draw(st.integers(first, high))
        step = draw(steps)
        forms = (f"{first}", f"{first}-{last}", f"{first}/{step}", f"{first}-{last}/{step}")
        items.append(draw(st.sampled_from(forms)))
    return draw(st.sampled_from(["*", f"*/{draw(steps)}", ",".join(items)]))


crons = st.tuples(fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 6)).map(" ".join)
month_days = st.one_of(
    fields(1, 31), st.sampled_from(["L", "LW", "1W", "15W", "31W", "L-1", "L-3", "L-30", "1,L", "15W,LW", "5,L-2"])
)
week_days = st.one_of(fields(1, 7), st.sampled_from(["L", "1L", "6L", "7L", "1#1", "2#5", "6#3", "7#4", "2,6L"]))
days = month_days.map(lambda day: (day, "?")) | week_days.map(lambda day: ("?", day))
years = st.sampled_from(["*", "2026", "2024-2030", "2000/7", "1999,2050,2100"])
instants_of_years = st.integers(1_640_995_200, 1_861_920_000).map(lambda second: datetime.fromtimestamp(second, UTC))

WORDS = (
    "every daily hourly at day weekday weekdays monday 5 60 0 minutes hours 9am 9 am 13pm :15 noon * */5 ? L W # 1-5 "
    "5-1 MON JAN cron( rate( at( ) , / - 2026-01-31 T09:00:00 Z s m h d 30s"
)
words = st.lists(st.sampled_from(WORDS.split(" ")), max_size=8)
texts = st.text(max_size=300) | words.map(" ".join) | words.map("".join)
