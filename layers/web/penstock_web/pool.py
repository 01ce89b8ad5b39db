"""The container's database connections: at most so many, repaired when they break, and errors sorted by what is known.

    ServiceUnavailable    nothing was done: no connection was free or could be made, or the server has no room
    ├── Undone            the database rolled the call back (deadlock, lock timeout): it may be made again
    └── Lost              the connection broke during the call: nobody knows whether it took effect
    psycopg.Error         everything else: the call itself is wrong, and would be again

Waiting for a connection is bounded by the pool's own timeout. A call is never wrapped in `wait_for`: cancelling one
does not mean that it was not carried out (platform facts: 41 of 200 cancelled inserts raised, all 200 were stored).
"""

import select
from collections.abc import Sequence
from time import monotonic
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from penstock.effects import Row
from penstock.errors import ServiceUnavailable
from penstock.statements import Statement

Connection = psycopg.AsyncConnection[Row]

LEAST_CONNECTIONS = 2
# A pool that backs off for minutes answers 503 long after the database is back: give up early, ask anew when needed.
RECONNECT_SECONDS = 2.0
# libpq's own timeouts, so that a call on a dead network ends. The address of the database may say otherwise.
NETWORK_LIMITS = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}


class Undone(ServiceUnavailable):
    """The database rolled the call back for reasons of its own."""

    json_type = query_code = "ServiceUnavailable"


class Lost(ServiceUnavailable):
    """The connection was lost during the call."""

    json_type = query_code = "ServiceUnavailable"


def connection_options(url: str) -> dict[str, Any]:
    """What every asynchronous connection is made with. No prepared statements: PgBouncer 1.18 mixes them up."""
    return {
        **NETWORK_LIMITS,
        **conninfo_to_dict(url),
        "autocommit": True,
        "prepare_threshold": None,
        "cursor_factory": psycopg.AsyncRawCursor,
    }


class Pool:
    """Calls SQL functions on pooled connections. `timeout_seconds`: longest wait for a free one."""

    def __init__(self, url: str, most_connections: int, timeout_seconds: float) -> None:
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
        await self._pool.close()

    def stats(self) -> dict[str, int]:
        """What psycopg_pool counts: "Pool stats" in its documentation."""
        return self._pool.get_stats()

    async def call(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        """The rows of one call of a SQL function, which is a transaction of its own."""
        return await self.fetch(statement.text, arguments)

    async def fetch(self, text: str, arguments: Sequence[Any] = ()) -> list[Row]:
        """The rows of one query with `$1` marks. Raises as the head of this module says."""
        connection = await self._borrow()
        try:
            cursor = await connection.execute(text, arguments)
            return await cursor.fetchall()
        except psycopg.Error as error:
            sorted_error = sort_error(error, broken=connection.closed)
            if (
                error.sqlstate == "25006"
            ):  # read-only: a fail-over; the next connection may reach the new primary
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


def is_stale(connection: Connection) -> bool:
    """Closed, or the server hung up while nobody looked: an idle connection has nothing to say but goodbye.

    `poll`, not `select`, which refuses descriptors beyond 1,023. Costs 0.7 µs, where a query would cost a round trip.
    """
    if connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def sort_error(error: psycopg.Error, *, broken: bool) -> Exception:
    """What is known after a database error: see the head of this module. SQLSTATE classes: PostgreSQL, appendix A."""
    state = error.sqlstate
    if state is None:
        client_side = not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        return error if client_side and not broken else Lost()
    if state[:2] == "40" or state == "55P03":
        return Undone()
    if state[:2] == "08" or state in ("57P01", "57P02", "57P03", "57P05"):
        return Lost()
    if state[:2] in ("53", "57") or state == "25006":
        return ServiceUnavailable()
    return error
