"""Reads the current state of the queues from the service's per-minute data. Reads 200 queues at a time, and keeps only
the queues that the report shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from penstock.aws.arn import resolve_queue_arn
from penstock.drivers import run
from penstock.management.attention.concerns import Concern
from penstock.management.attention.reading import HEALTHY, collect_other_concerns, describe_loss, find_concerns
from penstock.management.verdicts import (
    KEPT,
    find_span_before,
    group_by_queue,
    list_queue_names,
    rank_badness,
    read_facts,
    read_verdicts,
    split_parts,
)
from penstock.postgres.database import Database
from penstock.postgres.statements.metrics import READ_MINUTES, READ_VERDICT_FACTS, VerdictFactsRow
from penstock.settings import Settings
from penstock.verdicts import TARGET_LAG_SECONDS, Kind, Verdict
from penstock.verdicts.series import Series, build_series

MAX_TROUBLED: Final = 50
MAX_NAMES: Final = 200
"""The maximum number of healthy queues that the report lists. The report only counts all further healthy queues."""
RATE_MINUTES: Final = 15


@dataclass(frozen=True)
class QueueState:
    """A queue with its verdict, and the facts behind the verdict. `series` contains the minutes if the report shows the
    queue.
    """

    name: str
    verdict: Verdict
    facts: VerdictFactsRow
    series: Series | None = None

    @property
    def rates(self) -> tuple[float, float] | None:
        """Returns arrivals and completions per second in the last 15 minutes, or None if no minute is known."""
        if self.series is None or not len(self.series):
            return None
        seconds = 60 * min(RATE_MINUTES, len(self.series))
        sent, left = self.series.sent[-RATE_MINUTES:], self.series.left[-RATE_MINUTES:]
        return sum(sent) / seconds, sum(left) / seconds

    @property
    def oldest_at(self) -> datetime | None:
        """Returns when the oldest message entered the queue, or None if the time is unknown."""
        return self.facts.oldest_at if self.series is None else self.series.now.oldest_at


class Named(NamedTuple):
    """A healthy queue."""

    name: str
    kind: Kind


@dataclass
class ReportState:
    """The state of all queues. `measured_at` is the time of the last measurement of any queue. `shown` contains the
    requested queue, or the worst MAX_TROUBLED queues in trouble, from the worst to the best. `losses` contains the
    queues whose messages expire or soon will, and `others` the endpoints, schedules and transactions that need
    attention.
    """

    read_at: datetime | None = None
    measured_at: datetime | None = None
    counts: Counter[Kind] = field(default_factory=Counter)
    shown: list[QueueState] = field(default_factory=list)
    others: list[Concern] = field(default_factory=list)
    losses: list[Concern] = field(default_factory=list)
    healthy: list[Named] = field(default_factory=list)

    @property
    def troubled(self) -> int:
        """Returns the number of queues that are not healthy."""
        return self.counts.total() - self.number_healthy

    @property
    def number_healthy(self) -> int:
        """Returns the number of healthy queues."""
        return sum(self.counts[kind] for kind in HEALTHY)


def read_state(database: Database, settings: Settings, queue: str | None) -> ReportState:
    """Returns the state of all queues, or of one queue. Raises ServiceUnavailable."""
    state = ReportState()
    pages: Iterable[list[str]] = list_queue_names(database, settings) if queue is None else [[queue]]
    for names in pages:
        _add(state, _judge(database, settings, names), all_shown=queue is not None)
    state.shown = _add_minutes(database, settings, state.shown)
    if queue is None:
        others = run(collect_other_concerns(settings.queue_account_id, settings.queue_region), database)
        state.others = find_concerns((), others)
    return state


def _judge(database: Database, settings: Settings, names: Sequence[str]) -> list[QueueState]:
    place = (settings.queue_region, settings.queue_account_id)
    arns = {arn: name for name in names if (arn := resolve_queue_arn(*place, name)) is not None}
    operation = read_verdicts(list(arns), settings.queue_in_flight_limit, TARGET_LAG_SECONDS)
    verdicts = run(operation, database)
    facts = database.call(READ_VERDICT_FACTS, (list(arns),))
    return [QueueState(arns[row.arn], verdict, row) for row in facts if (verdict := verdicts.get(row.arn))]


def _add(state: ReportState, queues: Sequence[QueueState], *, all_shown: bool) -> None:
    for queue in queues:
        kind = queue.verdict.kind
        state.read_at = queue.facts.read_at
        state.measured_at = max(filter(None, (state.measured_at, queue.facts.measured_at)), default=None)
        state.counts[kind] += 1
        if kind not in HEALTHY or all_shown:
            state.shown.append(queue)
        if (loss := describe_loss(queue.name, queue.verdict, queue.facts)) is not None:
            state.losses.append(loss)
        if kind in HEALTHY and len(state.healthy) < MAX_NAMES:
            state.healthy.append(Named(queue.name, kind))
    state.shown = sorted(state.shown, key=lambda queue: (*rank_badness(queue.verdict), queue.name))[:MAX_TROUBLED]


def _add_minutes(database: Database, settings: Settings, queues: Sequence[QueueState]) -> list[QueueState]:
    """Returns the queues, and adds all of their stored minutes."""
    found: dict[str, Series] = {}
    known = {queue.facts.arn: queue for queue in queues}
    for arns in split_parts(list(known), KEPT):
        at = known[arns[0]].facts.read_at
        minutes = group_by_queue(database.call(READ_MINUTES, (arns, *find_span_before(at, KEPT))))
        for n, arn in enumerate(arns, start=1):
            facts = known[arn].facts
            limit = settings.queue_in_flight_limit
            found[arn] = build_series(minutes.get(n, ()), read_facts(facts, limit), facts.read_at)
    return [QueueState(queue.name, queue.verdict, queue.facts, found[queue.facts.arn]) for queue in queues]
