"""Migrates a database that somebody provides: reasons in one line when it cannot be, and what was done in lines.

MigrationError              see `migrations`
├── InvalidAddressError     the address is none of PostgreSQL
├── UnreachableError        no connection to the database, or no token of IAM for one
└── MissingRightsError      the role lacks a right

`penstock migrate` and the function of infra/migrate share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from .iam_token import TokenError
from .migrations import Applied, MigrationError, migrate


class InvalidAddressError(MigrationError):
    """The text does not repeat the address, which has a password."""


class UnreachableError(MigrationError):
    """The text is libpq's, which names host, port, user and database."""


class MissingRightsError(MigrationError):
    """The text is PostgreSQL's, and what to do."""


def migrate_or_explain(dsn: str, role: str | None = None, directory: Path | None = None) -> Applied:
    """As `migrate`: brings the database up to date. Raises MigrationError, for foreseen reasons, and SettingError."""
    try:
        conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # The text of psycopg's error would repeat the address with its password.
        raise InvalidAddressError(
            "DATABASE_URL is not the address of a PostgreSQL; postgresql://user:password@host:5432/name is one"
        ) from None
    try:
        return migrate(dsn, directory, role)
    except psycopg.errors.InsufficientPrivilege as error:
        raise MissingRightsError(
            f"the role of DATABASE_URL cannot migrate: {_one_line(error)}; let it own the database, "
            "or have its owner run `penstock migrate`"
        ) from error
    except (psycopg.OperationalError, TokenError) as error:
        raise UnreachableError(f"no connection to the database: {_one_line(error)}") from error
    except psycopg.Error as error:
        raise MigrationError(f"the database cannot be migrated: {_one_line(error)}") from error


def describe_applied(applied: Applied) -> Iterator[str]:
    """A line for each thing that was done, and the commands that are left to somebody else."""
    for name in applied.migrations:
        yield f"applied {name}"
    if applied.grants:
        yield "functions unchanged, grants applied"
    else:
        yield "functions and grants " + ("applied" if applied.functions else "unchanged")
    if applied.missing_roles:
        yield "applications cannot have roles of their own yet: an administrator runs this, then you migrate again"
        yield from (f"    {command};" for command in applied.missing_roles)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
