"""What the metrics job stored."""

from datetime import datetime
from typing import NamedTuple

from penstock.effects import Statement


class MetricsRow(NamedTuple):
    """A window of a queue, or of a message group. `latencies`, `hot_groups`: JSON."""

    starts_at: datetime
    ends_at: datetime
    computed_at: datetime
    arrivals: int
    deliveries: int
    redeliveries: int
    deletions: int
    dead_lettered: int
    purged: int
    expired: int
    moved: int
    depth: int | None
    waiting: int | None
    received: int | None
    oldest_age_us: int | None
    visible: int | None
    in_flight: int | None
    delayed: int | None
    groups: int | None
    top_group_share: float | None
    gini: float | None
    latencies: str | None
    hot_groups: str | None


READ_METRICS = Statement(
    "queue.read_metrics", ("text", "int4", "text", "timestamptz", "timestamptz"), MetricsRow
)


class LagRow(NamedTuple):
    """A queue's lag and its forecast. `latencies`: JSON."""

    name: str
    from_at: datetime | None
    to_at: datetime | None
    computed_at: datetime | None
    visible: int
    in_flight: int
    delayed: int
    oldest_age_us: int | None
    backlog: int | None
    arrival_rate: float | None
    drain_rate: float | None
    drain_seconds: float | None
    forecast_at: list[datetime] | None
    forecast: list[float] | None
    forecast_low: list[float] | None
    forecast_high: list[float] | None
    latencies: str | None


READ_LAG = Statement("queue.read_lag", ("text", "text", "text", "text", "int4"), LagRow)


class LagHeatRow(NamedTuple):
    """Latency of a queue in one slot of time."""

    name: str
    slot: datetime
    count: int  # type: ignore[assignment]  # the column's name, and that of a method of tuples
    p95_us: int | None


READ_LAG_HEAT = Statement(
    "queue.read_lag_heat",
    ("text", "text", "text[]", "int4", "timestamptz", "timestamptz", "int4"),
    LagHeatRow,
)


class HotGroupRow(NamedTuple):
    """One of the busiest message groups of a queue."""

    name: str
    group_id: str
    arrivals: int
    arrivals_of_all: int


READ_HOT_GROUPS = Statement(
    "queue.read_hot_groups",
    ("text", "text", "text", "int4", "timestamptz", "timestamptz", "int4"),
    HotGroupRow,
)


class BusiestQueueRow(NamedTuple):
    """One of the busiest queues."""

    name: str
    arrivals: int
    greatest_depth: int | None


READ_BUSIEST_QUEUES = Statement(
    "queue.read_busiest_queues",
    ("text", "text", "int4", "timestamptz", "timestamptz", "int4"),
    BusiestQueueRow,
)
