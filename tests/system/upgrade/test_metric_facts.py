"""A database whose history is older than migration 0014 of release 0.0.1: nothing of it is lost, rewritten or held up.

That release migrates it, and this one gives it the record of the baseline.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock.postgres.migrations import migrate
from tests.support.database import Database
from tests.support.upgrade.release import FIRST, some_migrations, unpack
from tests.support.wait import wait_until

Connection = psycopg.Connection[Any]
BEFORE = """
create table queue.history_20260101 partition of queue.history
    for values from ('2026-01-01 00:00+00') to ('2026-01-02 00:00+00');
insert into queue.history (recorded_at, queue_id, receive_count, outcome, group_id, sent_at, finished_at)
values ('2026-01-01 12:00+00', 1, 1, 'deleted', null, '{2026-01-01 11:00+00, 2026-01-01 11:01+00}',
    '{2026-01-01 11:30+00, 2026-01-01 11:31+00}'),
    ('2026-02-01 12:00+00', 2, 0, 'purged', 'g', '{2026-01-01 11:00+00}', '{2026-01-01 11:30+00}')"""
SEEN = (
    "select queue_id, group_id, outcome, sent_at < finished_at from queue.finished_message order by queue_id"
)
INDEXED = """
select array_agg(tablename::text order by 1) from pg_indexes where indexdef like '%brin%' and tablename ~ '^history'"""
FILE = "select pg_relation_filenode('queue.history_20260101')"


@pytest.fixture
def db(empty_database: Database, tmp_path: Path) -> Iterator[Connection]:
    """The schema before 0014, with a history."""
    release = unpack(tmp_path / "release", FIRST)
    migrate(empty_database.api_dsn, some_migrations(release, tmp_path / "some", 13))
    with psycopg.connect(empty_database.api_dsn, autocommit=True) as connection:
        connection.execute(BEFORE.encode())
        yield connection


def upgrade(db: Connection, tmp_path: Path) -> None:
    dsn = f"{db.info.dsn} password={db.info.password}"
    migrate(dsn, some_migrations(tmp_path / "release", tmp_path / "some", 20))
    assert migrate(dsn).adopted == "0001_baseline.sql"


def one(db: Connection, query: str) -> Any:
    row = db.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def test_a_history_from_before_is_read_as_one_of_now(db: Connection, tmp_path: Path) -> None:
    file = one(db, FILE)
    upgrade(db, tmp_path)
    assert one(db, FILE) == file  # not rewritten
    assert db.execute(SEEN.encode()).fetchall() == [
        (1, None, "deleted", True),
        (1, None, "deleted", True),
        (2, "g", "purged", True),
    ]
    below = (
        "select bool_and(transaction < pg_snapshot_xmin(pg_current_snapshot())) from queue.finished_message"
    )
    wait_until(
        lambda: one(db, below) is True
    )  # autovacuum may have a transaction, in any database of the server


def test_partitions_made_from_now_on_have_the_index(db: Connection, tmp_path: Path) -> None:
    upgrade(db, tmp_path)
    db.execute("select queue.add_history_day('history', '2026-01-03')")
    assert one(db, INDEXED) == ["history", "history_20260103", "history_default"]


def test_what_the_previous_release_records_is_complete(db: Connection, tmp_path: Path) -> None:
    """Between the migration and the new functions, and in a rollout: rows without the new columns."""
    upgrade(db, tmp_path)
    db.execute(
        "insert into queue.history (queue_id, outcome, receive_count, sent_at, finished_at)"
        " values (3, 'deleted', 1, array[now() - interval '1 s'], array[now()])"
    )
    assert one(db, "select transaction = xmin::text::xid8 from queue.history where queue_id = 3") is True
    assert db.execute(SEEN.encode()).fetchall()[-1] == (3, None, "deleted", True)
