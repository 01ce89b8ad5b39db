"""Documents of the metrics routes: rows that the metrics job stored become documents, and documents become CSV.

Durations are whole microseconds, as in the tables, so that nothing is rounded. Times are UTC.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from io import StringIO
from typing import Final, overload

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from penstock.postgres.statements.metrics import LagRow, MetricsRow
from penstock.postgres.statements.minutes import MinuteRow
from penstock.verdicts import Cause, Kind, Verdict


class Latency(Struct):
    """How long something took, in microseconds. `exact`: the percentiles were computed from all values (nearest rank);
    otherwise they come from merged sketches and are within 2 %. `negative_count`: values below 0, counted as 0."""

    count: int
    mean_us: int
    p50_us: int
    p90_us: int
    p95_us: int
    p99_us: int
    max_us: int
    negative_count: int
    exact: bool


class Latencies(Struct):
    """The latencies of a row, by measure. A row of the installation has the last two, any other the first three."""

    wait: Latency | None = None
    processing: Latency | None = None
    lag: Latency | None = None
    fire: Latency | None = None
    delivery: Latency | None = None


class Flow(Struct):
    """Counts and latencies of the messages of [`starts_at`, `ends_at`). `wait`: from sending to the first receive;
    `processing`: from the first receive to deletion; `lag`: from sending to deletion. Null: no message has such a
    latency."""

    starts_at: datetime
    ends_at: datetime
    arrivals: int
    deliveries: int
    redeliveries: int
    deletions: int
    dead_lettered: int
    purged: int
    expired: int
    moved: int
    wait: Latency | None
    processing: Latency | None
    lag: Latency | None


class Window(Flow):
    """One window. Depths and the oldest age are those at its end. The job measures `visible`, `in_flight` and `delayed`
    when it runs, so only the window of a run has them."""

    computed_at: datetime
    depth: int
    waiting: int
    received: int
    oldest_age_us: int | None
    visible: int | None
    in_flight: int | None
    delayed: int | None
    groups: int | None
    top_group_share: float | None
    gini: float | None


class HotGroup(Struct):
    """A message group, and how many messages of it arrived."""

    group_id: str
    arrivals: int


class QueueMetrics(Struct, rename={"from_": "from"}):
    """The windows of a queue, or of one of its groups, that begin in [`from`, `to`). `computed_at`, `computed_until`:
    when the job computed the newest stored window, and the end of that window; null: none is stored, and `hint`
    says how to get some."""

    queue: str
    window: str
    group: str | None
    from_: datetime
    to: datetime
    computed_at: datetime | None
    computed_until: datetime | None
    total: Flow
    hot_groups: list[HotGroup]
    windows: list[Window]
    hint: str | UnsetType = field(default=UNSET)


class QueueMinute(Struct):
    """What happened in a minute, and what was there when it was last measured in it; null: it was not. `sent`: all that
    entered the queue; `received`: all deliveries, `redelivered` among them; `dead_lettered`: what left for the
    dead-letter queue. `oldest_at`: when the oldest message entered. `last_received_at`: in this minute or before."""

    starts_at: datetime
    sent: int
    received: int
    redelivered: int
    deleted: int
    dead_lettered: int
    visible: int | None
    in_flight: int | None
    delayed: int | None
    oldest_at: datetime | None
    last_received_at: datetime | None


class QueueMinutes(Struct, rename={"from_": "from"}):
    """The minutes of a queue that start in [`from`, `to`), of the last 25 hours. One that is missing: nothing happened
    in it, and what the queue held stayed as it was."""

    queue: str
    from_: datetime
    to: datetime
    minutes: list[QueueMinute]


class Now(Struct):
    """The messages of a queue at the time of the request. The age is 0 for an empty queue."""

    visible: int
    in_flight: int
    delayed: int
    oldest_age_us: int


class ForecastPoint(Struct):
    """The number of messages expected at a time, with its prediction interval."""

    at: datetime
    messages: float
    low: float
    high: float


class Outlook(Struct):
    """How a forecast was made, or by `reason` why there is none: `too_little_past`, `no_method_beats_unchanged`,
    `intervals_do_not_hold`. `interval_level`: so many of such intervals should hold the actual number;
    `interval_coverage`: so many did in the backtest. `mean_error`, `unchanged_error`: messages, of `backtests`
    forecasts of the last day, made by `method` and by "it stays as it is"."""

    method: str | None = None
    reason: str | None = None
    interval_level: float | None = None
    interval_coverage: float | None = None
    mean_error: float | None = None
    unchanged_error: float | None = None
    backtests: int | None = None


class Warnings(Struct):
    """What will happen to a queue within days; null: nothing of it. `retention_seconds`: until its oldest message is
    deleted unread. `fastest_rate`: messages a second in its best hour, when even that is less than `mean_rate`, what
    arrives on average: its consumers never catch up."""

    retention_seconds: float | None = None
    fastest_rate: float | None = None
    mean_rate: float | None = None


class StoredOutlook(Struct):
    """The column `outlook` of queue.read_lag."""

    outlook: Outlook | None = None
    warnings: Warnings | None = None


class QueueVerdict(Struct):
    """How a queue is, by its last minutes. `since`: null for always, as far as is known;
    `since_or_before`: it began then or earlier. `backlog`: messages that can be received. Rates: messages a second over
    the last `rate_minutes`. `empties_at`: when the backlog will be gone, and between which times; null for not as
    things are. Consumers: null where their number is not known."""

    kind: Kind
    since: datetime | None
    since_or_before: bool
    cause: Cause | None
    cause_text: str
    backlog: int
    arrival_rate: float
    drain_rate: float
    rate_minutes: int
    empties_at: datetime | None
    empties_low: datetime | None
    empties_high: datetime | None
    seconds_since_receive: float | None
    consumers_now: int | None
    consumers_needed: int | None
    target_lag_seconds: int


class QueueLag(Struct):
    """How far behind a queue's consumers are. `verdict`: by the queue's last minutes; null if the queue has just been
    made or deleted. Rates: messages a second over 15 minutes. `drain_seconds`: until the backlog is gone at these
    rates, null for never. `forecast` has no points where `outlook` says why. All but `now` and `verdict` is as of
    `computed_at`, which is null if the metrics job found no activity for an hour, or has not run yet."""

    name: str
    now: Now
    verdict: QueueVerdict | None
    computed_at: datetime | None
    backlog: int | None
    arrival_rate: float | None
    drain_rate: float | None
    drain_seconds: float | None
    forecast: list[ForecastPoint]
    outlook: Outlook | None
    warnings: Warnings | None
    wait: Latency | None
    processing: Latency | None
    lag: Latency | None


class LagPage(Struct, rename={"from_": "from"}):
    """Queues in the order of their names; `next`, when there is one, asks for the following page. Latencies are those
    of [`from`, `to`): the last full hour of the clock and the stored part of the hour after it. `computed_at`: when the
    metrics job last succeeded, null for never; then `hint` says how to run it. `fire` and `webhook`: how late schedules
    and webhooks of the whole installation were."""

    from_: datetime
    to: datetime
    computed_at: datetime | None
    fire: Latency | None
    webhook: Latency | None
    queues: list[QueueLag]
    next: str | UnsetType = field(default=UNSET)
    hint: str | UnsetType = field(default=UNSET)


HINT: Final = (
    "The metrics job has stored nothing here: `penstock metrics run` computes windows, percentiles and forecasts "
    "(pip install 'penstock[metrics]'). /v1/queues/{name}/minutes needs no job."
)

_latencies = msgspec.json.Decoder(Latencies)
_stored_outlook = msgspec.json.Decoder(StoredOutlook)
_hot_groups = msgspec.json.Decoder(list[HotGroup])


# --- rows ------------------------------------------------------------------------------------------------------------
def total_of(row: MetricsRow, start: datetime, end: datetime) -> Flow:
    """The first row of queue.read_metrics: the total of all windows."""
    latencies = latencies_of(row.latencies)
    return Flow(
        starts_at=start,
        ends_at=end,
        arrivals=row.arrivals,
        deliveries=row.deliveries,
        redeliveries=row.redeliveries,
        deletions=row.deletions,
        dead_lettered=row.dead_lettered,
        purged=row.purged,
        expired=row.expired,
        moved=row.moved,
        wait=latencies.wait,
        processing=latencies.processing,
        lag=latencies.lag,
    )


def window_of(row: MetricsRow) -> Window:
    """Any other row of queue.read_metrics: one window."""
    latencies = latencies_of(row.latencies)
    return Window(
        starts_at=utc(row.starts_at),
        ends_at=utc(row.ends_at),
        arrivals=row.arrivals,
        deliveries=row.deliveries,
        redeliveries=row.redeliveries,
        deletions=row.deletions,
        dead_lettered=row.dead_lettered,
        purged=row.purged,
        expired=row.expired,
        moved=row.moved,
        wait=latencies.wait,
        processing=latencies.processing,
        lag=latencies.lag,
        computed_at=utc(row.computed_at),
        depth=row.depth,
        waiting=row.waiting,
        received=row.received,
        oldest_age_us=row.oldest_age_us,
        visible=row.visible,
        in_flight=row.in_flight,
        delayed=row.delayed,
        groups=row.groups,
        top_group_share=row.top_group_share,
        gini=row.gini,
    )


def hot_groups_of(row: MetricsRow) -> list[HotGroup]:
    """The hot groups in the first row of queue.read_metrics; the metrics of one group have none."""
    return [] if row.hot_groups is None else _hot_groups.decode(row.hot_groups)


def lag_page_of(rows: Sequence[LagRow]) -> LagPage:
    """All rows of queue.read_lag, without `next`."""
    installation, *queues = rows
    latencies = latencies_of(installation.latencies)
    return LagPage(
        from_=utc(installation.from_at),
        to=utc(installation.to_at),
        computed_at=utc(installation.computed_at),
        fire=latencies.fire,
        webhook=latencies.delivery,
        queues=[lag_of(row) for row in queues],
        hint=UNSET if installation.computed_at else HINT,
    )


def lag_of(row: LagRow) -> QueueLag:
    """A row of queue.read_lag that has a name."""
    latencies = latencies_of(row.latencies)
    stored = StoredOutlook() if row.outlook is None else _stored_outlook.decode(row.outlook)
    return QueueLag(
        name=row.name,
        now=Now(row.visible, row.in_flight, row.delayed, row.oldest_age_us or 0),
        verdict=None,
        computed_at=utc(row.computed_at),
        backlog=row.backlog,
        arrival_rate=row.arrival_rate,
        drain_rate=row.drain_rate,
        drain_seconds=row.drain_seconds,
        forecast=forecast_of(row),
        outlook=stored.outlook,
        warnings=stored.warnings,
        wait=latencies.wait,
        processing=latencies.processing,
        lag=latencies.lag,
    )


def verdict_of(verdict: Verdict) -> QueueVerdict:
    """The verdict as a document."""
    empties = verdict.empties
    return QueueVerdict(
        kind=verdict.kind,
        since=utc(verdict.since),
        since_or_before=verdict.since_or_before,
        cause=verdict.cause,
        cause_text=verdict.cause_text,
        backlog=verdict.backlog,
        arrival_rate=verdict.arrival_rate,
        drain_rate=verdict.drain_rate,
        rate_minutes=verdict.rate_minutes,
        empties_at=None if empties is None else whole_second(empties.at),
        empties_low=None if empties is None else whole_second(empties.low),
        empties_high=None if empties is None or empties.high is None else whole_second(empties.high),
        seconds_since_receive=verdict.seconds_since_receive,
        consumers_now=verdict.consumers_now,
        consumers_needed=verdict.consumers_needed,
        target_lag_seconds=verdict.target_lag_seconds,
    )


def whole_second(at: datetime) -> datetime:
    """The time in UTC without a fraction, which an estimate does not have."""
    return at.astimezone(UTC).replace(microsecond=0)


def minute_of(row: MinuteRow) -> QueueMinute:
    """A row of queue.read_minutes."""
    return QueueMinute(
        starts_at=utc(row.starts_at),
        sent=row.sent,
        received=row.received,
        redelivered=row.redelivered,
        deleted=row.deleted,
        dead_lettered=row.dead_lettered,
        visible=row.visible,
        in_flight=row.in_flight,
        delayed=row.delayed,
        oldest_at=utc(row.oldest_at),
        last_received_at=utc(row.last_received_at),
    )


def forecast_of(row: LagRow) -> list[ForecastPoint]:
    """The forecast of a queue; it has no points where the job made none."""
    points = zip(
        row.forecast_at or (),
        row.forecast or (),
        row.forecast_low or (),
        row.forecast_high or (),
        strict=True,
    )
    return [ForecastPoint(utc(at), messages, low, high) for at, messages, low, high in points]


def latencies_of(text: str | None) -> Latencies:
    """The latencies of a row. `text`: a JSON object of latencies by measure."""
    return Latencies() if text is None else _latencies.decode(text)


@overload
def utc(at: datetime) -> datetime: ...
@overload
def utc(at: datetime | None) -> datetime | None: ...
def utc(at: datetime | None) -> datetime | None:
    """The time in UTC, since the session's time zone may be another one; None for null."""
    return None if at is None else at.astimezone(UTC)


# --- CSV -------------------------------------------------------------------------------------------------------------
_NESTED: dict[str, type[Struct]] = {
    **dict.fromkeys(("wait", "processing", "lag"), Latency),
    "now": Now,
    "verdict": QueueVerdict,
    "forecast": ForecastPoint,
    "outlook": Outlook,
    "warnings": Warnings,
}


def as_csv(kind: type[Struct], documents: Iterable[Struct]) -> str:
    """The documents as CSV of RFC 4180 with a header. Null is an empty cell; a forecast has only its last point."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(_columns(kind))
    writer.writerows(_cells(document) for document in documents)
    return text.getvalue()


def _columns(kind: type[Struct]) -> Iterator[str]:
    for name in kind.__struct_fields__:
        if name in _NESTED:
            yield from (f"{name}_{part}" for part in _NESTED[name].__struct_fields__)
        else:
            yield name


def _cells(document: Struct) -> Iterator[str]:
    for name in document.__struct_fields__:
        value = getattr(document, name)
        if name not in _NESTED:
            yield _cell(value)
            continue
        if isinstance(value, list):
            value = value[-1] if value else None
        for part in _NESTED[name].__struct_fields__:
            yield "" if value is None else _cell(getattr(value, part))


def _cell(value: object) -> str:
    """The value as it is written in JSON."""
    return (
        ""
        if value is None
        else value
        if isinstance(value, str)
        else msgspec.json.encode(value).decode().strip('"')
    )
