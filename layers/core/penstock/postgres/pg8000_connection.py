"""Connections of pg8000, a driver in pure Python with a smaller import, see docs/decisions/0008-two-drivers.md.

pg8000 parses and executes in two exchanges, and PgBouncer may change the server between two exchanges outside of a
transaction: 1.5 to 3 % of calls were lost (decision 8). Therefore every call has a BEGIN and a COMMIT around it. Until
COMMIT is sent nothing can have taken effect, so a call that was lost before may be made again.
"""

import select
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pg8000.core import CoreConnection
from pg8000.exceptions import DatabaseError, InterfaceError

from penstock.effects import Row, Statement

from . import text_array
from .database import CONNECT_SECONDS, DriverError

_FAILURES = (DatabaseError, InterfaceError, OSError)


class Pg8000Connection:
    """A `database.DriverConnection`."""

    def __init__(self, connection: CoreConnection) -> None:
        self._connection = connection
        self._closed = False

    def call(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        """The rows of one call, in a transaction of its own. Raises DriverError."""
        try:
            self._connection.execute_simple("begin")
            values = text_array.encode_arguments(statement.types, arguments)
            result = self._connection.execute_unnamed(statement.text, vals=values)
        except _FAILURES as error:
            failure = driver_error(error, took_no_effect=True)
            if not failure.ends_connection:
                self._roll_back()
            raise failure from error
        try:
            self._connection.execute_simple("commit")
        except _FAILURES as error:
            raise driver_error(error, took_no_effect=False) from error
        return [tuple(row) for row in result.rows or ()]

    def is_lost(self) -> bool:
        """Whether this process closed it, or the server since the last call."""
        if self._closed:
            return True
        readable, _, _ = select.select([socket_of(self._connection).fileno()], [], [], 0)
        return bool(readable)

    def close(self) -> None:
        """Closes the connection."""
        self._closed = True
        with suppress(*_FAILURES):
            self._connection.close()

    def _roll_back(self) -> None:
        try:
            self._connection.execute_simple("rollback")
        except _FAILURES:
            self.close()


def driver_error(error: Exception, *, took_no_effect: bool) -> DriverError:
    """The DriverError for an error of pg8000, which has the server's fields (C: SQLSTATE, M: message) or a text."""
    if isinstance(error, DatabaseError) and error.args and isinstance(error.args[0], dict):
        fields = error.args[0]
        return DriverError(str(fields.get("M", "")), fields.get("C"), took_no_effect=took_no_effect)
    return DriverError(str(error) or type(error).__name__, None, took_no_effect=took_no_effect)


def open_connection(url: str) -> Pg8000Connection:
    """A new connection. Raises DriverError."""
    try:
        connection = CoreConnection(**parameters(url), timeout=CONNECT_SECONDS)
    except _FAILURES as error:
        raise DriverError(str(driver_error(error, took_no_effect=True)), None, took_no_effect=True) from error
    socket_of(connection).settimeout(None)  # calls have no time limit
    return Pg8000Connection(connection)


def parameters(url: str) -> dict[str, Any]:
    """A PostgreSQL address as pg8000's parameters. TLS only with sslmode require, verify-ca or verify-full."""
    address = urlsplit(url)
    more = dict(parse_qsl(address.query))
    host, port = more.get("host", address.hostname or "localhost"), address.port or 5432
    place = {"unix_sock": f"{host}/.s.PGSQL.{port}"} if host.startswith("/") else {"host": host, "port": port}
    return {
        **place,
        "user": unquote(address.username or ""),
        "password": unquote(address.password or ""),
        "database": unquote(address.path.removeprefix("/")) or None,
        "application_name": more.get("application_name"),
        "ssl_context": tls(more.get("sslmode", ""), more.get("sslrootcert")),
    }


def tls(mode: str, authorities: str | None) -> Any:
    """The context of TLS that a `sslmode` of libpq asks for; None: no TLS."""
    if mode not in ("require", "verify-ca", "verify-full"):
        return None
    import ssl  # noqa: PLC0415 - not needed without TLS

    context = ssl.create_default_context(cafile=authorities)
    context.check_hostname = mode == "verify-full"
    if mode == "require":
        context.verify_mode = ssl.CERT_NONE
    return context


def socket_of(connection: CoreConnection) -> socket.socket:
    """The socket: pg8000 has no other way to see that the server closed the connection."""
    result: socket.socket = connection._usock  # noqa: SLF001
    return result
