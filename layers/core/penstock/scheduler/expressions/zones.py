"""Converts local times to instants.

A schedule skips a local time that does not exist (the clock goes forward). A time that occurs twice (the clock goes
back) means the first of the two instants. Source: the section on daylight saving in "Schedule types" (EventBridge
Scheduler User Guide). AWS does not document which of the two instants counts, so Penstock chose the first instant. The
rule applies to every change of a zone's offset.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from .invalid import TimezoneInvalid, find_nearest

EXAMPLES = ("UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata")
MAX_ZONE_LENGTH = 50
"""The maximum length of a name (EventBridge Scheduler API reference, ScheduleExpressionTimezone)."""

_NOT_ZONES = ("posix/", "right/", "posixrules", "localtime", "Factory")
_SECOND = timedelta(seconds=1)


def find_zone(name: str) -> tzinfo:
    """Returns the IANA zone. Raises ScheduleInvalid."""
    if name in ("UTC", "Etc/UTC"):
        return UTC
    if not 1 <= len(name) <= MAX_ZONE_LENGTH or name.startswith(_NOT_ZONES):
        raise _explain_unknown(name)
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        # An unknown name can be the name of a folder or of another file.
        raise _explain_unknown(name) from None


def find_first_instant(local: datetime, zone: tzinfo) -> datetime | None:
    """Returns the UTC instant of a local time, or the first of two instants. Returns None if the local time does
    not exist."""
    before, after = _find_offsets(local, zone)
    return None if before < after else (local - before).replace(tzinfo=UTC)


def end_of_clock_change(local: datetime, zone: tzinfo) -> datetime:
    """Returns the last second of the gap or repeated hour around this local time. For a time outside of gaps and
    repeated hours, returns the time itself."""
    before, after = _find_offsets(local, zone)
    if before == after:
        return local
    low, high = local - max(before, after), local - min(before, after)
    while high - low > _SECOND:
        middle = low + timedelta(seconds=(high - low) // (2 * _SECOND))
        if middle.replace(tzinfo=UTC).astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high + max(before, after) - _SECOND


def find_clock_set_back(zone: tzinfo, after: datetime) -> tuple[datetime, timedelta] | None:
    """Returns when and by how much the zone's clock goes back within the next 366 days, or None if it does not go
    back."""
    changes = ((at, before - offset) for at, before, offset in list_clock_changes(zone, after) if before > offset)
    return next(changes, None)


def list_clock_changes(zone: tzinfo, after: datetime) -> Iterator[tuple[datetime, timedelta, timedelta]]:
    """Yields the changes of a zone's offset within the next 366 days: the instant of the change, and the offsets before
    and after it."""
    day = after.astimezone(UTC).replace(second=0, microsecond=0)
    for _ in range(366):
        start, end = day, day + timedelta(days=1)
        day = end
        before, offset = _find_offset(start, zone), _find_offset(end, zone)
        if before != offset:
            while end - start > timedelta(minutes=1):
                middle = start + timedelta(minutes=(end - start) // timedelta(minutes=1) // 2)
                if _find_offset(middle, zone) == offset:
                    end = middle
                else:
                    start = middle
            yield end, before, offset


def is_repeated(local: datetime, zone: tzinfo) -> bool:
    """Returns whether a local time without a zone occurs twice, because the clock goes back."""
    before, after = _find_offsets(local, zone)
    return before > after


def _find_offset(instant: datetime, zone: tzinfo) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta(0)


def _find_offsets(local: datetime, zone: tzinfo) -> tuple[timedelta, timedelta]:
    """Returns the offsets before and after a clock change. The offset rises in a gap, and falls in a repeated hour
    (PEP 495)."""
    first = local.replace(tzinfo=zone)
    before, after = first.utcoffset(), first.replace(fold=1).utcoffset()
    assert before is not None  # noqa: S101 - every zone of zoneinfo has an offset
    assert after is not None  # noqa: S101
    return before, after


# --- errors ----------------------------------------------------------------------------------------------------------
def _explain_unknown(name: str) -> TimezoneInvalid:
    return TimezoneInvalid(f'"{name}" is not a time zone of the IANA database', None, _find_meant(name), EXAMPLES)


def _find_meant(name: str) -> str | None:
    """Returns the name that a text probably means, such as America/New_York for `america/newyork` and `New York`."""
    known = _index_by_folded_name()
    word = name[:MAX_ZONE_LENGTH].casefold().strip().replace(" ", "_")
    if word in known:
        return known[word]
    cities = {key.rpartition("/")[2]: key for key in sorted(known) if "/" in key}
    near = cities.get(word) or find_nearest(word, tuple(known))
    return known[near] if near else None


@cache
def _index_by_folded_name() -> dict[str, str]:
    return {name.casefold(): name for name in sorted(available_timezones())}
