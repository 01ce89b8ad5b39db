"""Chooses a command's database, either the configured database or the local service's database."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg

from penstock.settings import SettingError, Settings

from .announced import running_services
from .migrating import without_password
from .postgres import service_dsn
from .state import default_state_directory

CONNECT_SECONDS = 5
NO_DATABASE = (
    "no database: set DATABASE_URL (`penstock up` prints it, even with --ephemeral), or start the service of this "
    "machine with `penstock up`"
)


def choose_database(settings: Settings, folder: Path | None = None) -> str:
    """Returns a DSN of libpq: DATABASE_DIRECT_URL, DATABASE_URL, or the database whose files are in `folder`.

    `folder` defaults to `chosen_folder()`. Raises SettingError if no database answers.
    """
    if settings.direct_url:
        return settings.direct_url
    dsn = service_dsn(folder or choose_folder())
    if dsn is None or not _answers(dsn):
        raise SettingError(NO_DATABASE)
    return dsn


def choose_folder() -> Path:
    """Returns the folder of the running service that started its database, or the default folder if no such service
    runs. PENSTOCK_ENDPOINT selects one of several services, as for the commands over the REST API. Raises SettingError
    if PENSTOCK_ENDPOINT selects none of them.
    """
    wanted = os.environ.get("PENSTOCK_ENDPOINT", "").rstrip("/")
    running = [service for service in running_services() if service.folder]
    found = [service for service in running if service.address == wanted] or running
    folders = sorted({service.folder for service in found if service.folder})
    if len(folders) > 1:
        addresses = ", ".join(service.address for service in found)
        raise SettingError(
            f"several services run: {addresses}; choose one with PENSTOCK_ENDPOINT, or its database with DATABASE_URL"
        )
    return folders[0] if folders else default_state_directory()


def display_database(dsn: str) -> str:
    """Shows the address of the database without a password. Raises LocalError if the address is invalid."""
    return without_password(dsn)


def _answers(dsn: str) -> bool:
    try:
        psycopg.connect(dsn, connect_timeout=CONNECT_SECONDS).close()
    except psycopg.OperationalError:
        return False
    return True
