"""Tests the migration runner on folders that the tests write."""

import shutil
import threading
from pathlib import Path

import psycopg
import pytest

from penstock.postgres.migrations import RELEASE, MigrationError, find_missing, find_sql_directory, migrate
from penstock.postgres.schema_dump import dump_schema
from penstock.postgres.session_settings import SESSION_SETTINGS
from penstock.settings import Settings
from penstock_web.local.postgres import ROLE
from tests.support.database import Database, TestServer
from tests.support.sql.hostile_settings import give_all
from tests.support.wait import wait_until

MIGRATIONS = {
    "0001_first.sql": "create table queue.first (id int);",
    "0002_second.sql": "create table queue.second (id int); insert into queue.second select 1 from queue.first;",
}
# The function in the first file calls a function that a later file defines.
FUNCTIONS = {
    "queue.a.sql": "create or replace function queue.a() returns int language sql as 'select queue.b()';",
    "queue.b.sql": "create or replace function queue.b() returns int language sql as 'select 1';",
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Makes a folder with the layout of sql/ that contains two migrations, two functions and grants."""
    write(tmp_path / "migrations", MIGRATIONS)
    write(tmp_path / "functions", FUNCTIONS)
    write(tmp_path, {"grants.sql": "grant execute on function queue.a() to public;"})
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def rows(dsn: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(query.encode()).fetchall()


def test_migrations_are_applied_in_order_and_once(empty_database: Database, directory: Path) -> None:
    first = migrate(empty_database.api_dsn, directory)
    assert (first.migrations, first.functions) == (list(MIGRATIONS), True)
    assert rows(empty_database.dsn, "select queue.a()") == [(1,)]
    second = migrate(empty_database.api_dsn, directory)
    assert (second.migrations, second.functions) == ([], False)
    recorded = rows(empty_database.dsn, "select number, name from queue.migration order by number")
    assert recorded == [(0, f"functions {RELEASE}"), (1, "0001_first.sql"), (2, "0002_second.sql")]


def test_a_failed_migration_leaves_nothing_and_is_taken_up_again(empty_database: Database, directory: Path) -> None:
    broken = directory / "migrations/0002_second.sql"
    broken.write_text("create table queue.second (id int); select 1/0;")
    with pytest.raises(MigrationError, match=r"0002_second\.sql: division by zero"):
        migrate(empty_database.api_dsn, directory)
    found = "select to_regclass('queue.first') is null, to_regclass('queue.second') is null"
    assert rows(empty_database.dsn, found) == [(False, True)]
    broken.write_text(MIGRATIONS["0002_second.sql"])
    assert migrate(empty_database.api_dsn, directory).migrations == ["0002_second.sql"]


def test_an_applied_migration_must_not_change(empty_database: Database, directory: Path) -> None:
    migrate(empty_database.api_dsn, directory)
    (directory / "migrations/0001_first.sql").write_text("create table queue.first (id bigint);")
    with pytest.raises(MigrationError, match=r"0001_first\.sql was changed"):
        migrate(empty_database.api_dsn, directory)


def test_a_database_of_an_earlier_commit_is_refused(empty_database: Database, tmp_path: Path) -> None:
    """The other database was created from another baseline, and can contain migrations that the current commit
    lacks."""
    earlier = tmp_path / "earlier"
    shutil.copytree(find_sql_directory() / "migrations", earlier / "migrations")
    write(earlier / "migrations", {"0002_later.sql": "create table queue.second (id int);"})
    with (earlier / "migrations/0001_baseline.sql").open("a") as file:
        file.write("create table queue.first (id int);")
    assert migrate(empty_database.api_dsn, earlier).migrations == ["0001_baseline.sql", "0002_later.sql"]
    said = (
        "a commit before release 0.1.0 made this database, by another 0001_baseline.sql, "
        "and no release migrates it: migrate an empty database instead"
    )
    before = rows(empty_database.dsn, "select * from queue.migration order by number")
    with pytest.raises(MigrationError) as error:
        migrate(empty_database.api_dsn)
    assert str(error.value) == said
    assert rows(empty_database.dsn, "select * from queue.migration order by number") == before
    with psycopg.connect(empty_database.api_dsn) as connection, pytest.raises(MigrationError) as error:
        find_missing(connection)
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("name", "said"), [("0004_gap.sql", "without gaps"), ("0002_twice.sql", "without gaps"), ("3.sql", "NNNN")]
)
def test_badly_numbered_migrations_are_refused(empty_database: Database, directory: Path, name: str, said: str) -> None:
    write(directory / "migrations", {name: "select 1;"})
    with pytest.raises(MigrationError, match=said):
        migrate(empty_database.api_dsn, directory)


def test_a_changed_function_is_applied_again(empty_database: Database, directory: Path) -> None:
    migrate(empty_database.api_dsn, directory)
    changed = "drop function if exists queue.b(); " + FUNCTIONS["queue.b.sql"].replace("select 1", "select 2")
    write(directory / "functions", {"queue.b.sql": changed})
    assert migrate(empty_database.api_dsn, directory).functions
    assert rows(empty_database.dsn, "select queue.a()") == [(2,)]


def test_a_broken_function_names_its_file(empty_database: Database, directory: Path) -> None:
    write(directory / "functions", {"queue.b.sql": FUNCTIONS["queue.b.sql"].replace("select 1", "select nothing")})
    with pytest.raises(MigrationError, match=r"queue\.b\.sql: column \"nothing\" does not exist"):
        migrate(empty_database.api_dsn, directory)


@pytest.mark.parametrize(
    ("first", "then", "replaced"),
    [
        ("0.9.1", "0.10.0", True),
        ("0.10.0", "0.9.1", False),
        ("0.10.0rc1", "0.10.0", True),
        ("0.10.0", "0.10.0rc1", False),
        ("0.10", "0.10.0", True),
    ],
)
def test_functions_are_replaced_by_those_of_a_newer_release_alone(
    empty_database: Database, directory: Path, monkeypatch: pytest.MonkeyPatch, first: str, then: str, replaced: bool
) -> None:
    """The rule applies even if both releases have the same migrations."""
    monkeypatch.setattr("penstock.postgres.migrations.RELEASE", first)
    migrate(empty_database.api_dsn, directory)
    two = FUNCTIONS["queue.b.sql"].replace("1", "2")
    write(directory / "functions", {"queue.b.sql": two})
    monkeypatch.setattr("penstock.postgres.migrations.RELEASE", then)
    second = migrate(empty_database.api_dsn, directory)
    said = "" if replaced else f"the database keeps the functions of release {first}: this is the older release {then}"
    assert (second.functions, second.warning) == (replaced, said)
    assert rows(empty_database.api_dsn, "select queue.b()") == [(2 if replaced else 1,)]


def test_an_older_release_leaves_the_functions_of_a_newer_one(empty_database: Database, directory: Path) -> None:
    write(directory / "migrations", {"0003_newer.sql": "create table queue.third (id int);"})
    migrate(empty_database.api_dsn, directory)
    (directory / "migrations/0003_newer.sql").unlink()
    write(directory / "functions", {"queue.b.sql": FUNCTIONS["queue.b.sql"].replace("select 1", "select 0")})
    older = migrate(empty_database.api_dsn, directory)
    assert (older.migrations, older.functions) == ([], False)
    said = f"the database keeps its functions: it has migrations that this release {RELEASE} does not know"
    assert older.warning == said
    assert rows(empty_database.dsn, "select queue.a()") == [(1,)]


def test_a_second_runner_waits_for_the_first(empty_database: Database, directory: Path) -> None:
    """The second runner waits for the lock while the first runner executes a migration, and then has no migrations to
    run.

    The second runner waits longer than the lock_timeout of its role, because that limit applies only to the service's
    calls.
    """
    migrate(empty_database.api_dsn, directory)
    with psycopg.connect(empty_database.api_dsn) as own:
        own.execute(f"alter role {own.info.user} in database {own.info.dbname} set lock_timeout = '10ms'".encode())
    write(directory / "migrations", {"0003_slow.sql": "alter table queue.first add column name text;"})
    applied: list[list[str]] = []
    runners = [
        threading.Thread(target=lambda: applied.append(migrate(empty_database.api_dsn, directory).migrations))
        for _ in range(2)
    ]
    with psycopg.connect(empty_database.dsn) as blocker, psycopg.connect(empty_database.dsn) as watcher:
        watcher.autocommit = True
        blocker.execute("lock table queue.first")  # the lock blocks the first runner
        for runner in runners:
            runner.start()
        waiting = (
            "select count(*) from pg_locks where locktype = 'advisory' and not granted"
            " and waitstart < clock_timestamp() - interval '100 ms'"
            " and database = (select oid from pg_database where datname = current_database())"
        )
        wait_until(lambda: watcher.execute(waiting.encode()).fetchone() == (1,))
        blocker.rollback()
    for runner in runners:
        runner.join()
    assert sorted(applied) == [[], ["0003_slow.sql"]]


def test_a_lock_that_never_comes_is_an_error_and_nothing_is_applied(
    empty_database: Database, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.postgres.migrations._LOCK_TIMEOUT_MS", 10)
    monkeypatch.setattr("penstock.postgres.migrations._LOCK_ATTEMPTS", 2)
    migrate(empty_database.api_dsn, directory)
    write(directory / "migrations", {"0003_slow.sql": "alter table queue.first add column name text;"})
    with psycopg.connect(empty_database.dsn) as blocker:
        blocker.execute("lock table queue.first")
        with pytest.raises(MigrationError, match=r"0003_slow\.sql: no lock after 2 attempts"):
            migrate(empty_database.api_dsn, directory)
    assert migrate(empty_database.api_dsn, directory).migrations == ["0003_slow.sql"]


def test_the_role_gets_its_settings_also_through_the_pooler(database: Database, postgres: TestServer) -> None:
    """The TCP keepalives are also settings of the role. This pooler connects to the server through a Unix socket, which
    has no keepalives."""
    with psycopg.connect(database.pooled_dsn, prepare_threshold=None) as connection:
        row = connection.execute("select rolconfig from pg_roles where rolname = current_user").fetchone()
        assert row == ([f"{name}={value}" for name, value in SESSION_SETTINGS.items()],)
        for name, value in SESSION_SETTINGS.items():
            if not name.startswith("tcp"):
                assert connection.execute("select current_setting(%s)", (name,)).fetchone() == (value,)


def test_a_database_of_another_encoding_is_refused(postgres: TestServer) -> None:
    """With SQL_ASCII, PostgreSQL returns texts as bytes, so checksums would differ and receives would fail."""
    postgres.administration.execute(
        "create database ascii template template0 encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'"
    )
    try:
        with pytest.raises(MigrationError, match="encoding is SQL_ASCII, it must be UTF8"):
            migrate(postgres.server.superuser_dsn("ascii"))
    finally:
        postgres.administration.execute("drop database ascii with (force)")


def test_the_defaults_of_new_queues_are_stored(empty_database: Database) -> None:
    stored = "select shards, visibility_timeout_seconds from queue.new_queue_default"
    variables = {"QUEUE_SHARDS": "8", "QUEUE_DEFAULT_VISIBILITY_TIMEOUT": "45"}
    for service, expected in ((None, (4, 30)), (Settings.read(variables), (8, 45)), (None, (8, 45))):
        migrate(empty_database.api_dsn, service=service)
        assert rows(empty_database.dsn, stored) == [expected]


def test_hostile_settings_of_the_database_change_nothing(empty_database: Database, database: Database) -> None:
    """All hostile settings apply at once. One of the settings, standard_conforming_strings = off, makes backslashes in
    strings escapes."""
    with psycopg.connect(empty_database.dsn, autocommit=True) as administration:
        give_all(administration, "database", empty_database.name, ROLE)
    assert migrate(empty_database.api_dsn).functions
    assert dump_schema(empty_database.api_dsn) == dump_schema(database.api_dsn)
    bodies = "select proname, prosrc from pg_proc where pronamespace = 'queue'::regnamespace order by 1, 2"
    assert rows(empty_database.api_dsn, bodies) == rows(database.api_dsn, bodies)


@pytest.mark.parametrize(
    ("statements", "name"),
    [
        ("create schema queue; create table queue.queues (id int)", "the table queues"),
        ("create schema queue; create view queue.jobs as select 1", "the object jobs"),
        ("create schema queue; create function queue.f() returns int return 1", "the object f"),
        ("create schema queue; create table queue.migration (id int); create table queue.t ()", "the table t"),
        ("create schema queue; create table queue.migration (x int)", "the table migration"),
        (
            "create schema queue; create table queue.migration (number text, name text, checksum text)",
            "the table migration",
        ),
        ("create schema queue; create view queue.migration as select 1 as number", "the object migration"),
        ("create schema queue; create sequence queue.migration", "the object migration"),
    ],
)
def test_a_schema_of_somebody_else_is_refused_and_stays_as_it_is(
    empty_database: Database, directory: Path, statements: str, name: str
) -> None:
    objects = (
        "select relname, relkind from pg_class where relnamespace = 'queue'::regnamespace union all"
        " select proname, 'f' from pg_proc where pronamespace = 'queue'::regnamespace order by 1"
    )
    with psycopg.connect(empty_database.dsn, autocommit=True) as administration:
        administration.execute(statements.encode())
    before = rows(empty_database.dsn, objects)
    refused = f"^the schema queue of this database is not Penstock's, because it has {name}: "
    with pytest.raises(MigrationError, match=refused):
        migrate(empty_database.dsn, directory)
    with psycopg.connect(empty_database.dsn) as connection, pytest.raises(MigrationError, match=refused):
        find_missing(connection)
    assert rows(empty_database.dsn, objects) == before


@pytest.mark.parametrize(
    ("statements", "refused"),
    [
        (f"create schema queue authorization {ROLE}", ""),
        ("create schema queue authorization pg_database_owner", ""),
        (f"create role team nologin; grant team to {ROLE}; create schema queue authorization team", ""),
        (f"create schema queue; grant all on schema queue to {ROLE}", "postgres"),
        ("create role team nologin; create schema queue authorization team", "team"),
    ],
)
def test_an_empty_schema_needs_the_rights_of_its_owner(
    empty_database: Database, directory: Path, statements: str, refused: str
) -> None:
    with psycopg.connect(empty_database.dsn, autocommit=True) as administration:
        administration.execute(statements.encode())
        try:
            if refused:
                text = f"^the schema queue of this database is empty and belongs to the role {refused}: "
                with pytest.raises(MigrationError, match=text):
                    migrate(empty_database.api_dsn, directory)
            else:
                assert migrate(empty_database.api_dsn, directory).functions
                assert not migrate(empty_database.dsn, directory).functions
            made = "select from pg_class where relnamespace = 'queue'::regnamespace limit 1"
            assert len(rows(empty_database.dsn, made)) == (0 if refused else 1)
        finally:
            administration.execute("drop schema queue cascade; drop role if exists team")


def test_a_superuser_takes_no_empty_schema_of_another_role(empty_database: Database, directory: Path) -> None:
    with psycopg.connect(empty_database.dsn, autocommit=True) as administration:
        administration.execute(f"create schema queue authorization {ROLE}".encode())
    text = f"^the schema queue of this database is empty and belongs to the role {ROLE}: "
    with pytest.raises(MigrationError, match=text):
        migrate(empty_database.dsn, directory)
    assert migrate(empty_database.api_dsn, directory).functions
