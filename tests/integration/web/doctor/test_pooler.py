"""`penstock doctor` checks PgBouncer's mode and sizes, and addresses that lead to the wrong server.

`penstock doctor` reports subscriptions that deliver to queues of other accounts.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock.settings import Settings
from penstock_web.cli import main
from penstock_web.doctor.examination import Examination, Finding
from penstock_web.doctor.pooler import check_pooler, judge_pool
from penstock_web.local import pgbouncer
from penstock_web.local.state import ephemeral_state
from tests.support.conformance.access_keys import SIGV4
from tests.support.database import Database, TestServer, memory_directory

TEMPLATE = pgbouncer._configuration_file("pgbouncer.ini.tmpl").read_text()


@contextmanager
def pooler(
    postgres: TestServer, monkeypatch: pytest.MonkeyPatch, folder: Path, **settings: str
) -> Iterator[pgbouncer.PgBouncer]:
    """Runs PgBouncer with Penstock's configuration and these lines."""
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
        ("session", "the pooler gives each client a separate server connection"),
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
    """PgBouncer's console shows the size to a role with the right to read it."""
    settings = {"default_pool_size": "500", "stats_users": "penstock"}
    with pooler(postgres, monkeypatch, tmp_path, **settings) as running:
        (one,) = [f for f in found(running.dsn(database.name), database.api_dsn) if not f.is_advice]
    assert one.problem.startswith("the pool may take 50")
    assert list(judge_pool(20, 97)) == []


def test_a_direct_address_that_leads_to_the_pooler(database: Database) -> None:
    (one,) = found(database.pooled_dsn, database.pooled_dsn)
    assert "leads to a pooler" in one.problem
    assert "DATABASE_DIRECT_URL" in one.remedy


def test_a_pooler_that_is_down_is_one_problem(
    database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """PostgreSQL answers, so the report can name a remedy."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://penstock@127.0.0.1:1/penstock")
    monkeypatch.setenv("DATABASE_DIRECT_URL", database.api_dsn)
    main(["doctor", "--json"])
    shown = json.loads(capsys.readouterr().out)
    (one,) = [each for each in shown["findings"] if "127.0.0.1:1" in json.dumps(each)]
    assert one["problem"].startswith("PgBouncer at 127.0.0.1:1 (DATABASE_URL) does not answer, PostgreSQL")
    assert one["remedy"] == (
        "start PgBouncer, or unset DATABASE_DIRECT_URL and set DATABASE_URL to the address of PostgreSQL"
    )
    assert shown["not_checked"] == {"pooler": "DATABASE_URL does not answer"}


def test_two_databases(database: Database) -> None:
    other = make_conninfo(database.pooled_dsn, dbname="postgres")
    problems = [f.problem for f in found(other, database.api_dsn)]
    assert "DATABASE_URL and DATABASE_DIRECT_URL lead to different databases" in problems


OWNER, PARTNER = "000000000000", "111122223333"
TOPIC = f"arn:aws:sns:us-east-1:{PARTNER}:news"
SUBSCRIBE = """select arn from queue.add_subscription(
    %s, gen_random_uuid(), %s, 'sqs', %s, %s, null, null, null, 0, 0, null, null)"""
CREATE = (
    "select arn from queue.create_queue(%s, 'us-east-1', %s, %s, queue.default_attributes(false), '{}', 1, 0)"
)
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
        sql.execute(
            "select queue.create_topic(%s, 'us-east-1', 'news', '{}'::jsonb, '{}'::jsonb)", (PARTNER,)
        )
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

        for name, value in {
            "DATABASE_URL": database.api_dsn,
            "DATABASE_DIRECT_URL": database.api_dsn,
        }.items():
            monkeypatch.setenv(name, value)
        # Without access control the service does not know accounts, so policies have no effect.
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
        assert sorted(sql.execute(SUBSCRIPTIONS).fetchall()) == sorted(
            [(kept[0], True, True), (kept[1], True, False)]
        )
