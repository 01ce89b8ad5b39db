"""Opens connections of the container to the database, and checks whether an idle connection still works."""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any, Self

import psycopg

from penstock.postgres.call_deadline import build_connection_parameters, limit_call
from penstock.postgres.iam_token import TokenError, add_token, needs_token
from penstock.postgres.network import CALL_SECONDS, is_readable
from penstock.postgres.psycopg_connection import WrongSettingsError
from penstock.postgres.session_settings import CHECK_SECONDS, SessionState, apply_settings_query, pin_settings_query
from penstock.postgres.statement import Row


class LimitedAsyncConnection(psycopg.AsyncConnection[Row]):
    """Limits each call to `call_seconds`. A longer call closes the connection."""

    call_seconds = CALL_SECONDS
    opened_at = checked_at = 0.0  # Both times come from time.monotonic.
    session = SessionState()

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """Returns a new connection. The pool also uses this function. Raises psycopg's errors or SettingError."""
        if needs_token(options):
            # The call runs in a thread, because the call can fetch AWS credentials over the network.
            try:
                options = await asyncio.to_thread(add_token, options)
            except TokenError as error:
                raise psycopg.OperationalError(str(error)) from error
        return await super().connect(conninfo, **options)

    async def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Runs one call. Raises OperationalError after the deadline."""
        return await super().wait(limit_call(gen, self.call_seconds, self.pgconn), *arguments, **options)

    async def apply_settings(self) -> None:
        """Applies the settings to a new session. Raises psycopg's errors, such as WrongSettingsError."""
        cursor = await self.execute(apply_settings_query(self.info.backend_pid).encode())
        ((*state,),) = await cursor.fetchall()
        self.session = SessionState(*state)
        await self._use_checked()

    async def pin_settings(self) -> None:
        """Applies PINNED_SETTINGS to a session, and checks them. Raises WrongSettingsError on a closed connection."""
        cursor = await self.execute(pin_settings_query(self.info.backend_pid).encode())
        ((is_direct, role, wrong),) = await cursor.fetchall()
        self.session = self.session._replace(is_direct=is_direct, role=role, wrong=wrong)
        await self._use_checked()

    async def _use_checked(self) -> None:
        self.checked_at = monotonic()
        if self.session.problem:
            await self.close()
            raise WrongSettingsError(self.session)

    def needs_check(self, now: float) -> bool:
        """Returns whether the session uses a pooler and the last check was long ago."""
        return now - self.checked_at > CHECK_SECONDS and not self.session.is_direct


def build_reporting_class(on_failure: Callable[[BaseException], None]) -> type[LimitedAsyncConnection]:
    """Returns a class of connections that reports failed attempts to connect, because psycopg_pool only logs them."""

    class ReportingConnection(LimitedAsyncConnection):
        @classmethod
        async def connect(cls, conninfo: str = "", **options: Any) -> Self:
            try:
                return await super().connect(conninfo, **options)
            except psycopg.Error as error:
                on_failure(error)
                raise

    return ReportingConnection


async def connect(url: str, call_seconds: float, name: str = "") -> LimitedAsyncConnection:
    """Returns an asynchronous connection outside the pool. Raises psycopg's errors.

    pg_stat_activity shows `name` as application_name, unless the address contains an application_name.
    """
    options = build_connection_options(url)
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


def build_connection_options(url: str) -> dict[str, Any]:
    """Returns the options that every asynchronous connection uses. The options turn off prepared statements, which
    PgBouncer 1.18 mixes up.
    """
    return {
        **build_connection_parameters(url),
        "autocommit": True,
        "prepare_threshold": None,
        "cursor_factory": psycopg.AsyncRawCursor,
    }


def is_stale(connection: "psycopg.BaseConnection[Row]") -> bool:
    """Returns whether the connection is closed on either side."""
    return connection.closed or is_readable(connection.fileno())
