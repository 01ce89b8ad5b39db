"""Until release 0.1.0, commits change the baseline in place, and sql/ does not mention earlier releases. After 0.1.0,
the baseline is fixed.

The heading of a release's section in CHANGELOG contains the commit of the release.

The runner reads every folder in sql/functions, and the database contains exactly the functions of these folders.

The schema dump is the same on every PostgreSQL version, and contains tables and functions.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock.postgres.migrations import find_sql_directory, migrate, read_functions
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.schema_dump import dump_schema
from penstock.settings import Settings
from penstock.workers import maintain, measure
from penstock_web.local.postgres import ROLE, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.database import Database, new_cluster
from tests.support.pages.script import blocks
from tests.support.sql.calls import create, delete, receive, redrive, send
from tests.support.wait import wait_until

ROOT = Path(__file__).parents[3]
BASELINE = "migrations/0001_baseline.sql"
_DECLARED = re.compile(r"^## \[0\.1\.0\].*\bcommit ([0-9a-f]{7,40})\b", re.MULTILINE)
_HISTORY = re.compile(r"^\s*drop (?:function|type|view|table)|^do \$\$", re.MULTILINE | re.IGNORECASE)


def released_commit(changelog: str) -> str:
    """Returns the commit that CHANGELOG names for release 0.1.0, or "" before the release."""
    found = _DECLARED.search(changelog)
    return found[1] if found else ""


def faults(directory: Path, released_baseline: str | None) -> Iterator[str]:
    """Returns the forbidden contents of a folder that has the layout of sql/. `released_baseline` is the text of the
    released baseline, or None before the release."""
    if released_baseline is not None:
        if (directory / BASELINE).read_text() != released_baseline:
            yield f"{BASELINE} is not that of release 0.1.0: write a migration instead"
        return
    for path in sorted((directory / "migrations").iterdir()):
        if path.name != Path(BASELINE).name:
            yield f"migrations/{path.name}: edit the baseline instead"
    for path in sorted((directory / "former").glob("*")):
        yield f"former/{path.name}: no release calls it"
    for path in sorted((directory / "functions").rglob("*.sql")):
        if _HISTORY.search(path.read_text()):
            yield f"{path.name}: there is no earlier function to drop"


def test_sql_is_as_the_changelog_demands() -> None:
    commit = released_commit((ROOT / "CHANGELOG.md").read_text())
    released = None
    if commit:
        command = ["git", "show", f"{commit}:sql/{BASELINE}"]
        released = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert list(faults(find_sql_directory(), released)) == []


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Copies sql/."""
    return Path(shutil.copytree(find_sql_directory(), tmp_path / "sql"))


DROP = """\
drop function if exists queue.a(int);
create or replace function queue.a() returns int language sql as 'select 1';
"""


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("migrations/0002_next.sql", "select 1;", "migrations/0002_next.sql: edit the baseline instead"),
        ("former/queue.a.sql", "", "former/queue.a.sql: no release calls it"),
        ("functions/queue.a.sql", DROP, "queue.a.sql: there is no earlier function to drop"),
    ],
)
def test_before_the_release_they_are_refused_and_then_allowed(
    directory: Path, name: str, text: str, fault: str
) -> None:
    baseline = (directory / BASELINE).read_text()
    (directory / name).parent.mkdir(exist_ok=True)
    (directory / name).write_text(text)
    assert list(faults(directory, None)) == [fault]
    assert list(faults(directory, baseline)) == []


def test_after_the_release_the_baseline_does_not_change(directory: Path) -> None:
    baseline = (directory / BASELINE).read_text()
    (directory / BASELINE).write_text(f"{baseline}\n-- More.\n")
    assert list(faults(directory, None)) == []
    assert list(faults(directory, baseline)) == [
        "migrations/0001_baseline.sql is not that of release 0.1.0: write a migration instead"
    ]


@pytest.mark.parametrize(
    ("heading", "commit"),
    [
        ("## [0.1.0] - 2026-12-01, commit 1d7c22fad1f1", "1d7c22fad1f1"),
        ("## [0.1.0] - 2026-11-28", ""),
        ("## [0.2.0] - 2027-01-01, commit 1d7c22fad1f1", ""),
    ],
)
def test_the_heading_declares_the_release(heading: str, commit: str) -> None:
    assert released_commit(f"# Changelog\n\n{heading}\n\nThe first release.\n") == commit


FUNCTIONS = find_sql_directory() / "functions"
# The baseline creates these functions, because indexes and a trigger use them.
MADE_BY_MIGRATION = ["time_key", "side_shard", "fifo_shard", "side_key", "fifo_key", "refuse_prepare"]
DEFINED = re.compile(r"^create or replace (?:function|procedure) queue\.([a-z_]+)", re.MULTILINE)


def files() -> list[Path]:
    return [*FUNCTIONS.glob("*/*.sql"), *(find_sql_directory() / "former").glob("*.sql")]


def test_a_table_is_described_once() -> None:
    """The catalogue contains the description (`comment on table`), which a comment before the table would repeat."""
    text = (find_sql_directory() / BASELINE).read_text()
    described = set(re.findall(r"^comment on table queue\.(\w+)", text, re.MULTILINE))
    before = re.findall(r"^--(.*)\ncreate (?:unlogged )?table queue\.(\w+)", text, re.MULTILINE)
    assert {table for comment, table in before if not comment.endswith("---")} & described == set()


def test_the_catalogue_has_the_functions_of_the_files(database: Database) -> None:
    """If the migration runner did not read a folder, the database would lack the folder's functions."""
    with psycopg.connect(database.dsn) as connection:
        found = connection.execute("select proname from pg_proc where pronamespace = 'queue'::regnamespace").fetchall()
    expected = [name for path in files() for name in DEFINED.findall(path.read_text())] + MADE_BY_MIGRATION
    assert sorted(name for (name,) in found) == sorted(expected)


def test_functions_are_read_in_the_order_of_their_names_across_folders() -> None:
    names = [script.name for script in read_functions(find_sql_directory())]
    functions = sorted(path.name for path in FUNCTIONS.glob("*/*.sql"))
    assert names[: len(functions)] == functions
    assert len(set(functions)) == len(functions)


def test_a_folder_holds_at_most_20_files() -> None:
    """Only the folder `api` can contain more files. All functions are in subfolders."""
    held = Counter(path.parent.name for path in FUNCTIONS.rglob("*.sql"))
    assert {folder: count for folder, count in held.items() if folder != "api" and count > 20} == {}
    assert FUNCTIONS.name not in held


def test_the_dump_shows_tables_and_functions(database: Database) -> None:
    dump = dump_schema(database.api_dsn)
    for text in ("create table queue.log (", "\nfunction queue.send(name text"):
        assert text in dump


def test_the_dump_is_the_same_on_the_newest_postgresql(database: Database) -> None:
    with ephemeral_state() as state, running_postgres(state, SystemAccount.choose(), "wheel") as newest:
        migrate(newest.service_dsn())
        assert dump_schema(newest.service_dsn()) == dump_schema(database.api_dsn)


# --- logical replication ----------------------------------------------------------------------------------------------
UNLOGGED = {
    "activity",
    "fifo_search",
    "in_flight",
    "poll_slot",
    "poller",
    "prepare_guard",
    "receiver",
    "recent_firing",
    "unjudged_event",
    "watcher",
    "write_probe",
}
"""Lists the unlogged tables, whose rows a server does not replicate and can lose in a crash."""


def test_every_logged_table_has_a_primary_key(database: Database) -> None:
    """Without primary keys, a publication of all tables would stop updates and deletes. AWS requires primary keys for
    blue/green deployments (Amazon RDS User Guide, "Limitations and considerations for Amazon RDS blue/green
    deployments", https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/blue-green-deployments-considerations.html).
    """
    query = """
        select c.relname, c.relpersistence, exists (
            select from pg_index i where i.indrelid = c.oid and i.indisprimary)
        from pg_class c where c.relnamespace = 'queue'::regnamespace and c.relkind in ('r', 'p')"""
    with psycopg.connect(database.dsn) as connection:
        tables = connection.execute(query.encode()).fetchall()
    assert [name for name, kind, key in tables if kind == "p" and not key] == []
    assert {name for name, kind, _ in tables if kind == "u"} == UNLOGGED


ROWS = b"""
    select string_agg(t.rows, ' ' order by t.name) from (
        select c.relname as name, c.relname || (xpath('/row/n/text()', query_to_xml(format(
            'select count(*) as n from queue.%I', c.relname), false, true, '')))[1]::text as rows
        from pg_class c
        where c.relnamespace = 'queue'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
            and c.relpersistence = 'p') t"""


def use(database: psycopg.Connection[tuple[object, ...]]) -> None:
    """Sends, receives, deletes and dead-letters messages, and runs the workers that change tables."""
    dead = create(database, "dead")
    arn = create(database, RedrivePolicy=redrive(dead), MessageRetentionPeriod="60")
    fifo = create(database, "q.fifo")
    for body in ("deleted", "dead", "expired"):
        send(database, arn, body, delay=900 if body == "expired" else 0)
        send(database, fifo, body, group=body)
    delete(database, receive(database, arn, 1))
    receive(database, arn, visibility=0)
    receive(database, arn)
    delete(database, receive(database, fifo))
    database.execute("update queue.side set sent_at = sent_at - interval '1 hour' where body = 'expired'")
    executor = TransactionExecutor(database)
    for pause_is_over in (True, True):
        measure.run_once(Settings.read({}), executor)
        maintain.run_once(Settings.read({}), executor)
        if pause_is_over:
            database.execute("update queue.worker_position set ran_at = '-infinity'")


def run_page(words: str, variables: dict[str, str], folder: Path) -> str:
    """Runs the only code block in docs/operate/replicate.md that contains the given words. Returns the output."""
    (text,) = [block.text for block in blocks("docs/operate/replicate.md") if words in block.text and block.kind]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=folder, env={**os.environ, "PATH": path, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("psql") is None, reason="needs psql and pg_dump")
def test_a_subscriber_replicates_all_tables_while_the_product_runs(tmp_path: Path) -> None:
    """The subscriber is another server. The commands on the page set up the subscriber and promote it. The commands in
    docs/operate/remove.md remove Penstock."""
    with (
        new_cluster("any", wal_level="logical") as publisher,
        new_cluster("any", fsync="on") as subscriber,
        psycopg.connect(publisher.superuser_dsn(), autocommit=True) as source,
        psycopg.connect(subscriber.superuser_dsn(), autocommit=True) as target,
    ):
        old, new = publisher.superuser_dsn(), subscriber.superuser_dsn()
        variables = {
            "DATABASE_DIRECT_URL": old,
            "ADMIN_URL": old,
            "NEW_DATABASE_URL": new,
            "NEW_ADMIN_URL": new,
            "COPY_URL": make_conninfo(old, user="penstock_copy", password="copy-password"),
        }
        migrate(old, role=ROLE)
        create(source, "before")
        for words in ("create role", "pg_dump", "add_history_day", "create subscription"):
            run_page(words, variables, tmp_path)
        use(source)  # Meanwhile, the publisher creates partitions.
        assert source.execute("select count(*) from queue.history").fetchall() != [(0,)]
        wait_until(lambda: target.execute(ROWS).fetchall() == source.execute(ROWS).fetchall())
        assert target.execute("select count(*) from queue.history_default").fetchall() == [(0,)]
        run_page("drop subscription", variables, tmp_path)
        assert "higher ids than all ids" in run_page("--after-restore", variables, tmp_path)
        send(target, create(target, "after"), "1")
        for block in blocks("docs/operate/remove.md"):
            target.execute(block.text.encode())
        assert target.execute("select rolname from pg_roles where rolname ^@ 'penstock_'").fetchall() == []
