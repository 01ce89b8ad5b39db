"""The container's database connections: at most so many, repaired when they break, and errors sorted by what is known.

    ServiceUnavailable    nothing was done: no connection was free or could be made, or the server has no room
    ├── Undone            the database rolled the call back (deadlock, lock timeout): it may be made again
    └── Lost              the connection broke during the call: nobody knows whether it took effect
    psycopg.Error         everything else: the call itself is wrong, and would be again

What is called all the time, the merged effects, has lines of its own (`lines`): `flush`.

Waiting for a connection is bounded by the pool's own timeout. A call is never wrapped in `wait_for`: cancelling one
does not mean that it was not carried out (measured: 41 of 200 cancelled inserts raised, all 200 were stored).
"""

from collections.abc import Sequence
from time import monotonic
from typing import Any
from uuid import UUID

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from penstock.effects import Row, Statement
from penstock.errors import ServiceUnavailable
from penstock.postgres.sqlstates import Meaning, meaning

from .connect import connection_options, is_stale
from .pipeline_connection import Call, Connection, Line
from .pipeline_pool import Lines

LEAST_CONNECTIONS = 2
# One for sends, one for deletes, and some for receives. On two cores more would only wait for each other.
MOST_LINES = 4
# A pool that backs off for minutes answers 503 long after the database is back: give up early, ask anew when needed.
RECONNECT_SECONDS = 2.0  # A fail-over: the next connection may reach the new primary.


class Undone(ServiceUnavailable):
    """The database rolled the call back for reasons of its own."""

    json_type = query_code = "ServiceUnavailable"


class Lost(ServiceUnavailable):
    """The connection was lost during the call."""

    json_type = query_code = "ServiceUnavailable"


class Pool:
    """Calls SQL functions on pooled connections. `timeout_seconds`: longest wait for a free one.

    `direct_url`: the database without a pooler between; up to four of the connections go there, at most half of them.
    Empty: all are pooled. `watcher`: who waits in this process, whom it wakes by itself for what it sends on these.
    """

    def __init__(
        self,
        url: str,
        most_connections: int,
        timeout_seconds: float,
        direct_url: str = "",
        watcher: UUID | None = None,
    ) -> None:
        most_lines = min(MOST_LINES, most_connections // 2) if direct_url else 0
        most_connections -= most_lines
        self._lines = Lines(direct_url, most_lines, watcher)
        self._timeout_seconds = timeout_seconds
        self.timeouts = 0
        """Calls that got no connection in time."""
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            kwargs=connection_options(url),
            min_size=min(LEAST_CONNECTIONS, most_connections),
            max_size=most_connections,
            timeout=timeout_seconds,
            reconnect_timeout=RECONNECT_SECONDS,
            open=False,
            name="penstock",
        )

    async def open(self) -> None:
        """Begin to connect; a database that is away is no error here."""
        await self._pool.open()

    async def close(self) -> None:
        """Close every connection; calls that still wait for one get ServiceUnavailable."""
        await self._lines.close()
        await self._pool.close()

    def stats(self) -> dict[str, int]:
        """What psycopg_pool counts: "Pool stats" in its documentation."""
        stats = self._pool.get_stats()
        lines, free = self._lines.counts
        stats["pool_size"] = stats.get("pool_size", 0) + lines
        stats["pool_available"] = stats.get("pool_available", 0) + free
        return stats

    async def call(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        """The rows of one call of a SQL function, which is a transaction of its own."""
        return await self.fetch(statement.text, arguments)

    async def flush(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        """The same for merged effects, on a line if one is free. A caller that is cancelled breaks the line."""
        line = self._lines.take()
        if line is None:
            return await self.call(statement, arguments)
        (rows,) = await self._on(line, [(statement, arguments)])
        return rows

    async def flush_together(self, calls: Sequence[Call]) -> list[list[Row]] | None:
        """The rows of each of these calls, which are one transaction. None: no line is free, and nothing was done."""
        line = self._lines.take()
        return None if line is None else await self._on(line, calls)

    async def _on(self, line: Line, calls: Sequence[Call]) -> list[list[Row]]:
        try:
            return await line.call_together(calls)
        except psycopg.Error as error:
            raise judged(error, line) from error
        finally:
            self._lines.give_back(line)

    async def fetch(self, text: str, arguments: Sequence[Any] = ()) -> list[Row]:
        """The rows of one query with `$1` marks. Raises as the head of this module says."""
        connection = await self._borrow()
        try:
            cursor = await connection.execute(text, arguments)
            return await cursor.fetchall()
        except psycopg.Error as error:
            sorted_error = sort_error(error, broken=connection.closed)
            if meaning(error.sqlstate) is Meaning.READ_ONLY:
                await connection.close()
            raise sorted_error from error
        finally:
            await self._pool.putconn(connection)

    async def _borrow(self) -> Connection:
        deadline = monotonic() + self._timeout_seconds
        try:
            while is_stale(connection := await self._pool.getconn(deadline - monotonic())):
                await connection.close()
                await self._pool.putconn(connection)
        except (PoolTimeout, PoolClosed) as error:
            self.timeouts += isinstance(error, PoolTimeout)
            raise ServiceUnavailable from error
        return connection


def judged(error: psycopg.Error, line: Line) -> Exception:
    """`sort_error` for a line, which is given up where another connection would do better."""
    broken = line.connection.closed
    if meaning(error.sqlstate) is Meaning.STALE_STATEMENT:
        line.hang_up()
        return Undone()
    if meaning(error.sqlstate) is Meaning.READ_ONLY:
        line.hang_up()
    return sort_error(error, broken=broken)


def sort_error(error: psycopg.Error, *, broken: bool) -> Exception:
    """What is known after a database error: see the head of this module."""
    if error.sqlstate is None:
        client_side = not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        return error if client_side and not broken else Lost()
    match meaning(error.sqlstate):
        case Meaning.ROLLED_BACK:
            return Undone()
        case Meaning.CONNECTION_LOST:
            return Lost()
        case Meaning.UNAVAILABLE | Meaning.READ_ONLY:
            return ServiceUnavailable()
        case _:
            return error
