"""Tests the pooler of the container: its entry point and its scripts, on a real PgBouncer and PostgreSQL."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import psycopg
import pytest

from penstock_web.local.postgres import DATABASE, Postgres, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import SystemAccount
from tests.support.database import memory_directory
from tests.support.programs.container_pooler import ROOT, answers, running_pooler

POOLER_PASSWORD = 'a pooler\'s "own" word'


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """Yields a database after the script that the image of PostgreSQL runs."""
    with ephemeral_state(memory_directory()) as state, running_postgres(state, SystemAccount.choose()) as server:
        script = (ROOT / "infra/container/postgres/pooler.sh").read_text()
        superuser = psycopg.conninfo.conninfo_to_dict(server.superuser_dsn(DATABASE))
        address = {
            "PGHOST": str(superuser["host"]),
            "PGPORT": str(superuser["port"]),
            "PGPASSWORD": str(superuser.get("password") or ""),
            "POSTGRES_USER": str(superuser["user"]),
            "POSTGRES_DB": DATABASE,
            "POOLER_PASSWORD": POOLER_PASSWORD,
        }
        script = script.replace("/usr/local/share/penstock", str(ROOT / "infra/pgbouncer"))
        subprocess.run(["sh", "-c", script], env={**os.environ, **address}, check=True, stdout=subprocess.DEVNULL)
        yield server


def test_other_roles_are_looked_up(server: Postgres) -> None:
    """With POOLER_PASSWORD, a later role can log in only with its password."""
    with running_pooler(server, POOLER_PASSWORD=POOLER_PASSWORD) as port:
        with psycopg.connect(server.superuser_dsn(DATABASE), autocommit=True) as connection:
            connection.execute("create role shop login password 'first'")
        assert answers(port, "shop", "first")
        assert not answers(port, "shop", "second")


def test_without_the_password_only_the_service_comes_in(server: Postgres) -> None:
    """On RDS no role may read secrets."""
    with psycopg.connect(server.superuser_dsn(DATABASE), autocommit=True) as connection:
        connection.execute("create role other login password 'first'")
    with running_pooler(server) as port:
        assert not answers(port, "other", "first")
