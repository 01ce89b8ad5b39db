"""Parses one moment: `fire_at`, and AWS's `at(yyyy-mm-ddThh:mm:ss)`.

`fire_at` is RFC 3339 with an offset, or a local time of the schedule's time zone. Penstock drops fractions of a second,
as AWS's tools do. Penstock refuses a local time that does not exist, because the schedule would never fire. A time that
occurs twice means the first of the two instants. The SQL counterpart is rates.sql.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from .invalid import Flaw
from .zones import find_first_instant

EXAMPLES = ("2027-01-31T09:00:00Z", "2027-01-31T09:00:00+01:00", "2027-01-31T09:00:00")
AWS_EXAMPLES = ("at(2027-01-31T09:00:00)",)

_DATE = r"(\d{4})-(\d\d)-(\d\d)"
_FIRE_AT = re.compile(
    _DATE + r"[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:([Zz])|([+-])(\d\d):(\d\d))?", re.ASCII
).fullmatch
_AT = re.compile(r"at\(" + _DATE + r"T(\d\d):(\d\d):(\d\d)\)", re.ASCII).fullmatch
_ONLY_DATE = re.compile(r"(?:at\()?" + _DATE + r"\)?", re.ASCII).fullmatch


def read_fire_at(text: str, zone: tzinfo) -> datetime:
    """Returns the instant in UTC. Raises Flaw."""
    match = _FIRE_AT(text)
    if match is None:
        raise _describe_malformed(text, "fire_at is a time such as 2027-01-31T09:00:00Z", len(text))
    local = _parse_local(match, 0)
    if match[8]:
        return _check_year(_parse_offset(match, local), 0)
    return _check_year(_find_existing(local, UTC if match[7] else zone, 0, len(text)), 0)


def read_at(text: str, zone: tzinfo) -> datetime:
    """Returns the instant in UTC. Raises Flaw."""
    match = _AT(text)
    if match is None:
        message = "at() takes a local time: at(yyyy-mm-ddThh:mm:ss)"
        if _ONLY_DATE(text):
            raise _describe_malformed(text, message, len(text.rstrip(")")))
        raise Flaw(message, 0, len(text), _find_meant(text))
    return _find_existing(_parse_local(match, 3), zone, 3, len(text) - 4)


def _find_meant(text: str) -> str | None:
    """Returns at() with the local time that a text in another format means, or None for another text."""
    match = _FIRE_AT(text.removeprefix("at(").removesuffix(")"))
    if match is None or match[7] or match[8]:
        return None
    year, month, day, hour, minute = match.groups()[:5]
    return f"at({year}-{month}-{day}T{hour}:{minute}:{match[6] or '00'})"


def format_moment(instant: datetime) -> str:
    """Returns the moment as `2026-01-02T03:04:05Z`."""
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%S}Z"


def _parse_local(match: re.Match[str], start: int) -> datetime:
    year, month, day, hour, minute = (int(match[group]) for group in range(1, 6))
    try:
        local = datetime(year, month, day, hour, minute, int(match[6] or 0))  # noqa: DTZ001 - a local time
    except ValueError as error:
        raise Flaw(f"there is no such time: {error}", start, match.end() - start) from None
    return _check_year(local, start)


def _check_year(moment: datetime, start: int) -> datetime:
    if not 1970 <= moment.year <= 2199:
        raise Flaw(f"the year is 1970 to 2199, not {moment.year}", start, 4)
    return moment


def _parse_offset(match: re.Match[str], local: datetime) -> datetime:
    hours, minutes = int(match[9]), int(match[10])
    if hours > 23 or minutes > 59:
        raise Flaw("an offset is at most 23:59", match.start(8), 6)
    offset = timedelta(hours=hours, minutes=minutes)
    return local.replace(tzinfo=timezone(-offset if match[8] == "-" else offset)).astimezone(UTC)


def _find_existing(local: datetime, zone: tzinfo, start: int, length: int) -> datetime:
    instant = find_first_instant(local, zone)
    if instant is None:
        raise Flaw(f"{local} does not exist in {zone}: the clock is put forward then", start, length)
    return instant


def _describe_malformed(text: str, message: str, end: int) -> Flaw:
    """Returns the error for a text that is not a moment. For a date, the error suggests a time."""
    return Flaw(message, end, 0, "T00:00:00") if _ONLY_DATE(text) else Flaw(message, 0, len(text))
