"""Builds a series of a queue's minutes without gaps, so that rules can count back from now."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from .types import Facts, Gauges, Minute

MINUTE: Final = timedelta(minutes=1)
SETTLE: Final = timedelta(seconds=15)
"""The number of seconds after a minute's end from which the minute's counts are complete. A worker sums the activity
every ten seconds."""


@dataclass(slots=True)
class Series:
    """The values of each full minute, starting with the oldest, up to the last known minute. A gauge is the value at
    the end of a minute.

    `now` has the current gauges. `last_received_at` is the time of the last receive that returned a message, or None.
    """

    ends_at: datetime
    now: Gauges
    last_received_at: datetime | None = None
    sent: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    redelivered: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    """The number of messages that were deleted or moved to the dead-letter queue."""
    dead_lettered: list[int] = field(default_factory=list)
    expired: list[int] = field(default_factory=list)
    """The number of messages that left the queue because their retention period ended."""
    visible: list[int] = field(default_factory=list)
    in_flight: list[int] = field(default_factory=list)
    oldest_at: list[datetime | None] = field(default_factory=list)
    measured_at: datetime | None = None
    """The time of the gauges' last measurement. The gauges of later minutes are estimates."""
    sent_since: int = 0
    left_since: int = 0
    """The numbers of messages that arrived and left after the last full minute."""

    def __len__(self) -> int:
        return len(self.sent)

    def find_start(self, index: int) -> datetime:
        """Returns when the minute with the given index starts. `len(series)` is the index of the minute after the last
        minute.
        """
        return self.ends_at - (len(self) - index) * MINUTE


def build_series(minutes: Sequence[Minute], facts: Facts, now: datetime) -> Series:
    """Returns the series of a queue. `minutes` has the newest minute last. The series ignores minutes that start after
    `now`.

    A minute without a row had no activity, so its gauges stay the same. For a row without gauges, the gauges are the
    previous gauges plus arrivals minus departures.
    """
    ends_at = (now.astimezone(UTC) - SETTLE).replace(second=0, microsecond=0)
    rows = [row for row in minutes if row.starts_at <= now]
    series = Series(ends_at, Gauges(ends_at, 0, 0, 0))
    if rows:
        _fill(series, rows, ends_at)
    _set_present(series, rows, facts)
    return series


def _fill(series: Series, rows: Sequence[Minute], ends_at: datetime) -> None:
    found = {row.starts_at: row for row in rows if row.starts_at < ends_at}
    at = rows[0].starts_at.astimezone(UTC)
    visible = in_flight = delayed = 0
    oldest_at = None
    while at < ends_at:
        row = found.get(at) or Minute(at)
        left = row.deleted + row.dead_lettered
        if row.visible is not None and row.in_flight is not None:
            visible, in_flight, delayed = row.visible, row.in_flight, row.delayed or 0
            oldest_at = row.oldest_at
            series.measured_at = at + MINUTE
        elif row.sent or row.received or left:
            total = max(0, visible + in_flight + delayed + row.sent - left)
            visible = min(max(0, visible + row.sent - row.received), total)
            delayed = min(delayed, total - visible)
            in_flight = total - visible - delayed
        series.sent.append(row.sent)
        series.received.append(row.received)
        series.redelivered.append(row.redelivered)
        series.left.append(left)
        series.dead_lettered.append(row.dead_lettered)
        series.expired.append(row.expired)
        series.visible.append(visible)
        series.in_flight.append(in_flight)
        series.oldest_at.append(oldest_at)
        at += MINUTE


def _set_present(series: Series, rows: Sequence[Minute], facts: Facts) -> None:
    """Sets the newest gauges from the facts, the current minute, or the last minutes."""
    receives = [at for row in rows if (at := find_last_receive(row)) is not None]
    series.last_received_at = convert_to_utc(max(receives, default=None))
    oldest_at = next((row.oldest_at for row in reversed(rows) if row.visible is not None), None)
    visible, in_flight = (series.visible[-1], series.in_flight[-1]) if len(series) else (0, 0)
    series.now = Gauges(series.ends_at, visible, in_flight, 0, oldest_at)
    for row in rows[-2:]:
        if row.starts_at >= series.ends_at:
            series.sent_since += row.sent
            series.left_since += row.deleted + row.dead_lettered
        if row.starts_at >= series.ends_at and row.visible is not None and row.in_flight is not None:
            series.now = Gauges(row.starts_at, row.visible, row.in_flight, row.delayed or 0, row.oldest_at)
            series.measured_at = row.starts_at
    if facts.now is not None and facts.now.measured_at >= series.now.measured_at:
        series.now = facts.now
        series.measured_at = facts.now.measured_at
    series.now = series.now._replace(oldest_at=convert_to_utc(series.now.oldest_at))


def find_last_receive(row: Minute) -> datetime | None:
    """Returns the time of the last receive up to the given minute, or the end of the minute if only the number of
    receives is known."""
    known = row.last_received_at
    if row.received and (known is None or known < row.starts_at):
        return row.starts_at + MINUTE
    return known


def convert_to_utc(at: datetime | None) -> datetime | None:
    """Returns the time in UTC, because differences of local times would miss changes of the clocks."""
    return None if at is None else at.astimezone(UTC)
