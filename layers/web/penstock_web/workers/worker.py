"""Runs a background worker in a thread, on a separate connection."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter

import psycopg

from penstock.postgres.network import WORKER_CALL_FACTOR
from penstock.postgres.psycopg_connection import LimitedConnection, connect
from penstock.postgres.sqlstates import find_error_meaning
from penstock.postgres.statement import Row
from penstock.settings import Settings
from penstock.workers import Counts
from penstock_web.database.connect import is_stale
from penstock_web.database.one_database import DividedError
from penstock_web.database.outage import is_shortage
from penstock_web.database.pool import Pool
from penstock_web.metrics.meter import Meter

RunOnce = Callable[[Settings, "psycopg.Connection[Row]"], Counts]

CANCEL_SECONDS = 0.5
# A worker pauses for these times after consecutive failures. Usually, the first failure means that the connection was
# lost, and a new connection works. The later pauses follow only outages, and end when the LISTEN connection is open
# again.
FAILURE_PAUSES_SECONDS = (0.1, 1.0, 2.0, 5.0)
# Workers that take turns open a connection for each run. Therefore, their pauses last at least
# SHORTEST_TURN_PAUSE_SECONDS.
SHORTEST_TURN_PAUSE_SECONDS = 3.0

_log = logging.getLogger(__name__)


class Worker:
    """Calls `run_once` repeatedly, even after a failure, and pauses for `pause_seconds` between calls. If
    `reports_progress` is true, `run_once` reports counts during a run. If `reports_progress` is false, the worker
    reports the counts at the end of the run. The time limit of the worker's calls is `call_factor` times the time limit
    of a request's call. `pool` has the requests' connections. If the worker cannot connect, requests give up a
    connection.
    """

    reports_progress = False
    call_factor = WORKER_CALL_FACTOR

    def __init__(
        self,
        name: str,
        run_once: RunOnce,
        settings: Settings,
        pause_seconds: float,
        meter: Meter,
        pool: Pool | None = None,
    ) -> None:
        self._name = name
        self._meter = meter
        self._run_once = run_once
        self._settings = settings
        self._pause_seconds = pause_seconds
        self._connection: LimitedConnection | None = None
        self._is_connecting = False
        self._pool = pool
        if pool is not None:
            pool.shortage.on_shortage.append(self.close_idle)
        self._stopping = asyncio.Event()
        self._wake_event = asyncio.Event()
        self._resting = False
        self._failures = 0

    async def run(self) -> None:
        """Runs the worker until `stop`."""
        failures = 0
        while not self._stopping.is_set():
            pause_seconds = FAILURE_PAUSES_SECONDS[min(failures, 1)]
            started = perf_counter()
            failures += 1
            try:
                await self._take_turn()
                pause_seconds = max(self._next_pause(), SHORTEST_TURN_PAUSE_SECONDS if self.takes_turns else 0)
                failures = self._failures = 0
                self._meter.outage.works(self._name)
            except Exception as error:  # noqa: BLE001 - logged; the next run tries again
                if not self._stopping.is_set() and is_outage(error):
                    await self._note_outage(error)
                    pause_seconds = FAILURE_PAUSES_SECONDS[min(failures, len(FAILURE_PAUSES_SECONDS)) - 1]
                elif not self._stopping.is_set():
                    self._log_failure(error)
            if not self._stopping.is_set():
                self._meter.count_run(self._name, bool(failures), perf_counter() - started)
            self._resting = not failures
            await self._pause(pause_seconds)
            self._resting = False
        if self._connection is not None:
            self._connection.close()

    async def _take_turn(self) -> None:
        if self._pool is None or not self._pool.shortage.is_short:
            await asyncio.to_thread(self._run)
            return
        async with self._pool.shortage.turn:
            await asyncio.to_thread(self._run)

    async def _note_outage(self, error: Exception) -> None:
        is_short = self._is_connecting and is_shortage(error)
        if is_short and self._pool is not None:
            await self._pool.give_up_connection(self._name, error)
        if is_short and self.takes_turns:
            self._meter.outage.works(self._name)
        else:
            self._meter.outage.fails(self._name, error)
        if self._connection is not None and find_error_meaning(error).ends_connection:
            # The server may have become a standby, so the next run connects again.
            self._connection.close()

    def close_idle(self) -> bool:
        """Closes the connection during a pause. Returns whether the worker had an open connection."""
        if self._connection is None or not self._resting or is_stale(self._connection):
            return False
        self._connection.close()
        return True

    @property
    def takes_turns(self) -> bool:
        """Returns whether workers take turns, because the process has too few connections. In a turn, a run must be
        short and must close the connection."""
        return self._pool is not None and self._pool.shortage.is_short

    def _log_failure(self, error: Exception) -> None:
        """Logs the first, second, fourth, eighth … consecutive failure, so that a permanent failure does not fill the
        disk.
        """
        self._meter.outage.works(self._name)
        self._failures += 1
        if self._failures & (self._failures - 1) == 0:
            extra = {"worker": self._name, "failures_in_a_row": self._failures}
            _log.error("run failed", exc_info=error, extra=extra)

    def stop(self) -> None:
        """Prevents further runs and cancels the current query. Earlier commits remain."""
        self._stopping.set()
        self._wake_event.set()
        self._cancel()

    def wake(self) -> None:
        """Ends the current pause, or the next pause."""
        self._wake_event.set()

    def confirm_rest(self) -> None:
        """Counts a success if the worker sleeps after a check for due work."""
        if self._resting:
            self._meter.count_success(self._name)

    def _cancel(self) -> None:
        if self._connection is not None and not self._connection.closed:
            with suppress(psycopg.Error):  # If a server or a pooler is down, there is no query to cancel.
                self._connection.cancel_safe(timeout=CANCEL_SECONDS)

    def _run(self) -> None:
        if self._pool is not None and self._pool.is_divided:
            raise DividedError
        counts = self._run_once(self._settings, self._open_connection())
        if not self.reports_progress:
            self._meter.count_work(self._name, counts)
        if self.takes_turns and self._connection is not None:
            self._connection.close()

    def _open_connection(self) -> LimitedConnection:
        """Returns the open connection, or a new connection. Raises psycopg's errors."""
        if self._connection is not None and is_stale(self._connection):
            self._connection.close()  # The server or the pooler has closed the connection during the pause.
        if self._connection is None or self._connection.closed:
            self._is_connecting = True
            self._connection = connect(self._settings.database_url, self._settings.call_seconds * self.call_factor)
        self._is_connecting = False
        self._connection.check_again()
        return self._connection

    def _next_pause(self) -> float:
        """Returns the seconds until the next run."""
        return self._pause_seconds

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake_event.wait()
        except TimeoutError:
            pass
        self._wake_event.clear()


def is_outage(error: Exception) -> bool:
    """Returns whether the error means that the database is unusable. An error that would occur again, such as the error
    of a table that refuses a change, is not an outage, although psycopg raises OperationalError for some of these
    errors.
    """
    if not isinstance(error, psycopg.Error) or error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return find_error_meaning(error).is_temporary
