"""Decides which windows a run computes. For each queue, a run computes the windows from a given time to the end of the
run's span.

A run computes whole windows from all of their messages, so it needs only one time for each queue, and no list of
windows. The run does not write unchanged windows again (`database.write`).
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

INSTALLATION: Final = 0  # The queue id of rows without a queue.


@dataclass(frozen=True, slots=True)
class Scope:
    """The windows of a run. `since_us` maps a queue to the time from which its windows are in scope.

    A queue without a time has no windows in scope.
    """

    span: DaySpan
    since_us: Mapping[int, int]

    @classmethod
    def of(
        cls, first_us: Mapping[int, int], kept_us: Mapping[int, int], end: datetime, now: datetime, zone: ZoneInfo
    ) -> Scope:
        """Returns the scope of all windows from the window that contains a queue's `first_us`.

        `kept_us` maps each queue with a history to the time since which the history is complete. Earlier windows are
        out of scope.
        """
        starts = _WindowStarts(zone)
        since = {
            queue: max(starts.around(first), kept_us[queue]) for queue, first in first_us.items() if queue in kept_us
        }
        start = to_datetime(min(since.values(), default=to_micros(end)))
        return cls(DaySpan.of(min(start, end), end, now, zone), since)

    @property
    def start_us(self) -> int:
        """Returns the earliest time of a queue, or the end of the span if no queue has a time."""
        return min(self.since_us.values(), default=self.span.end_us)

    def queues_before(self, end_us: int | None) -> list[int]:
        """Returns the queues that may need rows from before `end_us`, or all queues if `end_us` is None."""
        return [queue for queue, since in self.since_us.items() if end_us is None or since < end_us]

    def frame(self, session: SparkSession) -> DataFrame:
        """Returns rows (queue_id, since_us) that every executor receives."""
        return F.broadcast(session.createDataFrame(list(self.since_us.items()), "queue_id int, since_us bigint"))


class _WindowStarts:
    """Computes the starts of the windows that contain given times, and caches the starts by minute."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._known: dict[int, int] = {}

    def around(self, us: int) -> int:
        """Returns the start of the earliest window, an hour or a day, that contains the time."""
        minute = us // MINUTE
        if minute not in self._known:
            at = to_datetime(us)
            day = next(list_day_starts(at, at, self._zone))
            self._known[minute] = min(us // HOUR * HOUR, to_micros(day))
        return self._known[minute]
