"""Documents of metrics.

Durations are whole microseconds, as in the tables. Times are in UTC.
"""

from datetime import datetime

from msgspec import UNSET, Struct, UnsetType, field

from penstock.verdicts import Cause, Kind


class Latency(Struct):
    """A duration in microseconds. `exact` means that the percentiles were computed from all values (nearest rank).

    Otherwise the percentiles come from merged sketches and are accurate to 2 %. `negative_count` counts negative
    values, which are treated as 0.
    """

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
    """The latencies of a row by measure.

    Only the row of the installation has `fire` and `delivery`. Only other rows have `wait`, `processing` and `lag`.
    """

    wait: Latency | None = None
    processing: Latency | None = None
    lag: Latency | None = None
    fire: Latency | None = None
    delivery: Latency | None = None


class Flow(Struct):
    """Counts and latencies of the messages in [`starts_at`, `ends_at`).

    `wait` lasts from sending to the first receive, `processing` from the first receive to deletion, and `lag` from
    sending to deletion. A latency is null if no message has this latency.
    """

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
    """One window. Depths and the oldest age describe the end of the window.

    The job measures `visible`, `in_flight` and `delayed` when it runs. In other windows, the three counts are null.
    """

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
    """A message group, and the number of messages that arrived in it."""

    group_id: str
    arrivals: int


class QueueMetrics(Struct, rename={"from_": "from"}):
    """The windows of a queue, or of one group, that start in [`from`, `to`).

    `computed_at` is the time when the job computed the newest stored window; `computed_until` is the end of that
    window. Both times are null if no window is stored; `hint` then says how to compute windows.
    """

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
    """The events of a minute, and the last counts measured in it. The counts are null if the minute was not measured.

    `sent` counts messages that entered the queue. `received` counts all deliveries, including `redelivered`.
    `dead_lettered` counts messages that moved to the dead-letter queue; `expired` counts messages whose retention
    period ended. `oldest_at` is the time when the oldest message entered. `last_received_at` is in this minute or
    earlier.
    """

    starts_at: datetime
    sent: int
    received: int
    redelivered: int
    deleted: int
    dead_lettered: int
    expired: int
    visible: int | None
    in_flight: int | None
    delayed: int | None
    oldest_at: datetime | None
    last_received_at: datetime | None


class QueueMinutes(Struct, rename={"from_": "from"}):
    """The minutes of a queue in the last 25 hours that start in [`from`, `to`).

    A minute is missing if the queue had no events and its content did not change.
    """

    queue: str
    from_: datetime
    to: datetime
    minutes: list[QueueMinute]


class Now(Struct):
    """The messages of a queue at the time of the request. The age of an empty queue is 0."""

    visible: int
    in_flight: int
    delayed: int
    oldest_age_us: int


class ForecastPoint(Struct):
    """The expected number of messages at a time, with its prediction interval."""

    at: datetime
    messages: float
    low: float
    high: float


class Outlook(Struct):
    """How a forecast was made, or why it is missing.

    `reason` is `too_little_past`, `no_method_beats_unchanged` or `intervals_do_not_hold`. `interval_level` is the
    share of intervals that should contain the actual number; `interval_coverage` is the share in the backtest.
    `mean_error` and `unchanged_error` are numbers of messages from `backtests` forecasts of the last day. `mean_error`
    belongs to `method`, `unchanged_error` to the assumption that the number stays the same.
    """

    method: str | None = None
    reason: str | None = None
    interval_level: float | None = None
    interval_coverage: float | None = None
    mean_error: float | None = None
    unchanged_error: float | None = None
    backtests: int | None = None


class Warnings(Struct):
    """Events that the forecast expects for a queue within days. An event is null if the forecast does not expect it.

    `retention_seconds` is the time until the queue deletes its oldest message unread. `fastest_rate` is the number of
    messages a second in the queue's best hour. `fastest_rate` is present only if it is less than `mean_rate`, the
    average arrival rate; the consumers then never catch up.
    """

    retention_seconds: float | None = None
    fastest_rate: float | None = None
    mean_rate: float | None = None


class StoredOutlook(Struct):
    """The column `outlook` of queue.read_lag."""

    outlook: Outlook | None = None
    warnings: Warnings | None = None


class QueueVerdict(Struct):
    """The state of a queue according to its last minutes.

    `since` is null if the beginning is unknown. `since_or_before` means that the state began at that time or earlier.
    `backlog` counts messages that can be received. Rates are messages a second over the last `rate_minutes`.
    `empties_at` is the expected time of an empty backlog, with an earliest and a latest time, or null if the current
    rates never empty it. An unknown number of consumers is null.
    """

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
    """The lag of a queue's consumers.

    `verdict` uses the queue's last minutes. `verdict` is null if the queue was created or deleted just now. Rates are
    messages a second over 15 minutes. `drain_seconds` is the time until the backlog is empty at these rates, or null
    for never. If `forecast` has no points, `outlook` gives the reason. Members other than `now` and `verdict` describe
    the time `computed_at`. This time is null if the metrics job has not run yet or found no activity for an hour.
    """

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
    """Queues in the order of their names. `next`, if present, requests the next page.

    Latencies cover [`from`, `to`): the last full hour of the clock and the stored part of the next hour. `computed_at`
    is the time of the metrics job's last success. If `computed_at` is null, `hint` says how to run the job. `fire` and
    `delivery` are the delays of schedules and deliveries in the whole installation.
    """

    from_: datetime
    to: datetime
    computed_at: datetime | None
    fire: Latency | None
    delivery: Latency | None
    queues: list[QueueLag]
    next: str | UnsetType = field(default=UNSET)
    hint: str | UnsetType = field(default=UNSET)
