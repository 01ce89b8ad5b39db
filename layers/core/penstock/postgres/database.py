"""The one connection of a function's execution environment: kept between invocations, repaired when it broke.

    found dead when it is needed            a new one is made, and nobody notices
    25006, class 40, 55P03                  the database undid the call: made once more, after 25006 (a failover: it was
                                            the primary) on a new connection
    lost before COMMIT was sent             nothing took effect: made once more on a new connection (pg8000 only, whose
                                            calls are explicit transactions)
    57P01, class 08, hung up meanwhile      nobody knows whether the call took effect: ServiceUnavailable; the next call
                                            gets a new connection

Each SQL function is its own transaction, which is all that PgBouncer's transaction mode asks for. Two drivers do it,
see docs/decisions/0008-two-drivers.md; only the one that is used is imported.
SQLSTATEs: PostgreSQL, appendix A.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from penstock.effects import Row, Statement
from penstock.errors import InternalFailure, ServiceUnavailable
from penstock.settings import DRIVERS

CONNECT_SECONDS = 5
READ_ONLY = "25006"
_ENDINGS = ("08", "57P01", "57P02", "57P03", "57P05", READ_ONLY)
_UNDOING = ("40", "55P03", READ_ONLY)
_PASSING = (*_ENDINGS, *_UNDOING, "28", "53", "57")


class LinkError(Exception):
    """A call failed; the text is the driver's.

    `sqlstate`: None when the server said nothing, since it hung up or was not reached.
    `undone`: whether it is certain that the call took no effect, as it is when the database says so.
    """

    def __init__(self, text: str, sqlstate: str | None, *, undone: bool = False) -> None:
        super().__init__(" ".join(text.split()))
        self.sqlstate = sqlstate
        self.undone = undone or (sqlstate or "").startswith(_UNDOING)

    @property
    def ends_connection(self) -> bool:
        """Whether the connection is of no more use."""
        return self.sqlstate is None or self.sqlstate.startswith(_ENDINGS)

    @property
    def passes(self) -> bool:
        """Whether the same call may succeed later."""
        return self.sqlstate is None or self.sqlstate.startswith(_PASSING)

    def told(self) -> ServiceUnavailable | InternalFailure:
        """What the client is told."""
        return ServiceUnavailable() if self.passes else InternalFailure()


class Link(Protocol):
    """A connection of a driver. Its calls raise LinkError."""

    def call(self, statement: Statement, arguments: Sequence[Any], /) -> list[Row]: ...

    def is_lost(self) -> bool: ...

    def close(self) -> None: ...


def opener(driver: str) -> Callable[[str], Link]:
    """What makes connections of `psycopg` or `pg8000`. It raises LinkError."""
    return cast("Callable[[str], Link]", import_module(f".{driver}_link", __package__).open_link)


def prepare(driver: str) -> None:
    """Imports a driver, psycopg when there is none of this name: a function that starts has more processor time."""
    opener(driver if driver in DRIVERS else DRIVERS[0])


class Database:
    """Makes calls one after the other on one connection. `driver`: psycopg or pg8000."""

    def __init__(self, url: str, driver: str = "psycopg") -> None:
        self._url = url
        self._driver = driver
        self._link: Link | None = None

    def link(self) -> Link:
        """The connection, a new one when the old one is gone. Raises ServiceUnavailable."""
        try:
            return self._found()
        except LinkError as error:
            raise ServiceUnavailable from error

    def call(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        """The rows of one call; arrays are lists.

        Raises ServiceUnavailable when the database cannot be reached, went away or asks to come again: unless it was
        not reached, it is unknown whether the call took effect. Raises InternalFailure for every other database error.
        """
        try:
            return self._attempt(statement, arguments)
        except LinkError as error:
            if not (error.undone and error.passes):
                raise error.told() from error
        try:
            return self._attempt(statement, arguments)
        except LinkError as error:
            raise error.told() from error

    def close(self) -> None:
        """Closes the connection; the next call makes a new one."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def _attempt(self, statement: Statement, arguments: Sequence[Any]) -> list[Row]:
        link = self.link()
        try:
            return link.call(statement, arguments)
        except LinkError as error:
            if error.ends_connection:
                self.close()
            raise

    def _found(self) -> Link:
        if self._link is not None and self._link.is_lost():
            self.close()
        if self._link is None:
            self._link = opener(self._driver)(self._url)
        return self._link
