"""Checks PgBouncer's mode and sizes.

PgBouncer does not show clients the mode. The check tests whether two clients share a server connection. Only
PgBouncer's console shows the sizes, and only to `stats_users`.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import psycopg
from psycopg import generators
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import ExecStatus

from penstock.postgres.call_deadline import CallOverdue
from penstock.postgres.network import CONNECT_SECONDS
from penstock.postgres.psycopg_connection import LimitedConnection, connect
from penstock.postgres.server_check import DIVIDED, lead_to_one_database
from penstock_web.database.outage import is_shortage
from penstock_web.local.migrating import name_refused_variable

from .database import find_wrong_server
from .examination import CALL_SECONDS, Examination, Finding

SUBJECT = "pooler"
_ATTEMPTS: Final = 20


CONNECTION: Final = "DATABASE_URL"
_PAGE_OF_FULL_POOL: Final = "/docs/operate/unavailable/#all-connections-are-busy"
_REMEDY_OF_FULL_POOL: Final = (
    "end transactions that applications forgot: `pg_stat_activity` shows them as `idle in transaction`; without any, "
    "raise `default_pool_size` (or `max_client_conn`, if the error names it) in pgbouncer.ini"
)
_SERVER_FAILURES: Final = ("server login has been failing", "server login failed", "cannot connect to server")


def check_connection(examined: Examination) -> Iterator[Finding]:
    """Checks that DATABASE_URL leads to a usable server if DATABASE_DIRECT_URL differs and answers."""
    if not examined.pooled_address:
        return
    try:
        yield from find_wrong_server(examined.connect_pooled(), CONNECTION)
    except psycopg.Error as error:
        examined.pooler_answers = False
        parts = conninfo_to_dict(examined.pooled_address)
        place = f"{parts.get('host') or 'localhost'}:{parts.get('port') or 5432}"
        accepts = _accepts_connections(str(parts.get("host") or "localhost"), str(parts.get("port") or 5432))
        problem, remedy, page = judge_failure(error, accepts=accepts)
        cause = " ".join(str(error).split())
        yield Finding(
            CONNECTION,
            f"PgBouncer at {place} (DATABASE_URL) {problem}, PostgreSQL (DATABASE_DIRECT_URL) answers: {cause}",
            "calls through PgBouncer get 503; sends, receives and deletes may continue on open direct connections",
            remedy,
            page=page,
        )


def judge_failure(error: Exception, *, accepts: bool) -> tuple[str, str, str]:
    """Returns the problem of a failed login to the pooler, the remedy, and the page if it is not the check's page.

    `accepts` says whether the pooler accepts network connections.
    """
    if not accepts:
        return (
            "does not answer",
            "start PgBouncer, or unset DATABASE_DIRECT_URL and set DATABASE_URL to the address of PostgreSQL",
            "",
        )
    if is_shortage(error) or isinstance(error, CallOverdue):
        return "runs, and all its connections are busy", _REMEDY_OF_FULL_POOL, _PAGE_OF_FULL_POOL
    if any(text in str(error) for text in _SERVER_FAILURES):
        return (
            "runs, and cannot log in to PostgreSQL",
            "correct the database's line in PgBouncer's configuration, or the password; PgBouncer's log says which",
            "",
        )
    return (
        "runs, and refuses the login",
        name_refused_variable(error).strip(" ()")
        or "correct DATABASE_URL, or the line of the database and `auth_file` in PgBouncer's configuration",
        "",
    )


def _accepts_connections(hosts: str, ports: str) -> bool:
    """Returns whether one of these hosts, separated by commas, accepts a network connection or has a socket file."""
    names, numbers = hosts.split(","), ports.split(",")
    for index, host in enumerate(names):
        port = numbers[index] if len(numbers) == len(names) else numbers[0]
        with suppress(OSError):
            if host.startswith(("/", "@")):
                with socket.socket(socket.AF_UNIX) as client:
                    client.settimeout(CONNECT_SECONDS)
                    client.connect(f"{host}/.s.PGSQL.{port}")
            else:
                socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
            return True
    return False


def check_pooler(examined: Examination) -> Iterator[Finding]:
    """Checks the pooler. Raises psycopg's errors."""
    if not examined.direct().session.is_direct:
        yield Finding(
            SUBJECT,
            "DATABASE_DIRECT_URL (or DATABASE_URL, if it is not set) leads to a pooler",
            "LISTEN, migrations and pipelined calls need a separate session: long polls answer up to a second late",
            "set DATABASE_DIRECT_URL to the address of PostgreSQL itself",
        )
    if not examined.pooled_address:
        return
    pooled = examined.connect_pooled()
    if not lead_to_one_database(examined.direct(), pooled):
        yield Finding(
            SUBJECT,
            DIVIDED,
            "the service does not start, since messages would be divided among the databases; a running service "
            "answers 503",
            "correct the line of the database in PgBouncer's configuration, or one of the two addresses",
        )
    if pooled.session.is_direct:
        return
    yield from _check_mode(examined, pooled)
    yield from _check_sizes(examined)


def _check_mode(examined: Examination, pooled: LimitedConnection) -> Iterator[Finding]:
    try:
        with pooled.transaction():
            pooled.execute("select 1")
    except psycopg.errors.Error as error:
        yield Finding(
            SUBJECT,
            f"a transaction fails: {' '.join(str(error).split())}",
            "with pool_mode=statement no transaction of several statements works",
            "`pool_mode = transaction` in pgbouncer.ini, then `reload` on its console",
        )
        return
    with connect(examined.pooled_address, CALL_SECONDS) as other:
        if not _share_a_connection(pooled, other):
            yield Finding(
                SUBJECT,
                "the pooler gives each client a separate server connection, as with pool_mode=session",
                "each process and each function then holds several connections of PostgreSQL, even while idle",
                "`pool_mode = transaction` in pgbouncer.ini, then `reload` on its console",
            )
        elif not _keeps_statements_apart(pooled, other):
            yield Finding(
                SUBJECT,
                "the pooler mixes up prepared statements of its clients (PgBouncer before 1.21, or "
                "max_prepared_statements = 0)",
                "Penstock is not affected; applications whose driver prepares statements (psycopg, JDBC, asyncpg) fail",
                "`max_prepared_statements = 200` with PgBouncer 1.21 or newer, or turn them off in the driver: "
                "prepare_threshold=None for psycopg, prepareThreshold=0 for JDBC",
                is_advice=True,
            )


def _share_a_connection(one: LimitedConnection, other: LimitedConnection) -> bool:
    """Returns whether two idle clients get the same server connection within a few attempts."""
    mine, theirs = set[int](), set[int]()
    for _ in range(_ATTEMPTS):
        for connection, seen in ((one, mine), (other, theirs)):
            row = connection.execute("select pg_backend_pid()").fetchone()
            seen.update(row or ())
        if mine & theirs or len(mine) > 1 or len(theirs) > 1:
            return True
    return False


def _keeps_statements_apart(one: LimitedConnection, other: LimitedConnection) -> bool:
    """Returns whether two clients can prepare statements with the same name. The name is random, because some poolers
    keep prepared statements for later clients.
    """
    name = f"penstock_doctor_{secrets.token_hex(8)}".encode()
    return _prepare(one, name) and _prepare(other, name) and _prepare(one, name + b"_")


def _prepare(connection: LimitedConnection, name: bytes) -> bool:
    pgconn = connection.pgconn
    pgconn.send_prepare(name, b"select 1")
    results = connection.wait(generators.execute(pgconn))
    return all(result.status == ExecStatus.COMMAND_OK for result in results)


def _check_sizes(examined: Examination) -> Iterator[Finding]:
    """Reads the sizes from the console if the console accepts the role. If DATABASE_URL does not contain a role, the
    check uses this program's user.
    """
    parameters = {**conninfo_to_dict(examined.pooled_address), "dbname": "pgbouncer"}
    name = examined.connect_pooled().info.dbname
    rows = []
    with (
        suppress(psycopg.Error),
        psycopg.connect(
            make_conninfo("", **parameters),
            autocommit=True,
            connect_timeout=3,
            client_encoding="UTF8",
            cursor_factory=psycopg.ClientCursor,
        ) as console,
    ):
        cursor = console.execute("show databases")
        columns = [column.name for column in cursor.description or ()]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    sizes = [int(row["pool_size"]) + int(row.get("reserve_pool", 0)) for row in rows if row["name"] == name]
    if sizes:
        yield from judge_pool(sizes[0], available_connections(examined.direct()))


def available_connections(connection: LimitedConnection) -> int:
    """Returns the maximum number of sessions for roles without special rights. Raises psycopg's errors."""
    row = connection.execute(
        "select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
        " - coalesce(current_setting('reserved_connections', true), '0')::int"
    ).fetchone()
    assert row is not None  # noqa: S101 - a query without a table has one row
    return int(row[0])


def judge_pool(pool: int, available: int) -> Iterator[Finding]:
    """Yields a finding if the pool leaves too few sessions for direct connections. `pool` is the pooler's number of
    connections for one role.
    """
    if pool + 5 <= available:
        return
    yield Finding(
        SUBJECT,
        f"the pool may take {pool} connections, and PostgreSQL has {available} for all users",
        "a process has up to five more direct connections; without one it answers 503",
        "a smaller default_pool_size in pgbouncer.ini, or `alter system set max_connections = …` and a restart",
    )
