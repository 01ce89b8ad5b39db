"""Tests that each check of `penstock doctor` finds its problem, and reports no problem in a healthy installation.

The tests damage roles and other objects on the server in a transaction. The check runs in the same transaction, which
is then rolled back.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from penstock.postgres.psycopg_connection import connect
from penstock.settings import Settings
from penstock_web.cli import main
from penstock_web.doctor.alerts import check_account_alerts, check_alerts
from penstock_web.doctor.checks import CHECKS, examine
from penstock_web.doctor.database import check_clock, check_database
from penstock_web.doctor.examination import Examination, Finding
from penstock_web.doctor.roles import check_grants, check_roles
from penstock_web.doctor.server_settings import check_server_settings
from penstock_web.doctor.sessions import find_hidden_sessions, find_old_snapshots, find_silence
from penstock_web.doctor.versions import check_migrations, check_running
from penstock_web.local.postgres import ROLE
from tests.support.conformance.access_keys import SIGV4
from tests.support.database import Database, TestServer


def test_no_process_listens(database: Database) -> None:
    with examined(database) as examination:
        assert list(find_silence(examination, 0)) == []
        examination.connect_directly().rollback()  # A transaction sees the same statistics until it ends.
        with psycopg.connect(database.dsn):
            (found,) = find_silence(examination, 0)
            assert (found.problem.startswith("no process listens for notifications"), found.is_advice) == (True, True)
            examination.connect_directly().rollback()
            assert list(find_silence(examination, 60)) == []
            with psycopg.connect(database.dsn, application_name="penstock 0.1.0"):
                examination.connect_directly().rollback()
                assert list(find_silence(examination, 0)) == []


OWNER, PARTNER = "000000000000", "111122223333"
TOPIC = f"arn:aws:sns:us-east-1:{PARTNER}:news"
SUBSCRIBE = """select arn from queue.add_subscription(
    %s, gen_random_uuid(), %s, 'sqs', %s, %s, null, null, null, 0, 0, null, null)"""
CREATE = "select arn from queue.create_queue(%s, 'us-east-1', %s, %s, queue.default_attributes(false), '{}', 1, 0)"
SUBSCRIPTIONS = "select arn, target_allowed, dead_letter_queue_allowed from queue.subscription"


def arn_of(row: tuple[str, ...] | None) -> str:
    assert row
    return row[0]


def test_subscriptions_that_nobody_allows(
    database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    statement = {
        "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": "*", "Condition": {"ArnEquals": {"aws:SourceArn": TOPIC}},
    }  # fmt: skip
    policies = {"allowed": {"Policy": json.dumps({"Statement": [statement]})}, "refused": {}, "unasked": {}}
    with psycopg.connect(database.dsn, autocommit=True) as sql:
        sql.execute("select queue.create_topic(%s, 'us-east-1', 'news', '{}'::jsonb, '{}'::jsonb)", (PARTNER,))
        queues = {
            name: arn_of(sql.execute(CREATE, (OWNER, name, json.dumps(attributes))).fetchone())
            for name, attributes in policies.items()
        }
        own = arn_of(sql.execute(CREATE, (PARTNER, "own", "{}")).fetchone())
        redrive = json.dumps({"RedrivePolicy": json.dumps({"deadLetterTargetArn": queues["unasked"]})})
        kept = [
            arn_of(sql.execute(SUBSCRIBE, (TOPIC, PARTNER, queue, attributes)).fetchone())
            for queue, attributes in ((queues["allowed"], "{}"), (own, redrive))
        ]
        ended = arn_of(sql.execute(SUBSCRIBE, (TOPIC, PARTNER, queues["refused"], "{}")).fetchone())

        for name, value in {"DATABASE_URL": database.api_dsn, "DATABASE_DIRECT_URL": database.api_dsn}.items():
            monkeypatch.setenv(name, value)
        # Without access control, the service does not identify accounts, so policies have no effect.
        main(["doctor"])
        assert "whose policy" not in capsys.readouterr().out
        for name, value in SIGV4.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        for arguments, suffix in ((["doctor"], ""), (["doctor", "--fix"], ": ended")):
            assert main(arguments) == 1
            lines = capsys.readouterr().out.splitlines()
            assert [line for line in lines if line.startswith("arn:")] == [
                f"{ended}: sends messages to the queue {queues['refused']}, whose policy does not allow it{suffix}",
                f"{kept[1]}: sends dead letters to the queue {queues['unasked']}, whose policy does not allow it"
                + suffix,
            ]
        main(["doctor"])
        assert "whose policy" not in capsys.readouterr().out
        assert sorted(sql.execute(SUBSCRIPTIONS).fetchall()) == sorted([(kept[0], True, True), (kept[1], True, False)])


@contextmanager
def examined(database: Database, *statements: str) -> Iterator[Examination]:
    """Runs the checks as the superuser in a transaction, after the given statements."""
    examination = Examination(
        Settings.read({"DATABASE_URL": database.dsn}), {}, database.dsn, _open={database.dsn: connect(database.dsn)}
    )
    connection = examination.connect_directly()
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
        "run `create role penstock_app nologin;` as a superuser",
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
        "run `penstock migrate` as the owner of the schema",
    ),
    "a right too many": (
        check_grants,
        "grant select on queue.secret to penstock_app",
        "penstock_app has rights on queue.secret",
        "with `revoke`",
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
        "pip install --upgrade penstock-queue",
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


def test_a_separate_role_of_the_service_is_advice(database: Database) -> None:
    """The owner runs `doctor` after a restore, and does not know the role of the service."""
    make = "create role apart login in role penstock_api"
    with examined(database, make) as examination:
        (found,) = [finding for finding in check_grants(examination) if "apart" in finding.problem]
    assert (found.problem, found.is_advice) == ("the role apart has the rights of the service (penstock_api)", True)
    assert found.remedy.startswith("nothing, if the service logs in as apart; otherwise ")
    grant = "grant select on queue.access_key to apart"
    with examined(database, "create role apart login", f"grant usage on schema queue to apart; {grant}") as examination:
        (found,) = [finding for finding in check_grants(examination) if "apart" in finding.problem]
    assert (found.problem.startswith("the role apart may use queue.access_key"), found.is_advice) == (True, False)


def test_an_application_of_another_database_is_no_problem(database: Database, empty_database: Database) -> None:
    """Roles belong to the whole server. Penstock grants rights to penstock_app in each of its databases."""
    with psycopg.connect(empty_database.dsn) as other:
        other.execute("create table granted (); grant select on granted to penstock_app")
    with examined(database, "create role elsewhere login in role penstock_app") as examination:
        assert [found for found in check_grants(examination) if "elsewhere" in found.problem] == []


def test_a_role_that_does_not_see_other_sessions_is_told_so(database: Database) -> None:
    with examined(database) as examination:
        assert list(find_hidden_sessions(examination)) == []  # The superuser sees all sessions.
    examination = Examination(Settings.read({"DATABASE_URL": database.api_dsn}), {}, database.api_dsn)
    try:
        (found,) = find_hidden_sessions(examination)
    finally:
        examination.close()
    assert "`grant pg_monitor to penstock`" in found.remedy
    assert "penstock_db_oldest_transaction_age_seconds" in found.problem
    assert found.is_advice


def test_without_damage_no_check_finds_anything(database: Database) -> None:
    """The only reported problem is that the test servers do not wait for the disk."""
    outcome = examine({"DATABASE_URL": database.pooled_dsn, "DATABASE_DIRECT_URL": database.api_dsn})
    assert [finding.problem for finding in outcome.findings if not finding.is_advice] == [
        "fsync is off; it should be on",
        "full_page_writes is off; it should be on",
    ]
    assert outcome.skipped == {}
    assert {check.name for check in CHECKS} - set(outcome.checked) == {
        "alerts",
        "service",
        "ids",
        "keys",
        "subscriptions",
    }


def test_the_page_has_a_row_for_each_check() -> None:
    page = (Path(__file__).parents[4] / "docs/operate/doctor.md").read_text()
    rows = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")]
    assert rows[0] == "check"
    names = sorted(name for row in rows[2:] for name in row.split(", "))
    assert names == sorted(check.name for check in CHECKS)


def test_a_schema_that_is_not_there(
    empty_database: Database, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUE_ACCESS", "sigv4")
    monkeypatch.setenv("QUEUE_ENCRYPTION_KEY", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
    assert main(["doctor", "--database", empty_database.api_dsn]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("migrations: the schema does not belong to release") for line in lines)
    assert "    do:  run `penstock migrate` as the owner of the schema" in lines
    assert "    see: /docs/operate/upgrade/" in lines
    skipped = "disk, account alerts, grants, stored rows, keys, subscriptions"
    assert f"not checked, because the schema does not belong to this release: {skipped}" in lines


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("postgresql://nobody@127.0.0.1:1/none", "no connection to the database: "),
        ("postgres:/nowhere", "DATABASE_URL is not the address of a PostgreSQL"),
    ],
)
def test_a_database_that_cannot_be_reached(address: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json", "--database", address]) == 1
    document = json.loads(capsys.readouterr().out)
    (found,) = document["findings"]
    assert document["problems"] == 1
    assert found["page"] == "/docs/operate/unavailable/#the-database-does-not-answer"
    assert (found["subject"], found["problem"].startswith(problem)) == ("database", True)
    assert document["not_checked"].keys() == {check.name for check in CHECKS if check.needs} - {
        "ids",
        "keys",
        "subscriptions",
    }


@pytest.mark.parametrize("statement", ["select 1", "select queue.create('a'), queue.send('a', '1')"])
def test_transactions_that_hold_back_vacuum(database: Database, statement: str) -> None:
    with examined(database) as examination, psycopg.connect(database.dsn) as other:
        assert list(find_old_snapshots(examination, 3600, 300)) == []
        examination.connect_directly().rollback()  # A transaction sees the same statistics until it ends.
        other.execute(statement.encode())
        pid = other.info.backend_pid
        (found,) = (
            finding for finding in find_old_snapshots(examination, 0, 300) if f"session {pid} of" in finding.problem
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
                # The replication slot retains little WAL and no rows, so the slot is not a problem yet.
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
        found.subject == "migrations" and found.problem.startswith("the check failed: ") for found in outcome.findings
    )
    assert "old snapshots" in outcome.checked


@pytest.mark.parametrize("arguments", [["migrate", "--ephemeral"], ["up", "--ephemeral"]])
def test_one_database_at_a_time(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*arguments, "--database", "postgresql://127.0.0.1/x"])
    assert "not allowed with" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["doctor", "migrate", "settings", "up"])
def test_an_empty_address_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An unset variable of the shell must not select another database."""
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


# --- alerts ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"QUEUE_ALERT_URL": "slack+https://127.0.0.1/secret"}, "no alert reaches 127.0.0.1: "),
        ({"QUEUE_ALERT_URL": "https://[::1]/secret", "WEBHOOK_ALLOW_CIDRS": "10.0.0.0/8"}, "no alert reaches ::1: "),
        ({"QUEUE_ALERT_URL": "https://nowhere.invalid/secret"}, "the host nowhere.invalid of QUEUE_ALERT_URL has no"),
        ({"QUEUE_ALERT_URL": "https://127.0.0.1/", "WEBHOOK_ALLOW_CIDRS": "many"}, "WEBHOOK_ALLOW_CIDRS is invalid"),
        ({"QUEUE_ALERT_URL": "https://127.0.0.1/", "WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8"}, ""),
        ({"QUEUE_ALERT_URL": "https://203.0.114.1/"}, ""),
    ],
)
def test_an_address_of_alerts_that_is_out_of_reach(variables: dict[str, str], problem: str) -> None:
    found = list(check_alerts(Settings.read(variables)))
    assert len(found) == bool(problem)
    assert all(finding.problem.startswith(problem) for finding in found)
    assert "secret" not in str(found)


def test_addresses_of_accounts_that_are_out_of_reach(database: Database) -> None:
    addresses = {
        "111111111111": "https://8.8.8.8/secret", "222222222222": "http://127.0.0.1:1/secret",
        "333333333333": "https://unknown.invalid/secret", "444444444444": "not a URL, but a secret",
    }  # fmt: skip
    with psycopg.connect(database.dsn) as db:
        db.cursor().executemany("insert into queue.alert_target (account_id, url) values (%s, %s)", addresses.items())
        db.commit()
    with examined(database) as examination:
        found = list(check_account_alerts(examination))
    assert [account for account in addresses if account in str(found)] == list(addresses)[1:]
    assert len(found) == 3
    assert not any(one.is_advice for one in found)
    assert "secret" not in str(found)
