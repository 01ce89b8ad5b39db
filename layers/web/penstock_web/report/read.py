"""Reads the data of the report in parts: the windows of one queue, or one page of queues."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from penstock import errors
from penstock.aws.arn import resolve_queue_arn
from penstock.drivers import run
from penstock.management.metrics.operations import MAX_WINDOWS, WINDOW_SECONDS, WindowSpan, read_windows
from penstock.management.metrics.types import LagPage, QueueMetrics
from penstock.management.metrics.views import show_lag_page, to_utc
from penstock.postgres.database import Database
from penstock.postgres.statements.metrics import READ_BUSIEST_QUEUES, READ_HOT_GROUPS, READ_LAG, READ_LAG_HEAT
from penstock.settings import Settings

from .groups import Bar, HotGroups
from .heat import Cell, HeatMap
from .state import ReportState, read_state

MAX_QUEUES = 12
MAX_GROUPS = 5
MAX_GROUPS_OF_ONE = 20
"""The maximum number of groups in a report about one queue."""
MAX_STEPS = 72
PAGE = 200
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FOCUS = 6 * HOUR
"""The span of charts over time, at the end of the default day."""
PAST = timedelta(minutes=2)
"""How long ago the span of a report with the current state can have ended."""


class Reader:
    """Reads metrics of one account and region, for one queue or for all queues. Raises ServiceUnavailable."""

    def __init__(
        self, database: Database, settings: Settings, span: WindowSpan, focus: WindowSpan, queue: str | None
    ) -> None:
        self._database = database
        self._settings = settings
        self._zone = settings.queue_metrics_timezone
        self.account_and_region = (settings.queue_account_id, settings.queue_region)
        self.span = span
        self.focus = focus
        self.queue = queue

    def is_past(self, now: datetime) -> bool:
        return now - self.span.end > PAST

    def check_queue(self) -> None:
        """Raises QueueDoesNotExist if the requested queue does not exist."""
        if self.queue is not None:
            self._find_arn(self.queue)
            if not self._read_lag_page(None, 1).queues:
                raise errors.QueueDoesNotExist

    def read_state(self) -> ReportState:
        """Returns the state of all queues, or of the requested queue."""
        return read_state(self._database, self._settings, self.queue)

    def find_busiest_queues(self) -> list[str]:
        """Returns the names of the queues with the most arrivals, or only the requested queue."""
        if self.queue is not None:
            return [self.queue]
        arguments = (*self.account_and_region, *choose_coarse_span(self.span), MAX_QUEUES, self._zone)
        return [row.name for row in self._database.call(READ_BUSIEST_QUEUES, arguments)]

    def read_windows(self, name: str) -> QueueMetrics:
        """Returns a queue's metrics in the span `focus`. Raises QueueDoesNotExist if another client has just deleted
        the queue.
        """
        return run(read_windows(self._find_arn(name), name, self.focus, None, self._zone), self._database)

    def _find_arn(self, name: str) -> str:
        account, region = self.account_and_region
        if (arn := resolve_queue_arn(region, account, name)) is None:
            raise errors.QueueDoesNotExist
        return arn

    def read_heat(self, names: list[str]) -> HeatMap:
        """Returns the lag of queues in at most 72 steps. A step covers whole hours, or whole days if the windows are
        days.
        """
        unit = DAY if self.span.window == "1d" else HOUR
        start = self.span.start.replace(minute=0, second=0, microsecond=0)
        units = math.ceil((self.span.end - start) / unit)
        step = math.ceil(units / MAX_STEPS) * unit
        starts = [start + n * step for n in range(math.ceil(units * unit / step))]
        arguments = (
            *self.account_and_region,
            names,
            int(unit.total_seconds()),
            start,
            self.span.end,
            int(step.total_seconds()),
            self._zone,
        )
        rows = self._database.call(READ_LAG_HEAT, arguments)
        cells = {(row.name, to_utc(row.step_at)): Cell(messages=row.count, p95_us=row.p95_us) for row in rows}
        return HeatMap(names, starts, step, cells)

    def find_hot_groups(self, name: str) -> HotGroups:
        """Returns the groups of a queue that have the most arrivals."""
        most = MAX_GROUPS if self.queue is None else MAX_GROUPS_OF_ONE
        arguments = (*self.account_and_region, name, *choose_coarse_span(self.span), most, self._zone)
        rows = self._database.call(READ_HOT_GROUPS, arguments)
        bars = [Bar(row.group_id, row.arrivals) for row in rows]
        arrivals = max((row.arrivals_of_all or 0 for row in rows), default=0)
        return HotGroups(name, bars, max(arrivals, sum(bar.value for bar in bars)))

    def read_lag(self) -> Iterator[LagPage]:
        """Yields pages of queues. Yields an empty page if there are no queues."""
        after: str | None = None
        while True:
            page = self._read_lag_page(after, PAGE)
            yield page
            if len(page.queues) < PAGE:
                return
            after = page.queues[-1].name

    def _read_lag_page(self, after: str | None, limit: int) -> LagPage:
        return show_lag_page(self._database.call(READ_LAG, (*self.account_and_region, self.queue, after, limit)))


def choose_coarse_span(span: WindowSpan) -> tuple[int, datetime, datetime]:
    """Returns the window's seconds, the start and the end for sums over all queues. For a span of more than six hours,
    uses windows of an hour instead of a minute.
    """
    if span.window == "1m" and span.end - span.start > 6 * HOUR:
        return WINDOW_SECONDS["1h"], span.start.replace(minute=0, second=0, microsecond=0), span.end
    return span.seconds, span.start, span.end


def choose_focus(span: WindowSpan, start: datetime | None) -> WindowSpan:
    """Returns the span of the charts over time: the requested span, or the last hours of the default day."""
    return span._replace(start=span.end - FOCUS) if start is None else span


def span_of_report(start: datetime | None, end: datetime | None) -> WindowSpan:
    """Returns the span of a report, with the shortest possible windows. The default span is the last day. Raises
    ValueError.
    """
    last = end or datetime.now(UTC)
    first = start or last - DAY
    if first >= last:
        raise ValueError("--from must be before --to")
    for window, seconds in WINDOW_SECONDS.items():
        if (last - first).total_seconds() <= MAX_WINDOWS * seconds:
            return WindowSpan(window, first, last)
    raise ValueError(f"a report covers at most {MAX_WINDOWS} days")
