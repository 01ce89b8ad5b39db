"""Reads queues' last measurements and minutes, and computes the queues' verdicts. Makes at most three database
calls.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

from penstock.effects import Call, Compute, Operation
from penstock.management.verdicts import (
    KEPT,
    QUEUES_PER_READ,
    RECENT,
    ask_for_more,
    compute_verdicts,
    find_span_before,
    group_by_queue,
)
from penstock.postgres.statements.metrics import READ_MINUTES, READ_VERDICT_FACTS, MinuteRow, VerdictFactsRow
from penstock.verdicts import TARGET_LAG_SECONDS, Minute, Verdict
from penstock.verdicts.series import MINUTE, SETTLE

MAX_QUEUES: Final = QUEUES_PER_READ[RECENT]
MAX_LONG_QUEUES: Final = QUEUES_PER_READ[KEPT]
LATE_SECONDS: Final = 60.0
"""How long a schedule or a delivery can be due before it needs attention."""
OLD_SNAPSHOT_SECONDS: Final = 600.0
"""How long a transaction or a snapshot can be open before it needs attention."""


class Observed(NamedTuple):
    """A queue with its last measurement, its minutes from the oldest to the newest, and its verdict."""

    facts: VerdictFactsRow
    minutes: Sequence[Minute]
    verdict: Verdict

    def total(self, name: str, length: timedelta) -> int:
        """Sums a column, such as `sent`, over the minutes that began in the last `length`."""
        since = self.facts.read_at - length
        return sum(getattr(minute, name) for minute in self.minutes if minute.starts_at >= since)

    @property
    def kind(self) -> str | None:
        """Returns the verdict's kind, or None for a queue without known facts."""
        is_known = self.facts.measured_at is not None or bool(self.minutes)
        return self.verdict.kind.value if is_known else None

    @property
    def arrival_rate(self) -> float | None:
        """Returns messages per second, or None before the first full minute."""
        return self.verdict.arrival_rate if self._has_full_minute else None

    @property
    def drain_rate(self) -> float | None:
        """Returns deleted and dead-lettered messages per second, or None before the first full minute."""
        return self.verdict.drain_rate if self._has_full_minute else None

    @property
    def _has_full_minute(self) -> bool:
        if not self.minutes:  # The queue had no events.
            return self.facts.measured_at is not None
        return self.minutes[0].starts_at + MINUTE + SETTLE <= self.facts.read_at

    @property
    def last_received_at(self) -> datetime | None:
        """Returns when a consumer last received a message, or None if the known minutes contain no receive."""
        return max((m.last_received_at for m in self.minutes if m.last_received_at is not None), default=None)


def observe(arns: Sequence[str], in_flight_limit: int) -> Operation[dict[str, Observed]]:
    """Returns the existing queues by ARN. Reads only the first 60 ARNs."""
    some = list(arns[:MAX_QUEUES])
    facts = (yield from Call(READ_VERDICT_FACTS, (some,))) if some else []
    if not facts:
        return {}
    rows = yield from Call(READ_MINUTES, (some, *find_span_before(facts[0].read_at, RECENT)))
    found = yield from Compute(partial(_observe, facts, rows, in_flight_limit))
    asking = ask_for_more({arn: queue.verdict for arn, queue in found.items()})[:MAX_LONG_QUEUES]
    if asking:
        rows = yield from Call(READ_MINUTES, (asking, *find_span_before(facts[0].read_at, KEPT)))
        places = {arn: place for place, arn in enumerate(asking, 1)}
        again = [row._replace(n=places[row.arn]) for row in facts if row.arn in places]
        found |= yield from Compute(partial(_observe, again, rows, in_flight_limit))
    return found


def _observe(facts: Sequence[VerdictFactsRow], rows: Sequence[MinuteRow], in_flight_limit: int) -> dict[str, Observed]:
    minutes = group_by_queue(rows)
    verdicts = compute_verdicts(facts, rows, in_flight_limit, TARGET_LAG_SECONDS)
    return {row.arn: Observed(row, minutes.get(row.n, ()), verdicts[row.arn]) for row in facts}
