"""Prepares a database that the user provides: runs migrations, and checks the settings of sessions. Each error becomes
one line of explanation.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from penstock.settings import ADDRESSES
from penstock_web.local_error import LocalError

from .terminal_text import make_printable

if TYPE_CHECKING:
    import psycopg

    from penstock.postgres.migrations import Applied
    from penstock.settings import Settings


def migrate_or_explain(dsn: str, role: str | None) -> Applied:
    """Brings the database up to date and writes a warning, if there is one, to stderr.

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
        warn(applied.warning)
    return applied


def warn_of_missing_roles(applied: Applied) -> None:
    """Writes a line to stderr if the migrating role could not create the roles that applications need."""
    if applied.missing_roles:
        warn(
            "applications cannot have separate roles yet, because the role of DATABASE_URL may not create roles: "
            f"an administrator runs `{'; '.join(applied.missing_roles)};`, then the owner `penstock migrate`"
        )


def look_at_database(settings: Settings, *, is_own: bool) -> str:
    """Returns the server's version. Writes problems of sessions of DATABASE_URL to stderr, unless the database
    `is_own`.

    Raises LocalError if there is no connection, if the service cannot work on the server, or if the addresses lead to
    different databases.
    """
    import psycopg  # noqa: PLC0415

    from penstock.postgres.psycopg_connection import connect  # noqa: PLC0415
    from penstock.postgres.server_check import (  # noqa: PLC0415
        find_division,
        find_server_problem,
        format_version,
    )

    try:
        with connect(settings.database_url, settings.call_seconds) as connection:
            problem = find_server_problem(connection)
            problem = problem or find_division(connection, settings.database_url, settings.direct_url)
            warnings = connection.session.warnings
            version = format_version(connection.info.server_version)
    except psycopg.Error as error:
        raise LocalError(f"no connection to the database: {_one_line(error)}") from error
    if problem:
        raise LocalError(problem)
    for warning in () if is_own else warnings:
        warn(warning)
    return version


def check_addresses(settings: Settings) -> None:
    """Raises LocalError for an invalid address of a database. The text names the setting."""
    for name in ADDRESSES:
        if address := getattr(settings, name.lower()):
            without_password(address, name)


def say(text: str) -> None:
    """Writes a step of the start to stderr."""
    sys.stderr.write(f"penstock: {make_printable(text)}\n")
    sys.stderr.flush()


def warn(text: str) -> None:
    """Writes a warning of the start to stderr."""
    sys.stderr.write(f"penstock: warning: {make_printable(text)}\n")


def is_same_database(one: str, other: str) -> bool:
    """Returns whether two addresses have the same hosts, ports and database. Raises LocalError for an invalid
    address.
    """
    return _place_of(one) == _place_of(other)


def _place_of(dsn: str) -> tuple[str, str, str]:
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    parts = {name: str(value) for name, value in conninfo_to_dict(without_password(dsn)).items()}
    host = (parts.get("hostaddr") or parts.get("host") or "localhost").replace("localhost", "127.0.0.1")
    return host, parts.get("port", "5432"), parts.get("dbname") or parts.get("user", "")


def without_password(dsn: str, name: str = "DATABASE_URL") -> str:
    """Returns the address in libpq's form for display, without passwords. Raises LocalError if the address is
    invalid.
    """
    import psycopg  # noqa: PLC0415
    from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: PLC0415

    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # The text of psycopg's error would repeat the address with its password.
        raise LocalError(
            f"{name} is not the address of a PostgreSQL database, such as postgresql://user:password@host:5432/name"
        ) from None
    return make_conninfo(
        **{name: str(value) for name, value in parts.items() if name not in {"password", "sslpassword"}}
    )


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
