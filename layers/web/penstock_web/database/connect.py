"""How the container opens connections to the database, and how it tells whether an idle connection still works."""

import asyncio
import select
from typing import Any, Self

import psycopg

from penstock.effects import Row
from penstock.postgres.call_deadline import build_connection_parameters, limit_call
from penstock.postgres.iam_token import TokenError, add_token, needs_token
from penstock.postgres.network import CALL_SECONDS
from penstock.postgres.session_settings import SessionState, apply_settings_query


class LimitedAsyncConnection(psycopg.AsyncConnection[Row]):
    """A connection whose calls have a deadline of `call_seconds`; it is closed by a call that misses it."""

    call_seconds = CALL_SECONDS
    opened_at = 0.0  # by time.monotonic
    session: SessionState

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """A new connection, also of the pool. Raises psycopg's errors, SettingError."""
        if needs_token(options):
            try:  # in a thread: credentials of AWS may come from an address of the machine, or of another
                options = await asyncio.to_thread(add_token, options)
            except TokenError as error:
                raise psycopg.OperationalError(str(error)) from error
        return await super().connect(conninfo, **options)

    async def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Runs one call. Raises OperationalError after the deadline."""
        return await super().wait(limit_call(gen, self.call_seconds, self.pgconn), *arguments, **options)

    async def apply_settings(self) -> None:
        """Gives a new session its settings. Raises psycopg's errors."""
        cursor = await self.execute(apply_settings_query(self.info.backend_pid).encode())
        ((*state,),) = await cursor.fetchall()
        self.session = SessionState(*state)


async def connect(url: str, call_seconds: float, name: str = "") -> LimitedAsyncConnection:
    """An asynchronous connection outside of the pool. Raises psycopg's errors.

    `name`: what pg_stat_activity shows as application_name, unless the address has one.
    """
    options = connection_options(url)
    if name:
        options.setdefault("fallback_application_name", name)
    connection = await LimitedAsyncConnection.connect(**options)
    connection.call_seconds = call_seconds
    try:
        await connection.apply_settings()
    except BaseException:
        await connection.close()
        raise
    return connection


def connection_options(url: str) -> dict[str, Any]:
    """The options of every asynchronous connection. No prepared statements: PgBouncer 1.18 mixes them up."""
    return {
        **build_connection_parameters(url),
        "autocommit": True,
        "prepare_threshold": None,
        "cursor_factory": psycopg.AsyncRawCursor,
    }


def is_stale(connection: "psycopg.BaseConnection[Row]") -> bool:
    """Whether the connection is closed, or the server closed it while it was idle.

    The server sends nothing on an idle connection except its end, so a readable socket means that it is over. `poll`,
    not `select`, which refuses descriptors beyond 1,023. Costs 0.7 µs, where a query would cost a round trip.
    """
    if connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
