"""The input and the result of a verdict. docs/reference/verdicts.md explains both."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """The states of a queue, worst first. Lists of queues have the same order."""

    STALLED = "stalled"
    THROTTLED = "throttled"
    POISONED = "poisoned"
    FALLING_BEHIND = "falling_behind"
    DEAD_LETTERS = "dead_letters"
    DRAINING = "draining"
    OK = "ok"
    IDLE = "idle"


class Cause(StrEnum):
    NOBODY_RECEIVES = "nobody_receives"
    QUEUE_PAUSED = "queue_paused"
    IN_FLIGHT_LIMIT = "in_flight_limit"
    ENDPOINT_DOWN = "endpoint_down"
    MAPPING_STOPPED = "mapping_stopped"
    FUNCTION_FAILS = "function_fails"
    POISON_GROUP = "poison_group"
    HANDLERS_FAIL = "handlers_fail"
    DEAD_LETTERS_WAIT = "dead_letters_wait"
    ONE_GROUP = "one_group"
    CONSUMERS_FELL = "consumers_fell"
    SLOW_HANDLERS = "slow_handlers"
    ARRIVALS_ROSE = "arrivals_rose"


class Minute(NamedTuple):
    """A row of queue.minute, with the activity of a queue in one minute, and the last gauges in that minute.

    Gauges (`visible`, `in_flight`, `delayed`) are None if the queue was not measured in that minute. `oldest_at` is the
    time when the oldest message entered, and is also None for an empty queue.
    """

    starts_at: datetime
    sent: int = 0
    received: int = 0
    redelivered: int = 0
    deleted: int = 0
    dead_lettered: int = 0
    visible: int | None = None
    in_flight: int | None = None
    delayed: int | None = None
    oldest_at: datetime | None = None
    last_received_at: datetime | None = None
    expired: int = 0


class Gauges(NamedTuple):
    """The gauges of a queue at one time."""

    measured_at: datetime
    visible: int
    in_flight: int
    delayed: int
    oldest_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Other facts that a verdict considers. Unknown facts keep their defaults.

    `visibility_timeout` is the queue's. `in_flight_limit` is the maximum number of messages in flight, or None for no
    limit. `dead_letters` says whether other queues use this queue as their dead-letter queue. `noisy_groups` counts the
    groups that receives skip while other groups wait. `top_group_share` is the busiest group's share of the arrivals,
    from 0 to 1. `paused_endpoints` are URLs that do not respond. Their undelivered messages enter this queue. `paused`
    means that a person paused the queue. `stopped_mapping` is the reason why the service stopped an event source
    mapping of the queue. `failing_since` and `failing_result` describe a mapping that fails. `now` has gauges that are
    newer than the last minute's gauges.
    """

    fifo: bool = False
    visibility_timeout: timedelta = timedelta(seconds=30)
    in_flight_limit: int | None = 120_000
    dead_letters: bool = False
    noisy_groups: int = 0
    top_group_share: float | None = None
    paused_endpoints: int = 0
    paused: bool = False
    stopped_mapping: str = ""
    failing_since: datetime | None = None
    failing_result: str = ""
    now: Gauges | None = None


@dataclass(frozen=True, slots=True)
class Emptying:
    """The expected time when the backlog is gone at the current rates. The time is most likely `at`, and lies between
    `low` and `high`.

    `high` is None if the backlog may never be gone.
    """

    at: datetime
    low: datetime
    high: datetime | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of a queue at a minute, with its beginning and its cause.

    `since` is the beginning of the state, or None if all known minutes have the same state. `since_or_before` means
    that the state began at `since` or earlier, before the first given minute. `cause_text` is a text in plain English,
    or empty if no cause is known. For a queue that falls behind, it then counts arrivals and departures. `empties` is
    None if there is no backlog, or if the backlog does not drain at the current rates. Rates are messages a second over
    the last `rate_minutes` (1 to 15). `backlog` counts messages that consumers can receive now. `consumers_now` counts
    concurrently handled messages, which is the number of busy consumers if each consumer takes one message. `expired`
    counts the messages that expired in the last 15 minutes. `expiring_since` is the time since which messages have
    expired in every 15 minutes, or None. `is_received` says whether a consumer received a message in the last 15
    minutes. `consumers_needed` is the number of consumers that keeps the lag at `target_lag_seconds` at the current
    rates. None means unknown.
    """

    kind: Kind
    since: datetime | None = None
    since_or_before: bool = False
    cause: Cause | None = None
    cause_text: str = ""
    empties: Emptying | None = None
    arrival_rate: float = 0.0
    drain_rate: float = 0.0
    rate_minutes: int = 5
    backlog: int = 0
    seconds_since_receive: float | None = None
    consumers_now: int | None = None
    consumers_needed: int | None = None
    target_lag_seconds: int = 300
    expired: int = 0
    expiring_since: datetime | None = None
    is_received: bool = False
