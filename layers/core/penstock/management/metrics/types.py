"""Documents of metrics.

Durations are whole microseconds, as in the tables, so that nothing is rounded. Times are UTC.
"""

from datetime import datetime

from msgspec import UNSET, Struct, UnsetType, field

from penstock.verdicts import Cause, Kind


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
    """Events of a minute, and the counts of the last measurement in it, null without one.

    `sent`: all messages that entered the queue; `received`: all deliveries, `redelivered` among them; `dead_lettered`:
    messages that left for the dead-letter queue. `oldest_at`: when the oldest message entered. `last_received_at`: in
    this minute or before.
    """

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
    """How a forecast was made, or in `reason` why it is missing: `too_little_past`, `no_method_beats_unchanged`,
    `intervals_do_not_hold`. `interval_level`: the share of such intervals that should contain the actual number;
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
    """Events expected for a queue within days; null: not expected.

    `retention_seconds`: until its oldest message is deleted unread. `fastest_rate`: messages a second in its best hour,
    if even that is less than `mean_rate`, the average arrivals: its consumers never catch up.
    """

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
    metrics job last succeeded, null for never; then `hint` says how to run it. `fire` and `delivery`: how late
    schedules and deliveries of the whole installation were."""

    from_: datetime
    to: datetime
    computed_at: datetime | None
    fire: Latency | None
    delivery: Latency | None
    queues: list[QueueLag]
    next: str | UnsetType = field(default=UNSET)
    hint: str | UnsetType = field(default=UNSET)
