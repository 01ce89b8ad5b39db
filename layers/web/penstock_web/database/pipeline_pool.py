"""Manages the process's pipeline connections. The pool opens connections in the background, so no call waits for a new
connection.

The connections go directly to the database if DATABASE_DIRECT_URL is set. All calls of the process share a few
connections. If no pipeline connection is free, a call uses the pool.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from uuid import UUID

import psycopg

from penstock.postgres.call_deadline import CallOverdue
from penstock.postgres.network import CALL_SECONDS

from .connect import LimitedAsyncConnection, connect, is_stale
from .pipeline_connection import PipelineConnection

# The pool searches for overdue calls every WATCH_SECONDS.
WATCH_SECONDS = 0.5
# The pool replaces connections after MAX_AGE_SECONDS, because the server's memory for a connection grows with each
# function that the connection has called.
MAX_AGE_SECONDS = 1800.0
RECONNECT_PAUSE_SECONDS = 2.0

_log = logging.getLogger(__name__)

Prove = Callable[[LimitedAsyncConnection], Awaitable[None]]


async def _trust(_connection: LimitedAsyncConnection) -> None:
    """Accepts any database."""


class PipelinePool:
    """Keeps at most `max_connections` pipeline connections to the database at `url`.

    The pool ends the connection of a call that takes longer than `call_seconds`, and calls `on_overdue`. `watcher` is
    the process's id for queue registrations (`long_poll`). `prove` raises psycopg.Error if a connection leads to
    another database.
    """

    def __init__(
        self,
        url: str,
        max_connections: int,
        watcher: UUID | None = None,
        call_seconds: float = CALL_SECONDS,
        on_overdue: Callable[[], None] = lambda: None,
        prove: Prove = _trust,
    ) -> None:
        self._url = url
        self._prove = prove
        self._max_age_seconds = MAX_AGE_SECONDS
        self._call_seconds = call_seconds
        self._on_overdue = on_overdue
        self._open: set[PipelineConnection] = set()
        self._watch_timer: asyncio.TimerHandle | None = None
        self._watcher = watcher
        self._max_connections = max_connections
        self._count = 0  # The count includes the connections in use and the connection that the pool is opening.
        self._idle: list[PipelineConnection] = []
        self._connecting: asyncio.Task[None] | None = None
        self._retry_at = 0.0
        self._failed_since: float | None = None

    def acquire(self) -> PipelineConnection | None:
        """Returns a working connection. If no connection is free, opens another connection and returns None."""
        while self._idle:
            pipeline = self._idle.pop()
            if not is_stale(pipeline.connection):
                return pipeline
            self._discard(pipeline)
        if self._count < self._max_connections and self._connecting is None:
            loop = asyncio.get_running_loop()
            if loop.time() >= self._retry_at:
                self._count += 1
                self._connecting = loop.create_task(self._connect())
        return None

    def release(self, pipeline: PipelineConnection) -> None:
        """Takes back a connection that has finished its call."""
        expired = asyncio.get_running_loop().time() - pipeline.created_at > self._max_age_seconds
        if expired or pipeline.busy or pipeline.connection.closed:
            self._discard(pipeline)
            self._keep_at_most(self._max_connections)
        else:
            self._idle.append(pipeline)

    def change_size(self, difference: int) -> None:
        """Changes the maximum number of connections. Closes surplus connections when their current calls have ended."""
        self._keep_at_most(self._max_connections + difference)

    def _keep_at_most(self, connections: int) -> None:
        self._max_connections = connections
        while self._idle and self._count > connections:
            self._discard(self._idle.pop())
        self._max_age_seconds = -1.0 if self._count > connections else MAX_AGE_SECONDS

    def discard_idle(self) -> None:
        """Closes the idle connections, because the server could hang or could have become a standby."""
        while self._idle:
            self._discard(self._idle.pop())

    def find_longest_call(self) -> float:
        """Returns the age in seconds of the oldest running call."""
        return max((pipeline.count_seconds_under_way() for pipeline in self._open), default=0.0)

    async def close(self) -> None:
        """Closes the idle connections."""
        self._max_connections = 0
        if self._watch_timer is not None:
            self._watch_timer.cancel()
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        self.discard_idle()

    @property
    def counts(self) -> tuple[int, int]:
        """Returns the number of connections, and the number of idle connections."""
        return self._count, len(self._idle)

    @property
    def open_count(self) -> int:
        """Returns the number of open connections."""
        return len(self._open)

    def _discard(self, pipeline: PipelineConnection) -> None:
        pipeline.close()
        self._open.discard(pipeline)
        self._count -= 1

    def _watch(self) -> None:
        overdue = [pipeline for pipeline in self._open if pipeline.count_seconds_under_way() > self._call_seconds]
        for pipeline in overdue:  # Callers will later return the connections that are in use.
            pipeline.close(CallOverdue(self._call_seconds))
        if overdue:
            self._on_overdue()
        self._watch_timer = None
        self._start_watching()

    def _start_watching(self) -> None:
        if self._open and self._watch_timer is None:
            self._watch_timer = asyncio.get_running_loop().call_later(WATCH_SECONDS, self._watch)

    async def _connect(self) -> None:
        try:
            pipeline = await open_pipeline_connection(self._url, self._call_seconds, self._watcher, self._prove)
            self._open.add(pipeline)
            self._idle.append(pipeline)
            self._keep_at_most(self._max_connections)
            self._start_watching()
            self._note_success()
        except psycopg.Error as error:
            self._count -= 1
            self._retry_at = asyncio.get_running_loop().time() + RECONNECT_PAUSE_SECONDS
            self._note_failure(error)
        except BaseException:
            self._count -= 1
            raise
        finally:
            self._connecting = None

    def _note_failure(self, error: psycopg.Error) -> None:
        """Logs only the first of several consecutive failures to connect."""
        if self._failed_since is None:
            self._failed_since = asyncio.get_running_loop().time()
            extra = {"cause": " ".join(str(error).split())}
            _log.info("no pipeline connection could be opened; calls go through the pool", extra=extra)

    def _note_success(self) -> None:
        """Logs the first connection after failed attempts."""
        if self._failed_since is not None:
            seconds = round(asyncio.get_running_loop().time() - self._failed_since, 1)
            self._failed_since = None
            _log.info("pipeline connections can be opened again", extra={"seconds": seconds})


async def open_pipeline_connection(
    url: str, call_seconds: float, watcher: UUID | None = None, prove: Prove = _trust
) -> PipelineConnection:
    """Opens a pipeline connection to this database. Raises psycopg's errors, including the errors of `prove`.

    Sends on this connection do not notify the process whose id is `watcher`. The setting `queue.watcher` does not work
    through a pooler.
    """
    connection = await connect(url, call_seconds)
    try:
        await prove(connection)
        is_direct = connection.session.is_direct
        if is_direct and watcher is not None:
            await connection.execute("select set_config('queue.watcher', $1, false)", [str(watcher)])
        return PipelineConnection(connection, is_direct)
    except BaseException:
        await connection.close()
        raise
