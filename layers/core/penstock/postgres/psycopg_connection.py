"""Opens psycopg connections for Lambda functions and workers.

These connections use autocommit but no prepared statements, because PgBouncer before 1.21 confuses the statements of
its clients (measured).
"""

from collections.abc import Sequence
from time import monotonic
from typing import Any, TypeVar

import psycopg

from . import binary_array
from .call_deadline import build_connection_parameters, limit_call
from .database import DriverError
from .iam_token import TokenError, add_token
from .network import CALL_SECONDS, is_readable
from .session_settings import CHECK_SECONDS, SessionState, apply_settings_query, pin_settings_query
from .sqlstates import INTERNAL_ERROR
from .statement import Row, Statement

RowT = TypeVar("RowT", bound=Row)


class WrongSettingsError(psycopg.OperationalError):
    """A session has other values of PINNED_SETTINGS and cannot change them. The text names the settings."""

    def __init__(self, session: SessionState) -> None:
        super().__init__(session.problem)
        self.wrong = session.wrong


class LimitedConnection(psycopg.Connection[Row]):
    """A connection whose calls have a deadline of `call_seconds`. A call that misses the deadline closes the
    connection."""

    call_seconds = CALL_SECONDS
    session = SessionState()
    _checked_at = 0.0

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Runs one call. Raises OperationalError after the deadline."""
        return super().wait(limit_call(gen, self.call_seconds, self.pgconn), *arguments, **options)

    def apply_settings(self) -> None:
        """Applies the settings to a new session. Closes the connection and raises WrongSettingsError if that fails."""
        query = apply_settings_query(self.info.backend_pid)
        ((*state,),) = self.execute(query.encode()).fetchall()
        self.session = SessionState(*state)
        self._use_checked()

    def pin_settings(self) -> None:
        """Applies PINNED_SETTINGS to a session, and checks them. Closes the connection and raises
        WrongSettingsError if a value stays wrong."""
        query = pin_settings_query(self.info.backend_pid)
        ((is_direct, role, wrong),) = self.execute(query.encode()).fetchall()
        self.session = self.session._replace(is_direct=is_direct, role=role, wrong=wrong)
        self._use_checked()

    def check_again(self) -> None:
        """Checks a session behind a pooler again if the last check is old. Raises the errors of `pin_settings`."""
        if not self.session.is_direct and monotonic() - self._checked_at > CHECK_SECONDS:
            self.pin_settings()

    def _use_checked(self) -> None:
        self._checked_at = monotonic()
        if self.session.problem:
            self.close()
            raise WrongSettingsError(self.session)


def connect(url: str, call_seconds: float = CALL_SECONDS) -> LimitedConnection:
    """Opens a connection for the service. Raises psycopg.OperationalError, SettingError.

    Sessions have PINNED_SETTINGS, and transactions are READ COMMITTED.
    """
    try:
        parameters = add_token(build_connection_parameters(url))
    except TokenError as error:
        raise psycopg.OperationalError(str(error)) from error
    connection = LimitedConnection.connect(**parameters, autocommit=True, prepare_threshold=None)
    connection.call_seconds = call_seconds
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    try:
        connection.apply_settings()
    except BaseException:
        connection.close()
        raise
    return connection


class TransactionExecutor:
    """Executes statements on a connection that the caller opens and closes. Raises psycopg.Error."""

    def __init__(self, connection: "psycopg.Connection[Row]") -> None:
        self.connection = connection

    def call(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        """Returns the rows of one call. Arrays are lists."""
        with psycopg.RawCursor(self.connection) as cursor:
            encoded = binary_array.encode_arguments(statement.types, arguments)
            return statement.build_rows(cursor.execute(statement.text, encoded, binary=True).fetchall())


class PsycopgConnection(TransactionExecutor):
    """A `database.DriverConnection`."""

    connection: LimitedConnection

    @property
    def session(self) -> SessionState:
        """Returns the state of the session's settings when it was opened."""
        return self.connection.session

    def call(self, statement: Statement[RowT], arguments: Sequence[object]) -> list[RowT]:
        """Returns the rows of one call, which is a transaction. Raises DriverError."""
        try:
            return super().call(statement, arguments)
        except psycopg.Error as error:
            if self.connection.closed:
                raise DriverError(str(error), None) from error
            raise DriverError(str(error), error.sqlstate or INTERNAL_ERROR) from error

    def is_lost(self) -> bool:
        """Returns whether either side has closed the connection."""
        return self.connection.closed or is_readable(self.connection.fileno())

    def responses(self, seconds: float) -> bool:
        """Returns whether the server responds within `seconds`. If the server does not respond, the connection is
        unusable."""
        call_seconds, self.connection.call_seconds = self.connection.call_seconds, seconds
        try:
            self.connection.pin_settings()
        except psycopg.Error:
            return False
        finally:
            self.connection.call_seconds = call_seconds
        return True

    def close(self) -> None:
        self.connection.close()


def open_connection(url: str, call_seconds: float) -> PsycopgConnection:
    """Returns a new connection. Raises DriverError, SettingError."""
    try:
        return PsycopgConnection(connect(url, call_seconds))
    except WrongSettingsError as error:
        raise DriverError(str(error), None, took_no_effect=True, wrong_settings=error.wrong) from error
    except psycopg.OperationalError as error:
        raise DriverError(str(error), None, took_no_effect=True) from error
