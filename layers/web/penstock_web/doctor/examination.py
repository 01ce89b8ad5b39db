"""The settings and connections that the checks examine, and the checks' findings."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import psycopg

from penstock.postgres.psycopg_connection import LimitedConnection, connect
from penstock_web.local.chosen_database import choose_database, choose_folder
from penstock_web.local.encryption_key import with_encryption_key
from penstock_web.local.migrating import check_addresses

if TYPE_CHECKING:
    from penstock.settings import Settings

CALL_SECONDS: Final = 10.0
"""Limits the time for a query. The check of the stored rows has a longer limit."""


class Finding(NamedTuple):
    """A problem, or advice. Advice leaves the exit code 0."""

    subject: str
    """Names the check, or the object by its ARN."""
    problem: str
    why: str = ""
    """Says why it matters."""
    remedy: str = ""
    """Describes the remedy, with the command."""
    is_advice: bool = False
    page: str = ""
    """Path of the page below a running service's address that explains the check."""


@dataclass(slots=True)
class Examination:
    """Opens a connection for the first check that needs one, and keeps a working connection."""

    settings: Settings
    variables: Mapping[str, str]
    """Holds the environment."""
    address: str = ""
    """Holds the address of the database itself: DATABASE_DIRECT_URL, or the variable that replaces it."""
    address_problem: str = ""
    """Says why there is no address."""
    folder: Path | None = None
    """Holds the folder of the `penstock up` whose database is examined, if the settings name no database."""
    after_restore: bool = False
    fix: bool = False
    _open: dict[str, LimitedConnection] = field(default_factory=dict)
    pooler_answers: bool = True
    """Is False once DATABASE_URL has not answered."""

    def choose_database(self) -> None:
        """Finds the database of the settings, or of the `penstock up` on this machine. Raises SettingError,
        LocalError."""
        check_addresses(self.settings)
        self.address = choose_database(self.settings)
        if not self.settings.direct_url:
            folder = choose_folder()
            self.settings = with_encryption_key(self.settings, folder)
            self.folder = folder

    @property
    def pooled_address(self) -> str:
        """Returns DATABASE_URL if the address differs from the database's direct address, and otherwise ""."""
        url = self.settings.database_url
        return url if url != self.address else ""

    def direct(self) -> LimitedConnection:
        """Returns the direct connection to the database. Raises psycopg's errors or SettingError."""
        return self._connection(self.address)

    def connect_pooled(self) -> LimitedConnection:
        """Returns the connection to `pooled_address`. Raises psycopg's errors or SettingError."""
        return self._connection(self.pooled_address)

    def service_connections(self) -> list[LimitedConnection]:
        """Returns a connection to each address that answers. Raises psycopg's errors or SettingError."""
        has_pooler = self.pooled_address and self.pooler_answers
        return [self.direct(), *([self.connect_pooled()] if has_pooler else [])]

    def close(self) -> None:
        """Closes all connections."""
        for connection in self._open.values():
            with suppress(psycopg.Error):
                connection.close()
        self._open.clear()

    def _connection(self, address: str) -> LimitedConnection:
        known = self._open.get(address)
        if known is None or known.closed:
            known = self._open[address] = connect(address, CALL_SECONDS)
        return known
