"""Migrates a database for an operator. Reports one line for each step, or one line with the reason for a failure.

`penstock migrate` and the function in infra/migrate share this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from penstock.settings import Settings

from .iam_token import TokenError
from .migrations import Applied, MigrationError, migrate


class InvalidAddressError(MigrationError):
    """The address is not valid. The text does not repeat the address, because it contains a password."""


class UnreachableError(MigrationError):
    """No server responds. The text comes from libpq, and names host, port, user and database."""


class MissingRightsError(MigrationError):
    """The role does not have a permission. The text is PostgreSQL's error and a remedy."""


def migrate_or_explain(
    dsn: str, role: str | None = None, directory: Path | None = None, service: Settings | None = None
) -> Applied:
    """Migrates the database with `migrate`.

    Raises MigrationError for expected failures, and SettingError for invalid settings.
    """
    try:
        conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # psycopg's error text would repeat the address with its password.
        raise InvalidAddressError(
            "DATABASE_URL is not the address of a PostgreSQL database. "
            "An example is postgresql://user:password@host:5432/name"
        ) from None
    try:
        return migrate(dsn, directory, role, service)
    except psycopg.errors.InsufficientPrivilege as error:
        raise MissingRightsError(
            f"the role of DATABASE_URL cannot migrate: {_join_lines(error)}; let it own the database, "
            "or have its owner run `penstock migrate`"
        ) from error
    except (psycopg.OperationalError, TokenError) as error:
        raise UnreachableError(f"no connection to the database: {_join_lines(error)}") from error
    except psycopg.Error as error:
        raise MigrationError(f"the database cannot be migrated: {_join_lines(error)}") from error


def describe_applied(applied: Applied) -> Iterator[str]:
    """Yields a line for each change, and the commands that an administrator has to run."""
    for name in applied.migrations:
        yield f"applied {name}"
    if applied.grants:
        yield "functions unchanged, grants applied"
    else:
        yield "functions and grants " + ("applied" if applied.functions else "unchanged")
    if applied.role_settings:
        yield f"the migrating role now has other values in this database of: {', '.join(applied.role_settings)}"
    if applied.missing_roles:
        yield "applications cannot have separate roles yet: have an administrator run this, then migrate again"
        yield from (f"    {command};" for command in applied.missing_roles)


def _join_lines(error: Exception) -> str:
    return " ".join(str(error).split())
