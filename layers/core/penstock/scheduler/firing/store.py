"""Claims, plans and fires a batch of schedules, and stores the next times, in one transaction.

    claim_schedules (SKIP LOCKED) ──► plan ──► messages for targets that need one ──► fire_schedules

If a worker dies, the server rolls back the transaction, and another worker fires the batch.
"""

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock import drivers
from penstock.environment import Environment
from penstock.observing.observer import NO_OBSERVER, Observer
from penstock.observing.trace_context import Tracer
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statement import Row
from penstock.postgres.statements.firing import (
    CLAIM_SCHEDULE_RETRIES,
    CLAIM_SCHEDULES,
    FIRE_SCHEDULE_RETRIES,
    FIRE_SCHEDULES,
    NEXT_LATER_SCHEDULE,
    NEXT_SCHEDULE,
    SCHEDULE_INPUTS,
    ClaimedRetryRow,
    ClaimedScheduleRow,
    NextScheduleRow,
)
from penstock.sns.publishing.publications import TopicCache

from .plan import Plan, plan
from .target_messages import Draft, TargetMessage, build_target_messages
from .traces import Traces

if TYPE_CHECKING:
    import psycopg

MAX_SIGNATURES: Final = 3
"""The maximum number of attempts to sign a batch's messages. A topic can change its signature version during an
attempt, but rarely twice."""


class PlannedSchedule(NamedTuple):
    """A due schedule and its plan."""

    due: ClaimedScheduleRow
    plan: Plan


class FiringStore:
    """Claims and fires schedules, and retries invocations, on one autocommit connection. If a call raises
    psycopg.Error, the server rolls back the batch."""

    def __init__(
        self,
        connection: "psycopg.Connection[Row]",
        environment: Environment,
        counts: "Counter[str]",
        observer: Observer = NO_OBSERVER,
        tracer: Tracer | None = None,
    ) -> None:
        self._connection = connection
        self._calls = TransactionExecutor(connection)
        self._environment = environment
        self._per_second = environment.settings.quota_firings_per_second
        self._counts = counts
        self._observer = observer
        self._traces = Traces(tracer)

    def waits(self) -> NextScheduleRow:
        """Returns how long until schedules and retries are due."""
        (waits,) = self._calls.call(NEXT_SCHEDULE, [])
        return waits

    def read_next_pause(self) -> float | None:
        """Returns the number of seconds until another schedule or retry becomes due, or None for never."""
        (later,) = self._calls.call(NEXT_LATER_SCHEDULE, [])
        return None if later.ms is None else later.ms / 1000

    def fire(self, limit: int, grace_seconds: int) -> int:
        """Fires up to `limit` due schedules. Returns the number of claimed rows."""
        with self._traces.record_spans(), self._connection.transaction():
            claimed = self._calls.call(CLAIM_SCHEDULES, [limit, self._per_second])
            planned = [PlannedSchedule(due, plan(due, grace_seconds)) for due in claimed]
            for _ in range(MAX_SIGNATURES):
                if planned:
                    planned = self._fire(planned)
            return len(claimed)

    def try_again(self, limit: int) -> int:
        """Retries up to `limit` failed invocations. Returns the number of claimed rows."""
        with self._traces.record_spans(), self._connection.transaction():
            left = retries = self._calls.call(CLAIM_SCHEDULE_RETRIES, [limit, self._per_second])
            for _ in range(MAX_SIGNATURES):
                if left:
                    left = self._retry(left)
            return len(retries)

    # --- one call ----------------------------------------------------------------------------------------------------
    def _fire(self, planned: list[PlannedSchedule]) -> list[PlannedSchedule]:
        """Fires schedules. Returns the schedules that did not fire because their messages need another signature
        version."""
        firings = [(work.due, at) for work in planned for at in work.plan.times]
        messages = self._build(self._read_drafts(firings))
        topics = {due.schedule_id: find_topic(message) for (due, _), message in zip(firings, messages, strict=True)}
        columns = [
            [work.due.schedule_id for work in planned],
            [work.plan.next_fire_at for work in planned],
            [work.plan.note for work in planned],
            [work.plan.skipped_at for work in planned],
            [len(work.plan.times) for work in planned],
            [at for _, at in firings],
            self._traces.begin("schedule", [(due.schedule_id, at, due.name) for due, at in firings], encode(messages)),
        ]
        unsigned = set()
        for row in self._calls.call(FIRE_SCHEDULES, columns):
            busy = int(row.outcome == "busy")
            self._count(fired=row.fired, skipped=row.skipped, failed=row.failed, busy=busy)
            if row.failed:
                self._traces.failed(row.schedule_id)
            if row.outcome == "unsigned":
                unsigned.add(row.schedule_id)
                self._learn(topics[row.schedule_id], row.detail)
        for due, at in firings:
            # Within a flexible window, or with jitter, an occurrence is not late.
            if due.schedule_id not in unsigned and not due.window_seconds:
                self._observer.fired((due.now - at).total_seconds())
        return [work for work in planned if work.due.schedule_id in unsigned]

    def _count(self, **counts: int) -> None:
        self._counts.update(counts)
        self._observer.counted(counts)

    def _retry(self, retries: list[ClaimedRetryRow]) -> list[ClaimedRetryRow]:
        built = self._build(
            [None if r.target is None else Draft(r.target, r.input, r.account_id, r.region) for r in retries]
        )
        topics = {retry.retry_id: find_topic(message) for retry, message in zip(retries, built, strict=True)}
        messages = self._traces.begin("retry", [(r.retry_id, None, r.name) for r in retries], encode(built))
        unsigned = set()
        for row in self._calls.call(FIRE_SCHEDULE_RETRIES, [[r.retry_id for r in retries], messages]):
            self._count(**{row.outcome if row.outcome in ("fired", "busy", "exhausted") else "failed": 1})
            if row.outcome != "fired":
                self._traces.failed(row.retry_id)
            if row.outcome == "unsigned":
                unsigned.add(row.retry_id)
                self._learn(topics[row.retry_id], row.detail)
        return [retry for retry in retries if retry.retry_id in unsigned]

    # --- messages for targets ----------------------------------------------------------------------------------------
    def _read_drafts(self, firings: list[tuple[ClaimedScheduleRow, datetime]]) -> list[Draft | None]:
        """Returns the drafts of messages that SQL cannot build, and None for the other targets."""
        if not any(due.target for due, _ in firings):
            return [None] * len(firings)
        columns = ([due.schedule_id for due, _ in firings], [at for _, at in firings])
        inputs = self._calls.call(SCHEDULE_INPUTS, columns)
        return [
            None if due.target is None else Draft(due.target, row.input, due.account_id, due.region)
            for (due, _), row in zip(firings, inputs, strict=True)
        ]

    def _build(self, drafts: list[Draft | None]) -> list[TargetMessage | None]:
        return drivers.run(build_target_messages(drafts, self._environment), self._calls)

    def _learn(self, topic: str | None, version: str | None) -> None:
        self._environment.cache(TopicCache).learn_signature_version(str(topic), str(version))


def encode(messages: list[TargetMessage | None]) -> list[bytes | None]:
    return [None if message is None else message.data for message in messages]


def find_topic(message: TargetMessage | None) -> str | None:
    return None if message is None else message.topic
