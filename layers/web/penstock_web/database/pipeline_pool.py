"""The lines of a process: made in the background, so that no call ever waits for one.

They go to the database itself where its address is known (DATABASE_DIRECT_URL): a process keeps a handful of
connections busy, which is what a pooler would make of many callers. Without a free line a call goes through the pool.
"""

import asyncio
import logging
from uuid import UUID

import psycopg

from .connect import connection_options, is_stale
from .pipeline_connection import Connection, Line

# Afterwards a line is made anew: the server's memory for a connection grows with the functions that it has seen.
LINE_SECONDS = 1800.0
RETRY_SECONDS = 2.0

_log = logging.getLogger(__name__)


class Lines:
    """At most `most` lines to the database at `url`. `watcher`: who waits in this process (`hub`)."""

    def __init__(self, url: str, most: int, watcher: UUID | None = None) -> None:
        self._url = url
        self._watcher = watcher
        self._most = most
        self._count = 0  # with those in use and the one that is being made
        self._free: list[Line] = []
        self._making: asyncio.Task[None] | None = None
        self._retry_at = 0.0

    def take(self) -> Line | None:
        """A line that works. None: there is none now; one more is made."""
        while self._free:
            line = self._free.pop()
            if not is_stale(line.connection):
                return line
            self._drop(line)
        if self._count < self._most and self._making is None:
            loop = asyncio.get_running_loop()
            if loop.time() >= self._retry_at:
                self._count += 1
                self._making = loop.create_task(self._make())
        return None

    def give_back(self, line: Line) -> None:
        """The call is over."""
        old = asyncio.get_running_loop().time() - line.made_at > LINE_SECONDS
        if old or line.busy or line.connection.closed:
            self._drop(line)
        else:
            self._free.append(line)

    async def close(self) -> None:
        """Closes those that nobody uses."""
        self._most = 0
        if self._making is not None:
            self._making.cancel()
            await asyncio.wait([self._making])
        while self._free:
            self._drop(self._free.pop())

    @property
    def counts(self) -> tuple[int, int]:
        """How many there are, and how many of them nobody uses."""
        return self._count, len(self._free)

    def _drop(self, line: Line) -> None:
        line.hang_up()
        self._count -= 1

    async def _make(self) -> None:
        try:
            self._free.append(await new_line(self._url, self._watcher))
        except psycopg.Error as error:
            self._count -= 1
            self._retry_at = asyncio.get_running_loop().time() + RETRY_SECONDS
            _log.info("calls go through the pool", extra={"cause": " ".join(str(error).split())})
        except BaseException:
            self._count -= 1
            raise
        finally:
            self._making = None


async def new_line(url: str, watcher: UUID | None = None) -> Line:
    """A line to this database. Raises psycopg's errors.

    What is sent on it notifies others than `watcher`. A pooler would forget that setting: then everybody is notified.
    """
    connection: Connection = await psycopg.AsyncConnection.connect(**connection_options(url))
    try:
        direct = await is_direct(connection)
        if direct and watcher is not None:
            await connection.execute("select set_config('queue.watcher', $1, false)", [str(watcher)])
        return Line(connection, direct)
    except BaseException:
        await connection.close()
        raise


async def is_direct(connection: Connection) -> bool:
    """Whether nothing stands between: a pooler makes up the process id that it tells its clients."""
    cursor = await connection.execute("select pg_backend_pid()")
    return await cursor.fetchone() == (connection.info.backend_pid,)
