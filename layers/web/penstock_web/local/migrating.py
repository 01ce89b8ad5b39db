"""Prepares a database that the user provides: runs migrations, and looks what its sessions lack.

Errors become one line of explanation.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from penstock_web.system_account import LocalError

if TYPE_CHECKING:
    import psycopg

    from penstock.postgres.migrations import Applied
    from penstock.settings import Settings


def migrate_or_explain(dsn: str, role: str | None) -> Applied:
    """Bring the database up to date and write a warning, if any, to stderr.

    Raises LocalError for errors that the owner of the database can correct.
    """
    from penstock.postgres import migrating  # noqa: PLC0415 - not for `penstock --help`
    from penstock.postgres.migrations import MigrationError  # noqa: PLC0415

    try:
        applied = migrating.migrate_or_explain(dsn, role)
    except migrating.MissingRightsError as error:
        raise LocalError(f"{error} and start with --no-migrate") from error
    except MigrationError as error:
        raise LocalError(str(error)) from error
    if applied.warning:
        sys.stderr.write(f"penstock: warning: {applied.warning}\n")
    return applied


def warn_of_missing_settings(settings: Settings) -> None:
    """Write what is wrong with sessions of DATABASE_URL to stderr. Raises LocalError without a connection."""
    import psycopg  # noqa: PLC0415

    from penstock.postgres.psycopg_connection import connect  # noqa: PLC0415

    without_password(settings.database_url)
    try:
        with connect(settings.database_url, settings.call_seconds) as connection:
            warnings = connection.session.warnings
    except psycopg.Error as error:
        raise LocalError(f"no connection to the database: {_one_line(error)}") from error
    for warning in warnings:
        sys.stderr.write(f"penstock: warning: {warning}\n")


def without_password(dsn: str) -> str:
    """The address in libpq's form without its passwords, for display. Raises LocalError when it is invalid."""
    import psycopg  # noqa: PLC0415
    from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: PLC0415

    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # The text of psycopg's error would repeat the address with its password.
        raise LocalError(
            "DATABASE_URL is not the address of a PostgreSQL; postgresql://user:password@host:5432/name is one"
        ) from None
    return make_conninfo(
        **{name: str(value) for name, value in parts.items() if name not in {"password", "sslpassword"}}
    )


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
