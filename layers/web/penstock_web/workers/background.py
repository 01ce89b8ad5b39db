"""Runs the container's background workers. Each worker runs a scheduled function's `run_once` repeatedly, in a thread.
`_next_pause` returns the pause after a run. While LISTEN works, a worker that has no work sleeps:

    deliver, fire, move   until a notification, or until the next delivery or schedule is due
    events                until a notification, or until the next retry is due
    maintain, measure     for the interval in the settings, or after a round without changes until the next change
    measure               also until a scrape of /metrics

The check of the LISTEN connection (`database.listener`) finds lost notifications and other processes' changes, and
wakes the workers with due work. If LISTEN does not work, a worker sleeps for the time in the settings.
"""

import asyncio
from contextlib import suppress
from uuid import uuid4

import psycopg

from penstock.delivery import DELIVERIES
from penstock.delivery.http.guard import read_networks
from penstock.delivery.http.request import read_secrets
from penstock.observing.trace_context import Tracer
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statement import Row
from penstock.postgres.statements.installation import REFUSALS
from penstock.scheduler.expressions import SCHEDULES
from penstock.settings import SettingError, Settings
from penstock.workers import Counts, alert, measure, move
from penstock.workers.deliver import Deliverer
from penstock.workers.events import EVENTS, EventDeliverer
from penstock.workers.fire import Firer
from penstock.workers.maintain import MAINTENANCE, Maintainer
from penstock_web.database.activity import Activity
from penstock_web.database.pool import Pool
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.metrics.meter import Meter, WorkerObserver

from .worker import Worker

# A delivery run ends after a minute in which no delivery was due, or after MAX_DELIVERY_RUN_SECONDS. If a run ended
# earlier, it would have to wait for the slowest endpoint.
MAX_DELIVERY_RUN_SECONDS = 3600.0
# A firing run ends when no schedule is due, or after MAX_FIRING_RUN_SECONDS.
MAX_FIRING_RUN_SECONDS = 3600.0
# If the process has too few connections, workers take turns, and a run ends after MAX_TURN_SECONDS.
MAX_TURN_SECONDS = 2.0
# After a stop, the deliverer has SETTLE_SECONDS to write the outcomes that it knows. After SETTLE_SECONDS, the process
# cancels the current query.
SETTLE_SECONDS = 0.4
# Limits the pause of a worker that notifications wake. Even if no notification arrives, `maintain` removes old
# deduplication ids, old runs and rows of deleted queues after MAX_PAUSE_SECONDS.
MAX_PAUSE_SECONDS = 3600.0
# After a round that found no expired rows, the pause is longer by this factor.
IDLE_PAUSE_FACTOR = 5
# For REGISTERING_SECONDS, `deliver` runs every second, so that it registers for a notification before the long pause.
REGISTERING_SECONDS = 2.0
# After the registration, `deliver` sleeps for REGISTERED_SECONDS, so that it registers again before the end of the
# minute. See queue.next_delivery.
REGISTERED_SECONDS = 45.0
# A scrape waits at most this long for the gauges of an idle process.
REFRESH_SECONDS = 1.0


class RegisteredWorker(Worker):
    """A worker whose empty runs register the process for a notification of new work (queue.watch_for_work)."""

    _deliverer: Deliverer | EventDeliverer
    _long_polls: LongPollDispatcher
    _empty_since: float | None = None

    def _deliver(self, settings: Settings, connection: "psycopg.Connection[Row]") -> Counts:
        return self._deliverer.run_once(settings, connection, MAX_TURN_SECONDS if self.takes_turns else None)

    def wake(self) -> None:
        super().wake()
        self._empty_since = None

    def _next_pause(self) -> float:
        """Returns a long pause after an empty run of a registered worker. The first empty runs register the worker."""
        wait_ms = self._deliverer.wait_ms
        now = asyncio.get_running_loop().time()
        if self._empty_since is None or wait_ms == 0:
            self._empty_since = now
        longest = choose_pause(self._pause_seconds, self._long_polls)
        empty_seconds = now - self._empty_since
        if empty_seconds < REGISTERING_SECONDS:
            longest = min(self._pause_seconds, REGISTERING_SECONDS / 2)
        elif empty_seconds < REGISTERED_SECONDS:
            longest = min(longest, REGISTERED_SECONDS)
        return min(longest, wait_ms / 1000) if wait_ms else longest


class DeliveryWorker(RegisteredWorker):
    """Makes deliveries. A publication in this process or another process wakes the worker."""

    _deliverer: Deliverer
    reports_progress = True
    call_factor = 1

    def __init__(
        self,
        settings: Settings,
        long_polls: LongPollDispatcher,
        meter: Meter,
        pool: Pool | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        observer = WorkerObserver(meter, "deliver")
        self._deliverer = Deliverer(uuid4(), MAX_DELIVERY_RUN_SECONDS, observer=observer, tracer=tracer)
        pause_seconds = settings.queue_http_delivery_poll_ms / 1000
        super().__init__("deliver", self._deliver, settings, pause_seconds, meter, pool)
        self._long_polls = long_polls
        long_polls.on_wake(DELIVERIES, self.wake)

    def stop(self) -> None:
        """Stops the worker after the deliverer has written the outcomes of finished deliveries."""
        self._deliverer.stop()
        self._stopping.set()
        self._wake_event.set()
        asyncio.get_running_loop().call_later(SETTLE_SECONDS, self._cancel)

    def wake(self) -> None:
        super().wake()
        self._deliverer.wake()


class EventWorker(RegisteredWorker):
    """Delivers the events of buses. A publication in this process or another process wakes the worker, and so does the
    first bus of the installation."""

    _deliverer: EventDeliverer
    reports_progress = True
    call_factor = 1

    def __init__(
        self, settings: Settings, long_polls: LongPollDispatcher, meter: Meter, pool: Pool | None = None
    ) -> None:
        self._deliverer = EventDeliverer(uuid4(), observer=WorkerObserver(meter, "events"))
        pause_seconds = settings.queue_http_delivery_poll_ms / 1000
        super().__init__("events", self._deliver, settings, pause_seconds, meter, pool)
        self._long_polls = long_polls
        long_polls.on_wake(EVENTS, self.wake)

    def stop(self) -> None:
        self._deliverer.stop()
        super().stop()

    def wake(self) -> None:
        super().wake()
        self._deliverer.wake()


class FiringWorker(Worker):
    """Fires schedules. The worker sleeps until the next schedule is due. If a change makes a schedule due earlier, the
    change wakes the worker.
    """

    reports_progress = True
    call_factor = 1

    def __init__(
        self,
        settings: Settings,
        long_polls: LongPollDispatcher,
        meter: Meter,
        pool: Pool | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        observer = WorkerObserver(meter, "fire")
        self._firer = Firer(MAX_FIRING_RUN_SECONDS, continues=False, observer=observer, tracer=tracer)
        pause_seconds = settings.queue_schedule_poll_ms / 1000
        super().__init__("fire", self._fire, settings, pause_seconds, meter, pool)
        self._long_polls = long_polls
        long_polls.on_wake(SCHEDULES, self.wake)

    def _fire(self, settings: Settings, connection: "psycopg.Connection[Row]") -> Counts:
        return self._firer.run_once(settings, connection, MAX_TURN_SECONDS if self.takes_turns else None)

    def stop(self) -> None:
        """Stops the worker. The database rolls back an uncommitted batch."""
        self._firer.stop()
        super().stop()

    def wake(self) -> None:
        super().wake()
        self._firer.wake()

    def _next_pause(self) -> float:
        wait_ms = self._firer.wait_ms
        longest = choose_pause(self._pause_seconds, self._long_polls)
        return longest if wait_ms is None else min(longest, wait_ms / 1000)


class MoveTaskWorker(Worker):
    """Runs message move tasks. When a task starts, in this process or another process, the worker wakes after a pause.
    Without the pause, a small task would end before the caller can list or cancel the task.
    """

    def __init__(
        self, settings: Settings, long_polls: LongPollDispatcher, meter: Meter, pool: Pool | None = None
    ) -> None:
        super().__init__("move", self._move, settings, settings.queue_move_interval_ms / 1000, meter, pool)
        self._long_polls = long_polls
        self._moved_any = False
        long_polls.on_wake(move.MOVE_TASKS, self._wake_soon)

    def _wake_soon(self) -> None:
        asyncio.get_running_loop().call_later(self._pause_seconds, self.wake)

    def _move(self, settings: Settings, connection: "psycopg.Connection[Row]") -> Counts:
        counts = move.run_once(settings, connection)
        self._moved_any = counts["steps"] > 0
        return counts

    def _next_pause(self) -> float:
        return self._pause_seconds if self._moved_any else choose_pause(self._pause_seconds, self._long_polls)


class MaintenanceWorker(Worker):
    """Removes old rows. After a round that found no old rows, the worker sleeps until the next change.

    After each new LISTEN connection, the worker checks whether the database is on another server.
    """

    def __init__(
        self,
        settings: Settings,
        long_polls: LongPollDispatcher,
        activity: Activity,
        meter: Meter,
        pool: Pool | None = None,
    ) -> None:
        self._maintainer = Maintainer()
        self._last_connection: psycopg.Connection[Row] | None = None
        self._long_polls = long_polls
        self._activity = activity
        super().__init__("maintain", self._maintain, settings, settings.queue_maintain_interval_ms / 1000, meter, pool)
        long_polls.on_wake(MAINTENANCE, self._wake_connected)

    def _wake_connected(self) -> None:
        self._maintainer.note_new_connection()
        self.wake()

    def _maintain(self, settings: Settings, connection: "psycopg.Connection[Row]") -> Counts:
        if connection is not self._last_connection:
            self._maintainer.note_new_connection()
            self._last_connection = connection
        return self._maintainer.run_once(settings, TransactionExecutor(connection))

    def _next_pause(self) -> float:
        if self._maintainer.idle and self._long_polls.receives_notifications:
            self._activity.wait(self.wake, self._maintainer.changes)
            return MAX_PAUSE_SECONDS
        return self._pause_seconds * (IDLE_PAUSE_FACTOR if self._maintainer.found_nothing else 1)


PARTS = ("rounds", "minutes")
"""The counts named in PARTS show which of the two parts of the worker `measure` have run. One part measures all queues,
and the other part updates the minutes.
"""


class MeasurementWorker(Worker):
    """Measures queues for /metrics, and tells what needs attention. After a round in which no queue changed, the worker
    sleeps. The worker does not sleep if any account has alerts, because time alone can make a problem.
    """

    def __init__(
        self,
        settings: Settings,
        long_polls: LongPollDispatcher,
        activity: Activity,
        meter: Meter,
        pool: Pool | None = None,
    ) -> None:
        # The database stores the time of the next round. Two checks in each interval make sure that some process starts
        # the round on time.
        super().__init__("measure", self._measure, settings, settings.queue_metrics_interval_ms / 2000, meter, pool)
        self._long_polls = long_polls
        self._activity = activity
        # Maps each part of the worker to the last known change before the part ran. The parts have separate pauses, so
        # a run can do only one part.
        self._known: dict[str, tuple[int | None, int]] = {}
        # Holds the last known change before the current round. A round over many queues takes several runs.
        self._round_known: tuple[int | None, int] | None = None
        # Counts the events of the SQL interface that filters could not examine. The worker's thread counts, and the
        # event loop reports the count.
        self._unjudged = 0
        self._reports_alerts = False
        self._refusal = ""
        self._run_ended = asyncio.Event()
        long_polls.on_wake(measure.MEASUREMENTS, self.wake)

    async def refresh(self) -> None:
        """Wakes the worker if it sleeps, and waits at most a second for a new measurement."""
        if self._activity.end_wait(self.wake):
            self._run_ended.clear()
            self.wake()
            with suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_SECONDS):
                    await self._run_ended.wait()

    def _measure(self, settings: Settings, connection: "psycopg.Connection[Row]") -> Counts:
        """Does a run, and notes why the database refuses changes for the alert after the outage."""
        try:
            return self._measure_and_tell(settings, connection)
        except psycopg.Error as error:
            self._refusal = REFUSALS.get(error.sqlstate or "", self._refusal)
            raise

    def _measure_and_tell(self, settings: Settings, connection: "psycopg.Connection[Row]") -> Counts:
        known = (self._activity.changes, self._activity.noticed)
        calls = TransactionExecutor(connection)
        counts = measure.run_once(settings, calls)
        self._unjudged = counts["unjudged"]
        if counts["minutes"]:
            self._known["minutes"] = known
        if counts["pages"]:
            self._round_known = self._round_known or known
        if counts["rounds"] and self._round_known is not None:
            self._known["rounds"], self._round_known = self._round_known, None
        self._reports_alerts, reported, self._refusal = alert.run_once(settings, calls, refusal=self._refusal)
        return {**counts, "alerts": reported}

    def _next_pause(self) -> float:
        self._meter.count_unjudged("event", self._unjudged)
        self._run_ended.set()
        known = [self._known.get(part) for part in PARTS]
        if self._reports_alerts:
            return min(self._pause_seconds, self._settings.queue_alert_interval_ms / 2000)
        if known[0] is not None and known[0] == known[1] and self._long_polls.receives_notifications:
            self._known.clear()
            self._activity.wait(self.wake, known[0][0])
            return MAX_PAUSE_SECONDS
        return self._pause_seconds


def choose_pause(seconds: float, long_polls: LongPollDispatcher) -> float:
    """Returns the pause of a worker that notifications wake, or `seconds` if LISTEN does not work."""
    return MAX_PAUSE_SECONDS if long_polls.receives_notifications else seconds


def check_webhook_settings(settings: Settings) -> None:
    """Raises SettingError at the start if networks or secrets are invalid, instead of at the first webhook."""
    try:
        read_networks(settings.webhook_allow_cidrs)
    except ValueError as error:
        raise SettingError(f"WEBHOOK_ALLOW_CIDRS must be networks: {error}") from error
    try:
        read_secrets(settings.webhook_signing_secret)
    except ValueError as error:
        raise SettingError(f"WEBHOOK_SIGNING_SECRET: {error}") from error


def build_workers(
    settings: Settings,
    long_polls: LongPollDispatcher,
    activity: Activity,
    meter: Meter,
    pool: Pool,
    tracer: Tracer | None = None,
) -> tuple[list[Worker], MeasurementWorker]:
    """Returns all workers of the container, and separately the worker `measure`."""
    measurement = MeasurementWorker(settings, long_polls, activity, meter, pool)
    workers: list[Worker] = [
        MaintenanceWorker(settings, long_polls, activity, meter, pool),
        MoveTaskWorker(settings, long_polls, meter, pool),
        EventWorker(settings, long_polls, meter, pool),
        measurement,
    ]
    if settings.queue_schedule_enabled:
        workers.insert(0, FiringWorker(settings, long_polls, meter, pool, tracer))
    if settings.queue_http_delivery_enabled:
        workers.insert(0, DeliveryWorker(settings, long_polls, meter, pool, tracer))
    for worker in workers:
        activity.after_check(worker.confirm_rest)
    return workers, measurement
