"""Migrates and checks a database. Explains each error in one line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from penstock.settings import ADDRESSES
from penstock_web.local_error import LocalError

from .terminal_text import to_printable

if TYPE_CHECKING:
    import psycopg

    from penstock.postgres.migrations import Applied
    from penstock.settings import Settings


def migrate_or_explain(dsn: str, role: str | None, service: Settings | None = None) -> Applied:
    """Migrates the database and writes any warning to stderr. Raises LocalError for errors that the database's owner
    can correct. `service` contains the default attributes of queues that the SQL interface creates.
    """
    from penstock.postgres import migrating  # noqa: PLC0415 - not for `penstock --help`
    from penstock.postgres.migrations import MigrationError  # noqa: PLC0415

    try:
        applied = migrating.migrate_or_explain(dsn, role, service=service)
    except migrating.MissingRightsError as error:
        raise LocalError(f"{error} and start with --no-migrate") from error
    except MigrationError as error:
        raise LocalError(str(error)) from error
    if applied.warning:
        warn(applied.warning)
    return applied


def warn_of_missing_roles(applied: Applied) -> None:
    """Writes a warning to stderr if the migrations could not create the roles for applications."""
    if applied.missing_roles:
        warn(
            "applications cannot have separate roles yet, because the role of DATABASE_URL does not have the right to "
            "create roles. "
            f"An administrator must run `{'; '.join(applied.missing_roles)};`. The owner must then run "
            "`penstock migrate`"
        )


def look_at_database(settings: Settings, *, is_own: bool) -> str:
    """Returns the server's version. Unless `is_own` is true, warns on stderr about problems of the sessions that
    DATABASE_URL opens. Raises LocalError if the service cannot use the server, or if the addresses lead to different
    databases.
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
        raise LocalError(f"no connection to the database: {_one_line(error)}{name_refused_variable(error)}") from error
    if problem:
        raise LocalError(problem)
    for warning in () if is_own else warnings:
        warn(warning)
    return version


def check_addresses(settings: Settings) -> None:
    """Raises LocalError if a setting contains an invalid database address."""
    for name in ADDRESSES:
        if address := getattr(settings, name.lower()):
            without_password(address, name)


def say(text: str) -> None:
    """Writes a line about the progress of the start to stderr."""
    sys.stderr.write(f"penstock: {to_printable(text)}\n")
    sys.stderr.flush()


def warn(text: str) -> None:
    """Writes a warning to stderr."""
    sys.stderr.write(f"penstock: warning: {to_printable(text)}\n")


def is_same_database(one: str, other: str) -> bool:
    """Returns whether two addresses have the same host, port and database. Raises LocalError for an invalid address."""
    return _place_of(one) == _place_of(other)


def _place_of(dsn: str) -> tuple[str, str, str]:
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    parts = {name: str(value) for name, value in conninfo_to_dict(without_password(dsn)).items()}
    host = (parts.get("hostaddr") or parts.get("host") or "localhost").replace("localhost", "127.0.0.1")
    return host, parts.get("port", "5432"), parts.get("dbname") or parts.get("user", "")


def without_password(dsn: str, name: str = "DATABASE_URL") -> str:
    """Returns an address in libpq's format without passwords. Raises LocalError for an invalid address."""
    import psycopg  # noqa: PLC0415
    from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: PLC0415

    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # psycopg's error contains the address with the password.
        raise LocalError(
            f"{name} is not the address of a PostgreSQL database, such as postgresql://user:password@host:5432/name"
        ) from None
    return make_conninfo(
        **{name: str(value) for name, value in parts.items() if name not in {"password", "sslpassword"}}
    )


def name_refused_variable(error: Exception) -> str:
    """Returns advice if PgBouncer refused the variable PGOPTIONS, and "" otherwise."""
    if "unsupported startup parameter: options" not in str(error):
        return ""
    return " (PgBouncer refuses the variable PGOPTIONS and `options` of an address: unset it)"


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
