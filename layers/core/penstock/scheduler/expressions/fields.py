"""Parses one field of a cron expression, such as `*`, `5`, `1-5`, `*/10`, `MON-FRI` or `1,15`, into its values.

Values, names and wildcards follow crontab(5) (POSIX) and AWS ("Cron-based schedules", EventBridge Scheduler User
Guide). Penstock does not use croniter's parser, because that parser's errors have no positions, and it reads `30-30` as
the whole field. The SQL counterpart is cron_fields.sql.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .invalid import Flaw, Part

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


@dataclass(frozen=True, slots=True)
class Field:
    """A field and its allowed values.

    `top` is the last value of `*` and of steps. Only weekdays have a `top` below `high`, because Sunday is both 0 and 7
    in a crontab. `turns` means that the first value follows the last value, so the suggestion for `24` is `0`. `wraps`
    means that a range such as `FRI-MON` is valid, as on AWS.
    """

    name: str
    low: int
    high: int
    top: int
    names: tuple[str, ...] = ()
    turns: bool = False
    wraps: bool = False

    @property
    def allowed(self) -> str:
        """Returns the allowed values for error texts, such as `0 to 59` or `1 to 12 or JAN to DEC`."""
        names = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
        return f"{self.low} to {self.high}{names}"


SECOND = Field("second", 0, 59, 59, turns=True)
MINUTE = Field("minute", 0, 59, 59, turns=True)
HOUR = Field("hour", 0, 23, 23, turns=True)
DAY_OF_MONTH = Field("day-of-month", 1, 31, 31)
MONTH = Field("month", 1, 12, 12, _MONTHS)
DAY_OF_WEEK = Field("day-of-week", 0, 7, 6, WEEKDAYS)

AWS_MINUTE = Field("minute", 0, 59, 59, turns=True, wraps=True)
AWS_HOUR = Field("hour", 0, 23, 23, turns=True, wraps=True)
AWS_DAY_OF_MONTH = Field("day-of-month", 1, 31, 31, wraps=True)
AWS_MONTH = Field("month", 1, 12, 12, _MONTHS, wraps=True)
AWS_DAY_OF_WEEK = Field("day-of-week", 1, 7, 7, WEEKDAYS, wraps=True)
AWS_YEAR = Field("year", 1970, 2199, 2199)


def parse_values(field: Field, part: Part) -> frozenset[int]:
    """Returns the values in a field's text. Sunday stays 0 or 7, as in the text."""
    return frozenset(value for item in part.split(",") for value in list_values(field, item))


def list_values(field: Field, item: Part) -> Iterator[int]:
    """Yields the values of one item between commas. Raises Flaw."""
    if not item.text:
        raise Flaw(f"a value of the {field.name} is missing", item.position)
    span, *steps = item.split("/")
    if len(steps) > 1:
        raise steps[1].flaw(f"the {field.name} has two steps")
    step = _step(field, steps[0]) if steps else 1
    if span.text == "*":
        return iter(range(field.low, field.top + 1, step))
    low, *highs = span.split("-")
    if highs:
        return _list_range(field, span, low, highs, step)
    return iter(range(parse_value(field, low), field.top + 1, step) if steps else (parse_value(field, low),))


def _list_range(field: Field, span: Part, low: Part, highs: list[Part], step: int) -> Iterator[int]:
    if len(highs) > 1:
        raise highs[1].flaw(f"a range of the {field.name} has two ends")
    first, last = parse_value(field, low), parse_value(field, highs[0])
    if last == 0 < first and field.names and field.low == 0:
        last = 7  # in MON-SUN, Sunday ends the range and is the seventh day
    if first <= last:
        return iter(range(first, last + 1, step))
    if field.wraps:
        length = field.top - field.low + 1
        return (field.low + (v - field.low) % length for v in range(first, last + length + 1, step))
    instead = f"{first}-{field.top},{field.low}-{last}" if step == 1 else None
    raise span.flaw(f"the range {span.text} of the {field.name} runs backwards", instead)


def parse_value(field: Field, part: Part) -> int:
    """Parses a number within the field's limits, or a name."""
    text = part.text.upper()
    if text in field.names:
        return field.names.index(text) + field.low
    if not is_number(text):
        raise part.flaw(f'"{part.text}" is not a {field.name}: {field.allowed}', _suggest_name(field, text))
    if not field.low <= int(text) <= field.high:
        raise part.flaw(f"the {field.name} is {field.allowed}, not {text}", _suggest_value(field, int(text)))
    return int(text)


def is_number(text: str) -> bool:
    """Returns whether the text has only ASCII digits. Python's int() also reads digits of other scripts."""
    return text.isascii() and text.isdigit()


def _step(field: Field, part: Part) -> int:
    if not is_number(part.text):
        raise part.flaw(f'the step of the {field.name} is a number, not "{part.text}"')
    if not 1 <= int(part.text) <= field.high:
        instead = "1" if int(part.text) == 0 else None
        raise part.flaw(f"the step of the {field.name} is 1 to {field.high}, not {part.text}", instead)
    return int(part.text)


def _suggest_name(field: Field, text: str) -> str | None:
    """Returns a name that the error can suggest: `MON` for `MONDAY`, `SEP` for `Sept`, but None for `9AM`."""
    for length in (3, 2):
        near = [name for name in field.names if len(text) >= length and name.startswith(text[:length])]
        if len(near) == 1:
            return near[0]
    return None


def _suggest_value(field: Field, value: int) -> str | None:
    return str(field.low) if value < field.low or (field.turns and value == field.high + 1) else None
