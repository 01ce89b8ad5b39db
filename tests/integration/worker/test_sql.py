"""Tests workers over psycopg: the handler's statements and the delete of its message are one transaction."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from penstock_worker import Message, runner, worker
from tests.support.database import Database
from tests.support.sql.calls import Connection
from tests.support.wait import wait_until
from tests.support.workers import Start, in_flight


@pytest.fixture
def dsn(shared_database: Database) -> str:
    return shared_database.api_dsn


@pytest.fixture
def work(shared_database: Database) -> str:
    """Makes a table of the application, which has no primary key: work that is done twice is visible."""
    with psycopg.connect(shared_database.dsn, autocommit=True) as connection:
        connection.execute("drop table if exists public.work")
        connection.execute("create table public.work (what text)")
        connection.execute("grant all on public.work to public")
    return "insert into public.work values (%s)"


def create(db: Connection, name: str, *messages: object) -> None:
    db.execute("select queue.create(%s)", [name])
    for message in messages:
        db.execute("select queue.send(%s, %s, %s)", [name, Jsonb(message), Jsonb({"kind": "large"})])


def done(db: Connection) -> list[str]:
    return [what for (what,) in db.execute("select what from public.work order by what").fetchall()]


def count(db: Connection, name: str) -> int:
    rows = db.execute("select total_messages, queue_length, in_flight from queue.metrics(%s)", [name]).fetchall()
    return int(rows[0][1] + rows[0][2])


def test_work_and_delete_commit_together(dsn: str, work: str, start: Start, db: Connection) -> None:
    create(db, "sql-work", *({"order": number} for number in range(5)))
    handled: list[Message] = []

    @worker("sql-work", database=dsn, concurrency=3, wait_seconds=0)
    def handle(message: Message, connection: psycopg.Connection) -> None:
        handled.append(message)
        connection.execute(work, [str(message.json()["order"])])

    start(handle)
    wait_until(lambda: count(db, "sql-work") == 0 and len(done(db)) == 5)
    assert done(db) == ["0", "1", "2", "3", "4"]
    assert (handled[0].receive_count, handled[0].attributes) == (1, {"kind": "large"})


def test_asynchronous_handlers_have_connections_of_their_own(dsn: str, work: str, start: Start, db: Connection) -> None:
    create(db, "sql-async", 0, 1, 2)
    together = asyncio.Barrier(3)

    @worker("sql-async", database=dsn, concurrency=3, wait_seconds=0)
    async def handle(message: Message, connection: psycopg.AsyncConnection) -> None:
        await connection.execute(work, [message.body])
        await together.wait()

    start(handle)
    wait_until(lambda: done(db) == ["0", "1", "2"] and count(db, "sql-async") == 0)


def test_a_failure_undoes_the_work_and_stores_its_cause(dsn: str, work: str, start: Start, db: Connection) -> None:
    create(db, "sql-fails", "m")
    seen: list[int] = []

    @worker("sql-fails", database=dsn, wait_seconds=0, backoff=lambda received: 0 if received == 1 else 900)
    def handle(message: Message, connection: psycopg.Connection) -> None:
        seen.append(message.receive_count)
        connection.execute(work, ["lost"])
        raise ValueError("no total")

    start(handle)
    wait_until(lambda: [received for received, at in in_flight(db, "sql-fails") if at > (time.time() + 600) * 1_000])
    assert (seen, done(db)) == ([1, 2], [])
    causes = db.execute("select error from queue.failure where error like 'ValueError: no total'").fetchall()
    assert len(causes) == 2


def test_a_message_that_another_consumer_has_deleted_counts_once(
    dsn: str, work: str, start: Start, db: Connection
) -> None:
    create(db, "sql-gone", 1, 2)

    @worker("sql-gone", database=dsn, wait_seconds=0)
    def handle(message: Message, connection: psycopg.Connection) -> None:
        connection.execute(work, [message.body])
        if message.body == "1":
            db.execute("select queue.delete('sql-gone', %s)", [int(message.id)])

    start(handle)
    wait_until(lambda: count(db, "sql-gone") == 0 and done(db))
    assert done(db) == ["2"]


def test_a_group_of_a_fifo_queue_stays_in_order(dsn: str, work: str, start: Start, db: Connection) -> None:
    db.execute("select queue.create('sql-ordered.fifo')")
    for number in range(4):
        db.execute("select queue.send_fifo('sql-ordered.fifo', %s, 'a', %s)", [Jsonb(number), str(number)])
    attempts: list[str] = []

    @worker("sql-ordered.fifo", database=dsn, concurrency=4, wait_seconds=0, backoff=lambda _: 0)
    def handle(message: Message, connection: psycopg.Connection) -> None:
        attempts.append(message.body)
        if attempts == ["0", "1"]:
            raise ValueError

    start(handle)
    wait_until(lambda: count(db, "sql-ordered.fifo") == 0)
    assert attempts == ["0", "1", "1", "2", "3"]


def test_lost_connections_are_replaced(
    dsn: str, work: str, start: Start, db: Connection, shared_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "MAX_PAUSE_SECONDS", 0)
    create(db, "sql-lost", "first")

    @worker("sql-lost", database=f"{dsn}?application_name=lost", wait_seconds=0)
    def handle(message: Message, connection: psycopg.Connection) -> None:
        connection.execute(work, [message.json()])

    start(handle)
    wait_until(lambda: done(db) == ["first"])
    with psycopg.connect(shared_database.dsn, autocommit=True) as administrator:
        end = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'lost'"
        assert administrator.execute(end).fetchall() == [(2,)]
    create(db, "sql-lost", "second")
    wait_until(lambda: done(db) == ["first", "second"])


def test_an_unknown_queue_is_told_in_the_log(dsn: str, start: Start, caplog: Any) -> None:
    @worker("sql-missing", database=dsn, wait_seconds=0)
    def handle(message: Message, connection: psycopg.Connection) -> None: ...

    start(handle)
    wait_until(lambda: "a receive from sql-missing failed" in caplog.text)
