"""Documents of the metrics routes: rows that the metrics job stored become documents, and documents become CSV.

Durations are whole microseconds, as in the tables, so that nothing is rounded. Times are UTC.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from penstock.effects import Row

MEASURES = ("wait", "processing", "lag")


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
    when the job computed the newest stored window, and the end of that window; null: none is stored."""

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


class QueueLag(Struct):
    """How far behind a queue's consumers are. Rates: messages a second. `drain_seconds`: until the backlog is gone at
    these rates, null for never. All but `now` is as of `computed_at`, which is null if the metrics job found no
    activity for an hour, or has not run yet."""

    name: str
    now: Now
    computed_at: datetime | None
    backlog: int | None
    arrival_rate: float | None
    drain_rate: float | None
    drain_seconds: float | None
    forecast: list[ForecastPoint]
    wait: Latency | None
    processing: Latency | None
    lag: Latency | None


class LagPage(Struct, rename={"from_": "from"}):
    """Queues in the order of their names; `next`, when there is one, asks for the following page. Latencies are those
    of [`from`, `to`): the last full hour of the clock and the stored part of the hour after it. `computed_at`: when the
    metrics job last succeeded, null for never. `fire` and `webhook`: how late schedules and webhooks of the whole
    installation were."""

    from_: datetime
    to: datetime
    computed_at: datetime | None
    fire: Latency | None
    webhook: Latency | None
    queues: list[QueueLag]
    next: str | UnsetType = field(default=UNSET)


_latencies = msgspec.json.Decoder(dict[str, Latency])
_hot_groups = msgspec.json.Decoder(list[HotGroup])


# --- rows ------------------------------------------------------------------------------------------------------------
def total_of(row: Row, start: datetime, end: datetime) -> Flow:
    """The first row of queue.read_metrics: the total of all windows."""
    return Flow(start, end, *row[3:11], *latencies_of(row[21]))


def window_of(row: Row) -> Window:
    """Any other row of queue.read_metrics: one window."""
    columns = [utc(row[0]), utc(row[1]), *row[3:11], *latencies_of(row[21]), utc(row[2]), *row[11:21]]
    return Window(*columns)


def hot_groups_of(row: Row) -> list[HotGroup]:
    """The hot groups in the first row of queue.read_metrics; the metrics of one group have none."""
    return [] if row[22] is None else _hot_groups.decode(row[22])


def lag_page_of(rows: Sequence[Row]) -> LagPage:
    """All rows of queue.read_lag, without `next`."""
    installation, *queues = rows
    latencies = latencies_of(installation[16], ("fire", "webhook"))
    columns = [*map(utc, installation[1:4]), *latencies, [lag_of(row) for row in queues]]
    return LagPage(*columns)


def lag_of(row: Row) -> QueueLag:
    """A row of queue.read_lag that has a name."""
    points = zip(map(utc, row[12] or ()), *(values or () for values in row[13:16]), strict=True)
    forecast = [ForecastPoint(*point) for point in points]
    now = Now(row[4], row[5], row[6], row[7] or 0)
    columns = [row[0], now, utc(row[3]), *row[8:12], forecast, *latencies_of(row[16])]
    return QueueLag(*columns)


def latencies_of(text: str | None, measures: Iterable[str] = MEASURES) -> list[Any]:
    """For each of `measures` its Latency, or None. `text`: a JSON object of latencies by measure."""
    found = {} if text is None else _latencies.decode(text)
    return [found.get(measure) for measure in measures]


def utc(at: datetime | None) -> Any:
    """The time in UTC, since the session's time zone may be another one; None for null."""
    return None if at is None else at.astimezone(UTC)


# --- CSV -------------------------------------------------------------------------------------------------------------
_NESTED: dict[str, type[Struct]] = {
    **dict.fromkeys(MEASURES, Latency),
    "now": Now,
    "forecast": ForecastPoint,
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


def _cells(document: Struct) -> Iterator[Any]:
    for name in document.__struct_fields__:
        value = getattr(document, name)
        if name not in _NESTED:
            yield _cell(value)
            continue
        if isinstance(value, list):
            value = value[-1] if value else None
        for part in _NESTED[name].__struct_fields__:
            yield "" if value is None else _cell(getattr(value, part))


def _cell(value: Any) -> Any:
    """The value as it is written in JSON."""
    return (
        ""
        if value is None
        else value
        if isinstance(value, str)
        else msgspec.json.encode(value).decode().strip('"')
    )
