"""Formats numbers, durations and times for people."""

from datetime import UTC, datetime

_UNITS = (
    (86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"), (1, "µs"),
)  # fmt: skip
ABSENT = "-"


def duration(microseconds: float | None) -> str:
    """A duration in the largest unit that leaves at least 1, with two or three digits."""
    if microseconds is None:
        return ABSENT
    size, unit = next((known for known in _UNITS if microseconds >= known[0]), _UNITS[-1])
    return f"{digits(microseconds / size)} {unit}"


def digits(value: float) -> str:
    """A whole number from 10 up, else one digit behind the point unless it is 0."""
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}".removesuffix(".0")


def count(value: float | None) -> str:
    """A whole number."""
    return ABSENT if value is None else f"{value:,.0f}"


def rate(value: float | None) -> str:
    """Messages a second."""
    return ABSENT if value is None else f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def share(value: float) -> str:
    """Percent."""
    return f"{digits(100 * value)} %"


def moment(at: datetime) -> str:
    """UTC, to the minute."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"
