"""Each check of `penstock doctor` finds its fault in the database and reports nothing without the fault.

A transaction damages roles and other objects of the whole server. The check runs in the transaction, which is then
rolled back.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from penstock.postgres.psycopg_connection import connect
from penstock.settings import Settings
from penstock_web.cli import main
from penstock_web.doctor.checks import CHECKS, examine
from penstock_web.doctor.database import check_clock, check_database
from penstock_web.doctor.examination import Examination, Finding
from penstock_web.doctor.roles import check_grants, check_roles
from penstock_web.doctor.server_settings import check_server_settings
from penstock_web.doctor.sessions import find_old_snapshots
from penstock_web.doctor.versions import check_migrations, check_running
from penstock_web.local.postgres import ROLE
from tests.support.database import Database, TestServer


@contextmanager
def examined(database: Database, *statements: str) -> Iterator[Examination]:
    """Runs the checks as the superuser in a transaction after these statements."""
    examination = Examination(
        Settings.read({"DATABASE_URL": database.dsn}), {}, database.dsn, {database.dsn: connect(database.dsn)}
    )
    connection = examination.direct()
    connection.autocommit = False
    try:
        for statement in statements:
            connection.execute(statement.encode())
        yield examination
    finally:
        connection.rollback()
        examination.close()


def problems(found: Iterable[Finding]) -> list[str]:
    return [finding.problem for finding in found]


DAMAGE: dict[str, tuple[Callable[[Examination], Iterable[Finding]], str, str, str]] = {
    "a missing role": (
        check_roles,
        "alter role penstock_app rename to renamed",
        "the role penstock_app does not exist",
        "runs `create role penstock_app nologin;`, then the owner runs `penstock migrate`",
    ),
    "a membership of the owner": (
        check_roles,
        f"revoke penstock_owner from {ROLE}",
        "the owner lacks: grant penstock_owner to penstock",
        "grant penstock_owner to penstock",
    ),
    "a right": (
        check_grants,
        "revoke execute on function queue.send from penstock_app",
        "penstock_app may not call queue.send(",
        "the owner of the schema runs `penstock migrate`",
    ),
    "a right too many": (
        check_grants,
        "grant select on queue.secret to penstock_app",
        "penstock_app has rights on queue.secret",
        "`revoke` removes",
    ),
    "a migration": (
        check_migrations,
        "delete from queue.migration where number = (select max(number) from queue.migration)",
        "not applied",
        "run `penstock migrate` as the owner of the schema",
    ),
    "functions of another text": (
        check_migrations,
        "update queue.migration set checksum = '', name = 'functions 0.0.3' where number = 0",
        "functions of 0.0.3 instead",
        "`penstock migrate`",
    ),
    "functions of a newer release": (
        check_migrations,
        "update queue.migration set checksum = '', name = 'functions 99.0' where number = 0",
        "the database keeps the functions of release 99.0",
        "pip install --upgrade penstock",
    ),
    "a read-only database": (
        check_database,
        "set transaction read only",
        "the database is read-only",
        "default_transaction_read_only",
    ),
    "commits that do not wait": (
        check_server_settings,
        "set local synchronous_commit = off",
        "synchronous_commit is off; it should be on",
        "set synchronous_commit = 'on'",
    ),
    "short statements": (
        check_server_settings,
        "set local statement_timeout = '3s'",
        "statement_timeout is 3000; it should be 0",
        "set statement_timeout = '0'",
    ),
    "another isolation": (
        check_server_settings,
        "set local default_transaction_isolation = 'serializable'",
        "default_transaction_isolation is serializable; it should be read committed",
        "set default_transaction_isolation = 'read committed'",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_check_names_what_is_wrong_and_the_command(database: Database, damage: str) -> None:
    check, statement, problem, remedy = DAMAGE[damage]
    with examined(database) as whole:
        before = problems(check(whole))
    with examined(database, statement) as damaged:
        (found,) = [finding for finding in check(damaged) if finding.problem not in before]
    assert problem in found.problem
    assert remedy in found.remedy
    assert (bool(found.why), found.is_advice) == (True, False)


def test_without_damage_no_check_finds_anything(database: Database) -> None:
    """The only problem is that the tests' servers do not wait for the disk."""
    outcome = examine({"DATABASE_URL": database.pooled_dsn, "DATABASE_DIRECT_URL": database.api_dsn})
    assert [finding.problem for finding in outcome.findings if not finding.is_advice] == [
        "fsync is off; it should be on",
        "full_page_writes is off; it should be on",
    ]
    assert outcome.skipped == {}
    assert {check.name for check in CHECKS} < set(outcome.checked)


def test_a_schema_that_is_not_there(empty_database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--database", empty_database.api_dsn]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("migrations: the schema does not belong to release") for line in lines)
    assert "    do:  run `penstock migrate` as the owner of the schema" in lines
    assert "not checked, because the schema does not belong to this release: grants, stored rows" in lines


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("postgresql://nobody@127.0.0.1:1/none", "no connection to the database: "),
        ("postgres:/nowhere", "DATABASE_URL is not the address of a PostgreSQL"),
    ],
)
def test_a_database_that_cannot_be_reached(
    address: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--json", "--database", address]) == 1
    document = json.loads(capsys.readouterr().out)
    (found,) = document["findings"]
    assert document["problems"] == 1
    assert (found["subject"], found["problem"].startswith(problem)) == ("database", True)
    assert {check.name for check in CHECKS} < document["not_checked"].keys()


def test_transactions_that_hold_back_vacuum(database: Database) -> None:
    with examined(database) as examination, psycopg.connect(database.dsn) as other:
        assert list(find_old_snapshots(examination, 3600, 300)) == []
        examination.direct().rollback()  # A transaction sees the same statistics until its end.
        other.execute("select 1")
        pid = other.info.backend_pid
        (found,) = (
            finding
            for finding in find_old_snapshots(examination, 0, 300)
            if f"session {pid} of" in finding.problem
        )
        assert f"`select pg_terminate_backend({pid})`" in found.remedy


def test_a_prepared_transaction_in_doubt(database: Database) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute("begin")
        connection.execute("create table forgotten ()")
        connection.execute("prepare transaction 'forgotten'")
        try:
            with examined(database) as examination:
                assert list(find_old_snapshots(examination, 3600, 300)) == []
                (found,) = find_old_snapshots(examination, 3600, 0)
                assert "the prepared transaction forgotten of" in found.problem
                assert "`rollback prepared 'forgotten'`" in found.remedy
        finally:
            connection.execute("rollback prepared 'forgotten'")


def test_a_slot_that_nobody_reads(database: Database, postgres: TestServer) -> None:
    reserve = "select pg_create_physical_replication_slot('forgotten', true)"
    with psycopg.connect(postgres.server.superuser_dsn(), autocommit=True) as connection:
        connection.execute(reserve.encode())
        try:
            with examined(database) as examination:
                # The slot keeps a little WAL and no rows, so it is not a problem yet.
                assert list(find_old_snapshots(examination, 3600, 300)) == []
        finally:
            connection.execute("select pg_drop_replication_slot('forgotten')")


def test_processes_of_another_release(database: Database) -> None:
    with (
        examined(database) as examination,
        psycopg.connect(database.api_dsn, application_name="penstock 0.0.1"),
        psycopg.connect(database.api_dsn, application_name="penstock job"),
    ):
        (found,) = check_running(examination)
    assert found.problem.startswith("1 running processes have release 0.0.1; this program has ")
    assert found.is_advice


def test_the_clock_of_the_tests_is_that_of_the_database(database: Database) -> None:
    with examined(database) as examination:
        assert list(check_clock(examination)) == []


def test_a_check_that_does_not_end_is_a_problem(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock_web.doctor.examination.CALL_SECONDS", 0.5)
    with psycopg.connect(database.dsn) as blocker:
        blocker.execute("lock table queue.migration in access exclusive mode")
        outcome = examine({"DATABASE_URL": database.api_dsn})
    assert any(
        found.subject == "migrations" and found.problem.startswith("could not be checked: ")
        for found in outcome.findings
    )
    assert "old snapshots" in outcome.checked


@pytest.mark.parametrize("arguments", [["migrate", "--ephemeral"], ["up", "--ephemeral"]])
def test_one_database_at_a_time(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*arguments, "--database", "postgresql://127.0.0.1/x"])
    assert "not allowed with" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["doctor", "migrate", "settings", "up"])
def test_an_empty_address_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An unset shell variable must not select another database."""
    assert main([command, "--database", ""]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "penstock: --database: the address is empty"


def test_the_option_goes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(os.environ, "DATABASE_DIRECT_URL", "postgresql://other/other")
    assert main(["settings", "--database", "postgresql://me:secret@127.0.0.1/mine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "DATABASE_URL=user=me dbname=mine host=127.0.0.1" in lines
    assert "DATABASE_DIRECT_URL=" in lines
    assert "secret" not in "".join(lines)
