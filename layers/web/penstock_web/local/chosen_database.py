"""Which database a command works on: the one that is set, else that of the service that was started here."""

from __future__ import annotations

from pathlib import Path

import psycopg

from penstock.settings import SettingError, Settings

from .migrating import without_password
from .postgres import service_dsn
from .state import default_state_directory

CONNECT_SECONDS = 5
NO_DATABASE = (
    "no database: set DATABASE_URL (`penstock up` prints it, also with --ephemeral), or start the service of this "
    "machine with `penstock up`"
)


def chosen_database(settings: Settings, state: Path | None = None) -> str:
    """A DSN of libpq: DATABASE_DIRECT_URL, DATABASE_URL, or the database whose files are in `state`.

    `state`: by default the folder of `penstock up`. Raises SettingError when there is none that answers.
    """
    if settings.direct_url:
        return settings.direct_url
    dsn = service_dsn(state or default_state_directory())
    if dsn is None or not _answers(dsn):
        raise SettingError(NO_DATABASE)
    return dsn


def named(dsn: str) -> str:
    """The database for people: where it is, without a password. Raises LocalError when the address is invalid."""
    return without_password(dsn)


def _answers(dsn: str) -> bool:
    try:
        psycopg.connect(dsn, connect_timeout=CONNECT_SECONDS).close()
    except psycopg.OperationalError:
        return False
    return True
