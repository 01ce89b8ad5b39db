"""Gives the events of buses their order, and delivers them to subscribers.

    sequence_events ──► for each bus with live events: a step in one transaction (`penstock.events.delivery.step`)
                    ├─► a step of one replay of a bus, or of an archive of a topic (`penstock.sns.replays`), which is
                    │   shorter while live events arrive
                    └─► batches for targets outside the database: lease, send, settle (`….delivery.sending`)

Any number of workers can run: one sequences, and one delivers a bus, because each takes an advisory lock without
waiting. If a worker dies, the server rolls back its step, and another worker delivers the events.
"""

from collections import Counter
from functools import partial
from random import shuffle
from threading import Event
from time import monotonic
from typing import Final
from uuid import UUID

import psycopg

from penstock.environment import Environment, build_worker_environment
from penstock.events.delivery.outcomes import STORE_SECONDS, Outcomes
from penstock.events.delivery.sending import Sending
from penstock.events.delivery.step import EventStep
from penstock.events.delivery.subscriber import Subscribers
from penstock.events.delivery.tokens import Tokens
from penstock.observing.observer import NO_OBSERVER, Observer
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statement import Row
from penstock.postgres.statements.event_delivery import NEXT_EVENT_WORK, SEQUENCE_EVENTS, EventWorkRow
from penstock.settings import Settings
from penstock.sns.replays import ReplayStep

from . import Counts

EVENTS: Final = "events"
"""The name of the notification that wakes the worker."""
MAX_RUN_SECONDS: Final = 20.0
MAX_WAIT_SECONDS: Final = 1.0
"""The longest pause of a run while calls are open."""
MIN_ROUND_SECONDS: Final = 0.01
"""The shortest time from one round to the next after a round with new events. Without it, rounds for a few events each
cost a fifth of a publication's CPU. The first event after a pause of the publishers does not wait."""
RUNS_PER_CALL: Final = 2_000
BUSES_PER_CALL: Final = 20
OUTCOMES: Final = ("sequenced", "delivered", "failed", "dropped", "unjudged")


class EventDeliverer:
    """The worker of one process. `watcher` is the id under which the process waits for notifications of publications,
    or None if the worker only polls. `stop` is safe to call from any thread."""

    def __init__(
        self,
        watcher: UUID | None = None,
        longest_run_seconds: float = MAX_RUN_SECONDS,
        observer: Observer = NO_OBSERVER,
    ) -> None:
        self._watcher = watcher
        self._longest_run_seconds = longest_run_seconds
        self._observer = observer
        self._stopping = Event()
        self._changed = Event()
        self._subscribers = Subscribers()
        self._outcomes = Outcomes()
        self._tokens = Tokens()
        self._environment: Environment | None = None
        self.wait_ms: int | None = None
        """The number of milliseconds until a retry is due, after an idle run, or None if no event waits for a retry.
        After any other run, the value is 0."""
        self.has_bus = True
        """Whether the installation had a bus in the last run. The value is true before the first run."""

    def run_once(
        self, settings: Settings, connection: "psycopg.Connection[Row]", longest_run_seconds: float | None = None
    ) -> Counts:
        """Delivers until no bus has work, or until the run's time is over. Then claims no more batches, and waits for
        open calls. Raises psycopg.Error, but earlier steps remain committed."""
        counts = Counter(dict.fromkeys(OUTCOMES, 0))
        calls = TransactionExecutor(connection)
        sending = Sending(settings, self._changed, self._tokens)
        environment = self._get_environment(settings)
        step = EventStep(connection, environment, self._subscribers, counts, self._outcomes)
        replays = ReplayStep(connection, environment, counts)
        seconds = self._longest_run_seconds if longest_run_seconds is None else longest_run_seconds
        deadline = monotonic() + seconds
        self.wait_ms = 0
        try:
            while not self._stopping.is_set():
                self._changed.clear()
                began = monotonic()
                is_over = began >= deadline
                if is_over and not sending.is_open:
                    break
                (sequenced,) = calls.call(SEQUENCE_EVENTS, [RUNS_PER_CALL])
                (work,) = calls.call(NEXT_EVENT_WORK, [self._watcher, BUSES_PER_CALL, sending.kinds])
                self.has_bus = work.has_bus
                counts["sequenced"] += sequenced.events
                moved = False
                for bus_id in work.buses:
                    moved |= step.deliver(bus_id)
                    moved |= step.retry(bus_id) > 0
                moved |= replay_next(step, replays, work)
                moved |= sending.exchange(step, claims=work.batches and not is_over)
                self._outcomes.store(calls)
                if moved or sequenced.events:
                    self._changed.wait(max(0.0, began + MIN_ROUND_SECONDS - monotonic()) if sequenced.events else 0.0)
                    continue
                if work.pause_ms is None and not sending.is_open:
                    self.wait_ms = self._shorten(work.wait_ms)
                    break
                self._changed.wait(min(MAX_WAIT_SECONDS, (work.pause_ms or work.wait_ms or 1000) / 1000))
        finally:  # the steps before an error are committed
            sending.close()
            self._observer.counted(counts)
        return counts

    def _shorten(self, wait_ms: int | None) -> int | None:
        """Returns the wait after an idle run, which ends earlier if outcomes are not stored yet."""
        most_ms = int(STORE_SECONDS * 1000)
        return wait_ms if self._outcomes.is_empty else min(most_ms if wait_ms is None else wait_ms, most_ms)

    def stop(self) -> None:
        """Ends the current run after its step. A stopped worker cannot start again."""
        self._stopping.set()
        self._changed.set()

    def wake(self) -> None:
        """Ends a pause of the current run, because a bus may have work."""
        self._changed.set()

    def _get_environment(self, settings: Settings) -> Environment:
        if self._environment is None or self._environment.settings is not settings:
            self._environment = build_worker_environment(settings)
        return self._environment


def replay_next(step: EventStep, replays: ReplayStep, work: EventWorkRow) -> bool:
    """Makes a step of one replay. Buses and archives take turns. Returns whether a replay moved."""
    steps = [partial(step.replay, bus_id) for bus_id in work.replays]
    steps += [partial(replays.deliver, archive_id) for archive_id in work.archives]
    shuffle(steps)
    return any(deliver(yields=work.live) for deliver in steps)


_deliverer = EventDeliverer()
run_once = _deliverer.run_once
"""Does one bounded run, for Lambda functions."""


def poll_seconds(settings: Settings) -> float | None:
    """Returns the pause between two runs of a polling function, or None if the last run found no bus."""
    return settings.queue_http_delivery_poll_ms / 1000 if _deliverer.has_bus else None
