"""Reads the data of the report piece by piece: never more than the windows of one queue, or one page of queues."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from penstock import errors
from penstock.aws.arn import queue_arn
from penstock.drivers import run
from penstock.postgres.database import Database
from penstock.postgres.statements.metrics import READ_BUSIEST_QUEUES, READ_HOT_GROUPS, READ_LAG, READ_LAG_HEAT
from penstock.settings import Settings
from penstock_web.native.metrics.documents import LagPage, QueueMetrics, lag_page_of, utc
from penstock_web.native.metrics.operations import MAX_WINDOWS, WINDOW_SECONDS, Span, queue_windows

from .charts import Bar, Cell

MAX_QUEUES = 12
MAX_GROUPS = 20
MAX_SLOTS = 72
PAGE = 200
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True)
class HeatMap:
    """The lag of each queue in each slot of time."""

    names: list[str]
    slots: list[datetime]
    step: timedelta
    cells: dict[tuple[str, datetime], Cell]


@dataclass(frozen=True)
class HotGroups:
    """The groups with most arrivals, and the number of all arrivals in their queues."""

    bars: list[Bar]
    arrivals: int


class Reader:
    """Reads metrics of one account and region, of one queue or of all. Raises ServiceUnavailable."""

    def __init__(self, database: Database, settings: Settings, span: Span, queue: str | None) -> None:
        self._database = database
        self._account_and_region = (settings.queue_account_id, settings.queue_region)
        self._zone = settings.queue_metrics_timezone
        self.span = span
        self.queue = queue

    def busiest(self) -> list[str]:
        """The queues with most arrivals, or the named queue. Raises QueueDoesNotExist if the named one is missing."""
        if self.queue is not None:
            self._arn_of(self.queue)
            if not self._lag(None, 1).queues:
                raise errors.QueueDoesNotExist
            return [self.queue]
        arguments = (*self._account_and_region, *coarse_span(self.span), MAX_QUEUES, self._zone)
        return [row.name for row in self._database.call(READ_BUSIEST_QUEUES, arguments)]

    def windows(self, name: str) -> QueueMetrics:
        """The metrics of one queue. Raises QueueDoesNotExist when it was deleted meanwhile."""
        return run(queue_windows(self._arn_of(name), name, self.span, None, self._zone), self._database)

    def _arn_of(self, name: str) -> str:
        account, region = self._account_and_region
        if (arn := queue_arn(region, account, name)) is None:
            raise errors.QueueDoesNotExist
        return arn

    def heat(self, names: list[str]) -> HeatMap:
        """The lags of these queues. A slot has as many hours, or days for a span in days, that there are at most 72."""
        unit = DAY if self.span.window == "1d" else HOUR
        start = self.span.start.replace(minute=0, second=0, microsecond=0)
        units = math.ceil((self.span.end - start) / unit)
        step = math.ceil(units / MAX_SLOTS) * unit
        slots = [start + n * step for n in range(math.ceil(units * unit / step))]
        arguments = (
            *self._account_and_region,
            names,
            int(unit.total_seconds()),
            start,
            self.span.end,
            int(step.total_seconds()),
            self._zone,
        )
        rows = self._database.call(READ_LAG_HEAT, arguments)
        cells = {(row.name, utc(row.slot)): Cell(messages=row.count, p95_us=row.p95_us) for row in rows}
        return HeatMap(names, slots, step, cells)

    def hot_groups(self) -> HotGroups:
        """The hot groups of all queues together, or of the named one."""
        arguments = (*self._account_and_region, self.queue, *coarse_span(self.span), MAX_GROUPS, self._zone)
        rows = self._database.call(READ_HOT_GROUPS, arguments)
        several = self.queue is None
        bars = [
            Bar(f"{row.name} / {row.group_id}" if several else row.group_id, row.arrivals) for row in rows
        ]
        arrivals = max((row.arrivals_of_all or 0 for row in rows), default=0)
        return HotGroups(bars, max(arrivals, sum(bar.value for bar in bars)))

    def lag(self) -> Iterator[LagPage]:
        """Pages of queues, at least one."""
        after: str | None = None
        while True:
            page = self._lag(after, PAGE)
            yield page
            if len(page.queues) < PAGE:
                return
            after = page.queues[-1].name

    def _lag(self, after: str | None, limit: int) -> LagPage:
        return lag_page_of(
            self._database.call(READ_LAG, (*self._account_and_region, self.queue, after, limit))
        )


def coarse_span(span: Span) -> tuple[int, datetime, datetime]:
    """Window, start and end for sums over all queues: a span of more than six hours has hours instead of minutes."""
    if span.window == "1m" and span.end - span.start > 6 * HOUR:
        return WINDOW_SECONDS["1h"], span.start.replace(minute=0, second=0, microsecond=0), span.end
    return span.seconds, span.start, span.end


def span_of_report(start: datetime | None, end: datetime | None) -> Span:
    """The span of a report, by default the last day, with the shortest windows that are not too many.

    Raises ValueError.
    """
    last = end or datetime.now(UTC)
    first = start or last - DAY
    if first >= last:
        raise ValueError("--from must be before --to")
    for window, seconds in WINDOW_SECONDS.items():
        if (last - first).total_seconds() <= MAX_WINDOWS * seconds:
            return Span(window, first, last)
    raise ValueError(f"a report covers at most {MAX_WINDOWS} days")
