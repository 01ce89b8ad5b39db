"""Tests how `penstock doctor` examines the pooler and the two addresses of the database."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from penstock.postgres.call_deadline import CallOverdue
from penstock.settings import Settings
from penstock_web.cli import main
from penstock_web.doctor import database as doctor_database
from penstock_web.doctor.checks import examine
from penstock_web.doctor.examination import Examination, Finding
from penstock_web.doctor.pooler import check_pooler, judge_failure, judge_pool
from penstock_web.local import pgbouncer
from penstock_web.local.state import ephemeral_state
from tests.support.database import Database, TestServer, memory_directory

TEMPLATE = pgbouncer._configuration_file("pgbouncer.ini.tmpl").read_text()


@contextmanager
def pooler(
    postgres: TestServer, monkeypatch: pytest.MonkeyPatch, folder: Path, **settings: str
) -> Iterator[pgbouncer.PgBouncer]:
    """Runs PgBouncer with Penstock's configuration and the given lines."""
    lines = [line for line in TEMPLATE.splitlines() if line.split(" ")[0] not in settings]
    template = folder / "pgbouncer.ini.tmpl"
    template.write_text("\n".join([*lines, *(f"{name} = {value}" for name, value in settings.items())]) + "\n")
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


def test_the_repository_has_no_findings(database: Database) -> None:
    assert [f.problem for f in found(database.pooled_dsn, database.api_dsn) if not f.is_advice] == []
    assert found(database.api_dsn, database.api_dsn) == []


@pytest.mark.parametrize(
    ("mode", "problem"),
    [("session", "the pooler gives each client a separate server connection"), ("statement", "a transaction fails: ")],
)
def test_another_mode(
    mode: str, problem: str, database: Database, postgres: TestServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pooler(postgres, monkeypatch, tmp_path, pool_mode=mode) as running:
        (one,) = found(running.dsn(database.name), database.api_dsn)
    assert one.problem.startswith(problem)
    assert "`pool_mode = transaction`" in one.remedy


def test_a_pool_that_takes_every_connection(
    database: Database, postgres: TestServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """PgBouncer's console shows the pool size to a role with the right to read the console."""
    settings = {"default_pool_size": "500", "stats_users": "penstock"}
    with pooler(postgres, monkeypatch, tmp_path, **settings) as running:
        (one,) = [f for f in found(running.dsn(database.name), database.api_dsn) if not f.is_advice]
    assert one.problem.startswith("the pool can use 50")
    assert list(judge_pool(20, 97)) == []


def test_a_direct_address_that_leads_to_the_pooler(database: Database) -> None:
    (one,) = found(database.pooled_dsn, database.pooled_dsn)
    assert "leads to a pooler" in one.problem
    assert "DATABASE_DIRECT_URL" in one.remedy


def test_a_pooler_that_is_down_is_one_problem(
    database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """PostgreSQL responds, so the report can name a remedy."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://penstock@127.0.0.1:1/penstock")
    monkeypatch.setenv("DATABASE_DIRECT_URL", database.api_dsn)
    main(["doctor", "--json"])
    shown = json.loads(capsys.readouterr().out)
    (one,) = [each for each in shown["findings"] if "127.0.0.1:1" in json.dumps(each)]
    assert one["problem"].startswith("PgBouncer at 127.0.0.1:1 (DATABASE_URL) does not respond. PostgreSQL")
    assert one["page"] == "/docs/operate/database/"
    assert one["remedy"] == (
        "start PgBouncer, or unset DATABASE_DIRECT_URL and set DATABASE_URL to the address of PostgreSQL"
    )
    assert shown["not_checked"] == {"pooler": "the service cannot use DATABASE_URL"}


def test_a_full_pool_is_no_pooler_that_is_down(
    database: Database, postgres: TestServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Transactions use every connection of the pool, including the reserve connections. PgBouncer accepts the login."""
    settings = {"default_pool_size": "1", "reserve_pool_size": "0", "query_wait_timeout": "1"}
    with pooler(postgres, monkeypatch, tmp_path, **settings) as running:
        address = running.dsn(database.name)
        with psycopg.connect(address, prepare_threshold=None) as forgotten:
            forgotten.execute("select 1")
            outcome = examine({"DATABASE_URL": address, "DATABASE_DIRECT_URL": database.api_dsn})
    (one,) = [finding for finding in outcome.findings if finding.subject == "DATABASE_URL"]
    assert "(DATABASE_URL) runs, but all of its connections are busy. PostgreSQL" in one.problem
    assert "query_wait_timeout" in one.problem
    assert "start PgBouncer" not in one.remedy
    assert "idle in transaction" in one.remedy
    assert one.page == "/docs/operate/unavailable/#all-connections-are-busy"


@pytest.mark.parametrize(
    ("error", "accepts", "problem", "remedy"),
    [
        (psycopg.OperationalError("Connection refused"), False, "does not respond", "start PgBouncer"),
        (CallOverdue(10), False, "does not respond", "start PgBouncer"),
        (CallOverdue(10), True, "runs, but all of its connections are busy", "default_pool_size"),
        (psycopg.OperationalError("no more connections allowed (max_client_conn)"), True, "runs, but all", "max_cl"),
        (psycopg.OperationalError("server login has been failing, try again later"), True, "runs, but cannot", "log"),
        (psycopg.OperationalError("pgbouncer cannot connect to server"), True, "runs, but cannot log in", "line in"),
        (psycopg.OperationalError("unsupported startup parameter: options"), True, "runs, but refuses", "PGOPTIONS"),
        (psycopg.OperationalError("SASL authentication failed"), True, "runs, but refuses the login", "auth_file"),
    ],
)
def test_each_failure_of_the_pooler_has_its_cure(
    error: psycopg.OperationalError, accepts: bool, problem: str, remedy: str
) -> None:
    found = judge_failure(error, accepts=accepts)
    assert found[0].startswith(problem)
    assert remedy in found[1]


@pytest.mark.parametrize("is_standby", [True, False])
def test_an_address_that_accepts_no_writes(
    database: Database, monkeypatch: pytest.MonkeyPatch, is_standby: bool
) -> None:
    """DATABASE_DIRECT_URL leads to the primary. `penstock up` also refuses such addresses."""
    address = f"{database.api_dsn}?options=-c%20default_transaction_read_only%3Don"
    if is_standby:
        problem = "the server is a standby, which cannot be written to; give the address of the primary"
        found_problems = iter(["", problem])
        monkeypatch.setattr(doctor_database, "find_server_problem", lambda _: next(found_problems))
    outcome = examine({"DATABASE_URL": address, "DATABASE_DIRECT_URL": database.api_dsn})
    (one,) = [finding for finding in outcome.findings if finding.subject == "DATABASE_URL"]
    assert one.problem.startswith("the server is a standby" if is_standby else "the database is read-only")
    assert outcome.skipped == {"pooler": "the service cannot use DATABASE_URL"}


def test_two_databases(database: Database) -> None:
    other = make_conninfo(database.pooled_dsn, dbname="postgres")
    problems = [f.problem for f in found(other, database.api_dsn)]
    (problem,) = [one for one in problems if "lead to different databases" in one]
    assert "`postgres` at 127.0.0.1:" in problem
    assert f"`{database.name}` at 127.0.0.1:" in problem
    password = conninfo_to_dict(other)["password"]
    assert password
    assert str(password) not in problem
