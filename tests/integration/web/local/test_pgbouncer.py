"""Tests that Penstock finds or unpacks PgBouncer, runs it in transaction mode, and replaces a process that an earlier
start left behind.

PgBouncer authenticates the service with a user file, and other roles with auth_query.sql.

Source: PgBouncer's documentation, "auth_query". PgBouncer passes SCRAM secrets on, so these tests connect over TCP.
"""

import concurrent.futures
import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from penstock_web.local import debian
from penstock_web.local.pgbouncer import PgBouncer, install_lookup, running_pgbouncer
from penstock_web.local.postgres import DATABASE, Postgres, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from penstock_web.local_error import LocalError
from tests.support.database import Database, memory_directory


def test_connections_are_shared_between_transactions(database: Database) -> None:
    """At most 20 server connections (default_pool_size) serve 40 clients that stay connected."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        clients = list(pool.map(lambda _: _client(database.pooled_dsn), range(40)))
        rows = list(pool.map(lambda client: client.execute("select pg_backend_pid()").fetchone(), clients))
    backends = {row[0] for row in rows if row}
    for client in clients:
        client.close()
    assert 1 <= len(backends) <= 20


def _client(dsn: str) -> psycopg.Connection[tuple[int]]:
    return psycopg.connect(dsn, autocommit=True, prepare_threshold=None)


def test_a_wrong_password_is_refused(database: Database) -> None:
    user, rest = database.pooled_dsn.split("@")
    with pytest.raises(psycopg.OperationalError, match=r"auth|password"):
        psycopg.connect(f"{user}wrong@{rest}")


def test_a_pooler_left_behind_is_replaced() -> None:
    """The pooler still runs after `kill -9` ends the service. The next start ends the old pooler and starts a new
    pooler.

    The folder's name can contain characters that the configuration must quote.
    """
    with (
        ephemeral_state(memory_directory()) as parent,
        nullcontext(parent / "it's ours") as state,
        running_postgres(state, SystemAccount.choose()) as server,
        running_pgbouncer(state, server) as left_behind,
        running_pgbouncer(state, server) as another,
    ):
        psycopg.connect(another.dsn(), prepare_threshold=None).close()
        with pytest.raises(psycopg.OperationalError, match="refused"):
            psycopg.connect(left_behind.dsn(), prepare_threshold=None)


def test_a_stale_pid_file_kills_nobody() -> None:
    """Another process can have the pid in the file by now. In this test, the file contains the pid of the test."""
    previous = signal.getsignal(signal.SIGTERM)
    with ephemeral_state(memory_directory()) as state, running_postgres(state, SystemAccount.choose()) as server:
        home = server.account.create_private_folder(state / "pgbouncer")
        server.account.write(home / "pid", str(os.getpid()))
        with running_pgbouncer(state, server) as pooler:
            psycopg.connect(pooler.dsn(), prepare_threshold=None).close()
    assert signal.getsignal(signal.SIGTERM) == previous


def test_without_debians_tools_the_reason_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LocalError, match="pgbouncer is not installed, and Penstock can download"):
        debian.unpack_package("pgbouncer", tmp_path / "pgbouncer")


def test_a_download_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first `penstock up` downloads PgBouncer, which takes seconds. The test replaces Debian's tools."""
    for name in ("apt-get", "dpkg-deb", "dpkg-query"):
        (tmp_path / name).write_text("#!/bin/sh\necho no network >&2; exit 1")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    target = tmp_path / "pgbouncer"
    with pytest.raises(LocalError, match="no network"):
        debian.unpack_package("pgbouncer", target)
    assert capsys.readouterr().err == f"penstock: downloading the package pgbouncer into {target}, once\n"


@dataclass(frozen=True)
class Pooled:
    """Runs a server and a pooler that connects to the server over TCP with passwords, as if they were on two
    machines."""

    server: Postgres
    pooler: PgBouncer

    def administer(self, *statements: LiteralString) -> None:
        with psycopg.connect(self.server.superuser_dsn(DATABASE), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def user(self, role: str, password: str, port: int | None = None) -> str:
        """Logs in through the pooler and returns the session's user. Raises psycopg.OperationalError."""
        address = f"postgresql://{role}:{password}@127.0.0.1:{port or self.pooler.port}/{DATABASE}"
        with psycopg.connect(address, autocommit=True, prepare_threshold=None) as connection:
            row = connection.execute("select current_user").fetchone()
        assert row is not None
        return str(row[0])


@pytest.fixture(scope="module")
def pooled() -> Iterator[Pooled]:
    with ephemeral_state(memory_directory()) as state, running_postgres(state, SystemAccount.choose()) as server:
        install_lookup(server, DATABASE)
        elsewhere = replace(server, socket_directory=Path("127.0.0.1"))
        with running_pgbouncer(state, elsewhere, "*") as pooler:
            yield Pooled(server, pooler)


def test_the_service_comes_in(pooled: Pooled) -> None:
    assert pooled.user("penstock", pooled.pooler.password) == "penstock"


def test_a_new_role_and_a_new_password_hold_at_once(pooled: Pooled) -> None:
    with pytest.raises(psycopg.OperationalError, match=r"auth|password|no such user"):
        pooled.user("shop", "first")
    pooled.administer("create role shop login password 'first'")
    assert pooled.user("shop", "first") == "shop"
    pooled.administer("alter role shop password 'second'")
    assert pooled.user("shop", "second") == "shop"
    with pytest.raises(psycopg.OperationalError, match=r"auth|password"):
        pooled.user("shop", "first")


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        ("unknown", "select 1"),
        ("nologin", "create role nologin nologin password 'known'"),
        ("super", "create role super login superuser password 'known'"),
        ("replica", "create role replica login replication password 'known'"),
        ("bypass", "create role bypass login bypassrls password 'known'"),
        ("expired", "create role expired login password 'known' valid until '2020-01-01'"),
        ("hashed", "set password_encryption = 'md5'; create role hashed login password 'known'"),
    ],
)
def test_unknown_roles_are_refused(pooled: Pooled, role: str, statement: LiteralString) -> None:
    pooled.administer(statement)
    with pytest.raises(psycopg.OperationalError, match=r"auth|password|no such user"):
        pooled.user(role, "known")


def test_the_look_up_role_can_do_nothing_else(pooled: Pooled) -> None:
    users = (pooled.server.data.parents[1] / "pgbouncer/users.txt").read_text().replace('"', "").split()
    password = users[users.index("penstock_pooler") + 1]
    address = f"postgresql://penstock_pooler:{password}@127.0.0.1:{pooled.server.port}/{DATABASE}"
    with psycopg.connect(address, autocommit=True) as connection:
        found = connection.execute("select username from pgbouncer.get_auth('penstock')").fetchall()
        assert found == [("penstock",)]
        for statement in ("select * from pg_authid", "create table public.t (a int)", "create role x"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())


def test_only_the_pooler_may_look_up_passwords(pooled: Pooled) -> None:
    with (
        psycopg.connect(pooled.server.service_dsn(), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("select * from pgbouncer.get_auth('penstock')")
