"""Decides which windows a run computes. For each queue, the run computes the windows from a given time to the end of
the run's span.

A run computes whole windows from all messages of these windows. A run therefore needs one time for each queue instead
of a list of windows. The run does not write unchanged windows again (`database.write`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .span import HOUR, MINUTE, DaySpan, list_day_starts, to_datetime, to_micros

INSTALLATION: Final = 0  # This number replaces the queue for rows without a queue.


@dataclass(frozen=True, slots=True)
class Scope:
    """`since_us` maps a queue to a time. The queue's windows that start at this time or later are in scope. A queue
    without a time
    has no windows."""

    span: DaySpan
    since_us: Mapping[int, int]

    @classmethod
    def of(
        cls, first_us: Mapping[int, int], kept_us: Mapping[int, int], end: datetime, now: datetime, zone: ZoneInfo
    ) -> Scope:
        """Returns all windows from the window that contains the `first_us` of a queue, if the kept history has all
        its messages.

        `kept_us` gives the time since which the history is complete, for the queues that keep one.
        """
        starts = _WindowStarts(zone)
        since = {
            queue: max(starts.around(first), kept_us[queue]) for queue, first in first_us.items() if queue in kept_us
        }
        start = to_datetime(min(since.values(), default=to_micros(end)))
        return cls(DaySpan.of(min(start, end), end, now, zone), since)

    @property
    def start_us(self) -> int:
        """Returns the earliest of the times, or the end of the span if no queue has a time."""
        return min(self.since_us.values(), default=self.span.end_us)

    def queues_before(self, end_us: int | None) -> list[int]:
        """Returns the queues that may need rows from before a time. None means all queues."""
        return [queue for queue, since in self.since_us.items() if end_us is None or since < end_us]

    def frame(self, session: SparkSession) -> DataFrame:
        """Returns (queue_id, since_us) for every executor."""
        return F.broadcast(session.createDataFrame(list(self.since_us.items()), "queue_id int, since_us bigint"))


class _WindowStarts:
    """Computes the starts of windows around times. Each minute is computed once."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._known: dict[int, int] = {}

    def around(self, us: int) -> int:
        """Returns the start of the first window that contains the time. That window is an hour or a day."""
        minute = us // MINUTE
        if minute not in self._known:
            at = to_datetime(us)
            day = next(list_day_starts(at, at, self._zone))
            self._known[minute] = min(us // HOUR * HOUR, to_micros(day))
        return self._known[minute]
