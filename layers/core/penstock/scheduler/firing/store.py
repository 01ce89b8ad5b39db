"""A batch of schedules in the database: claimed, planned, fired and moved on in one transaction.

    claim_schedules (SKIP LOCKED) ──► plan ──► messages for topics, if some are among the targets ──► fire_schedules

A worker that dies takes nothing with it: the server rolls its transaction back, and another worker fires the batch.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock import drivers
from penstock.effects import Statement
from penstock.environment import Environment
from penstock.observer import NO_OBSERVER, Observer
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statements.firing import (
    CLAIM_SCHEDULE_RETRIES,
    CLAIM_SCHEDULES,
    FIRE_SCHEDULE_RETRIES,
    FIRE_SCHEDULES,
    NEXT_SCHEDULE,
    SCHEDULE_INPUTS,
)
from penstock.sns import envelopes
from penstock.trace_context import Tracer

from .plan import DueSchedule, Plan, plan
from .topic_messages import TopicDraft, sign_drafts
from .traces import Traces

if TYPE_CHECKING:
    import psycopg

MOST_SIGNATURES: Final = 3
"""Attempts to sign: a topic may change its signature version while the worker signs, but not each time."""


class PlannedSchedule(NamedTuple):
    """A due schedule and its plan."""

    due: DueSchedule
    plan: Plan


class Retry(NamedTuple):
    """A row of `queue.claim_schedule_retries`: a failed invocation whose retry is due."""

    retry_id: int
    topic: str | None
    text: str


class Waits(NamedTuple):
    """Milliseconds until a schedule and until a retry is due; 0: now, None: never."""

    schedule_ms: int | None
    retry_ms: int | None

    @property
    def ms(self) -> int | None:
        """The shorter one."""
        return min((ms for ms in self if ms is not None), default=None)


class Store:
    """Calls on one autocommit connection. Raises psycopg.Error, after which the batch is rolled back."""

    def __init__(
        self,
        connection: "psycopg.Connection[Any]",
        environment: Environment,
        counts: "Counter[str]",
        observer: Observer = NO_OBSERVER,
        tracer: Tracer | None = None,
    ) -> None:
        self._connection = connection
        self._calls = TransactionExecutor(connection)
        self._environment = environment
        self._counts = counts
        self._observer = observer
        self._traces = Traces(tracer)

    def waits(self) -> Waits:
        """How long until schedules and retries are due."""
        return Waits(*self.call(NEXT_SCHEDULE, [])[0])

    def fire(self, limit: int, grace_seconds: int) -> int:
        """Fires up to `limit` schedules that are due. Returns how many it claimed."""
        with self._traces.recorded(), self._connection.transaction():
            claimed = [DueSchedule(*row) for row in self.call(CLAIM_SCHEDULES, [limit])]
            planned = [PlannedSchedule(due, plan(due, grace_seconds)) for due in claimed]
            for _ in range(MOST_SIGNATURES):
                if planned:
                    planned = self._fire(planned)
            return len(claimed)

    def try_again(self, limit: int) -> int:
        """Retries up to `limit` failed invocations. Returns how many it claimed."""
        with self._traces.recorded(), self._connection.transaction():
            retries = [Retry(*row) for row in self.call(CLAIM_SCHEDULE_RETRIES, [limit])]
            left = retries
            for _ in range(MOST_SIGNATURES):
                if left:
                    left = self._retry(left)
            return len(retries)

    # --- one call ----------------------------------------------------------------------------------------------------
    def _fire(self, planned: list[PlannedSchedule]) -> list[PlannedSchedule]:
        """Fires schedules. Returns those that did not fire, since their messages need another signature version."""
        firings = [(work.due, at) for work in planned for at in work.plan.times]
        topic_messages = self._sign(self._drafts(firings))
        columns: list[list[Any]] = [
            [work.due.schedule_id for work in planned],
            [work.plan.next_fire_at for work in planned],
            [work.plan.note for work in planned],
            [len(work.plan.times) for work in planned],
            [at for _, at in firings],
            self._traces.begin("schedule", [(due.schedule_id, at) for due, at in firings], topic_messages),
        ]
        unsigned = set()
        for schedule_id, outcome, fired, skipped, failed, detail in self._fire_rows(columns):
            self._count(fired=fired, skipped=skipped, failed=failed, busy=int(outcome == "busy"))
            if failed:
                self._traces.failed(schedule_id)
            if outcome == "unsigned":
                unsigned.add(schedule_id)
                self._learn(next(w.due.topic for w in planned if w.due.schedule_id == schedule_id), detail)
        for due, at in firings:
            # Within a flexible window, or with jitter, an occurrence is not late.
            if due.schedule_id not in unsigned and not due.window_seconds:
                self._observer.fired((due.now - at).total_seconds())
        return [work for work in planned if work.due.schedule_id in unsigned]

    def _count(self, **counts: int) -> None:
        self._counts.update(counts)
        self._observer.counted(counts)

    def _fire_rows(self, columns: list[list[Any]]) -> list[tuple[Any, ...]]:
        return self.call(FIRE_SCHEDULES, columns)

    def _retry(self, retries: list[Retry]) -> list[Retry]:
        signed = self._sign([TopicDraft(r.topic, r.text) if r.topic else None for r in retries])
        topic_messages = self._traces.begin("retry", [(r.retry_id, None) for r in retries], signed)
        columns: list[list[Any]] = [[r.retry_id for r in retries], topic_messages]
        unsigned = set()
        for retry_id, outcome, detail in self.call(FIRE_SCHEDULE_RETRIES, columns):
            self._count(**{outcome if outcome in ("fired", "busy", "exhausted") else "failed": 1})
            if outcome != "fired":
                self._traces.failed(retry_id)
            if outcome == "unsigned":
                unsigned.add(retry_id)
                self._learn(next(r.topic for r in retries if r.retry_id == retry_id), detail)
        return [retry for retry in retries if retry.retry_id in unsigned]

    # --- messages for topics -----------------------------------------------------------------------------------------
    def _drafts(self, firings: list[tuple[DueSchedule, datetime]]) -> list[TopicDraft | None]:
        """The messages for topics of SNS; None for every other target."""
        if not any(due.topic for due, _ in firings):
            return [None] * len(firings)
        columns: list[list[Any]] = [[due.schedule_id for due, _ in firings], [at for _, at in firings]]
        inputs = self.call(SCHEDULE_INPUTS, columns)
        return [
            TopicDraft(due.topic, text) if due.topic else None
            for (due, _), (_, text) in zip(firings, inputs, strict=True)
        ]

    def _sign(self, drafts: list[TopicDraft | None]) -> list[bytes | None]:
        topic_messages: list[bytes | None] = drivers.run(sign_drafts(drafts, self._environment), self)
        return topic_messages

    def _learn(self, topic: str | None, version: str) -> None:
        self._environment.cache(envelopes.TopicCache).learn_signature_version(str(topic), version)

    def call(self, statement: Statement, arguments: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows of one call, in the open transaction."""
        return self._calls.call(statement, arguments)
