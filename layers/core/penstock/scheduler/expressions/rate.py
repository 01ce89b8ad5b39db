"""Parses AWS's `rate(value unit)`. Successive times are the same number of seconds apart, even if the zone's offset
changes.

A day is 24 hours ("Daylight savings time", EventBridge Scheduler User Guide). The API reference (ScheduleExpression)
lists six units, and allows both `1 minutes` and `5 minute`. The SQL counterparts are in
sql/functions/cron/rates.sql.
"""

import re
from datetime import datetime, timedelta

from .invalid import Flaw, find_nearest, refuse_surplus_space

EXAMPLES = ("rate(5 minutes)", "rate(1 hour)", "rate(2 days)")

_RATE = re.compile(r"rate\((\S+) (\S+?)\)", re.ASCII).fullmatch
_ALMOST = re.compile(r"rate\(([0-9]+) ?([a-z]*)\)?", re.ASCII).fullmatch
_SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400}
_UNITS = ("minute", "minutes", "hour", "hours", "day", "days")
_MAX_SECONDS = 230 * 366 * 86_400  # Penstock's choice, because the second time would be after 2199


def read_rate(text: str) -> tuple[int, str]:
    """Returns the number and the unit (minute, hour or day). Raises Flaw."""
    refuse_surplus_space(text)
    match = _RATE(text)
    if match is None:
        raise Flaw("rate() takes a number and a unit: rate(value unit)", 0, len(text), _find_meant(text))
    number, unit = match[1], match[2]
    if not (number.isascii() and number.isdigit()) or int(number) == 0:
        raise Flaw(f'the value of rate() is a whole number above 0, not "{number}"', match.start(1), len(number))
    if unit not in _UNITS:
        near = _find_unit_meant(unit)
        raise Flaw(f'the unit of rate() is {", ".join(_UNITS)}, not "{unit}"', match.start(2), len(unit), near)
    name = unit.removesuffix("s")
    if int(number) * _SECONDS[name] > _MAX_SECONDS:
        raise Flaw("the value of rate() is too large", match.start(1), len(number))
    return int(number), name


def _find_meant(text: str) -> str | None:
    """Returns the rate that a text without blank, unit or closing bracket means, or None for another text."""
    match = _ALMOST(text)
    return None if match is None else f"rate({match[1]} {match[2] or 'minutes'})"


def _find_unit_meant(unit: str) -> str | None:
    """Returns the unit that a word means, such as an abbreviation, or None."""
    plurals = _UNITS[1::2]
    return next((name for name in plurals if name.startswith(unit.lower())), find_nearest(unit, _UNITS))


def format_rate(text: str) -> str:
    """Returns the stored form: `rate(5 minutes)`, `rate(1 hour)`."""
    number, unit = read_rate(text)
    return f"rate({number} {unit}{'' if number == 1 else 's'})"


def read_seconds(canonical: str) -> int:
    """Returns the number of seconds between two times."""
    number, unit = read_rate(canonical)
    return number * _SECONDS[unit]


def find_next_of_rate(seconds: int, instant: datetime, anchor: datetime) -> datetime:
    """Returns the first time after `instant` that is a multiple of `seconds` after `anchor`, the rate's first time."""
    if instant < anchor:
        return anchor
    passed = (instant - anchor) // timedelta(seconds=seconds)
    return anchor + timedelta(seconds=seconds) * (passed + 1)
