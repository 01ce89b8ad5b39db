"""Formats numbers, durations and times for readers."""

from datetime import UTC, datetime

_UNITS = (
    (86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"), (1, "µs"),
)  # fmt: skip
_THOUSANDS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
ABSENT = "-"


def duration(microseconds: float | None) -> str:
    """Formats a duration in the largest unit in which it is at least 1."""
    if microseconds is None:
        return ABSENT
    size, unit = next((known for known in _UNITS if microseconds >= known[0]), _UNITS[-1])
    return f"{digits(microseconds / size)} {unit}"


def digits(value: float) -> str:
    """Formats a number of 10 or more as a whole number, and a smaller number with one decimal place. Omits the decimal
    place if it is 0.
    """
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}".removesuffix(".0")


def count(value: float | None) -> str:
    """Formats a whole number."""
    return ABSENT if value is None else f"{value:,.0f}"


def compact(value: float) -> str:
    """Formats a number for an axis: in thousands, millions or more."""
    size, unit = next((known for known in _THOUSANDS if value >= known[0]), (1, ""))
    return f"{value / size:.3g}{unit}"


def rate(value: float | None) -> str:
    """Formats messages per second."""
    return ABSENT if value is None else f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def rate_with_unit(value: float, largest: float | None = None) -> str:
    """Formats a rate as messages per second, or as messages per minute if the rate is low. The values of a column have
    the unit of the column's `largest` value.
    """
    number, unit = (value, "s") if (value if largest is None else largest) >= 1 else (value * 60, "min")
    if value * 60 < 0.05:
        return "0"
    if number < 0.05:
        return f"<0.1/{unit}"
    return f"{number:,.0f}/{unit}" if number >= 9.95 else f"{number:.1f}/{unit}"


def share(value: float) -> str:
    """Formats a fraction as a percentage."""
    return f"{digits(100 * value)} %"


def moment(at: datetime) -> str:
    """Formats a date and time in UTC, without seconds."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def clock(at: datetime, now: datetime) -> str:
    """Formats a time in UTC, without seconds. Adds the day if the day is not today."""
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    return f"{at:%H:%M}" if at.date() == now.date() else f"{at.day} {at:%b %H:%M}"


def between(start: datetime, end: datetime) -> str:
    """Formats the time between `start` and `end`. Treats a negative time as 0."""
    return duration(max(0.0, (end - start).total_seconds()) * 1_000_000)


def plural(number: float, one: str, several: str | None = None) -> str:
    """Formats a number without decimals and a noun, such as `1 queue` and `2,000 queues`."""
    return f"{number:,.0f} {one if number == 1 else several or one + 's'}"
