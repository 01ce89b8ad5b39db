"""Statements for the metrics job's results, for events in queues by the minute, and for other facts that verdicts
need."""

from datetime import datetime
from typing import NamedTuple

from penstock.postgres.statement import Statement


class MetricsRow(NamedTuple):
    """A window of a queue, or of a message group. `latencies` is JSON that maps each measure to its latencies.

    The first row of a result describes all windows. The first row has only sums, latencies, `hot_groups` as JSON (None
    for a group), and the end and `computed_at` of the newest stored window (None without a stored window). The job
    measures `visible`, `in_flight` and `delayed` when it runs, so only the window of a run has them.
    """

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
    latencies: str | None
    hot_groups: str | None


READ_METRICS = Statement(
    "queue.read_metrics", ("text", "int4", "text", "timestamptz", "timestamptz", "text"), MetricsRow
)


class QueueHistoryRow(NamedTuple):
    """An hour of a queue. `finished` counts messages that left the queue, for any reason. `lag_...` covers the time
    from sending to deletion.

    The first row has no `starts_at`. The first row's `ends_at` is the time when the job last succeeded, or None for
    never. The first row's `depth` is 1 if the queue keeps a history, and 0 otherwise.
    """

    starts_at: datetime | None
    ends_at: datetime | None
    arrivals: int
    finished: int
    depth: int
    oldest_age_us: int | None
    lag_p50_us: int | None
    lag_p99_us: int | None


READ_QUEUE_HISTORY = Statement("queue.read_queue_history", ("text", "timestamptz", "timestamptz"), QueueHistoryRow)


class LagRow(NamedTuple):
    """A queue's lag and its forecast. `latencies` is JSON that maps each measure to its latencies. `outlook` is JSON
    with the method of the forecast (`outlook`) and the events expected within days (`warnings`). The names are those
    of queue.metrics_forecast.

    The first row of a result describes the installation. The first row has only the time of all rows' latencies
    (`from_at` and `to_at`), the end of the job's last run (`computed_at`), and latencies. Other rows have all columns
    except the first two. The job's results are None for a queue that was idle. `drain_seconds` is None if the queue
    will never be empty.
    """

    name: str
    from_at: datetime
    to_at: datetime
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
    outlook: str | None


READ_LAG = Statement("queue.read_lag", ("text", "text", "text", "text", "int4"), LagRow)


class LagHeatRow(NamedTuple):
    """The times from sending to deletion, for the messages that a queue deleted in one step of time."""

    name: str
    step_at: datetime
    count: int  # type: ignore[assignment]  # the column's name, and that of a method of tuples
    p95_us: int


READ_LAG_HEAT = Statement(
    "queue.read_lag_heat", ("text", "text", "text[]", "int4", "timestamptz", "timestamptz", "int4", "text"), LagHeatRow
)


class HotGroupRow(NamedTuple):
    """One of the busiest message groups, and its queue.

    `arrivals_of_all` counts the arrivals of all queues in the request. `arrivals_of_all` is None if no queue has a
    stored window.
    """

    name: str
    group_id: str
    arrivals: int
    arrivals_of_all: int | None


READ_HOT_GROUPS = Statement(
    "queue.read_hot_groups", ("text", "text", "text", "int4", "timestamptz", "timestamptz", "int4", "text"), HotGroupRow
)


class BusiestQueueRow(NamedTuple):
    name: str
    arrivals: int
    greatest_depth: int


READ_BUSIEST_QUEUES = Statement(
    "queue.read_busiest_queues", ("text", "text", "int4", "timestamptz", "timestamptz", "int4", "text"), BusiestQueueRow
)


# --- minutes ---------------------------------------------------------------------------------------------------------
class MinuteRow(NamedTuple):
    """A minute of the n-th given queue. The other columns are the fields of `verdicts.Minute`."""

    n: int
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


READ_MINUTES = Statement("queue.read_minutes", ("text[]", "timestamptz", "timestamptz"), MinuteRow)


class VerdictFactsRow(NamedTuple):
    """Facts about the n-th given queue at `read_at`.

    `measured_at` and the later columns are None if the service never measured the queue. `oldest_at` is also None for
    an empty queue. The metrics job forecasts `retention_at` and `never_catches_up`. `stopped_mapping` is the reason why
    an event source mapping was stopped. `failing_since` and `failing_result` describe a failing mapping. `expires_at`
    is when the retention of the first message is over.
    """

    n: int
    arn: str
    read_at: datetime
    fifo: bool
    dead_letters: bool
    noisy_groups: int
    top_group_share: float | None
    paused_endpoints: int
    retention_at: datetime | None
    never_catches_up: bool
    measured_at: datetime | None
    visible: int | None
    in_flight: int | None
    delayed: int | None
    oldest_at: datetime | None
    paused: bool
    stopped_mapping: str | None
    failing_since: datetime | None
    failing_result: str | None
    retention_seconds: int
    expires_at: datetime | None
    visibility_timeout_seconds: int


READ_VERDICT_FACTS = Statement("queue.read_verdict_facts", ("text[]",), VerdictFactsRow)


# --- what needs attention --------------------------------------------------------------------------------------------
class LateWorkRow(NamedTuple):
    """Late or failing work of an account, or an old transaction. `kind` is the kind of concern. `name` is the schedule
    that fails, the first late schedule, the endpoint of the first late delivery, the target of a mapping or a
    subscriber. `owner` is the queue of a mapping, or the bus of a subscriber. `error` describes a failure. `since` is
    None if the time is unknown.
    """

    kind: str
    name: str | None
    number: int
    since: datetime | None
    error: str | None
    mapping_id: str | None = None
    owner: str | None = None


READ_LATE_WORK = Statement("queue.read_late_work", ("text", "text", "int4", "float8", "float8", "int8"), LateWorkRow)


class AccountMinuteRow(NamedTuple):
    """The number of messages that entered and left all queues of an account in a minute. `known_from` is when the
    oldest of the queues was created.
    """

    starts_at: datetime
    entered: int
    finished: int
    read_at: datetime
    known_from: datetime | None


READ_ACCOUNT_MINUTES = Statement("queue.read_account_minutes", ("text", "text", "timestamptz"), AccountMinuteRow)
