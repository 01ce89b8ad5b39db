"""Tests that frequent calls read about as many rows as they return, even with misleading statistics.

The tests use the worst statistics, which a full queue has after it was emptied and vacuumed. For a table with two rows
on many pages, PostgreSQL sees no difference between the indexes. When the queue fills again, PostgreSQL reuses the
plans from that time.
"""

import secrets
from collections.abc import Iterator
from functools import partial
from typing import Any

import psycopg
import pytest

from penstock.postgres.statements.installation import RECLAIM_SPACE
from penstock.postgres.statements.messages import RECEIVE_ATTEMPT
from tests.integration.sql.conftest import Connect
from tests.support.database import Database
from tests.support.sql.calls import (
    Connection,
    Entry,
    bodies,
    call,
    change,
    change_by_id,
    create,
    delete,
    delete_by_id,
    fetched,
    maintain,
    purge,
    queue_id,
    receive,
    rows_of,
    send,
    send_entries,
    value,
)
from tests.support.wait import wait_until

MESSAGES = 3000
# A call for ten messages fetches at most this number of rows. The measured values are between 2 and 204. A scan of the
# whole queue would read 3,000 rows.
MOST = 300


def fill(db: Connection, arn: str) -> None:
    for number in range(MESSAGES // 100):
        send(db, arn, *["m"] * 100, group=group_of(arn, number))


def group_of(arn: str, number: int) -> str | None:
    """Only FIFO queues have groups in these tests, because receives read ahead in a full standard queue with
    groups."""
    return f"g{number}" if arn.endswith(".fifo") else None


@pytest.fixture(params=["q", "q.fifo"])
def arn(db: Connection, database: Database, request: pytest.FixtureRequest) -> str:
    """Creates a full queue for which PostgreSQL has the statistics of an almost empty queue."""
    arn = create(db, request.param)
    fill(db, arn)
    held = receive(db, arn, 100)
    change(db, held[:50], 100)
    purge(db, arn)
    while maintain(db, arn):
        pass
    send(db, arn, "1", "2", group=group_of(arn, 0))
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        administration.execute("vacuum analyze")
    fill(db, arn)
    return arn


def test_hot_calls_read_what_they_are_about(arn: str, connect: Connect) -> None:
    db = connect()
    read = {"send": fetched(db, lambda: send(db, arn, *["m"] * 10, group=group_of(arn, 1)))}
    messages = [receive(db, arn, 10) for _ in range(20)]
    read["receive"] = fetched(db, lambda: messages.append(receive(db, arn, 10)))
    read["delete"] = fetched(db, lambda: delete(db, messages[0]))
    read["change"] = fetched(db, lambda: change(db, messages[1], 100))
    read["delete in the side table"] = fetched(db, lambda: delete(db, messages[1]))
    read["show"] = fetched(db, lambda: change(db, messages[2], 0))
    read["receive again"] = fetched(db, lambda: messages.append(receive(db, arn, 10)))
    read["change by id"] = fetched(db, lambda: change_by_id(db, arn, messages[3][0].public_id, 100))
    read["delete by id"] = fetched(db, lambda: delete_by_id(db, arn, *(m.public_id for m in messages[4])))
    for name in ("attempt", "repeat"):
        read[name] = fetched(db, lambda: call(db, RECEIVE_ATTEMPT, arn, 10, None, 120_000, "id", None, None))
    count = "select queue.count_in_flight(q.queue_id, q.fifo, q.shards) from queue.queues q"
    read["count"] = fetched(db, lambda: value(db, count))
    assert {name: rows for name, rows in read.items() if rows > MOST} == {}


def test_the_end_of_a_retention_period_reads_no_others(db: Connection) -> None:
    arn = create(db, "q")
    for _ in range(MESSAGES // 100):
        send(db, arn, *["m"] * 100, delay=900)
    query = "select queue.purge_side(q.queue_id, clock_timestamp() - interval '1 hour') from queue.queues q"
    assert fetched(db, lambda: value(db, query)) <= MOST


def test_calls_read_no_rows_of_other_times(db: Connection) -> None:
    """An audited action reads no older actions. Old runs are found without young runs, and late schedules without
    others."""
    create(db, "q")
    for statement in (
        """insert into queue.audit (account_id, interface, address, action, target)
        select '000000000000', 'rest', '', 'sqs:CreateQueue', 'arn' from generate_series(1, 3000)""",
        """insert into queue.schedule_run (schedule_id, scheduled_for)
        select n, clock_timestamp() from generate_series(1, 3000) n""",
        """insert into queue.schedule (account_id, region, name, api, expression_kind, expression, canonical, timezone,
            target, next_fire_at, due_at)
        select '000000000000', 'us-east-1', 's' || n, 'rest', 'cron', '0 * * * *', '0 * * * *', 'UTC', '{}', h, h
        from generate_series(1, 3000) n, (select clock_timestamp() + interval '1 hour') x(h)""",
    ):
        db.execute(statement)
    db.execute("vacuum analyze queue.audit, queue.schedule_run, queue.schedule")
    calls = {
        "an audited action": "select queue.create('other')",
        "old runs": "select queue.clean_schedule_runs(100, 86400)",
        "late schedules": "select count(*) from queue.alert_scopes()",
    }
    read = {name: fetched(db, partial(value, db, query)) for name, query in calls.items()}
    assert {name: rows for name, rows in read.items() if rows > MOST} == {}


# --- costs -----------------------------------------------------------------------------------------------------------
# In any session, the cost of a call does not grow with the contents of other queues.
#
# The cost is the number of pages that a call reads. The server counts the pages, so the count does not depend on the
# machine.


FEW, MANY = 1_000, 20_000
WARM_UP = 6  # PostgreSQL may choose another plan for the sixth execution ("PREPARE", plan_cache_mode)
CALLS = {
    "send": "queue.send('mine', '{}')",
    "receive and delete": "queue.delete('mine', r.msg_id) from queue.receive('mine', 60, 1) r",
    "receive from an empty queue": "r from queue.receive('nothing', 60, 1) r",
    "send to a group": "queue.send_fifo('mine.fifo', '1', 'group')",
    "receive from a group": "queue.delete('mine.fifo', r.msg_id) from queue.receive('mine.fifo', 60, 1) r",
    "look for what to clean": (
        "queue.queues_with_leftover_rows(array(select queue_id from queue.queues where name ^@ 'mine'))"
    ),
    "look for messages": "p from queue.poll_queues(array(select arn from queue.queues where name ^@ 'mine')) p",
}


@pytest.fixture
def session(database: Database) -> Iterator[Connection]:
    """Yields an application's session with PostgreSQL's default planner settings."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        for name in ("jit", "enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"):
            connection.execute(f"set {name} = on".encode())
        connection.execute("set plan_cache_mode = auto")
        yield connection


def pages(session: Connection, selected: str) -> int:
    """Returns the number of pages that a query reads."""
    explained = session.execute(f"explain (analyze, buffers, format json) select {selected}".encode()).fetchone()
    top: dict[str, Any] = explained[0][0]["Plan"]  # type: ignore[index]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])


def costs(session: Connection) -> dict[str, int]:
    """Returns the number of pages that each call reads. The lowest of several attempts counts, because a new page makes
    one attempt more expensive."""
    rounds = [{name: pages(session, selected) for name, selected in CALLS.items()} for _ in range(WARM_UP + 4)]
    return {name: min(each[name] for each in rounds[WARM_UP:]) for name in CALLS}


def fill_queue(session: Connection, messages: int) -> None:
    """Adds the given number of messages to other queues, and updates the statistics."""
    for _ in range(messages // 1000):
        send_entries(session, "arn:aws:sqs:us-east-1:000000000000:others", [Entry("m")] * 1000, async_commit=True)
    grouped = [Entry("m", group=str(n % 100), deduplication=f"{messages}-{n}") for n in range(messages // 10)]
    send_entries(session, "arn:aws:sqs:us-east-1:000000000000:others.fifo", grouped, async_commit=True)
    session.execute("analyze")


def test_calls_cost_the_same_beside_many_messages_of_others(session: Connection) -> None:
    for name in ("mine", "nothing", "others", "mine.fifo", "others.fifo"):
        create(session, name)
    fill_queue(session, FEW)
    before = costs(session)
    fill_queue(session, MANY)
    after = costs(session)
    # Each additional level of an index adds one page to each search. A call makes about a dozen searches.
    assert {name: (before[name], after[name]) for name in CALLS if after[name] > before[name] * 1.5} == {}


# --- disk space ------------------------------------------------------------------------------------------------------
# Tests the disk space of deleted rows: autovacuum also removes the last rows, and shrinks the indexes of empty tables.

# The rows of the tables in this list are short-lived. The last dead rows start autovacuum, even if the table had many
# rows.
SHRINKING = ("log", "lease", "side", "fifo_message", "fifo_group", "fifo_ready", "deduplication", "topic_deduplication")
LARGE_MESSAGES = """
insert into queue.fifo_message
    (id, group_key, visible_at, sent_at, message_id, queue_id, deduplication_id, body)
select n, 1, now(), now(), gen_random_uuid(), 1, '', %s from generate_series(1, 400) n"""
# A server without lz4 compresses with another method.
COMPRESSION = """
select case when 'lz4' = any (enumvals) then 'lz4' else 'pglz' end
from pg_settings where name = 'default_toast_compression'"""
FILES = "pg_total_relation_size('queue.hole')"


def vacuum(db: Connection, table: str) -> None:
    """Runs vacuum when no other session in this database holds a snapshot. A snapshot of ANALYZE, for example, would
    keep dead rows."""

    def is_alone() -> bool:
        return not value(
            db,
            "select count(*) from pg_stat_activity where datname = current_database() "
            "and pid <> pg_backend_pid() and backend_xmin is not null",
        )

    def vacuumed_alone() -> bool:
        was_alone = is_alone()
        db.execute(f"vacuum {table}")
        return was_alone and is_alone()

    wait_until(vacuumed_alone)


def fill_and_empty(db: Connection) -> None:
    """Creates a table with many rows that are deleted but not yet vacuumed."""
    db.execute("alter table queue.hole set (autovacuum_enabled = off)")
    db.execute("insert into queue.hole select 1, 0, n from generate_series(1, 20000) n")
    db.execute("delete from queue.hole")


def give_back(db: Connection) -> int:
    (row,) = call(db, RECLAIM_SPACE)
    return row.changed


def test_files_of_an_empty_table_are_given_back_once(db: Connection) -> None:
    fill_and_empty(db)
    vacuum(db, "queue.hole")
    assert value(db, f"select {FILES} > 256 * 1024")
    assert (give_back(db), give_back(db)) == (1, 0)
    assert value(db, f"select {FILES} < 32 * 1024")
    db.execute("insert into queue.hole values (1, 0, 1)")
    assert value(db, "select count(*) from queue.hole where id = 1") == 1


INSERT, VACUUM = "insert into queue.hole values (1, 0, 1)", "vacuum queue.hole"


@pytest.mark.parametrize("steps", [(INSERT, VACUUM), (VACUUM, INSERT)], ids=["before", "after"])
def test_a_row_that_came_before_or_after_the_vacuum_stays(db: Connection, steps: tuple[str, str]) -> None:
    """The catalog then wrongly reports an empty table, so the code checks the size of the file."""
    fill_and_empty(db)
    for step in steps:
        db.execute(step)
    assert give_back(db) == 0
    assert value(db, "select count(*) from queue.hole") == 1


def test_rows_that_an_old_snapshot_sees_stay(db: Connection, connect: Connect) -> None:
    fill_and_empty(db)
    db.execute("insert into queue.hole select 1, 0, n from generate_series(1, 20000) n")
    with connect() as reader:
        reader.execute("begin isolation level repeatable read")
        assert value(reader, "select 1") == 1  # its snapshot begins now
        db.execute("delete from queue.hole")
        db.execute("vacuum queue.hole")
        assert give_back(db) == 0
        assert value(reader, "select count(*) from queue.hole") == 20_000
        reader.execute("rollback")
    vacuum(db, "queue.hole")
    assert give_back(db) == 1


def test_returning_space_waits_for_no_other_transaction(db: Connection, connect: Connect) -> None:
    fill_and_empty(db)
    vacuum(db, "queue.hole")
    with connect() as other, other.transaction():
        other.execute("select from queue.hole")
        assert give_back(db) == 0
    assert give_back(db) == 1


LEASES = """
insert into queue.lease (pos, first_id, visible_at, watermark, low, queue_id, receive_count, shard, ids)
select n, n, '-infinity', '-infinity', case when n = 20000 then n else 0 end, %s, 1, 0, '{}'
from generate_series(1, 20000) n"""


def test_the_cursor_of_an_idle_queue_does_not_keep_the_file(db: Connection) -> None:
    """The row of the cursor is the newest row and the only one that remains."""
    arn = create(db)
    db.execute("alter table queue.lease set (autovacuum_enabled = off)")
    db.execute(LEASES, (queue_id(db, arn),))
    db.execute("delete from queue.lease where pos < 20000")
    vacuum(db, "queue.lease")
    assert value(db, "select pg_relation_size('queue.lease') > 1024 * 1024")
    give_back(db)
    vacuum(db, "queue.lease")
    assert value(db, "select pg_relation_size('queue.lease') < 256 * 1024")
    send(db, arn, "m")
    (message,) = receive(db, arn)
    assert (message.body, message.id) == ("m", 20001)


def test_a_file_that_is_empty_behind_its_rows_is_vacuumed_again(db: Connection) -> None:
    """Vacuum ran while the last page of the table still contained a row. `move_cursors` rewrites a row, and the dead
    row version starts autovacuum again.
    """
    create(db)
    db.execute("alter table queue.lease set (autovacuum_enabled = off)")
    db.execute(LEASES, (0,))
    db.execute("delete from queue.lease where queue_id = 0")
    vacuum(db, "(truncate off) queue.lease")
    assert value(db, "select queue.move_cursors()") == 1
    vacuum(db, "queue.lease")
    assert value(db, "select queue.move_cursors()") == 0


def test_a_cursor_that_somebody_reads_stays_where_it_is(db: Connection, connect: Connect) -> None:
    arn = create(db)
    db.execute("alter table queue.lease set (autovacuum_enabled = off)")
    db.execute(LEASES, (queue_id(db, arn),))
    db.execute("delete from queue.lease where pos < 20000")
    vacuum(db, "queue.lease")
    with connect() as other, other.transaction():
        receive(other, arn)
        other.execute("select pg_advisory_xact_lock(queue.lock_key(1, %s, 0))", (queue_id(db, arn),))
        assert value(db, "select queue.move_cursors()") == 0
    assert value(db, "select queue.move_cursors()") == 1
    assert rows_of(db, "lease", arn) == 1


@pytest.mark.parametrize("table", SHRINKING)
def test_autovacuum_comes_for_the_last_row(db: Connection, table: str) -> None:
    options = value(db, f"select reloptions from pg_class where oid = 'queue.{table}'::regclass")
    assert {"autovacuum_vacuum_threshold=0", "vacuum_index_cleanup=on"} <= set(options)


def test_a_few_dead_rows_do_not_keep_the_file(db: Connection) -> None:
    """Fewer than one in fifty pages contain dead rows. By default, vacuum then does not clean indexes (VACUUM,
    INDEX_CLEANUP)."""
    db.execute("alter table queue.fifo_message set (autovacuum_enabled = off)")
    db.execute(LARGE_MESSAGES.encode(), (secrets.token_hex(850),))  # A page contains only a few rows.
    for gone in ("id < 400", "true"):
        db.execute(f"delete from queue.fifo_message where {gone}".encode())
        vacuum(db, "queue.fifo_message")
    assert value(db, "select pg_relation_size('queue.fifo_message')") == 0


def test_the_service_may_empty_tables_it_does_not_own(db: Connection) -> None:
    definer = "select prosecdef from pg_proc where oid = 'queue.reclaim_space()'::regprocedure"
    assert value(db, definer) is True


def test_long_texts_are_compressed_cheaply(db: Connection) -> None:
    arn, body = create(db, "q"), "a text that comes again, " * 400
    send(db, arn, body)
    assert value(db, "select pg_column_compression(body) from queue.log") == value(db, COMPRESSION)
    assert bodies(receive(db, arn)) == [body]
