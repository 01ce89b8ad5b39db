"""Checks whether Penstock can use a server, and whether two addresses lead to one database. The server must be recent
enough, and must accept writes."""

from __future__ import annotations

import secrets
from typing import Final

import psycopg

from .psycopg_connection import connect
from .statement import Row

OLDEST_MAJOR: Final = 15
READ_ONLY: Final = "current_setting('transaction_read_only') = 'on'"
"""The query returns true on a standby, and if the database, the role or the server is read-only."""

DIVIDED: Final = "DATABASE_URL and DATABASE_DIRECT_URL lead to different databases"
# The lock ends with the transaction, because a pooler can give the next statement to another session.
HOLD_LOCK: Final = "select pg_advisory_xact_lock($1::bigint)"
HOLD_LOCK_OF_SESSION: Final = "select pg_advisory_lock($1::bigint)"
SEE_LOCK: Final = """
select pg_is_in_recovery() or exists (
    select from pg_catalog.pg_locks l
    where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
        and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
        and l.classid::bigint << 32 | l.objid::bigint = $1::bigint)"""
"""Returns whether a session of this database has locked the key. Each database has separate keys of advisory locks.

For a standby the query returns true. A standby accepts no messages, so messages cannot be divided between two
databases, and later calls detect that a standby accepts no writes.
"""
IN_RECOVERY: Final = "select pg_is_in_recovery()"


def choose_key() -> int:
    """Returns a random key of an advisory lock. No other program uses the key."""
    return secrets.randbits(62)


def lead_to_one_database(one: psycopg.Connection[Row], other: psycopg.Connection[Row]) -> bool:
    """Returns whether the other connection sees a lock of the first connection, or either connection leads to a
    standby.

    Raises psycopg's errors.
    """
    key = choose_key()
    with one.transaction():
        psycopg.RawCursor(one).execute(HOLD_LOCK, [key])
        if psycopg.RawCursor(other).execute(SEE_LOCK, [key]).fetchone() == (True,):
            return True
    return one.execute(IN_RECOVERY).fetchone() == (True,)


def find_division(connection: psycopg.Connection[Row], url: str, direct_url: str) -> str:
    """Returns the reason why the service must not start if the addresses lead to different databases, and otherwise "".

    `connection` leads to `url`. The service can start if an address does not respond, because it checks every new
    connection. Raises psycopg's errors of `connection`.
    """
    if direct_url == url:
        return ""
    try:
        direct = connect(direct_url)
    except psycopg.OperationalError:
        return ""
    with direct:
        is_one = lead_to_one_database(direct, connection)
    return "" if is_one else f"{DIVIDED}: messages would be divided among them; correct one of the addresses"


def find_version_problem(server_version: int) -> str:
    """Returns the problem of a version in libpq's format (140012 for 14.12), or "" for a supported version."""
    if server_version >= OLDEST_MAJOR * 10_000:
        return ""
    return f"the server is PostgreSQL {format_version(server_version)}; Penstock needs {OLDEST_MAJOR} or newer"


def format_version(server_version: int) -> str:
    """Formats 160004 as 16.4. Versions before PostgreSQL 10 have three numbers, but the text shows only two."""
    return f"{server_version // 10_000}.{server_version % 10_000}"


def find_server_problem(connection: psycopg.Connection[Row]) -> str:
    """Returns why Penstock cannot use this server, or "" if it can. Raises psycopg's errors."""
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
