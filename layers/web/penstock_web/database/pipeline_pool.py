"""The pipeline connections of a process. They are opened in the background, so that no call ever waits for one.

They go to the database itself where its address is known (DATABASE_DIRECT_URL): a process keeps a handful of
connections busy, and a pooler would do the same for many clients. A call that gets no free pipeline connection goes
through the pool.
"""

import asyncio
import logging
from uuid import UUID

import psycopg

from .connect import connection_options, is_stale
from .pipeline_connection import Connection, PipelineConnection

# The pool replaces an older connection: the server's memory for a connection grows with the functions that it has run.
MAX_AGE_SECONDS = 1800.0
RECONNECT_PAUSE_SECONDS = 2.0

_log = logging.getLogger(__name__)


class PipelinePool:
    """At most `max_connections` pipeline connections to the database at `url`.

    `watcher`: under which id this process registers the queues that its long polls wait for (`long_poll`).
    """

    def __init__(self, url: str, max_connections: int, watcher: UUID | None = None) -> None:
        self._url = url
        self._watcher = watcher
        self._max_connections = max_connections
        self._count = 0  # with those in use and the one that is being opened
        self._idle: list[PipelineConnection] = []
        self._connecting: asyncio.Task[None] | None = None
        self._retry_at = 0.0

    def acquire(self) -> PipelineConnection | None:
        """A working connection. None: there is no free one now; the pool opens one more."""
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
        """Takes a connection back after its call."""
        expired = asyncio.get_running_loop().time() - pipeline.created_at > MAX_AGE_SECONDS
        if expired or pipeline.busy or pipeline.connection.closed:
            self._discard(pipeline)
        else:
            self._idle.append(pipeline)

    async def close(self) -> None:
        """Closes the idle connections."""
        self._max_connections = 0
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        while self._idle:
            self._discard(self._idle.pop())

    @property
    def counts(self) -> tuple[int, int]:
        """How many connections there are, and how many of them are idle."""
        return self._count, len(self._idle)

    def _discard(self, pipeline: PipelineConnection) -> None:
        pipeline.close()
        self._count -= 1

    async def _connect(self) -> None:
        try:
            self._idle.append(await open_pipeline_connection(self._url, self._watcher))
        except psycopg.Error as error:
            self._count -= 1
            self._retry_at = asyncio.get_running_loop().time() + RECONNECT_PAUSE_SECONDS
            _log.info(
                "no pipeline connection could be opened; calls go through the pool",
                extra={"cause": " ".join(str(error).split())},
            )
        except BaseException:
            self._count -= 1
            raise
        finally:
            self._connecting = None


async def open_pipeline_connection(url: str, watcher: UUID | None = None) -> PipelineConnection:
    """Opens a pipeline connection to this database. Raises psycopg's errors.

    Sends on it notify other processes than `watcher`. A pooler would forget that setting: then every process is
    notified.
    """
    connection: Connection = await psycopg.AsyncConnection.connect(**connection_options(url))
    try:
        direct = await is_direct(connection)
        if direct and watcher is not None:
            await connection.execute("select set_config('queue.watcher', $1, false)", [str(watcher)])
        return PipelineConnection(connection, direct)
    except BaseException:
        await connection.close()
        raise


async def is_direct(connection: Connection) -> bool:
    """Whether no pooler stands between: a pooler invents the process id that it reports to its clients."""
    cursor = await connection.execute("select pg_backend_pid()")
    return await cursor.fetchone() == (connection.info.backend_pid,)
