"""Keeps a function's only connection between invocations, and replaces a broken connection.

    closed before a call              The call uses a new connection.
    idle for over a minute            The object tests the connection first, because networks and poolers drop
                                      connections silently. If the test takes two seconds, the call uses a new
                                      connection.
    wrong settings of the session     The call uses a new connection. If the new connection also has wrong settings,
                                      the call raises ServiceUnavailable (`session_settings`).
    rolled back, server is read only  The database undid the call, so the object repeats the call once, after a
                                      failover on a new connection.
    lost before COMMIT                The call took no effect, so the object repeats the call once on a new connection
                                      (only pg8000, whose calls are explicit transactions).
    lost during the call              The call may have taken effect, so it raises ServiceUnavailable. The next call
                                      uses a new connection.

Each call of an SQL function is a separate transaction, as PgBouncer's transaction mode requires. Penstock has two
drivers (docs/decisions/0008-two-drivers.md). A process imports only the driver that it uses. `sqlstates` explains each
error.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from time import time
from typing import Protocol, TypeVar, cast

from penstock.errors import InternalFailure, ServiceUnavailable
from penstock.settings import DRIVERS

from .network import CALL_SECONDS, IDLE_SECONDS, PING_SECONDS
from .session_settings import CHECK_SECONDS, SessionState, describe_wrong_settings
from .sqlstates import LONG_MESSAGE, find_meaning
from .statement import Row, Statement

RowT = TypeVar("RowT", bound=Row)


class LongMessageFound(Exception):  # noqa: N818 - nothing failed
    """The database undid a receive that assumed short messages, because it found a long message."""


class DriverError(Exception):
    """A call failed with the driver's error text.

    `sqlstate` is None if the server closed the connection, or if the client did not reach the server. `took_no_effect`
    means that the call certainly took no effect, for example because the database undid it. `wrong_settings` names the
    settings that make the session unusable.
    """

    def __init__(
        self, text: str, sqlstate: str | None, *, took_no_effect: bool = False, wrong_settings: str = ""
    ) -> None:
        super().__init__(" ".join(text.split()))
        self.wrong_settings = wrong_settings
        self.sqlstate = sqlstate
        self.meaning = find_meaning(sqlstate, text)
        self.took_no_effect = took_no_effect or self.meaning.took_no_effect

    @property
    def ends_connection(self) -> bool:
        """Returns whether the connection can no longer be used."""
        return self.meaning.ends_connection

    @property
    def is_transient(self) -> bool:
        """Returns whether the same call can succeed later."""
        return self.meaning.is_temporary

    def client_error(self) -> ServiceUnavailable | InternalFailure | LongMessageFound:
        """Returns the error for the client, or for the driver of an operation."""
        if self.sqlstate == LONG_MESSAGE:
            return LongMessageFound()
        if self.wrong_settings:
            return ServiceUnavailable(describe_wrong_settings(self.wrong_settings))
        return ServiceUnavailable() if self.is_transient else InternalFailure()


class DriverConnection(Protocol):
    """A driver's connection. Calls raise DriverError."""

    @property
    def session(self) -> SessionState: ...

    def call(self, statement: Statement[RowT], arguments: Sequence[object], /) -> list[RowT]: ...

    def is_lost(self) -> bool: ...

    def responses(self, seconds: float, /) -> bool:
        """Returns whether the server responds in time, and the session has the settings that calls need."""
        ...

    def close(self) -> None: ...


def find_connection_factory(driver: str) -> Callable[[str, float], DriverConnection]:
    """Returns a function that opens connections of `psycopg` or `pg8000`, given the address and the deadline of calls
    in seconds.

    The function raises DriverError.
    """
    return cast(
        "Callable[[str, float], DriverConnection]", import_module(f".{driver}_connection", __package__).open_connection
    )


def import_driver(driver: str) -> None:
    """Imports a driver (psycopg for an unknown name). Call this function during the start, when a Lambda function has
    more processor time."""
    find_connection_factory(driver if driver in DRIVERS else DRIVERS[0])


class Database:
    """Makes one call at a time on one connection. `driver` is psycopg or pg8000.

    A call that takes longer than `call_seconds` closes the connection, although the call may have taken effect. After a
    failed connection, `new_address` returns the address with a changed password, or None.
    """

    def __init__(
        self,
        url: str,
        driver: str = "psycopg",
        call_seconds: float = CALL_SECONDS,
        new_address: Callable[[], str | None] | None = None,
    ) -> None:
        self._url = url
        self._new_address = new_address
        self._call_seconds = call_seconds
        self._driver = driver
        self._connection: DriverConnection | None = None
        self._used_at = 0.0  # the wall clock, because other clocks stop while Lambda freezes the process
        self._checked_at = 0.0

    def connection(self) -> DriverConnection:
        """Returns the connection, opening a new one if the old one is gone. Raises ServiceUnavailable."""
        try:
            connection = self._live_connection()
        except DriverError as error:
            raise error.client_error() from error
        self._used_at = time()  # counts as a call, because workers use the connection directly
        return connection

    def call(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        """Returns the rows of one call. Arrays are lists.

        Raises ServiceUnavailable if the database cannot be reached, breaks the connection or reports a transient
        error. If the database was reached, the call may have taken effect. Raises LongMessageFound for LONG_MESSAGE,
        and InternalFailure for every other database error.
        """
        try:
            return self._attempt(statement, arguments)
        except DriverError as error:
            if not (error.took_no_effect and error.is_transient):
                raise error.client_error() from error
        try:
            return self._attempt(statement, arguments)
        except DriverError as error:
            raise error.client_error() from error

    def close(self) -> None:
        """Closes the connection. The next call opens a new connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _attempt(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        connection = self.connection()
        try:
            rows = connection.call(statement, arguments)
        except DriverError as error:
            if error.ends_connection:
                self.close()
            raise
        self._used_at = time()
        return rows

    def _live_connection(self) -> DriverConnection:
        if self._connection is not None and self._has_gone(self._connection):
            self.close()
        if self._connection is None:
            self._connection, self._checked_at = self._open(), time()
        return self._connection

    def _open(self) -> DriverConnection:
        open_connection = find_connection_factory(self._driver)
        try:
            return open_connection(self._url, self._call_seconds)
        except DriverError:
            address = self._new_address() if self._new_address else None
            if address is None or address == self._url:
                raise
        self._url = address
        return open_connection(address, self._call_seconds)

    def _has_gone(self, connection: DriverConnection) -> bool:
        if connection.is_lost():
            return True
        now = time()
        idle, unchecked = abs(now - self._used_at), abs(now - self._checked_at)
        if idle <= IDLE_SECONDS and (unchecked <= CHECK_SECONDS or connection.session.is_direct):
            return False
        self._checked_at = now
        return not connection.responses(PING_SECONDS)
