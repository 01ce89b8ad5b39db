"""`penstock doctor` and PgBouncer: its mode, its sizes, and addresses that lead to the wrong place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from penstock.settings import Settings
from penstock_web.doctor.examination import Examination
from penstock_web.doctor.finding import Finding
from penstock_web.doctor.pooler import check_pooler, judge_pool
from penstock_web.local import pgbouncer
from penstock_web.local.state import ephemeral_state
from tests.support.database import Database, TestServer, memory_directory

TEMPLATE = pgbouncer._configuration_file("pgbouncer.ini.tmpl").read_text()


@contextmanager
def pooler(
    postgres: TestServer, monkeypatch: pytest.MonkeyPatch, folder: Path, **settings: str
) -> Iterator[pgbouncer.PgBouncer]:
    """PgBouncer as ours is, but with these lines."""
    lines = [line for line in TEMPLATE.splitlines() if line.split(" ")[0] not in settings]
    template = folder / "pgbouncer.ini.tmpl"
    template.write_text(
        "\n".join([*lines, *(f"{name} = {value}" for name, value in settings.items())]) + "\n"
    )
    monkeypatch.setattr(pgbouncer, "_configuration_file", lambda _: template)
    with (
        ephemeral_state(memory_directory()) as state,
        pgbouncer.running_pgbouncer(state, postgres.server, "*") as running,
    ):
        yield running


def found(pooled: str, direct: str) -> list[Finding]:
    settings = Settings.read({"DATABASE_URL": pooled, "DATABASE_DIRECT_URL": direct})
    examination = Examination(settings, {}, direct)
    try:
        return list(check_pooler(examination))
    finally:
        examination.close()


def test_ours_is_as_it_should_be(database: Database) -> None:
    assert [f.problem for f in found(database.pooled_dsn, database.api_dsn) if not f.is_advice] == []
    assert found(database.api_dsn, database.api_dsn) == []


@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        ("session", "the pooler gives each client its own server connection"),
        ("statement", "a transaction fails: "),
    ],
)
def test_another_mode(
    mode: str,
    problem: str,
    database: Database,
    postgres: TestServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    with pooler(postgres, monkeypatch, tmp_path, pool_mode=mode) as running:
        (one,) = found(running.dsn(database.name), database.api_dsn)
    assert one.problem.startswith(problem)
    assert "`pool_mode = transaction`" in one.remedy


def test_a_pool_that_takes_every_connection(
    database: Database, postgres: TestServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its console tells the size to a role that may ask."""
    settings = {"default_pool_size": "500", "stats_users": "penstock"}
    with pooler(postgres, monkeypatch, tmp_path, **settings) as running:
        (one,) = [f for f in found(running.dsn(database.name), database.api_dsn) if not f.is_advice]
    assert one.problem.startswith("the pool may take 50")
    assert list(judge_pool(20, 97)) == []


def test_a_direct_address_that_leads_to_the_pooler(database: Database) -> None:
    (one,) = found(database.pooled_dsn, database.pooled_dsn)
    assert "leads to a pooler" in one.problem
    assert "DATABASE_DIRECT_URL" in one.remedy


def test_two_databases(database: Database) -> None:
    other = make_conninfo(database.pooled_dsn, dbname="postgres")
    problems = [f.problem for f in found(other, database.api_dsn)]
    assert "DATABASE_URL and DATABASE_DIRECT_URL lead to different databases" in problems
