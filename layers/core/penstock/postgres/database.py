"""The one connection of a function's execution environment: kept between invocations, repaired when it broke.

    found dead when it is needed            a new one is made, and nobody notices
    rolled back, server is read only        the database undid the call: made once more, after a failover (the server
                                            was the primary) on a new connection
    lost before COMMIT was sent             nothing took effect: made once more on a new connection (pg8000 only, whose
                                            calls are explicit transactions)
    connection lost during the call         nobody knows whether the call took effect: ServiceUnavailable; the next call
                                            gets a new connection

Each SQL function is its own transaction, which is all that PgBouncer's transaction mode asks for. Two drivers do it,
see docs/decisions/0008-two-drivers.md; only the one that is used is imported.
`sqlstates` says which error means what.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from penstock.effects import Row, Statement
from penstock.errors import InternalFailure, ServiceUnavailable
from penstock.settings import DRIVERS

from .sqlstates import meaning

CONNECT_SECONDS = 5


class DriverError(Exception):
    """A call failed; the text is the driver's.

    `sqlstate`: None when the server said nothing, since it hung up or was not reached.
    `took_no_effect`: whether it is certain that the call took no effect, as it is when the database says so.
    """

    def __init__(self, text: str, sqlstate: str | None, *, took_no_effect: bool = False) -> None:
        super().__init__(" ".join(text.split()))
        self.sqlstate = sqlstate
        self.meaning = meaning(sqlstate)
        self.took_no_effect = took_no_effect or self.meaning.took_no_effect

    @property
    def ends_connection(self) -> bool:
        """Whether the connection is of no more use."""
        return self.meaning.ends_connection

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed later."""
        return self.meaning.is_temporary

    def client_error(self) -> ServiceUnavailable | InternalFailure:
        """What the client is told."""
        return ServiceUnavailable() if self.is_transient else InternalFailure()


class DriverConnection(Protocol):
    """A connection of a driver. Its calls raise DriverError."""

    def call(self, statement: Statement, arguments: Sequence[Any], /) -> list[Row]: ...

    def is_lost(self) -> bool: ...

    def close(self) -> None: ...


def connection_factory(driver: str) -> Callable[[str], DriverConnection]:
    """What makes connections of `psycopg` or `pg8000`. It raises DriverError."""
    return cast(
        "Callable[[str], DriverConnection]",
        import_module(f".{driver}_connection", __package__).open_connection,
    )


def import_driver(driver: str) -> None:
    """Imports a driver, psycopg when there is none of this name: a function that starts has more processor time."""
    connection_factory(driver if driver in DRIVERS else DRIVERS[0])


class Database:
    """Makes calls one after the other on one connection. `driver`: psycopg or pg8000."""

    def __init__(self, url: str, driver: str = "psycopg") -> None:
        self._url = url
        self._driver = driver
        self._connection: DriverConnection | None = None

    def connection(self) -> DriverConnection:
        """The connection, a new one when the old one is gone. Raises ServiceUnavailable."""
        try:
            return self._live_connection()
        except DriverError as error:
            raise ServiceUnavailable from error

    def call(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        """The rows of one call; arrays are lists.

        Raises ServiceUnavailable when the database cannot be reached, went away or asks to come again: unless it was
        not reached, it is unknown whether the call took effect. Raises InternalFailure for every other database error.
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
        """Closes the connection; the next call makes a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _attempt(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        connection = self.connection()
        try:
            return connection.call(statement, arguments)
        except DriverError as error:
            if error.ends_connection:
                self.close()
            raise

    def _live_connection(self) -> DriverConnection:
        if self._connection is not None and self._connection.is_lost():
            self.close()
        if self._connection is None:
            self._connection = connection_factory(self._driver)(self._url)
        return self._connection
