"""Chooses the days (UTC) that an export writes, which are the days that runs computed since the last export."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import psycopg

from .datasets import MESSAGES, Dataset
from .place import Slot

_HOUR_FACTOR: Final = 12  # The retention period of hour windows, divided by the retention period of minute windows.


@dataclass(frozen=True, slots=True)
class Kept:
    """The retention of minute windows (QUEUE_METRICS_DAYS) and of the history (QUEUE_HISTORY_DAYS), in days."""

    minute_days: int
    history_days: int

    def of(self, dataset: Dataset, part: int) -> int | None:
        """Returns the rows' retention period in days, or None if the rows stay for ever."""
        if dataset is MESSAGES:
            return self.history_days
        return {60: self.minute_days, 3600: _HOUR_FACTOR * self.minute_days}.get(part)


@dataclass(frozen=True, slots=True)
class Computed:
    """The span [start, end] that the runs up to `run_id` computed since an export, or None if these runs computed no
    windows."""

    run_id: int
    start: datetime | None
    end: datetime | None

    def days(self) -> Iterator[date]:
        """Yields the days of the span, in UTC."""
        if self.start is None or self.end is None:
            return
        day, last = (at.astimezone(UTC).date() for at in (self.start, self.end))
        while day <= last:
            yield day
            day += timedelta(days=1)


def find_computed(connection: psycopg.Connection[Any], run_id: int) -> Computed:
    """Returns the span of the successful runs after `run_id`, or of all runs if the database lacks that run."""
    (newest,) = _read_row(
        connection,
        "select coalesce(max(run_id), 0) from queue.metrics_run where finished_at is not null and error is null",
    )
    if run_id > newest or run_id == 0:
        return Computed(newest, *_read_row(connection, _EVERYTHING)) if newest else Computed(0, None, None)
    return Computed(newest, *_read_row(connection, _SINCE, run_id))


_SINCE: Final = """
    select min(from_at), max(to_at) from queue.metrics_run
    where run_id > %s and finished_at is not null and error is null"""
_EVERYTHING: Final = """
    select least((select min(starts_at) from queue.metrics_window), (select min(starts_at) from queue.metrics_latency),
        (select min(finished_at) from queue.finished_message)), clock_timestamp()"""


def find_replaceable(
    dataset: Dataset, days: Collection[date], kept: Kept, today: date, there: Collection[Slot]
) -> tuple[list[Slot], list[Slot]]:
    """Returns the days to write, and the days to leave unchanged.

    The export does not replace files of days beyond the retention period, because some of the days' rows may be gone.
    """
    write, leave = list[Slot](), list[Slot]()
    for day in sorted(days):
        for part in dataset.parts:
            slot, limit = Slot(dataset.name, day, part), kept.of(dataset, part)
            whole = limit is None or day > today - timedelta(days=limit)
            (write if whole or slot not in there else leave).append(slot)
    return write, leave


def _read_row(connection: psycopg.Connection[Any], query: str, *values: object) -> tuple[Any, ...]:
    row = connection.execute(query.encode(), values).fetchone()
    assert row is not None
    return tuple(row)
