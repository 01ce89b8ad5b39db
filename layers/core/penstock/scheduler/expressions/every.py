"""Converts `every` to cron. The number must divide the next larger unit evenly, so the times are the same every day.

    30s  */30 * * * * *        6h  0 */6 * * *
    5m   */5 * * * *           1d  0 0 * * *

The SQL counterpart is in sql/functions/cron/rates.sql.
"""

import re

from .invalid import Flaw

EXAMPLES = ("30s", "5m", "1h", "6h", "1d")

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_WHOLE = {"s": 60, "m": 60, "h": 24, "d": 1}
_NEXT = {"s": "minute", "m": "hour", "h": "day"}
_PARTS = re.compile(r"(\d+)([smhd])", re.ASCII).fullmatch
_LOOSE = re.compile(r"\s*(\d+)\s*([a-z]*)\.?\s*", re.ASCII | re.IGNORECASE).fullmatch
_WORDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
}


def convert_every(text: str) -> str:
    """Returns the cron expression. Raises Flaw."""
    match = _PARTS(text)
    if match is None:
        raise Flaw(
            "every is a whole number and s, m, h or d, such as 5m", *_find_wrong_place(text), _suggest_every(text)
        )
    number, unit = int(match[1]), match[2]
    if not is_divisor(number, unit):
        raise Flaw(_explain_indivisible(unit), 0, len(text), _find_closest(number, unit))
    return build_cron(number, unit)


def is_divisor(number: int, unit: str) -> bool:
    """Returns whether the number divides the next larger unit evenly."""
    return 1 <= number <= _WHOLE[unit] and _WHOLE[unit] % number == 0


def build_cron(number: int, unit: str) -> str:
    """Returns the cron expression for a number that divides the next larger unit. 60s becomes one minute."""
    if number == _WHOLE[unit] and unit != "d":
        number, unit = 1, "mhd"["smh".index(unit)]
    step = "*" if number == 1 else f"*/{number}"
    return {"s": f"{step} * * * * *", "m": f"{step} * * * *", "h": f"0 {step} * * *", "d": "0 0 * * *"}[unit]


def _explain_indivisible(unit: str) -> str:
    if unit == "d":
        return "every takes 1d only: use cron for other numbers of days"
    numbers = ", ".join(str(n) for n in range(1, _WHOLE[unit] + 1) if _WHOLE[unit] % n == 0)
    return f"with {unit}, the number has to divide the {_NEXT[unit]} evenly: {numbers}"


def _find_closest(number: int, unit: str) -> str | None:
    """Returns the same duration in the largest possible unit, or the next smaller number that divides the next larger
    unit."""
    if number == 0:
        return None
    for larger, seconds in reversed(_SECONDS.items()):
        count, rest = divmod(number * _SECONDS[unit], seconds)
        if rest == 0 and is_divisor(count, larger):
            return f"{count}{larger}"
    return _find_closest(max(n for n in range(1, min(number, _WHOLE[unit]) + 1) if is_divisor(n, unit)), unit)


def _find_wrong_place(text: str) -> tuple[int, int]:
    """Returns the position of the first wrong character, and the length of the text from there to its end."""
    digits = len(text) - len(text.lstrip("0123456789"))
    known = digits > 0 and text[digits : digits + 1] in _SECONDS
    start = digits + (1 if known else 0)
    return start, len(text) - start


def _suggest_every(text: str) -> str | None:
    """Returns the corrected text, or None if no correction is known. `5 minutes` and `5` become 5m."""
    match = _LOOSE(text)
    if match is None or (unit := _WORDS.get(match[2].lower() or "m")) is None:
        return None
    return f"{match[1]}{unit}"[_find_wrong_place(text)[0] :] if text.startswith(match[1]) else None
