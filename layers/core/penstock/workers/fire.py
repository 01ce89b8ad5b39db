"""Fires due schedules in batches, each in one transaction.

Only the database's clock counts. A worker queries the database for the time to wait, and itself measures only that
waiting time. Any number of workers can run, because each worker skips schedules that another worker has locked. If a
worker dies or stops, the next run fires the remaining schedules.
"""

from collections import Counter
from threading import Event
from time import monotonic
from typing import Final

import psycopg

from penstock.environment import Environment, build_worker_environment
from penstock.observing.observer import NO_OBSERVER, Observer
from penstock.observing.trace_context import Tracer
from penstock.postgres.statement import Row
from penstock.postgres.statements.firing import NextScheduleRow
from penstock.scheduler.firing.store import FiringStore
from penstock.settings import Settings

from . import Counts

MAX_RUN_SECONDS = 58.0
"""How long a function without polling waits for schedules that are due before its next invocation, a minute later."""
LOCKED_SECONDS: Final = 0.05
"""The longest pause while other workers lock all due schedules, or the schedules' accounts exceed their firing rate."""
SHORTEST_PAUSE_SECONDS: Final = 0.005
OUTCOMES: Final = ("fired", "skipped", "failed", "busy", "exhausted")


class Firer:
    """The worker of one process. `stop` and `wake` are safe to call from any thread.

    If `continues` is set, a run waits for schedules that become due before its time is over. The run queries for
    earlier schedules every QUEUE_SCHEDULE_POLL_MS, because it receives no notifications. If `continues` is not set, the
    run ends when no schedule is due.
    """

    def __init__(
        self,
        longest_run_seconds: float = MAX_RUN_SECONDS,
        *,
        continues: bool = True,
        observer: Observer = NO_OBSERVER,
        tracer: Tracer | None = None,
    ) -> None:
        self._longest_run_seconds = longest_run_seconds
        self._continues = continues
        self._observer = observer
        self._tracer = tracer
        self._stopping = False
        self._awake = Event()
        self._environment: Environment | None = None
        self.wait_ms: int | None = None
        """The number of milliseconds from the end of a run until a schedule is due, or None if no schedule will be
        due."""

    def run_once(
        self, settings: Settings, connection: "psycopg.Connection[Row]", longest_run_seconds: float | None = None
    ) -> Counts:
        """Does one bounded run on an autocommit connection. Raises psycopg.Error, but earlier batches remain
        committed."""
        counts = Counter(dict.fromkeys(OUTCOMES, 0))
        self.wait_ms = None
        if settings.queue_schedule_enabled:
            environment = self._get_environment(settings)
            store = FiringStore(connection, environment, counts, self._observer, self._tracer)
            seconds = self._longest_run_seconds if longest_run_seconds is None else longest_run_seconds
            deadline = monotonic() + seconds
            while (waits := self._wait_for_schedule(store, deadline, settings.queue_schedule_poll_ms)) is not None:
                if not fire_batch(store, waits, settings):
                    self._awake.wait(pause_seconds(store.read_next_pause()))
        return counts

    def stop(self) -> None:
        """Ends the current run. A stopped worker claims no more schedules and cannot start again."""
        self._stopping = True
        self.wake()

    def wake(self) -> None:
        """Ends the pause of the current run, because a schedule may be due earlier than expected."""
        self._awake.set()

    def _wait_for_schedule(self, store: FiringStore, deadline: float, poll_ms: int) -> NextScheduleRow | None:
        """Waits until a schedule is due. Returns None if no schedule is due within the run's time."""
        while (left := deadline - monotonic()) > 0 and not self._stopping:
            self._awake.clear()
            waits = store.waits()
            self.wait_ms = waits.ms
            if waits.ms == 0:
                return waits
            if not self._continues or waits.ms is None or waits.ms > left * 1000:
                return None
            self._awake.wait(min(waits.ms, poll_ms) / 1000)
        return None

    def _get_environment(self, settings: Settings) -> Environment:
        if self._environment is None or self._environment.settings is not settings:
            self._environment = build_worker_environment(settings)
        return self._environment


def fire_batch(store: FiringStore, waits: NextScheduleRow, settings: Settings) -> int:
    """Fires a batch of due schedules and a batch of due retries. Returns the number of schedules and retries in both
    batches.
    """
    limit = settings.queue_schedule_batch_size
    fired = store.fire(limit, settings.queue_schedule_misfire_grace_seconds) if waits.schedule_ms == 0 else 0
    return fired + (store.try_again(limit) if waits.retry_ms == 0 else 0)


def pause_seconds(next_pause: float | None) -> float:
    """Returns how long the worker waits if no due schedule can fire. The wait is short enough that the next schedule of
    another account is not late."""
    return LOCKED_SECONDS if next_pause is None else min(LOCKED_SECONDS, max(SHORTEST_PAUSE_SECONDS, next_pause))


_firer = Firer()
run_once = _firer.run_once
"""Does one bounded run, for Lambda functions."""


def poll_seconds(settings: Settings) -> float | None:
    """Returns the pause between two runs of a polling function, or None if no work exists."""
    return settings.queue_schedule_poll_ms / 1000 if settings.queue_schedule_enabled else None
