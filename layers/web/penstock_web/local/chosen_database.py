"""Chooses a command's database: the configured database, or the local service's database."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg

from penstock.settings import SettingError, Settings

from .announced import list_running_services
from .migrating import without_password
from .postgres import service_dsn
from .state import default_state_directory

CONNECT_SECONDS = 5
NO_DATABASE = (
    "no database: set DATABASE_URL to the address that `penstock up` prints, even with --ephemeral, or start a "
    "service on this machine with `penstock up`"
)


def choose_database(settings: Settings, folder: Path | None = None) -> str:
    """Returns a database's address: DATABASE_DIRECT_URL, DATABASE_URL, or the address of the database in `folder`.
    `folder` defaults to `choose_folder()`. Raises SettingError if no database is running.
    """
    if settings.direct_url:
        return settings.direct_url
    dsn = service_dsn(folder or choose_folder())
    if dsn is None or not _responds(dsn):
        raise SettingError(NO_DATABASE)
    return dsn


def choose_folder() -> Path:
    """Returns the database folder of the running service, or the default folder if no service runs.
    PENSTOCK_ENDPOINT selects one of several services. Raises SettingError if several services run and PENSTOCK_ENDPOINT
    does not select one.
    """
    wanted = os.environ.get("PENSTOCK_ENDPOINT", "").rstrip("/")
    running = [service for service in list_running_services() if service.folder]
    found = [service for service in running if service.address == wanted] or running
    folders = sorted({service.folder for service in found if service.folder})
    if len(folders) > 1:
        addresses = ", ".join(service.address for service in found)
        raise SettingError(
            f"several services run: {addresses}. Set PENSTOCK_ENDPOINT to one of these addresses, or set DATABASE_URL"
        )
    return folders[0] if folders else default_state_directory()


def display_database(dsn: str) -> str:
    """Returns the database's address without a password. Raises LocalError for an invalid address."""
    return without_password(dsn)


def _responds(dsn: str) -> bool:
    try:
        psycopg.connect(dsn, connect_timeout=CONNECT_SECONDS).close()
    except psycopg.OperationalError:
        return False
    return True
