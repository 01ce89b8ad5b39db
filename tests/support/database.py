"""Creates the tests' databases: one PostgreSQL server for each test process, and a new database for each test."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, LiteralString, cast

import psycopg
import pytest
from psycopg import sql

from penstock.postgres.migrations import migrate
from penstock_web.local.binaries import Source, find_binaries
from penstock_web.local.pgbouncer import PgBouncer, running_pgbouncer
from penstock_web.local.postgres import ROLE, Postgres, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from penstock_web.local_error import LocalError

TEMPLATE = "penstock_template"

# A test's data need not survive a power failure. All other settings are the same as in `penstock up`.
_TEST_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "max_prepared_transactions": "10",
}


@dataclass(frozen=True)
class Database:
    name: str
    dsn: str  # superuser
    api_dsn: str  # a direct address with the service's role
    pooled_dsn: str  # the service's role, through PgBouncer: requires prepare_threshold=None


def end_sessions(administrator: psycopg.Connection[Any], database: str | None = None) -> int:
    """Terminates the sessions of all other clients of a database. The default is the connection's database.

    Returns the number of terminated sessions, after they have ended. Background processes such as autovacuum continue.
    """
    ended = [
        pid
        for (pid, _) in administrator.execute(
            "select pid, pg_terminate_backend(pid, 60000) from pg_stat_activity where pid <> pg_backend_pid()"
            " and backend_type = 'client backend' and datname = coalesce(%s, current_database())",
            (database,),
        ).fetchall()
    ]
    administrator.execute(
        "select pg_stat_clear_snapshot()"
    )  # Without the call, a transaction would read the same snapshot of sessions again.
    left = administrator.execute("select pid from pg_stat_activity where pid = any (%s)", (ended,)).fetchall()
    assert not left
    return len(ended)


# The tables that have rows in a new database.
_FILLED = ["migration", "new_queue_default"]


def delete_rows(administrator: psycopg.Connection[Any]) -> None:
    """Removes all rows that the template does not contain, and ends the sessions of other clients. This takes a third
    of the time of a new database.

    Rows in the tables of _FILLED, and everything except rows, stay as the tests left them.
    """
    end_sessions(administrator)
    (tables,) = administrator.execute(
        "select string_agg(c.oid::regclass::text, ', ') from pg_class c"
        " where c.relnamespace = 'queue'::regnamespace and c.relkind = 'r' and c.relname <> all (%s)"
        " and pg_relation_size(c.oid) > 0",
        (_FILLED,),
    ).fetchall()[0]
    if tables:
        administrator.execute(f"truncate {tables} restart identity cascade".encode())


@dataclass
class TestServer:
    __test__ = False

    server: Postgres
    pooler: PgBouncer
    administration: psycopg.Connection[Any]
    _numbers: count[int] = field(default_factory=count)

    @contextmanager
    def database(self, template: str = TEMPLATE) -> Iterator[Database]:
        """Yields a copy of `template`, and drops the copy at the end, even if clients are still connected."""
        name = f"test_{next(self._numbers)}"
        # The default strategy, which copies through the WAL, takes eight times as long on PostgreSQL 15 and 18.
        create = f"create database {name} template {template} strategy file_copy owner {ROLE}"
        self.administration.execute(create.encode())
        try:
            yield Database(name, self.server.superuser_dsn(name), self.server.service_dsn(name), self.pooler.dsn(name))
        finally:
            self.administration.execute(f"drop database {name} with (force)".encode())


def memory_directory() -> Path | None:
    """Returns a folder in memory if at least 2 GiB are free there. Copying the template takes 26 ms in memory, and 43
    to 73 ms on a disk.
    """
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > 2**31 else None


def _shorten_copies(dsn: str) -> None:
    """Removes from the template what no test needs and each copy would contain: the empty parts of the catalogues, and
    the 2,000 rows of pg_shdepend that record the owners of objects. Only DROP ROLE and DROP OWNED read these rows.

    The last connection writes pg_internal.init. Otherwise the first connection to each copy would write the file.
    """
    with psycopg.connect(dsn, autocommit=True) as connection:
        catalogues = connection.execute(
            "select string_agg(oid::regclass::text, ', ') from pg_class"
            " where relnamespace = 'pg_catalog'::regnamespace and relkind = 'r' and not relisshared"
        ).fetchone()
        assert catalogues
        connection.execute(f"vacuum full {catalogues[0]}".encode())
        connection.execute(
            "delete from pg_shdepend where dbid = (select oid from pg_database where datname = current_database())"
        )
    psycopg.connect(dsn).close()


@contextmanager
def running_test_server() -> Iterator[TestServer]:
    """Starts both servers and creates the template. PENSTOCK_TEST_POSTGRES selects PostgreSQL: any (default), system or
    wheel.
    """
    source = cast("Source", os.environ.get("PENSTOCK_TEST_POSTGRES", "any"))
    with ExitStack() as stack:
        state = stack.enter_context(ephemeral_state(memory_directory()))
        server = stack.enter_context(running_postgres(state, SystemAccount.choose(), source, _TEST_SETTINGS))
        # The timeout is a minute, because a busy machine must not fail a test.
        pooler = stack.enter_context(running_pgbouncer(state, server, "*", query_wait_seconds=60))
        connection = psycopg.connect(server.superuser_dsn(), autocommit=True)
        administration = stack.enter_context(connection)
        administration.execute(f"revoke pg_monitor from {ROLE}")  # Penstock must work without the rights of pg_monitor.
        administration.execute(f"create database {TEMPLATE} template template0 owner {ROLE}".encode())
        migrate(server.service_dsn(TEMPLATE), role=ROLE)
        _shorten_copies(server.superuser_dsn(TEMPLATE))
        yield TestServer(server, pooler, administration)


@contextmanager
def new_cluster(source: Source, **settings: str) -> Iterator[Postgres]:
    """Yields a cluster without Penstock's databases. If PostgreSQL is missing, the test fails in CI and is skipped
    elsewhere.
    """
    try:
        find_binaries(source)
    except LocalError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    with (
        ephemeral_state(memory_directory()) as state,
        running_postgres(state, SystemAccount.choose(), source, {"fsync": "off", **settings}) as server,
    ):
        yield server


@contextlib.contextmanager
def block_queues(database: Database, table: LiteralString = "queues") -> Iterator[None]:
    with psycopg.connect(database.dsn) as connection:
        connection.execute(sql.SQL("lock table {} in access exclusive mode").format(sql.Identifier("queue", table)))
        yield


def set_read_only(connection: psycopg.Connection[tuple[object, ...]], name: str, value: str) -> None:
    """Changes the setting for new sessions, and terminates the current sessions."""
    connection.execute(f"alter database {name} set default_transaction_read_only = {value}".encode())
    end_sessions(connection)
