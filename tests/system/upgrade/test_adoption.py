"""The baseline instead of the 20 migrations of release 0.0.1: databases of that release, made by its own code."""

from __future__ import annotations

import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import psycopg
import pytest

from penstock import __version__
from penstock.postgres.migrations import MigrationError, migrate, sql_directory
from penstock.postgres.schema_dump import schema_dump
from penstock_web.local.state import ephemeral_state
from tests.support.database import Database, TestServer, memory_directory
from tests.support.programs.penstock_up import COMMAND, Up, running
from tests.support.sql.calls import create
from tests.support.upgrade.release import FIRST, SECOND, environment_of, some_migrations, unpack

RECORDS = "select number, name, checksum from queue.migration order by number"
BASELINE = "0001_baseline.sql"
LATER = [path.name for path in sorted((sql_directory() / "migrations").glob("*.sql"))][1:]
NAMES = [*enumerate((f"functions {__version__}", BASELINE, *LATER))]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of release 0.0.1."""
    return unpack(tmp_path_factory.mktemp("release"), FIRST)


def penstock(*arguments: str, dsn: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    variables = {**environment, "DATABASE_URL": dsn, "DATABASE_DIRECT_URL": ""}
    return subprocess.run([*COMMAND, *arguments], env=variables, capture_output=True, text=True, check=False)


def migrate_as_old(release: Path, dsn: str) -> None:
    done = penstock("migrate", dsn=dsn, environment=environment_of(release))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def template(postgres: TestServer, release: Path) -> Iterator[str]:
    """A database of release 0.0.1, with a message."""
    with postgres.database(template="template0") as database:
        migrate_as_old(release, database.api_dsn)
        send(database)
        yield database.name


@pytest.fixture
def old(postgres: TestServer, template: str) -> Iterator[Database]:
    """A copy of it."""
    with postgres.database(template=template) as database:
        yield database


def send(database: Database) -> None:
    with psycopg.connect(database.api_dsn) as connection:
        create(connection, "kept")
        connection.execute("select queue.send('kept', '{\"n\": 1}'::jsonb)")


def received(database: Database) -> list[Any]:
    with psycopg.connect(database.api_dsn) as connection:
        return [row[0] for row in connection.execute("select message from queue.receive('kept', 30, 10)")]


def rows(database: Database, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database.dsn) as connection:
        return connection.execute(query.encode()).fetchall()


def names(database: Database) -> list[tuple[Any, ...]]:
    return [row[:2] for row in rows(database, RECORDS)]


def dumped(server: TestServer, database: Database) -> str:
    command = [str(server.server.binaries.path("pg_dump")), "--schema-only", "--schema=queue"]
    done = subprocess.run([*command, database.dsn], capture_output=True, text=True, check=True)
    return "\n".join(line for line in done.stdout.splitlines() if not line.startswith("\\"))


def test_the_baseline_makes_what_the_20_migrations_made(
    postgres: TestServer, empty_database: Database, release: Path, tmp_path: Path
) -> None:
    """As pg_dump writes it: comments, storage, names of constraints, sequences."""
    migrate(empty_database.api_dsn, some_migrations(release, tmp_path / "old", 20))
    (tmp_path / "new/migrations").mkdir(parents=True)
    shutil.copy(sql_directory() / "migrations" / BASELINE, tmp_path / "new/migrations")
    with postgres.database(template="template0") as other:
        migrate(other.api_dsn, tmp_path / "new")
        assert dumped(postgres, other) == dumped(postgres, empty_database)


def test_the_list_of_replaced_migrations_is_that_of_the_release(release: Path) -> None:
    """As `sha256sum --check` reads it."""
    listed = sql_directory() / "migrations/0001_baseline.replaces"
    command = ["sha256sum", "--check", "--strict", "--quiet", str(listed)]
    subprocess.run(command, cwd=release / "sql/migrations", check=True)
    assert len(listed.read_text().splitlines()) == len(list((release / "sql/migrations").glob("*.sql"))) == 20


def test_a_database_of_the_release_gets_the_record_of_the_baseline(old: Database) -> None:
    assert names(old)[0] == (0, "functions 0.1.0")
    applied = migrate(old.api_dsn)
    assert (applied.adopted, applied.migrations, applied.functions) == (BASELINE, LATER, True)
    assert names(old) == NAMES
    assert schema_dump(old.api_dsn) == (sql_directory() / "schema.sql").read_text()
    assert received(old) == [{"n": 1}]
    again = migrate(old.api_dsn)
    assert (again.adopted, again.migrations, again.functions, again.warning) == ("", [], False, "")


def test_the_command_says_what_it_did(old: Database) -> None:
    done = penstock("migrate", dsn=old.api_dsn, environment=os.environ)
    said = [
        f"recorded {BASELINE} instead of the migrations that it replaces",
        *(f"applied {name}" for name in LATER),
        "functions and grants applied",
    ]
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, said, "")


def test_the_old_release_changes_nothing_afterwards(old: Database, release: Path) -> None:
    """A task of the old image that starts in the middle of the rollout: its migration refuses."""
    migrate(old.api_dsn)
    before = rows(old, RECORDS), schema_dump(old.api_dsn)
    done = penstock("migrate", dsn=old.api_dsn, environment=environment_of(release))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "penstock: 0001_storage.sql was changed after it had been applied here; "
        "put its text back and write a new migration instead\n"
    )
    assert (rows(old, RECORDS), schema_dump(old.api_dsn)) == before


def answer(up: Up, path: str) -> bytes:
    with urllib.request.urlopen(f"{up.address}{path}") as response:
        return bytes(response.read())


@contextmanager
def client(up: Up) -> Iterator[Any]:
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
    sqs = boto3.client("sqs", endpoint_url=up.address, region_name="us-east-1", **keys)
    yield sqs
    sqs.close()


@pytest.fixture
def state() -> Iterator[Path]:
    with ephemeral_state(memory_directory()) as path:
        yield path


def test_a_data_folder_of_the_release_is_taken_over(state: Path, release: Path) -> None:
    """`make run` of release 0.0.1, then of this one."""
    old_code = environment_of(release)["PYTHONPATH"]
    with running("--data-dir", str(state), PYTHONPATH=old_code) as up, client(up) as sqs:
        url = sqs.create_queue(QueueName="kept")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="from before")
    with running("--data-dir", str(state)) as up, client(up) as sqs:
        with psycopg.connect(up.dsn) as connection:
            found = connection.execute("select number, name from queue.migration order by number").fetchall()
        assert found == NAMES
        url = sqs.get_queue_url(QueueName="kept")["QueueUrl"]
        answered = sqs.receive_message(QueueUrl=url)
        assert [message["Body"] for message in answered["Messages"]] == ["from before"]


def refused(database: Database) -> str:
    """What `penstock migrate` says, which leaves everything as it was."""
    before = rows(database, RECORDS)
    with pytest.raises(MigrationError) as error:
        migrate(database.api_dsn)
    assert rows(database, RECORDS) == before
    return str(error.value)


def test_a_part_of_the_history_is_completed_first(
    empty_database: Database, release: Path, tmp_path: Path
) -> None:
    migrate(empty_database.api_dsn, some_migrations(release, tmp_path, 13))
    assert refused(empty_database) == (
        "this database has 13 of the 20 migrations that 0001_baseline.sql replaces: "
        "run `penstock migrate` of release 0.0.1 (commit f69b3c5) on it first, then this one"
    )
    migrate_as_old(release, empty_database.api_dsn)
    assert migrate(empty_database.api_dsn).adopted == BASELINE


def test_rows_of_another_history_are_loaded_into_a_new_database(
    postgres: TestServer, old: Database, tmp_path: Path
) -> None:
    with psycopg.connect(old.dsn) as connection:
        connection.execute("update queue.migration set checksum = 'another' where number = 7")
    advice = (
        "load its rows into an empty database that release 0.0.2 (commit c8b90da) has migrated, "
        "and then migrate that, with pg_dump --data-only --schema=queue "
        "--exclude-table-data=queue.migration --load-via-partition-root"
    )
    assert refused(old) == (
        f"migration 7 of this database is not the one of release 0.0.1, which 0001_baseline.sql replaces: {advice}"
    )
    with postgres.database(template="template0") as new:
        migrate_as_old(unpack(tmp_path, SECOND), new.api_dsn)
        options = advice.split()[-4:]
        binaries = postgres.server.binaries
        command = [str(binaries.path("pg_dump")), *options, old.api_dsn]
        dump = subprocess.run(command, capture_output=True, check=True).stdout
        command = [str(binaries.path("psql")), "--quiet", "--set=ON_ERROR_STOP=1", new.api_dsn]
        subprocess.run(command, input=dump, stdout=subprocess.DEVNULL, check=True)
        assert migrate(new.api_dsn).migrations == LATER
        assert received(new) == [{"n": 1}]
        send_again = "select queue.send('kept', '{\"n\": 2}'::jsonb)"
        rows(new, send_again)  # ids go on where they were
        assert migrate(new.api_dsn).warning == ""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("alter table queue.log add column note text", "queue.log: + note text,"),
        ("alter table queue.hole alter shard type int", "queue.hole: - shard smallint not null,"),
        ("drop index queue.side_sent_at", "queue.side: - CREATE INDEX side_sent_at ON queue.side"),
        ("create table queue.mine (id int)", "queue.mine: + create table queue.mine ("),
    ],
)
def test_tables_that_somebody_changed_are_refused(old: Database, change: str, found: str) -> None:
    with psycopg.connect(old.dsn) as connection:
        connection.execute(change.encode())
    said = refused(old)
    assert said.startswith("the tables of this database are not those that its migrations made (")
    assert found in said


def test_filter_policies_of_an_even_older_form_are_set_again_first(old: Database) -> None:
    """Release 0.0.1 reads what the one before it compiled; this release does not."""
    with psycopg.connect(old.dsn) as connection:
        connection.execute(
            "insert into queue.binding (account_id, region, pattern, protocol, endpoint, filter) values "
            """('000000000000', 'us-east-1', '#', 'queue', 'kept', '[[["kind", [["in", ["a"]]]]]]')"""
        )
    assert refused(old) == (
        "filter policies in the form of a release before 0.0.1 are stored here (1): "
        "set them again with release 0.0.1 (commit f69b3c5), then migrate"
    )
