"""Checks that the database responds, that its server and encoding suit Penstock, and that its clock is right."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from penstock.postgres.psycopg_connection import LimitedConnection
from penstock.postgres.server_check import find_server_problem, find_version_problem
from penstock.postgres.statements.installation import DISK_FULL

from .examination import Examination, Finding

DATABASE = "database"
DISK = "disk"
CLOCK = "clock"
MAX_SECONDS: Final = 2.0


def check_database(examined: Examination) -> Iterator[Finding]:
    """Checks the server's version, role (primary or standby) and encoding. Raises psycopg's errors if the database does
    not respond.
    """
    if examined.address_problem:
        yield Finding(DATABASE, examined.address_problem)
        return
    connection = examined.connect_directly()
    yield from find_wrong_server(connection, DATABASE)
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        yield Finding(
            DATABASE,
            f"the database's encoding is {encoding}; it must be UTF8",
            "databases with other encodings cannot store some messages",
            "run `create database NAME encoding 'UTF8' template template0`, and migrate the new database",
        )


def find_wrong_server(connection: LimitedConnection, subject: str) -> Iterator[Finding]:
    """Yields a finding if the service cannot use the connection's server. Raises psycopg's errors."""
    if not (problem := find_server_problem(connection)):
        return
    is_old = bool(find_version_problem(connection.info.server_version))
    yield Finding(
        subject,
        problem,
        "the service does not start with this server",
        "upgrade the server with `pg_upgrade`, or as its provider describes"
        if is_old
        else "correct DATABASE_URL and DATABASE_DIRECT_URL, or make this server the primary: `select pg_promote()`"
        if "standby" in problem
        else "run `alter database NAME reset default_transaction_read_only`; also reset the setting of the role and "
        "of the server",
    )


def check_disk(examined: Examination) -> Iterator[Finding]:
    """Checks that the database has space for changes. Raises psycopg's errors."""
    row = examined.connect_directly().execute("select refusal from queue.probe_write()").fetchone()
    if row is not None and row[0] == DISK_FULL:
        yield Finding(
            DISK,
            "the disk of the database is full",
            "sends fail with 503 until PostgreSQL can store new rows",
            "enlarge the disk, or free space outside PostgreSQL's data directory",
        )


def check_clock(examined: Examination) -> Iterator[Finding]:
    """Checks the database's clock. Raises psycopg's errors."""
    connection = examined.connect_directly()
    before = time.time()
    row = connection.execute("select extract(epoch from clock_timestamp())::float8").fetchone()
    after = time.time()
    assert row is not None  # noqa: S101 - a query without a table has one row
    yield from judge_clock(row[0] - (before + after) / 2, (after - before) / 2)


def judge_clock(ahead: float, uncertain: float) -> Iterator[Finding]:
    """Yields a finding for a wrong clock. `ahead` is how many seconds the database's clock is ahead of this machine's
    clock. The value can be wrong by `uncertain` seconds.
    """
    if abs(ahead) - uncertain <= MAX_SECONDS:
        return
    direction = "ahead of" if ahead > 0 else "behind"
    yield Finding(
        CLOCK,
        f"the database's clock is {abs(ahead):.1f} s {direction} this machine's clock",
        "delays, timeouts and schedules use the database's clock; signatures and log lines use this machine's clock; "
        "the service refuses signatures if the clocks differ by 15 minutes",
        "synchronise both clocks; `chronyc tracking` or `timedatectl` shows their state",
    )
