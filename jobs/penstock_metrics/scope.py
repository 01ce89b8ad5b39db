"""Which windows a run computes: of each queue those from a time on, up to the end of the run's span.

A run computes whole windows from all messages that concern them, so it needs a time for each queue, no list of windows.
What it finds as it was is not written again (`database.write`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .span import HOUR, MINUTE, Span, day_starts, micros, moment

INSTALLATION: Final = 0  # in the place of a queue: for rows without one


@dataclass(frozen=True, slots=True)
class Scope:
    """`since_us`: of a queue, windows that start at this time or later; queues that are not named have none."""

    span: Span
    since_us: Mapping[int, int]

    @classmethod
    def of(
        cls,
        first_us: Mapping[int, int],
        kept_us: Mapping[int, int],
        end: datetime,
        now: datetime,
        zone: ZoneInfo,
    ) -> Scope:
        """All windows from those on that contain a queue's `first_us`, if the history that is kept has all about them.

        `kept_us`: since when that is so, for the queues that keep a history.
        """
        starts = _WindowStarts(zone)
        since = {
            queue: max(starts.around(first), kept_us[queue])
            for queue, first in first_us.items()
            if queue in kept_us
        }
        start = moment(min(since.values(), default=micros(end)))
        return cls(Span.of(min(start, end), end, now, zone), since)

    @property
    def start_us(self) -> int:
        """The earliest of the times; the end of the span without any."""
        return min(self.since_us.values(), default=self.span.end_us)

    def queues_before(self, end_us: int | None) -> list[int]:
        """Those that may need something from before a time; None: all."""
        return [queue for queue, since in self.since_us.items() if end_us is None or since < end_us]

    def frame(self, session: SparkSession) -> DataFrame:
        """(queue_id, since_us), in every executor."""
        return F.broadcast(
            session.createDataFrame(list(self.since_us.items()), "queue_id int, since_us bigint")
        )


class _WindowStarts:
    """Starts of windows around times; those of a minute are computed once."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._known: dict[int, int] = {}

    def around(self, us: int) -> int:
        """When the first window starts that contains the time: that of its hour or of its day."""
        minute = us // MINUTE
        if minute not in self._known:
            at = moment(us)
            day = next(day_starts(at, at, self._zone))
            self._known[minute] = min(us // HOUR * HOUR, micros(day))
        return self._known[minute]
