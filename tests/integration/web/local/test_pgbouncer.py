"""Our own PgBouncer: found or unpacked, in transaction mode, replaced when left over."""

from __future__ import annotations

import concurrent.futures
import os
import signal
from contextlib import nullcontext
from pathlib import Path

import psycopg
import pytest

from penstock_web.local import debian
from penstock_web.local.pgbouncer import running_pgbouncer
from penstock_web.local.postgres import running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import LocalError, SystemAccount
from tests.support.database import Database, memory_directory


def test_connections_are_shared_between_transactions(database: Database) -> None:
    """40 clients that all stay connected are served by at most 20 server connections (default_pool_size)."""
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
    """After `kill -9` of the service its pooler still runs; the next start ends it and starts its own.

    Also in a folder whose name has characters that its configuration has to quote.
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
    """The number in it may by now be another process: here it is this test's own."""
    previous = signal.getsignal(signal.SIGTERM)
    with (
        ephemeral_state(memory_directory()) as state,
        running_postgres(state, SystemAccount.choose()) as server,
    ):
        home = server.account.make_private_folder(state / "pgbouncer")
        server.account.write(home / "pid", str(os.getpid()))
        with running_pgbouncer(state, server) as pooler:
            psycopg.connect(pooler.dsn(), prepare_threshold=None).close()
    assert signal.getsignal(signal.SIGTERM) == previous


def test_without_debians_tools_the_reason_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LocalError, match="pgbouncer is not installed, and this is no Debian"):
        debian.unpack_package("pgbouncer", tmp_path / "pgbouncer")
