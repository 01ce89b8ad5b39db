"""Checks whether Penstock can work on a server, which must be new enough and accept writes."""

from __future__ import annotations

from typing import Final

import psycopg

from penstock.postgres.statement import Row

OLDEST_MAJOR: Final = 15
READ_ONLY: Final = "current_setting('transaction_read_only') = 'on'"
"""True on a standby, and if the database, the role or the server is set to read-only."""


def find_version_problem(server_version: int) -> str:
    """Returns the problem of a version in libpq's form, 140012 for 14.12, or "" if it is new enough."""
    if server_version >= OLDEST_MAJOR * 10_000:
        return ""
    return (
        f"the server is PostgreSQL {format_version(server_version)}; Penstock needs {OLDEST_MAJOR} or newer"
    )


def format_version(server_version: int) -> str:
    """Formats 160004 as 16.4. Versions before PostgreSQL 10 have three numbers; the text shows two of them."""
    return f"{server_version // 10_000}.{server_version % 10_000}"


def find_server_problem(connection: psycopg.Connection[Row]) -> str:
    """Returns why Penstock cannot work on this server, or "" if it can. Raises psycopg's errors."""
    if problem := find_version_problem(connection.info.server_version):
        return problem
    row = connection.execute(f"select pg_is_in_recovery(), {READ_ONLY}".encode()).fetchone()
    assert row is not None  # noqa: S101 - a query without a table has one row
    is_standby, is_read_only = row
    if is_standby:
        return "the server is a standby, which cannot be written to; give the address of the primary"
    if is_read_only:
        return (
            "the database is read-only: default_transaction_read_only is on for the server, the database or the role; "
            "turn it off, or give an address that can be written to"
        )
    return ""
