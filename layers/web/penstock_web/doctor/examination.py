"""Defines findings, and the settings and connections that the checks examine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import psycopg

from penstock.postgres.psycopg_connection import LimitedConnection, connect
from penstock_web.local.chosen_database import choose_database, choose_folder
from penstock_web.local.encryption_key import add_encryption_key
from penstock_web.local.migrating import check_addresses

if TYPE_CHECKING:
    from penstock.settings import Settings

CALL_SECONDS: Final = 10.0
"""The time limit for a query. The check of the stored rows has a longer limit."""


class Finding(NamedTuple):
    """A problem, or advice. Advice does not change the exit code."""

    subject: str
    """The name of the check, or the ARN of the object that has the problem."""
    problem: str
    why: str = ""
    """The consequences of the problem."""
    remedy: str = ""
    """What to do, including commands."""
    is_advice: bool = False
    page: str = ""
    """The path of the documentation page that explains the check, relative to a running service's address."""


@dataclass(slots=True)
class Examination:
    """Opens connections when a check needs them, and keeps the connections for later checks."""

    settings: Settings
    variables: Mapping[str, str]
    """The environment."""
    address: str = ""
    """The database's direct address: DATABASE_DIRECT_URL, or DATABASE_URL, or the address of the local database."""
    address_problem: str = ""
    """The reason why `address` is empty."""
    folder: Path | None = None
    """The folder of the local database, if the settings do not contain a database address."""
    after_restore: bool = False
    fix: bool = False
    _open: dict[str, LimitedConnection] = field(default_factory=dict)
    pooler_answers: bool = True
    """False after a failed connection to DATABASE_URL."""

    def choose_database(self) -> None:
        """Finds the database of the settings, or else the database that `penstock up` runs on this machine. Raises
        SettingError or LocalError.
        """
        check_addresses(self.settings)
        self.address = choose_database(self.settings)
        if not self.settings.direct_url:
            folder = choose_folder()
            self.settings = add_encryption_key(self.settings, folder)
            self.folder = folder

    @property
    def pooled_address(self) -> str:
        """Returns DATABASE_URL if it differs from the direct address, and otherwise ""."""
        url = self.settings.database_url
        return url if url != self.address else ""

    def connect_directly(self) -> LimitedConnection:
        """Returns the direct connection to the database. Raises psycopg's errors or SettingError."""
        return self._connect(self.address)

    def connect_pooled(self) -> LimitedConnection:
        """Returns the connection to `pooled_address`. Raises psycopg's errors or SettingError."""
        return self._connect(self.pooled_address)

    def connect_to_service(self) -> list[LimitedConnection]:
        """Returns a connection to each address of the service that responds. Raises psycopg's errors or
        SettingError.
        """
        has_pooler = self.pooled_address and self.pooler_answers
        return [self.connect_directly(), *([self.connect_pooled()] if has_pooler else [])]

    def close(self) -> None:
        """Closes all connections."""
        for connection in self._open.values():
            with suppress(psycopg.Error):
                connection.close()
        self._open.clear()

    def _connect(self, address: str) -> LimitedConnection:
        known = self._open.get(address)
        if known is None or known.closed:
            known = self._open[address] = connect(address, CALL_SECONDS)
        return known
