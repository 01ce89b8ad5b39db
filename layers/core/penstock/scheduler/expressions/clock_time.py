"""Parses the time of day in `every weekday at 9am`: `9am`, `9:30am`, `12am` (0:00), `12pm`, `21:00`, `9`."""

import re

from .invalid import Part

EXAMPLES = ("9am", "9:30pm", "21:00", "noon")

_NAMED = {"noon": (12, 0), "midnight": (0, 0)}
_TIME = re.compile(r"(\d{1,2})(?::(\d\d))?(am|pm)?", re.ASCII).fullmatch
_LOOSE = re.compile(r"(\d{1,2})(?:[:.h](\d{1,2})?)?\s*(?:([ap])\.?(?:m\.?)?)?(?:\s*o'?clock)?", re.ASCII).fullmatch


def read_time(part: Part) -> tuple[int, int]:
    """Returns hour and minute. Raises Flaw."""
    if part.text in _NAMED:
        return _NAMED[part.text]
    match = _TIME(part.text)
    if match is None:
        raise part.flaw(f'"{part.text}" is not a time of day such as {", ".join(EXAMPLES)}', _suggest_time(part.text))
    hour, minute, half = int(match[1]), int(match[2] or 0), match[3]
    if minute > 59:
        raise part.flaw(f"the minute is 00 to 59, not {match[2]}")
    if half:
        return _convert_hour(part, hour, half), minute
    if hour > 23:
        instead = f"0{part.text[len(match[1]) :]}" if hour == 24 else None
        raise part.flaw(f"the hour is 0 to 23, not {hour}", instead)
    return hour, minute


def _convert_hour(part: Part, hour: int, half: str) -> int:
    if 1 <= hour <= 12:
        return hour % 12 + (12 if half == "pm" else 0)
    rest = part.text.lstrip("0123456789")
    instead = f"12{rest}" if hour == 0 else None
    if 12 < hour < 24 and half == "pm":
        instead = f"{hour - 12}{rest}"
    raise part.flaw(f"the hour with {half} is 1 to 12, not {hour}", instead)


def _suggest_time(text: str) -> str | None:
    """Rewrites `9 am`, `9.30am`, `9a.m.` and `9:5` so that read_time accepts them. Returns None for any other text."""
    match = _LOOSE(text)
    if match is None:
        return None
    minute = f":{match[2]:0>2}" if match[2] else ""
    half = f"{match[3]}m" if match[3] else ""
    return f"{match[1]}{minute}{half}"
