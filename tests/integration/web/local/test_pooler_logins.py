"""Logins through PgBouncer: the service by its file, others as the database knows them (auth_query.sql).

Source: PgBouncer's documentation, "auth_query"; SCRAM secrets are passed through, so the server is asked over TCP here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from penstock_web.local.pgbouncer import PgBouncer, install_lookup, running_pgbouncer
from penstock_web.local.postgres import DATABASE, Postgres, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import SystemAccount
from tests.support.database import memory_directory


@dataclass(frozen=True)
class Pooled:
    """A server and its pooler, which reaches it as one on another machine: with passwords."""

    server: Postgres
    pooler: PgBouncer

    def administer(self, *statements: LiteralString) -> None:
        with psycopg.connect(self.server.superuser_dsn(DATABASE), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def user(self, role: str, password: str, port: int | None = None) -> str:
        """The user of a session after the login through the pooler. Raises psycopg.OperationalError."""
        address = f"postgresql://{role}:{password}@127.0.0.1:{port or self.pooler.port}/{DATABASE}"
        with psycopg.connect(address, autocommit=True, prepare_threshold=None) as connection:
            row = connection.execute("select current_user").fetchone()
        assert row is not None
        return str(row[0])


@pytest.fixture(scope="module")
def pooled() -> Iterator[Pooled]:
    with (
        ephemeral_state(memory_directory()) as state,
        running_postgres(state, SystemAccount.choose()) as server,
    ):
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
def test_others_are_refused(pooled: Pooled, role: str, statement: LiteralString) -> None:
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


def test_nobody_else_may_look_up(pooled: Pooled) -> None:
    with (
        psycopg.connect(pooled.server.service_dsn(), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("select * from pgbouncer.get_auth('penstock')")
