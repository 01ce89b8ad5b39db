"""The container's database connections: a bounded number, reopened when they break, with classified errors.

    ServiceUnavailable    nothing was done: no connection was free or could be opened, or the server has no room
    ├── RolledBack        the database rolled the call back (deadlock, lock timeout): the caller may repeat it
    └── OutcomeUnknown    the connection broke during the call, which may or may not have taken effect
    psycopg.Error         everything else: the call itself is wrong, and would fail again

Merged effects, which are most calls, use connections of their own (`pipeline_pool`): `call_pipelined`.

The pool's own timeout bounds the wait for a connection. No call is wrapped in `wait_for`: the server may carry out a
call that was cancelled (we cancelled 200 inserts: 41 raised an error, and all 200 were stored).
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
from .pipeline_connection import Connection, PipelineConnection, StatementCall
from .pipeline_pool import PipelinePool

MIN_CONNECTIONS = 2
# One for sends, one for deletes, and some for receives. On two cores more would only wait for each other.
MAX_PIPELINE_CONNECTIONS = 4
# A pool that backs off for minutes would answer 503 long after the database is back: it gives up early, and connects
# again when a request needs a connection.
RECONNECT_SECONDS = 2.0  # after a fail-over the next connection may reach the new primary


class RolledBack(ServiceUnavailable):
    """The database rolled the call back for reasons of its own."""

    json_type = query_code = "ServiceUnavailable"


class OutcomeUnknown(ServiceUnavailable):
    """The connection was lost during the call."""

    json_type = query_code = "ServiceUnavailable"


class Pool:
    """Calls SQL functions on pooled connections. `timeout_seconds`: longest wait for a free one.

    `direct_url`: address of the database without a pooler; up to four of the connections, at most half of them, are
    pipeline connections to it. Empty: all are pooled. `watcher`: the id under which this process registers queues;
    sends on pipeline connections do not notify it, since the process wakes its own long polls.
    """

    def __init__(
        self,
        url: str,
        max_connections: int,
        timeout_seconds: float,
        direct_url: str = "",
        watcher: UUID | None = None,
    ) -> None:
        max_pipelines = min(MAX_PIPELINE_CONNECTIONS, max_connections // 2) if direct_url else 0
        max_connections -= max_pipelines
        self._pipelines = PipelinePool(direct_url, max_pipelines, watcher)
        self._timeout_seconds = timeout_seconds
        self.timeouts = 0
        """Calls that got no connection in time."""
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            kwargs=connection_options(url),
            min_size=min(MIN_CONNECTIONS, max_connections),
            max_size=max_connections,
            timeout=timeout_seconds,
            reconnect_timeout=RECONNECT_SECONDS,
            open=False,
            name="penstock",
        )

    async def open(self) -> None:
        """Begins to connect. A database that cannot be reached is no error here."""
        await self._pool.open()

    async def close(self) -> None:
        """Closes every connection. Calls that still wait for one get ServiceUnavailable."""
        await self._pipelines.close()
        await self._pool.close()

    def stats(self) -> dict[str, int]:
        """The counters of psycopg_pool ("Pool stats" in its documentation), with the pipeline connections added."""
        stats = self._pool.get_stats()
        pipelines, idle = self._pipelines.counts
        stats["pool_size"] = stats.get("pool_size", 0) + pipelines
        stats["pool_available"] = stats.get("pool_available", 0) + idle
        return stats

    async def call(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        """The rows of one call of a SQL function, which is a transaction of its own."""
        return await self.fetch(statement.text, arguments)

    async def call_pipelined(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        """The same for merged effects, on a pipeline connection if one is free. Cancelling the call closes it."""
        pipeline = self._pipelines.acquire()
        if pipeline is None:
            return await self.call(statement, arguments)
        (rows,) = await self._call_on(pipeline, [(statement, arguments)])
        return rows

    async def call_in_transaction(self, calls: Sequence[StatementCall]) -> list[list[Row]] | None:
        """The rows of each call, all in one transaction. None: no pipeline connection is free, nothing was done."""
        pipeline = self._pipelines.acquire()
        return None if pipeline is None else await self._call_on(pipeline, calls)

    async def _call_on(self, pipeline: PipelineConnection, calls: Sequence[StatementCall]) -> list[list[Row]]:
        try:
            return await pipeline.call_in_transaction(calls)
        except psycopg.Error as error:
            raise classify_pipeline_error(error, pipeline) from error
        finally:
            self._pipelines.release(pipeline)

    async def fetch(self, text: str, arguments: Sequence[Any] = ()) -> list[Row]:
        """The rows of one query with `$1` marks. Raises the errors that the module's docstring lists."""
        connection = await self._acquire()
        try:
            cursor = await connection.execute(text, arguments)
            return await cursor.fetchall()
        except psycopg.Error as error:
            classified = classify_error(error, broken=connection.closed)
            if meaning(error.sqlstate) is Meaning.READ_ONLY:
                await connection.close()
            raise classified from error
        finally:
            await self._pool.putconn(connection)

    async def _acquire(self) -> Connection:
        deadline = monotonic() + self._timeout_seconds
        try:
            while is_stale(connection := await self._pool.getconn(deadline - monotonic())):
                await connection.close()
                await self._pool.putconn(connection)
        except (PoolTimeout, PoolClosed) as error:
            self.timeouts += isinstance(error, PoolTimeout)
            raise ServiceUnavailable from error
        return connection


def classify_pipeline_error(error: psycopg.Error, pipeline: PipelineConnection) -> Exception:
    """`classify_error` for a pipeline connection, which is closed where another connection would do better."""
    broken = pipeline.connection.closed
    if meaning(error.sqlstate) is Meaning.STALE_STATEMENT:
        pipeline.close()
        return RolledBack()
    if meaning(error.sqlstate) is Meaning.READ_ONLY:
        pipeline.close()
    return classify_error(error, broken=broken)


def classify_error(error: psycopg.Error, *, broken: bool) -> Exception:
    """The error to raise for a database error; see the module's docstring and `penstock.postgres.sqlstates`."""
    if error.sqlstate is None:
        client_side = not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        return error if client_side and not broken else OutcomeUnknown()
    match meaning(error.sqlstate):
        case Meaning.ROLLED_BACK:
            return RolledBack()
        case Meaning.CONNECTION_LOST:
            return OutcomeUnknown()
        case Meaning.UNAVAILABLE | Meaning.READ_ONLY:
            return ServiceUnavailable()
        case _:
            return error
