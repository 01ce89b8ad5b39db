"""Converts times in documents, which are RFC 3339 in UTC."""

from datetime import UTC, datetime


def format_timestamp(milliseconds: int) -> str:
    """Formats milliseconds since 1970 as RFC 3339."""
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_timestamp(milliseconds: int | None) -> str | None:
    """Formats milliseconds since 1970 as RFC 3339."""
    return None if milliseconds is None else format_timestamp(milliseconds)


def parse_iso_time(text: str) -> datetime:
    """Parses an ISO 8601 time. Raises ValueError. Python ignores everything after a NUL, which is an error here."""
    if "\0" in text:
        raise ValueError("the time contains a NUL")
    return datetime.fromisoformat(text)


def parse_timestamp(text: str) -> datetime | None:
    """Parses an RFC 3339 time. Returns None for other texts, for times without an offset, and for years before 1970 or
    after 9998."""
    try:
        found = parse_iso_time(text)
        if found.tzinfo is not None and 1970 <= found.year < 9999:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    return None


def to_second(at: datetime | None) -> str | None:
    """Formats a schedule's time, to the second."""
    return None if at is None else format_time(at)


def to_millisecond(at: datetime | None) -> str | None:
    """Formats an event's time, to the millisecond."""
    return None if at is None else format_time(at, "milliseconds")


def format_time(at: datetime, precision: str = "seconds") -> str:
    """Formats a time in UTC."""
    return at.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")
