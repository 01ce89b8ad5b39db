"""Events in queues by the minute, and further facts for verdicts."""

from datetime import datetime
from typing import NamedTuple

from penstock.effects import Statement


class MinuteRow(NamedTuple):
    """A minute of the n-th of the given queues; the rest is that of `verdicts.Minute`."""

    n: int
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


READ_MINUTES = Statement("queue.read_minutes", ("text[]", "timestamptz", "timestamptz"), MinuteRow)


class VerdictFactsRow(NamedTuple):
    """Facts of the n-th of the given queues at `read_at`.

    `measured_at` and the columns after it: None if the queue was never measured; `oldest_at` also for an empty queue.
    `retention_at`, `never_catches_up`: forecasts of the metrics job. `stopped_mapping`: why an event source mapping was
    stopped. `failing_since`, `failing_result`: of a failing mapping.
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


READ_VERDICT_FACTS = Statement("queue.read_verdict_facts", ("text[]",), VerdictFactsRow)
