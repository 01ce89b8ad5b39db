"""Input and result of a verdict. docs/verdicts.md explains each of them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """The state of a queue, worst first; lists are in this order."""

    STALLED = "stalled"
    THROTTLED = "throttled"
    POISONED = "poisoned"
    FALLING_BEHIND = "falling_behind"
    DRAINING = "draining"
    OK = "ok"
    IDLE = "idle"


class Cause(StrEnum):
    """The cause of a queue's state."""

    NOBODY_RECEIVES = "nobody_receives"
    QUEUE_PAUSED = "queue_paused"
    IN_FLIGHT_LIMIT = "in_flight_limit"
    ENDPOINT_DOWN = "endpoint_down"
    MAPPING_STOPPED = "mapping_stopped"
    FUNCTION_FAILS = "function_fails"
    POISON_GROUP = "poison_group"
    HANDLERS_FAIL = "handlers_fail"
    ONE_TENANT = "one_tenant"
    CONSUMERS_FELL = "consumers_fell"
    SLOW_HANDLERS = "slow_handlers"
    ARRIVALS_ROSE = "arrivals_rose"


class Minute(NamedTuple):
    """Activity of a queue in one minute, and its last gauges in that minute: a row of queue.minute.

    Gauges (`visible`, `in_flight`, `delayed`) are None if the queue was not measured in that minute. `oldest_at`: when
    its oldest message entered; None also for an empty queue.
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


class Gauges(NamedTuple):
    """The gauges of a queue at a time."""

    measured_at: datetime
    visible: int
    in_flight: int
    delayed: int
    oldest_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Other facts that a verdict considers. Unknown facts keep their defaults.

    `in_flight_limit`: messages that may be in flight at once, None for any number. `dead_letters`: whether other queues
    name this one as their dead-letter queue. `noisy_groups`: tenants that are set back now. `top_group_share`: the part
    of the arrivals that the busiest group sent, 0 to 1. `paused_endpoints`: URLs that do not answer, whose
    undelivered messages come into this queue. `paused`: somebody paused the queue. `stopped_mapping`: why an event
    source mapping of the queue was stopped, not by a person. `failing_since`, `failing_result`: of one that fails.
    `now`: gauges that are newer than the last minute's.
    """

    fifo: bool = False
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
    """When the backlog will be gone at the current rates: most likely `at`, between `low` and `high`.

    `high` is None if the backlog may never be gone.
    """

    at: datetime
    low: datetime
    high: datetime | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of a queue at a minute, since when, and why.

    `since`: when the state began; None if it held in all known minutes. `since_or_before`: it began at `since` or
    earlier, before the first given minute. `cause_text`: a sentence in plain English, empty without a cause. `empties`:
    None without a backlog, and if the backlog does not drain at the current rates. Rates are messages a second over the
    last `rate_minutes` (5 to 15). `backlog`: messages that can be received now. `consumers_now`: how many messages are
    handled at once, which is the number of busy consumers if each takes one message; `consumers_needed`: how many keep
    the lag at `target_lag_seconds` at the current rates. None: unknown.
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
