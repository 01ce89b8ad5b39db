"""The one connection of a function's execution environment: kept between invocations, repaired when it broke.

Everything runs in autocommit: each SQL function is its own transaction, which is all that PgBouncer's transaction mode
asks for. No prepared statements: PgBouncer before 1.21 cannot keep them apart (platform facts, measured).
"""

import select
from collections.abc import Sequence
from typing import Any

import psycopg

from . import pgarray
from .effects import Row, Rows, Sql, Take
from .errors import InternalFailure, ServiceUnavailable
from .statements import Statement

CONNECT_SECONDS = 5
LEAST_LEASE = 10


def connect(url: str) -> "psycopg.Connection[Row]":
    """A connection as the service needs it. Raises psycopg.OperationalError."""
    return psycopg.connect(url, autocommit=True, prepare_threshold=None, connect_timeout=CONNECT_SECONDS)


def call_of(effect: Sql | Rows | Take) -> tuple[Statement, list[Any]]:
    """The statement and its arguments for one effect on its own."""
    if isinstance(effect, Rows):
        arrays = pgarray.encode_columns(effect.statement.types, effect.columns)
        return effect.statement, [*arrays, *effect.options]
    if isinstance(effect, Take):
        lease = max(LEAST_LEASE, effect.count)
        options = [effect.visibility_seconds, effect.in_flight_limit]
        return effect.statement, [effect.queue_arn, effect.count, lease, *options]
    typed = zip(effect.statement.types, effect.arguments, strict=True)
    return effect.statement, [plain(kind, value) for kind, value in typed]


def plain(kind: str, value: Any) -> Any:
    """An argument as psycopg takes it: arrays in our own format, everything else as it is."""
    return pgarray.encode(kind, value) if kind.endswith("[]") and value is not None else value


class Database:
    """Runs effects one after the other on one connection."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[Row] | None = None

    def connection(self) -> "psycopg.Connection[Row]":
        """The connection, a new one when the old one is gone. Raises ServiceUnavailable."""
        if self._connection is not None and _lost(self._connection):
            self._connection.close()
            self._connection = None
        if self._connection is None:
            try:
                self._connection = connect(self._url)
            except psycopg.OperationalError as error:
                raise ServiceUnavailable from error
        return self._connection

    def call(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        """The rows of one call.

        Raises ServiceUnavailable when the database cannot be reached or went away: whether the call took effect is
        unknown then. Raises InternalFailure for every other database error.
        """
        connection = self.connection()
        try:
            with psycopg.RawCursor(connection) as cursor:
                return cursor.execute(statement.text, arguments).fetchall()
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            connection.close()
            raise ServiceUnavailable from error
        except psycopg.Error as error:
            raise InternalFailure from error

    def close(self) -> None:
        """Closes the connection; the next call makes a new one."""
        if self._connection is not None:
            self._connection.close()


def _lost(connection: "psycopg.Connection[Row]") -> bool:
    """Closed, or the server hung up while nobody looked: an idle connection has nothing to say but goodbye."""
    if connection.closed:
        return True
    readable, _, _ = select.select([connection.fileno()], [], [], 0)
    return bool(readable)
