"""Checks PgBouncer's pool mode and pool sizes.

PgBouncer does not show the mode to clients. The check therefore tests whether two clients share a server
connection. Only PgBouncer's console shows the sizes, and only to the roles in `stats_users`.
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
    "end forgotten transactions, which `pg_stat_activity` shows as `idle in transaction`; otherwise raise "
    "`default_pool_size` in pgbouncer.ini (or `max_client_conn`, if the error names it)"
)
_SERVER_FAILURES: Final = ("server login has been failing", "server login failed", "cannot connect to server")


def check_connection(examined: Examination) -> Iterator[Finding]:
    """Checks that DATABASE_URL leads to a usable server, if DATABASE_URL differs from DATABASE_DIRECT_URL."""
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
            f"PgBouncer at {place} (DATABASE_URL) {problem}. PostgreSQL (DATABASE_DIRECT_URL) responds: {cause}",
            "the service answers requests that need PgBouncer with 503; requests on open direct connections can "
            "succeed",
            remedy,
            page=page,
        )


def judge_failure(error: Exception, *, accepts: bool) -> tuple[str, str, str]:
    """Explains a failed login to the pooler. Returns the problem, the remedy, and the page if it differs from the
    check's page.

    `accepts` is true if the pooler accepts connections.
    """
    if not accepts:
        return (
            "does not respond",
            "start PgBouncer, or unset DATABASE_DIRECT_URL and set DATABASE_URL to the address of PostgreSQL",
            "",
        )
    if is_shortage(error) or isinstance(error, CallOverdue):
        return "runs, but all of its connections are busy", _REMEDY_OF_FULL_POOL, _PAGE_OF_FULL_POOL
    if any(text in str(error) for text in _SERVER_FAILURES):
        return (
            "runs, but cannot log in to PostgreSQL",
            "correct the database's line in PgBouncer's configuration, or the password; see PgBouncer's log",
            "",
        )
    return (
        "runs, but refuses the login",
        name_refused_variable(error).strip(" ()")
        or "correct DATABASE_URL, or the line of the database and `auth_file` in PgBouncer's configuration",
        "",
    )


def _accepts_connections(hosts: str, ports: str) -> bool:
    """Returns whether at least one of the hosts accepts a connection. `hosts` and `ports` are lists with commas, as in
    a libpq address.
    """
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
    if not examined.connect_directly().session.is_direct:
        yield Finding(
            SUBJECT,
            "DATABASE_DIRECT_URL (or DATABASE_URL, if it is not set) leads to a pooler",
            "LISTEN, migrations and pipelined calls need a session without a pooler; long polls respond up to a "
            "second late",
            "set DATABASE_DIRECT_URL to the address of PostgreSQL itself",
        )
    if not examined.pooled_address:
        return
    pooled = examined.connect_pooled()
    if not lead_to_one_database(examined.connect_directly(), pooled):
        yield Finding(
            SUBJECT,
            f"{DIVIDED}: {_name_database(examined.pooled_address)} and {_name_database(examined.address)}",
            "the service would divide messages between the databases, and therefore does not start; a running service "
            "answers 503",
            "export DATABASE_URL and DATABASE_DIRECT_URL for the same database; after a restore, both for the restored "
            "one, as the service has them; or correct the line of the database in PgBouncer's configuration",
        )
    if pooled.session.is_direct:
        return
    yield from _check_mode(examined, pooled)
    yield from _check_sizes(examined)


def _name_database(address: str) -> str:
    """Names a database without the password: its name, and the hosts and ports of the address."""
    parts = conninfo_to_dict(address)
    hosts, ports = (str(parts.get(key) or "") for key in ("host", "port"))
    name = str(parts.get("dbname") or parts.get("user") or "")
    return f"`{name}` at {hosts or parts.get('hostaddr') or 'the local socket'}:{ports or 5432}"


def _check_mode(examined: Examination, pooled: LimitedConnection) -> Iterator[Finding]:
    try:
        with pooled.transaction():
            pooled.execute("select 1")
    except psycopg.errors.Error as error:
        yield Finding(
            SUBJECT,
            f"a transaction fails: {' '.join(str(error).split())}",
            "with pool_mode=statement, transactions with several statements fail",
            "set `pool_mode = transaction` in pgbouncer.ini, then run `reload` on PgBouncer's console",
        )
        return
    with connect(examined.pooled_address, CALL_SECONDS) as other:
        if not _share_a_connection(pooled, other):
            yield Finding(
                SUBJECT,
                "the pooler gives each client a separate server connection, as with pool_mode=session",
                "each process and each function then uses several connections of PostgreSQL, even while idle",
                "set `pool_mode = transaction` in pgbouncer.ini, then run `reload` on PgBouncer's console",
            )
        elif not _keeps_statements_apart(pooled, other):
            yield Finding(
                SUBJECT,
                "the pooler confuses the prepared statements of different clients (PgBouncer before 1.21, or "
                "max_prepared_statements = 0)",
                "this does not affect Penstock; applications whose driver prepares statements (psycopg, JDBC, "
                "asyncpg) fail",
                "set `max_prepared_statements = 200` with PgBouncer 1.21 or newer, or turn prepared statements off in "
                "the "
                "driver: prepare_threshold=None for psycopg, prepareThreshold=0 for JDBC",
                is_advice=True,
            )


def _share_a_connection(one: LimitedConnection, other: LimitedConnection) -> bool:
    """Returns whether two idle clients share server connections. Tries a few times."""
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
    """Reads the sizes from PgBouncer's console, and yields a finding if the pool is too large. Skips the check if the
    console refuses the role. If DATABASE_URL does not contain a role, connects as this program's user.
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
        yield from judge_pool(sizes[0], compute_available_connections(examined.connect_directly()))


def compute_available_connections(connection: LimitedConnection) -> int:
    """Returns the number of sessions that roles without special rights can open. Raises psycopg's errors."""
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
        f"the pool can use {pool} connections, and PostgreSQL has {available} connections for all users",
        "a service process also needs up to five direct connections, and answers 503 without a connection",
        "reduce default_pool_size in pgbouncer.ini, or run `alter system set max_connections = …` and restart "
        "PostgreSQL",
    )
