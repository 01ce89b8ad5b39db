"""Describes the time that a run computes, which is whole calendar days of a zone, and the windows of these days.

Times are microseconds since 1970, as in the transforms. A day lasts 23 to 25 hours when clocks change. Minute and hour
windows start at full minutes and hours of UTC.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import gcd
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MINUTE: Final = 60_000_000
HOUR: Final = 60 * MINUTE
QUARTER: Final = 15 * MINUTE
WINDOW_SECONDS: Final = (60, 3600, 86400)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def to_micros(at: datetime) -> int:
    """Returns the exact number of microseconds since 1970."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def to_datetime(us: int) -> datetime:
    """Converts a number of microseconds since 1970 to a moment."""
    return _EPOCH + timedelta(microseconds=us)


def find_zone(name: str) -> ZoneInfo:
    """Returns the time zone with the given name, such as Europe/Berlin. Raises ValueError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"QUEUE_METRICS_TIMEZONE must be a time zone such as Europe/Berlin, as --zone must, not {name!r}"
        ) from None


@dataclass(frozen=True, slots=True)
class DaySpan:
    """`days` lists the starts of consecutive days and the end of the last day. No window starts later than `now_us`."""

    days: tuple[int, ...]
    now_us: int

    @classmethod
    def of(cls, start: datetime, end: datetime, now: datetime, zone: ZoneInfo) -> DaySpan:
        """Returns the span of the days that [start, end) touches."""
        last = max(start, end - timedelta(microseconds=1))
        return cls(tuple(to_micros(day) for day in list_day_starts(start, last, zone)), to_micros(now))

    @property
    def start_us(self) -> int:
        return self.days[0]

    @property
    def end_us(self) -> int:
        return self.days[-1]

    def bounds(self, window_seconds: int) -> tuple[int, int]:
        """Returns [low, high), the interval in which the span's windows of the given length start.

        In some zones, days start in the middle of an hour.
        """
        step = HOUR if window_seconds == 3600 else MINUTE
        return self.start_us // step * step, -(-self.end_us // step) * step

    @property
    def slot_us(self) -> int:
        """Returns the longest time that divides all days, which is a quarter of an hour in today's zones."""
        return gcd(QUARTER, *(day % QUARTER for day in self.days))

    def slots(self) -> Iterator[tuple[int, int, int]]:
        """Yields the start of each slot, with the start and the end of the slot's day."""
        for start, end in pairwise(self.days):
            yield from ((slot, start, end) for slot in range(start, end, self.slot_us))


def list_day_starts(first: datetime, last: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Yields each midnight from the last midnight at or before `first` to the first midnight after `last`."""
    date, end = first.astimezone(zone).date(), last.astimezone(zone).date() + timedelta(days=1)
    while date <= end:
        yield datetime(date.year, date.month, date.day, tzinfo=zone).astimezone(UTC)
        date += timedelta(days=1)
