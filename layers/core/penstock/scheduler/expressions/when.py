"""Converts `when` to cron. The text is a sentence in a small, fixed grammar, in upper or lower case.

    every minute | every hour | every day | every N seconds|minutes|hours | every 1 day
    every day|weekday|weekend|monday…sunday at T | daily at T
    hourly | hourly at :MM

N divides the next larger unit, as in every.py. clock_time.py parses T.
"""

from .clock_time import read_time
from .every import build_cron, is_divisor
from .fields import WEEKDAYS, is_number
from .invalid import Flaw, Part, find_nearest

EXAMPLES = ("every 5 minutes", "every weekday at 9am", "daily at 21:00", "hourly at :15")

_UNITS = {"second": "s", "minute": "m", "hour": "h", "day": "d"}
_DAYS = {
    "day": "*",
    "weekday": "1-5",
    "weekend": "0,6",
    "monday": "1",
    "tuesday": "2",
    "wednesday": "3",
    "thursday": "4",
    "friday": "5",
    "saturday": "6",
    "sunday": "0",
}
_ALONE = {"minute": "* * * * *", "hour": "0 * * * *", "day": "0 0 * * *"}
_NUMBERS = dict(zip(("one", "two", "three", "four", "five", "six", "ten"), (1, 2, 3, 4, 5, 6, 10), strict=True))
_FIRST = ("every", "daily", "hourly")


def convert_when(text: str) -> str:
    """Returns the cron expression. Raises Flaw."""
    words = Part(text.lower(), 0).split(None)
    if not words:
        raise Flaw("when is empty", 0)
    first, rest = words[0], words[1:]
    end = Part("", len(text.rstrip()))
    if first.text == "every":
        return _convert_every(rest, end)
    if first.text == "daily":
        return _convert_daily(rest, end)
    if first.text == "hourly":
        return _convert_hourly(rest, end)
    raise first.flaw(f'when starts with every, daily or hourly, not "{first.text}"', _find_first_meant(first.text))


def is_sentence(text: str) -> bool:
    """Returns whether a text begins as a sentence does, and not as an expression of AWS does."""
    return text.lower().startswith(_FIRST)


def convert_to_aws(text: str) -> str:
    """Returns AWS's expression for a sentence. Raises Flaw, also for a number of seconds."""
    fields = convert_when(text).split()
    if len(fields) > 5:
        raise Flaw("EventBridge Scheduler fires at most once a minute", 0, len(text))
    minute, hour, _, month, weekdays = fields
    names = "".join(WEEKDAYS[int(sign)] if sign.isdigit() else sign for sign in weekdays)
    return f"cron({minute} {hour} {'* ' if weekdays == '*' else '? '}{month} {'?' if weekdays == '*' else names} *)"


def _convert_every(words: list[Part], end: Part) -> str:
    if not words:
        raise end.flaw("a unit, a number or a day must follow every", " day")
    subject, rest = words[0], words[1:]
    if is_number(subject.text):
        return _convert_every_so_many(subject, rest, end)
    if not rest and subject.text in _ALONE:
        return _ALONE[subject.text]
    if subject.text not in _DAYS:
        raise subject.flaw(f'"{subject.text}" is not a day or unit', _find_subject_meant(subject.text))
    if not rest:
        raise end.flaw(f"at and a time must follow every {subject.text}", " at 9am")
    minute_and_hour = _convert_at(rest, end)
    return f"{minute_and_hour} * * {_DAYS[subject.text]}"


def _convert_every_so_many(number: Part, words: list[Part], end: Part) -> str:
    if not words:
        raise end.flaw("seconds, minutes, hours or day must follow the number", " minutes")
    unit = words[0]
    name = unit.text.removesuffix("s")
    if name not in _UNITS:
        near = find_nearest(unit.text, ("seconds", "minutes", "hours", "day"))
        raise unit.flaw(f'"{unit.text}" is not seconds, minutes, hours or day', near)
    if len(words) > 1:
        raise _find_surplus(words[1:], end)
    if not is_divisor(int(number.text), _UNITS[name]):
        raise number.flaw(_explain_indivisible(name), _find_smaller(int(number.text), _UNITS[name]))
    return build_cron(int(number.text), _UNITS[name])


def _convert_daily(words: list[Part], end: Part) -> str:
    if not words:
        raise end.flaw("at and a time must follow daily", " at 9am")
    return f"{_convert_at(words, end)} * * *"


def _convert_hourly(words: list[Part], end: Part) -> str:
    if not words:
        return "0 * * * *"
    minute = _read_after_at(words, end)
    digits = minute.text.removeprefix(":")
    if not minute.text.startswith(":") or len(digits) != 2 or not is_number(digits) or int(digits) > 59:
        meant = f":{digits:0>2}" if is_number(digits) and int(digits) <= 59 else None
        raise minute.flaw(f'hourly takes the minute as :00 to :59, not "{minute.text}"', meant)
    return f"{int(digits)} * * * *"


def _convert_at(words: list[Part], end: Part) -> str:
    hour, minute = _read_at(words, end)
    return f"{minute} {hour}"


def _read_at(words: list[Part], end: Part) -> tuple[int, int]:
    return read_time(_read_after_at(words, end))


def _read_after_at(words: list[Part], end: Part) -> Part:
    """Returns the one word after `at`. Joins `9 am` to one word, so that read_time suggests `9am`."""
    if words[0].text != "at":
        raise words[0].flaw(f'at must precede "{words[0].text}"', _add_at(words[0].text))
    if len(words) == 1:
        raise end.flaw("a time must follow at", " 9am")
    if len(words) > 2 and words[2].text not in ("am", "pm", "a.m.", "p.m.", "o'clock"):
        raise _find_surplus(words[2:], end)
    if len(words) > 3:
        raise _find_surplus(words[3:], end)
    return Part(" ".join(word.text for word in words[1:]), words[1].position)


def _find_surplus(words: list[Part], end: Part) -> Flaw:
    start = words[0].position
    return Flaw(f'"{words[0].text}" is too much', start, end.position - start, "")


# --- suggestions -----------------------------------------------------------------------------------------------------
def _find_first_meant(word: str) -> str | None:
    if word.startswith("every") and word[5:] in (*_DAYS, *_ALONE):
        return f"every {word[5:]}"
    if word.removesuffix("s") in _DAYS:
        return f"every {word.removesuffix('s')}"
    return find_nearest(word, _FIRST)


def _find_subject_meant(word: str) -> str | None:
    if word in _NUMBERS:
        return str(_NUMBERS[word])
    if word == "second":
        return "1 seconds"
    near = [day for day in _DAYS if len(word) >= 3 and day.startswith(word)]
    return near[0] if near and near[0] != "weekday" else find_nearest(word, (*_DAYS, *_ALONE))


def _add_at(word: str) -> str | None:
    return f"at {word}" if word[0] in "0123456789:" or word in ("noon", "midnight") else find_nearest(word, ("at",))


def _explain_indivisible(unit: str) -> str:
    if unit == "day":
        return "every takes 1 day only: use cron for other numbers of days"
    return f"so many {unit}s do not divide the next unit evenly"


def _find_smaller(number: int, unit: str) -> str | None:
    smaller = [n for n in range(1, min(number, 60) + 1) if is_divisor(n, unit)]
    return str(smaller[-1]) if smaller else None
