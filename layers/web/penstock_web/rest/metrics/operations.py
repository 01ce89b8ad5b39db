"""Operations of the metrics routes: they check the time span and read what the metrics job stored."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec import UNSET

from penstock import errors
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.metrics import READ_LAG, READ_METRICS
from penstock.postgres.statements.minutes import READ_MINUTES, READ_VERDICT_FACTS
from penstock.sqs import queues, validation
from penstock_web.metrics.queue_verdicts import read_verdicts
from penstock_web.rest.documents import parse_timestamp
from penstock_web.rest.operations import arn_of

from .documents import (
    HINT,
    LagPage,
    QueueMetrics,
    QueueMinutes,
    hot_groups_of,
    lag_page_of,
    minute_of,
    total_of,
    utc,
    verdict_of,
    window_of,
)

# A day of minutes, two months of hours, four years of days.
MAX_WINDOWS = 1_440
WINDOW_SECONDS = {"1m": 60, "1h": 3_600, "1d": 86_400}
DEFAULT_SPANS = {"1m": timedelta(hours=1), "1h": timedelta(days=1), "1d": timedelta(days=30)}


class Span(NamedTuple):
    """The windows of one length that begin in [start, end)."""

    window: str
    start: datetime
    end: datetime

    @property
    def seconds(self) -> int:
        """The length of a window; a day may be an hour longer or shorter."""
        return WINDOW_SECONDS[self.window]


def span_of(window: str, start: str | None, end: str | None) -> Span:
    """The requested span; by default it ends now, and is an hour, a day or 30 days long.

    Raises InvalidParameterValue.
    """
    last = datetime.now(UTC) if end is None else _parse_time("to", end)
    first = last - DEFAULT_SPANS[window] if start is None else _parse_time("from", start)
    span = Span(window, first, last)
    if first >= last:
        raise errors.InvalidParameterValue("from: must be before to")
    if (last - first).total_seconds() > MAX_WINDOWS * span.seconds:
        raise errors.InvalidParameterValue(
            f"from, to: more than {MAX_WINDOWS} windows of {window}; ask for less time, or longer windows"
        )
    return span


def _parse_time(name: str, text: str) -> datetime:
    if (moment := parse_timestamp(text)) is None:
        raise errors.InvalidParameterValue(
            f"{name}: not a time such as 2030-01-31T09:00:00Z (in a URL, + is written %2B)"
        )
    return moment


def queue_metrics(name: str, span: Span, group: str | None, context: Context) -> Operation[QueueMetrics]:
    """The metrics of a queue or group. Raises QueueDoesNotExist, InvalidParameterValue if no group has such an id."""
    if group is not None:
        validation.check_group_id(group, "group")
    zone = context.environment.settings.queue_metrics_timezone
    return (yield from queue_windows(arn_of(name, context), name, span, group, zone))


def queue_windows(arn: str, name: str, span: Span, group: str | None, zone: str) -> Operation[QueueMetrics]:
    """The metrics of the queue with this ARN. `zone`: whose days. Raises QueueDoesNotExist."""
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
        computed_at=utc(total.computed_at),
        computed_until=utc(total.ends_at),
        total=total_of(total, span.start, span.end),
        hot_groups=hot_groups_of(total),
        windows=[window_of(row) for row in windows],
        hint=HINT if utc(total.computed_at) is None else UNSET,
    )


def queue_minutes(name: str, start: str | None, end: str | None, context: Context) -> Operation[QueueMinutes]:
    """The minutes of a queue, by default those of the last hour. Raises QueueDoesNotExist, InvalidParameterValue."""
    span = span_of("1m", start, end)
    arn = arn_of(name, context)
    if not (yield from Call(READ_VERDICT_FACTS, ([arn],))):
        raise errors.QueueDoesNotExist
    rows = yield from Call(READ_MINUTES, ([arn], span.start, span.end))
    return QueueMinutes(name, span.start, span.end, [minute_of(row) for row in rows])


def lag_page(limit: int, after: str | None, target_lag_seconds: int, context: Context) -> Operation[LagPage]:
    """A page of queues in the order of their names, with a verdict on each."""
    last = queues.read_token(after)
    rows = yield from Call(READ_LAG, (context.account_id, context.region, None, last, limit + 1))
    page = lag_page_of(rows[: limit + 1])
    if len(rows) > limit + 1:
        page.next = queues.make_token(page.queues[-1].name)
    settings = context.environment.settings
    arns = {queue.name: arn_of(queue.name, context) for queue in page.queues}
    verdicts = yield from read_verdicts(
        list(arns.values()), settings.queue_in_flight_limit, target_lag_seconds
    )
    for queue in page.queues:
        if verdict := verdicts.get(arns[queue.name]):
            queue.verdict = verdict_of(verdict)
    return page
