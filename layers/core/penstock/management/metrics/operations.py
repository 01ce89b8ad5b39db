"""Reads metrics for a validated time span from the results that the metrics job stored."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec import UNSET

from penstock import errors
from penstock.aws.paging import build_token
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.documents.times import parse_timestamp
from penstock.effects import Call, Operation
from penstock.management.rights import needs
from penstock.management.verdicts import read_verdicts
from penstock.postgres.statements.metrics import (
    READ_ACCOUNT_MINUTES,
    READ_LAG,
    READ_METRICS,
    READ_MINUTES,
    READ_QUEUE_HISTORY,
    READ_VERDICT_FACTS,
    AccountMinuteRow,
    MinuteRow,
    QueueHistoryRow,
)
from penstock.sqs import queues, validation

from .types import LagPage, QueueLag, QueueMetrics, QueueMinutes
from .views import HINT, read_hot_groups, show_lag_page, show_minute, show_total, show_verdict, show_window, to_utc

# A day of minutes, two months of hours, or four years of days.
MAX_WINDOWS = 1_440
WINDOW_SECONDS = {"1m": 60, "1h": 3_600, "1d": 86_400}
DEFAULT_SPANS = {"1m": timedelta(hours=1), "1h": timedelta(days=1), "1d": timedelta(days=30)}


class WindowSpan(NamedTuple):
    """The windows of one length that start in [start, end)."""

    window: str
    start: datetime
    end: datetime

    @property
    def seconds(self) -> int:
        """Returns the length of a window in seconds. A day is an hour longer or shorter when the clocks change."""
        return WINDOW_SECONDS[self.window]


def parse_span(window: str, start: str | None, end: str | None) -> WindowSpan:
    """Returns the requested span. By default the span ends now, and is an hour, a day or 30 days long.

    Raises InvalidParameterValue.
    """
    last = datetime.now(UTC) if end is None else _parse_time("to", end)
    first = last - DEFAULT_SPANS[window] if start is None else _parse_time("from", start)
    span = WindowSpan(window, first, last)
    if first >= last:
        raise errors.InvalidParameterValue("from: must be before to")
    if (last - first).total_seconds() > MAX_WINDOWS * span.seconds:
        raise errors.InvalidParameterValue(
            f"from, to: more than {MAX_WINDOWS} windows of {window}; request a shorter time, or longer windows"
        )
    return span


def _parse_time(name: str, text: str) -> datetime:
    if (moment := parse_timestamp(text)) is None:
        raise errors.InvalidParameterValue(
            f"{name}: not a time such as 2030-01-31T09:00:00Z (in a URL, + is written %2B)"
        )
    return moment


@needs("queue", "penstock:GetQueueMetrics")
def read_queue_metrics(name: str, span: WindowSpan, group: str | None, context: Context) -> Operation[QueueMetrics]:
    """Returns the metrics of a queue or group. Raises QueueDoesNotExist, InvalidParameterValue for an unknown
    group."""
    if group is not None:
        validation.check_group_id(group, "group")
    zone = context.environment.settings.queue_metrics_timezone
    return (yield from read_windows(build_queue_arn(name, context), name, span, group, zone))


def read_windows(arn: str, name: str, span: WindowSpan, group: str | None, zone: str) -> Operation[QueueMetrics]:
    """Returns the metrics of a queue. `zone` is the time zone of the days. Raises QueueDoesNotExist."""
    rows = yield from Call(READ_METRICS, (arn, span.seconds, group or "", span.start, span.end, zone))
    if not rows:
        raise errors.QueueDoesNotExist
    total, *windows = rows
    return QueueMetrics(
        queue=name,
        window=span.window,
        group=group,
        from_=span.start,
        to=span.end,
        computed_at=to_utc(total.computed_at),
        computed_until=to_utc(total.ends_at),
        total=show_total(total, span.start, span.end),
        hot_groups=read_hot_groups(total),
        windows=[show_window(row) for row in windows],
        hint=HINT if to_utc(total.computed_at) is None else UNSET,
    )


@needs("queue", "penstock:GetQueueMetrics")
def read_minutes(name: str, start: str | None, end: str | None, context: Context) -> Operation[QueueMinutes]:
    """Returns a queue's minutes, by default for the last hour. Raises QueueDoesNotExist, InvalidParameterValue."""
    span = parse_span("1m", start, end)
    arn = build_queue_arn(name, context)
    if not (yield from Call(READ_VERDICT_FACTS, ([arn],))):
        raise errors.QueueDoesNotExist
    rows = yield from Call(READ_MINUTES, ([arn], span.start, span.end))
    return QueueMinutes(name, span.start, span.end, [show_minute(row) for row in rows])


@needs("queue", "penstock:GetQueueMetrics")
def read_minute_rows(name: str, start: datetime, end: datetime, context: Context) -> Operation[list[MinuteRow]]:
    """Returns a queue's minutes in [start, end). Returns no rows for an unknown queue."""
    return (yield from Call(READ_MINUTES, ([build_queue_arn(name, context)], start, end)))


@needs("queue", "penstock:GetQueueMetrics")
def read_hours(name: str, start: datetime, end: datetime, context: Context) -> Operation[list[QueueHistoryRow]]:
    """Returns the metrics job's hourly results for a queue in [start, end)."""
    return (yield from Call(READ_QUEUE_HISTORY, (build_queue_arn(name, context), start, end)))


@needs("account", "sqs:ListQueues", "penstock:GetLag")
def read_account_minutes(start: datetime, context: Context) -> Operation[list[AccountMinuteRow]]:
    """Returns the minutes of all queues of the account from `start`."""
    return (yield from Call(READ_ACCOUNT_MINUTES, (context.account_id, context.region, start)))


@needs("account", "penstock:GetLag")
def read_lag(limit: int, after: str | None, target_lag_seconds: int, context: Context) -> Operation[LagPage]:
    """Returns a page of queues with verdicts, in the order of their names."""
    last = queues.read_token(after)
    rows = yield from Call(READ_LAG, (context.account_id, context.region, None, last, limit + 1))
    page = show_lag_page(rows[: limit + 1])
    if len(rows) > limit + 1:
        page.next = build_token(page.queues[-1].name)
    yield from _add_verdicts(page.queues, target_lag_seconds, context)
    return page


@needs("queue", "penstock:GetQueueMetrics")
def read_queue_lag(name: str, target_lag_seconds: int, context: Context) -> Operation[QueueLag]:
    """Returns one queue with its verdict. Raises QueueDoesNotExist."""
    build_queue_arn(name, context)
    rows = yield from Call(READ_LAG, (context.account_id, context.region, name, None, 1))
    queues = show_lag_page(rows).queues
    if not queues:
        raise errors.QueueDoesNotExist
    yield from _add_verdicts(queues, target_lag_seconds, context)
    return queues[0]


def _add_verdicts(queues: Sequence[QueueLag], target_lag_seconds: int, context: Context) -> Operation[None]:
    limit = context.environment.settings.queue_in_flight_limit
    arns = {queue.name: build_queue_arn(queue.name, context) for queue in queues}
    verdicts = yield from read_verdicts(list(arns.values()), limit, target_lag_seconds)
    for queue in queues:
        if verdict := verdicts.get(arns[queue.name]):
            queue.verdict = show_verdict(verdict)
