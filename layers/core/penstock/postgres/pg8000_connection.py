"""Connects with pg8000, a driver in pure Python that takes less time to import (docs/decisions/0008-two-drivers.md).

pg8000 parses and executes in two exchanges. Outside a transaction, PgBouncer can change the server connection between
the exchanges. In a measurement (decision 8), 1.5 to 3 % of calls failed for this reason. Therefore every call has a
BEGIN and a COMMIT. A call takes no effect before COMMIT is sent, so a call that was lost before COMMIT can be repeated.
"""

import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

from pg8000.core import CoreConnection
from pg8000.exceptions import DatabaseError, InterfaceError

from . import text_array
from .address import list_hosts, parse_address
from .database import DriverError
from .iam_token import TokenError, add_token
from .network import (
    CONNECT_SECONDS,
    KEEPALIVE_COUNT,
    KEEPALIVE_IDLE_SECONDS,
    KEEPALIVE_INTERVAL_SECONDS,
    USER_TIMEOUT_SECONDS,
    is_readable,
)
from .session_settings import PINNED_SETTINGS, SessionState, apply_settings_query, pin_settings_query
from .statement import Row, Statement

_FAILURES = (DatabaseError, InterfaceError, OSError)
_TCP_LIMITS = {
    "TCP_KEEPIDLE": KEEPALIVE_IDLE_SECONDS,
    "TCP_KEEPINTVL": KEEPALIVE_INTERVAL_SECONDS,
    "TCP_KEEPCNT": KEEPALIVE_COUNT,
    "TCP_USER_TIMEOUT": USER_TIMEOUT_SECONDS * 1000,
}
# A session behind a pooler has its role's default. The service refuses a read-only database.
_BEGIN = "begin isolation level read committed"
# PgBouncer keeps both settings for each client.
_STARTUP = {"client_encoding": "UTF8", "DateStyle": PINNED_SETTINGS["DateStyle"]}

RowT = TypeVar("RowT", bound=Row)


class Pg8000Connection:
    """A `database.DriverConnection`."""

    session: SessionState

    def __init__(self, connection: CoreConnection) -> None:
        self._connection = connection
        self._close_unused = False

    def apply_settings(self) -> None:
        """Applies the settings to the new session. Closes the connection and raises DriverError if that fails."""
        self.session = SessionState(*self._read(apply_settings_query(find_process_id(self._connection))))
        self._refuse_wrong_settings()

    def _pin_settings(self) -> None:
        _, _, wrong = self._read(pin_settings_query(find_process_id(self._connection)))
        self.session = self.session._replace(wrong=wrong)
        self._refuse_wrong_settings()

    def _read(self, query: str) -> list[Any]:
        try:
            (row,) = self._connection.execute_simple(query).rows
        except _FAILURES as error:
            self.close()
            raise build_driver_error(error, took_no_effect=True) from error
        return list(row)

    def _refuse_wrong_settings(self) -> None:
        if self.session.problem:
            self.close()
            raise DriverError(self.session.problem, None, took_no_effect=True, wrong_settings=self.session.wrong)

    def call(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        """Returns the rows of one call, which is a transaction. Raises DriverError."""
        try:
            self._connection.execute_simple(_BEGIN)
            values = text_array.encode_arguments(statement.types, arguments)
            result = self._connection.execute_unnamed(statement.text, vals=values)
        except _FAILURES as error:
            failure = build_driver_error(error, took_no_effect=True)
            if not failure.ends_connection:
                self._roll_back()
            raise failure from error
        try:
            self._connection.execute_simple("commit")
        except _FAILURES as error:
            raise build_driver_error(error, took_no_effect=False) from error
        return statement.build_rows(result.rows or ())

    def is_lost(self) -> bool:
        """Returns whether this process closed the connection, or the server closed it since the last call."""
        if self._close_unused:
            return True
        return is_readable(find_socket(self._connection).fileno())

    def responses(self, seconds: float) -> bool:
        """Returns whether the server responds within `seconds`. If the server does not respond, the connection is
        unusable."""
        connected = find_socket(self._connection)
        call_seconds = connected.gettimeout()
        connected.settimeout(seconds)
        try:
            self._pin_settings()
        except DriverError:
            return False
        connected.settimeout(call_seconds)
        return True

    def is_read_only(self) -> bool:
        """Returns whether the server refuses writes, as a standby does. Raises DriverError."""
        try:
            return bool(self._connection.execute_simple("show transaction_read_only").rows == [["on"]])
        except _FAILURES as error:
            raise build_driver_error(error, took_no_effect=True) from error

    def close(self) -> None:
        self._close_unused = True
        with suppress(*_FAILURES):
            self._connection.close()

    def _roll_back(self) -> None:
        try:
            self._connection.execute_simple("rollback")
        except _FAILURES:
            self.close()


def build_driver_error(error: Exception, *, took_no_effect: bool) -> DriverError:
    """Converts a pg8000 error, which has the server's fields (C: SQLSTATE, M: message) or a text."""
    if isinstance(error, DatabaseError) and error.args and isinstance(error.args[0], dict):
        fields = error.args[0]
        return DriverError(str(fields.get("M", "")), fields.get("C"), took_no_effect=took_no_effect)
    return DriverError(str(error) or type(error).__name__, None, took_no_effect=took_no_effect)


def open_connection(url: str, call_seconds: float) -> Pg8000Connection:
    """Connects to the first host of the address that accepts the connection. Raises DriverError, SettingError."""
    failures = []
    try:
        address = add_token(parse_address(url))
    except TokenError as error:
        raise DriverError(str(error), None, took_no_effect=True) from error
    # Whether the address requires a server that accepts writes. pg8000 connections support no other value.
    wants_primary = address.get("target_session_attrs") in ("read-write", "primary")
    for host in list_hosts(address):
        try:
            connection = CoreConnection(
                **build_other_parameters(address), **build_host_parameters(*host), timeout=CONNECT_SECONDS
            )
        except _FAILURES as error:
            failures.append(str(build_driver_error(error, took_no_effect=True)))
            continue
        limit_socket(find_socket(connection), call_seconds)
        opened = Pg8000Connection(connection)
        if not wants_primary or not opened.is_read_only():
            opened.apply_settings()
            return opened
        opened.close()
        failures.append("the server is read-only")
    raise DriverError("; ".join(failures), None, took_no_effect=True)


def limit_socket(connected: socket.socket, call_seconds: float) -> None:
    """Ends each wait for the server after `call_seconds`, or sooner if the server's host vanishes (`network`)."""
    connected.settimeout(call_seconds)
    if connected.family == socket.AF_UNIX:
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _TCP_LIMITS.items():
        if number := getattr(socket, option, None):  # Linux only
            connected.setsockopt(socket.IPPROTO_TCP, number, value)


def build_host_parameters(name: str, port: int) -> dict[str, Any]:
    """Returns pg8000's parameters for a host or a socket folder."""
    return {"unix_sock": f"{name}/.s.PGSQL.{port}"} if name.startswith("/") else {"host": name, "port": port}


def build_other_parameters(address: dict[str, str]) -> dict[str, Any]:
    """Returns the rest of an address as pg8000's parameters."""
    return {
        "user": address.get("user", ""),
        "password": address.get("password", ""),
        "database": address.get("dbname") or None,
        "application_name": address.get("application_name"),
        "ssl_context": build_tls_context(address.get("sslmode", ""), address.get("sslrootcert")),
        "startup_params": _STARTUP,
    }


def build_tls_context(mode: str, authorities: str | None) -> Any:
    """Returns pg8000's value for a libpq `sslmode`: False means no TLS, and None means TLS if the server supports
    it."""
    if mode not in ("require", "verify-ca", "verify-full"):
        return False if mode == "disable" else None
    import ssl  # noqa: PLC0415 - not needed without TLS

    context = ssl.create_default_context(cafile=None if authorities == "system" else authorities)
    context.check_hostname = mode == "verify-full"
    if mode == "require":
        context.verify_mode = ssl.CERT_NONE
    return context


def find_socket(connection: CoreConnection) -> socket.socket:
    """Returns the socket. pg8000 has no other way to detect that the server closed the connection."""
    result: socket.socket = connection._usock  # noqa: SLF001
    return result


def find_process_id(connection: CoreConnection) -> int:
    """Returns the process id that the server, or a pooler, reported at the start. pg8000 keeps the id only to cancel
    calls.

    The id is the first four bytes of BackendKeyData (PostgreSQL documentation, "Message Formats").
    """
    (number,) = struct.unpack("!i", connection._backend_key_data[:4])  # noqa: SLF001
    return int(number)
