"""Connections of psycopg, for the functions and for workers.

Autocommit, and no prepared statements: PgBouncer before 1.21 cannot keep them apart (measured).
"""

import select
from collections.abc import Sequence
from typing import Any

import psycopg

from penstock.effects import Row, Statement

from . import binary_array
from .database import CONNECT_SECONDS, DriverError
from .sqlstates import INTERNAL_ERROR


def connect(url: str) -> "psycopg.Connection[Row]":
    """A connection as the service needs it. Raises psycopg.OperationalError."""
    return psycopg.connect(url, autocommit=True, prepare_threshold=None, connect_timeout=CONNECT_SECONDS)


class TransactionExecutor:
    """Makes calls on a connection of somebody else. Raises psycopg.Error."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self.connection = connection

    def call(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        """The rows of one call; arrays are lists."""
        with psycopg.RawCursor(self.connection) as cursor:
            encoded = binary_array.encode_arguments(statement.types, arguments)
            return cursor.execute(statement.text, encoded).fetchall()


class PsycopgConnection(TransactionExecutor):
    """A `database.Link`."""

    def call(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        """The rows of one call, which is a transaction of its own. Raises DriverError."""
        try:
            return super().call(statement, arguments)
        except psycopg.Error as error:
            if self.connection.closed:
                raise DriverError(str(error), None) from error
            raise DriverError(str(error), error.sqlstate or INTERNAL_ERROR) from error

    def is_lost(self) -> bool:
        """Closed, or the server hung up while nobody looked: an idle connection has nothing to say but goodbye."""
        if self.connection.closed:
            return True
        readable, _, _ = select.select([self.connection.fileno()], [], [], 0)
        return bool(readable)

    def close(self) -> None:
        """Gives the connection up."""
        self.connection.close()


def open_connection(url: str) -> PsycopgConnection:
    """A new connection. Raises DriverError."""
    try:
        return PsycopgConnection(connect(url))
    except psycopg.OperationalError as error:
        raise DriverError(str(error), None, took_no_effect=True) from error
