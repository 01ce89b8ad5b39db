"""Converts rows that the metrics job stored to documents."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, overload

import msgspec
from msgspec import UNSET, structs

from penstock.postgres.statements.metrics import LagRow, MetricsRow, MinuteRow
from penstock.verdicts import Verdict

from .types import (
    Flow,
    ForecastPoint,
    HotGroup,
    LagPage,
    Latencies,
    Now,
    QueueLag,
    QueueMinute,
    QueueVerdict,
    StoredOutlook,
    Window,
)

HINT: Final = (
    "The metrics job has stored nothing here: `penstock metrics run` computes windows, percentiles and forecasts "
    "(pip install 'penstock-queue[metrics]'). /v1/queues/{name}/minutes needs no job."
)
_latencies = msgspec.json.Decoder(Latencies)
_stored_outlook = msgspec.json.Decoder(StoredOutlook)
_hot_groups = msgspec.json.Decoder(list[HotGroup])


def show_total(row: MetricsRow, start: datetime, end: datetime) -> Flow:
    """Converts the first row of queue.read_metrics, which is the total of all windows."""
    latencies = read_latencies(row.latencies)
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


def show_window(row: MetricsRow) -> Window:
    """Converts another row of queue.read_metrics, which is one window."""
    flow = show_total(row, to_utc(row.starts_at), to_utc(row.ends_at))
    return Window(
        **structs.asdict(flow),
        computed_at=to_utc(row.computed_at),
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


def read_hot_groups(row: MetricsRow) -> list[HotGroup]:
    """Returns the hot groups in the first row of queue.read_metrics. A single group's metrics have no hot groups."""
    return [] if row.hot_groups is None else _hot_groups.decode(row.hot_groups)


def show_lag_page(rows: Sequence[LagRow]) -> LagPage:
    """Returns all rows of queue.read_lag, without `next`."""
    installation, *queues = rows
    latencies = read_latencies(installation.latencies)
    return LagPage(
        from_=to_utc(installation.from_at),
        to=to_utc(installation.to_at),
        computed_at=to_utc(installation.computed_at),
        fire=latencies.fire,
        delivery=latencies.delivery,
        queues=[show_lag(row) for row in queues],
        hint=UNSET if installation.computed_at else HINT,
    )


def show_lag(row: LagRow) -> QueueLag:
    """Returns a row of queue.read_lag that has a name."""
    latencies = read_latencies(row.latencies)
    stored = StoredOutlook() if row.outlook is None else _stored_outlook.decode(row.outlook)
    return QueueLag(
        name=row.name,
        now=Now(row.visible, row.in_flight, row.delayed, row.oldest_age_us or 0),
        verdict=None,
        computed_at=to_utc(row.computed_at),
        backlog=row.backlog,
        arrival_rate=row.arrival_rate,
        drain_rate=row.drain_rate,
        drain_seconds=row.drain_seconds,
        forecast=read_forecast(row),
        outlook=stored.outlook,
        warnings=stored.warnings,
        wait=latencies.wait,
        processing=latencies.processing,
        lag=latencies.lag,
    )


def show_verdict(verdict: Verdict) -> QueueVerdict:
    empties = verdict.empties
    return QueueVerdict(
        kind=verdict.kind,
        since=to_utc(verdict.since),
        since_or_before=verdict.since_or_before,
        cause=verdict.cause,
        cause_text=verdict.cause_text,
        backlog=verdict.backlog,
        arrival_rate=verdict.arrival_rate,
        drain_rate=verdict.drain_rate,
        rate_minutes=verdict.rate_minutes,
        empties_at=None if empties is None else round_to_second(empties.at),
        empties_low=None if empties is None else round_to_second(empties.low),
        empties_high=None if empties is None or empties.high is None else round_to_second(empties.high),
        seconds_since_receive=verdict.seconds_since_receive,
        consumers_now=verdict.consumers_now,
        consumers_needed=verdict.consumers_needed,
        target_lag_seconds=verdict.target_lag_seconds,
    )


def round_to_second(at: datetime) -> datetime:
    """Returns the time in UTC without a fraction, because an estimate is not that precise."""
    return at.astimezone(UTC).replace(microsecond=0)


def show_minute(row: MinuteRow) -> QueueMinute:
    """Returns a row of queue.read_minutes."""
    return QueueMinute(
        starts_at=to_utc(row.starts_at),
        sent=row.sent,
        received=row.received,
        redelivered=row.redelivered,
        deleted=row.deleted,
        dead_lettered=row.dead_lettered,
        expired=row.expired,
        visible=row.visible,
        in_flight=row.in_flight,
        delayed=row.delayed,
        oldest_at=to_utc(row.oldest_at),
        last_received_at=to_utc(row.last_received_at),
    )


def read_forecast(row: LagRow) -> list[ForecastPoint]:
    """Returns the forecast of a queue, or an empty list if the job made no forecast."""
    points = zip(
        row.forecast_at or (), row.forecast or (), row.forecast_low or (), row.forecast_high or (), strict=True
    )
    return [ForecastPoint(to_utc(at), messages, low, high) for at, messages, low, high in points]


def read_latencies(text: str | None) -> Latencies:
    """Returns the latencies of a row. `text` is a JSON object of latencies by measure."""
    return Latencies() if text is None else _latencies.decode(text)


@overload
def to_utc(at: datetime) -> datetime: ...
@overload
def to_utc(at: datetime | None) -> datetime | None: ...
def to_utc(at: datetime | None) -> datetime | None:
    """Returns the time in UTC, because the session can have another time zone. Returns None for null."""
    return None if at is None else at.astimezone(UTC)
