"""Tests cleaning, retention, history, deleted queues and partitions."""

from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.postgres.statements.installation import MAINTAIN_INSTALLATION, REFRESH_STATISTICS
from penstock.postgres.statements.queues import DROP_QUEUE
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    BackgroundCall,
    Connection,
    Counts,
    Delivery,
    arn_of,
    call,
    change,
    counts,
    create,
    delete,
    delete_by_id,
    history,
    maintain,
    purge,
    queue_id,
    receive,
    received_seconds_ago,
    rows_of,
    send,
    value,
)
from tests.support.sql.metric_rows import add_window

# A sweep requires more than this number of finished messages behind an open lease.
UNSWEPT = 4_000
TABLES = ("log", "lease", "side", "hole", "fifo_group", "fifo_ready", "deduplication", "archive", "watcher")


def send_many(db: Connection, arn: str, number: int) -> list[int]:
    query = "select * from queue.send_batch(%s, array(select to_jsonb(n) from generate_series(1, %s) n))"
    return [row[0] for row in db.execute(query, (arn, number))]


def age(db: Connection, text: str = "1 day") -> None:
    """Moves the send times of all messages back by the given time."""
    for table in ("log", "side", "fifo_message"):
        db.execute(f"update queue.{table} set sent_at = sent_at - %s::interval".encode(), (text,))


def installation(db: Connection, limit: int = 1000) -> int:
    (row,) = call(db, MAINTAIN_INSTALLATION, limit, 30, None)
    return row.changed


def test_a_large_purge_is_cleaned_in_pieces(db: Connection) -> None:
    """The purge covers more ids than one cleaning call reads."""
    arn = create(db)
    send_many(db, arn, 25_000)
    assert purge(db, arn) == 25_000
    assert maintain(db, arn) == 20_000
    assert maintain(db, arn) == 5_000
    assert rows_of(db, "log", arn) == 0
    assert history(db, arn) == {"purged": 25_000}


def test_a_wide_hole_does_not_end_the_cleaning(db: Connection) -> None:
    """A lease can span more ids than one cleaning call reads if consumers deleted the ids in between separately."""
    arn = create(db)
    first, *others = send_many(db, arn, 20_100)
    delete_by_id(db, arn, *others[:-1])
    assert len(receive(db, arn)) == 2
    assert delete_by_id(db, arn, first, others[-1]) == [first, others[-1]]
    maintain(db, arn)
    assert (rows_of(db, "log", arn), rows_of(db, "hole", arn)) == (0, 0)
    assert history(db, arn) == {"deleted": 20_100}


def test_receives_clean_now_and_then(db: Connection) -> None:
    arn = create(db)
    send_many(db, arn, 4_100)
    while messages := receive(db, arn, 100, lease_size=100):
        delete(db, messages)
    assert rows_of(db, "log", arn) <= 2_100
    send(db, arn, "m")
    delete(db, receive(db, arn))
    maintain(db, arn)
    assert (rows_of(db, "log", arn), rows_of(db, "lease", arn)) == (0, 1)
    assert history(db, arn) == {"deleted": 4_101}


def straggle(db: Connection, arn: str) -> list[Delivery]:
    """Keeps one message in flight, and receives and deletes 10,100 later messages."""
    send(db, arn, "straggler")
    straggler = receive(db, arn)
    send_many(db, arn, 10_100)
    while messages := receive(db, arn, 1000, lease_size=1000):
        delete(db, messages)
    return straggler


def test_a_straggler_does_not_hold_up_the_cleaning(db: Connection) -> None:
    arn = create(db)
    straggler = straggle(db, arn)
    received_seconds_ago(db, 10)
    maintain(db, arn)
    assert (rows_of(db, "log", arn), rows_of(db, "side", arn)) == (0, 1)
    assert counts(db, arn) == Counts(0, 1, 0)
    assert delete(db, straggler) == ["deleted"]
    assert history(db, arn) == {"deleted": 10_101}


def test_finished_messages_behind_an_open_lease_are_swept(db: Connection) -> None:
    """The sweep does not copy the open message, because a consumer will soon finish it."""
    arn = create(db)
    straggler = straggle(db, arn)
    received_seconds_ago(db, 0)
    maintain(db, arn)
    left = rows_of(db, "log", arn)
    assert left <= UNSWEPT
    assert (rows_of(db, "side", arn), counts(db, arn)) == (0, Counts(0, 1, 0))
    assert history(db, arn) == {"deleted": 10_101 - left}
    assert delete(db, straggler) == ["deleted"]
    maintain(db, arn)
    assert (rows_of(db, "log", arn), rows_of(db, "lease", arn)) == (0, 1)
    assert history(db, arn) == {"deleted": 10_101}


def test_a_later_sweep_takes_what_was_open_at_the_first(db: Connection) -> None:
    """The sweep copies messages while the oldest message is still in flight."""
    arn = create(db)
    send(db, arn, "straggler")
    receive(db, arn)
    held: list[Delivery] = []
    for _ in range(2):
        send_many(db, arn, 10_000)
        for _ in range(10):
            first, *messages = receive(db, arn, 1000)
            held.append(first)
            delete(db, messages)
        maintain(db, arn)
    # The messages of a lease stay in the log.
    assert rows_of(db, "log", arn) <= UNSWEPT + 10 * len(held)
    delete(db, held)
    send_many(db, arn, 20_000)
    while messages := receive(db, arn, 1000, lease_size=1000):
        delete(db, messages)
    for _ in range(3):
        maintain(db, arn)
    assert rows_of(db, "log", arn) <= UNSWEPT
    assert counts(db, arn) == Counts(0, 1, 0)


@pytest.mark.parametrize("state", ["fresh", "in flight", "expired lease", "side table", "delayed"])
def test_retention_ends_a_message_whatever_its_state(db: Connection, state: str) -> None:
    arn = create(db, MessageRetentionPeriod="60")
    send(db, arn, "old", delay=900 if state == "delayed" else 0)
    if state in {"in flight", "expired lease", "side table"}:
        messages = receive(db, arn, visibility=0 if state == "expired lease" else 100)
        if state == "side table":
            change(db, messages, 0)
    age(db)
    send(db, arn, "new")
    maintain(db, arn)
    maintain(db, arn)
    assert counts(db, arn) == Counts(1, 0, 0)
    assert history(db, arn) == {"expired": 1}


def test_retention_ends_a_message_behind_many_others(db: Connection) -> None:
    """The message expires although many messages precede it."""
    arn = create(db, MessageRetentionPeriod="60")
    send(db, arn, "old", delay=900)
    age(db)
    for _ in range(11):
        send(db, arn, *["new"] * 100, delay=1)
    maintain(db, arn)
    assert counts(db, arn) == Counts(0, 0, 1100)
    assert history(db, arn) == {"expired": 1}


def test_fifo_retention(db: Connection) -> None:
    arn = create(db, "q.fifo", MessageRetentionPeriod="60")
    send(db, arn, "old", group="a")
    send(db, arn, "old", group="b")
    receive(db, arn, 1)
    age(db)
    send(db, arn, "new", group="a")
    assert maintain(db, arn) == 2
    assert [d.body for d in receive(db, arn)] == ["new"]
    assert history(db, arn) == {"expired": 2}


@pytest.mark.parametrize("name", ["q", "q.fifo"])
def test_a_queue_without_history(db: Connection, name: str) -> None:
    arn = create(db, name, history="false", MessageRetentionPeriod="60")
    for _ in range(2):
        send(db, arn, "1", "2", "3", "4", group="g")
        messages = receive(db, arn, 2)
        delete(db, messages[:1])
        change(db, messages[1:], 0)
        age(db)
        maintain(db, arn)
        purge(db, arn)
        maintain(db, arn)
    assert history(db, arn) == {}


def test_history_tells_when(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "1", "2")
    first, second = receive(db, arn, visibility=0)
    delete(db, [first])
    (again,) = receive(db, arn)
    assert again.public_id == second.public_id
    delete(db, [again])
    maintain(db, arn)
    query = """
        select outcome, receive_count, cardinality(sent_at), cardinality(finished_at), group_id,
            sent_at[1] <= first_received_at and first_received_at <= all (finished_at)
        from queue.history order by receive_count"""
    assert db.execute(query).fetchall() == [("deleted", 1, 1, 1, None, True), ("deleted", 2, 1, 1, None, True)]


def test_history_tells_the_group(db: Connection) -> None:
    arn = create(db, "q.fifo")
    send(db, arn, "1", "2", group="g")
    delete(db, receive(db, arn))
    assert db.execute("select group_id, cardinality(sent_at) from queue.history").fetchall() == [("g", 2)]


@pytest.mark.parametrize("name", ["q", "q.fifo"])
def test_a_deleted_queue_is_cleaned_in_pieces(db: Connection, name: str) -> None:
    arn = create(db, name, archive="true")
    for number in range(30):
        send(db, arn, "m", group=f"g{number}")
    delete(db, receive(db, arn, 5))
    number = queue_id(db, arn)
    call(db, DROP_QUEUE, arn)
    runs = [installation(db, 10) for _ in range(12)]
    assert max(runs) <= 10 * len(TABLES)
    assert runs[-1] == 0
    for table in (*TABLES, "fifo_message"):
        left = value(db, f"select count(*) from queue.{table} where queue_id = %s", number)
        assert left == 0, table
    # A late sender can still commit its message.
    assert value(db, "select count(*) from queue.dropped_queue") == 1
    db.execute("update queue.dropped_queue set dropped_at = dropped_at - interval '11 minutes'")
    installation(db)
    assert value(db, "select count(*) from queue.dropped_queue") == 0


def test_the_name_of_a_deleted_queue_stays_with_its_metrics(db: Connection) -> None:
    """The name of the queue stays in the database while metrics exist for the queue. Maintenance cleans the queue once,
    and another queue can use the name."""
    arn = create(db, "q")
    add_window(db, queue_id(db, arn), datetime(2026, 1, 1, tzinfo=UTC), seconds=3_600)
    call(db, DROP_QUEUE, arn)
    db.execute("update queue.dropped_queue set dropped_at = dropped_at - interval '11 minutes'")
    for _ in range(2):
        installation(db)
    left = db.execute("select arn, cleaned_at is not null from queue.dropped_queue").fetchall()
    assert left == [(arn, True)]
    assert create(db, "q") == arn


def test_a_deleted_queue_is_cleaned_around_an_open_sender(db: Connection, connect: Connect) -> None:
    arn = create(db, "q.fifo")
    send(db, arn, "m", group="g")
    with connect() as application, application.transaction():
        send(application, arn, "late", group="g")
        call(db, DROP_QUEUE, arn)
        installation(db)
    installation(db)
    assert value(db, "select count(*) from queue.fifo_message") == 0


def test_deduplication_ids_that_are_over_are_forgotten(db: Connection) -> None:
    arn = create(db, "q.fifo")
    send(db, arn, "1", "2", group="g")
    installation(db)
    assert rows_of(db, "deduplication", arn) == 2
    db.execute("update queue.deduplication set expires_at = expires_at - interval '5 minutes'")
    assert installation(db) == 2


@pytest.mark.parametrize("table", ["deduplication", "topic_deduplication"])
def test_no_deduplication_id_lasts_longer_than_five_minutes(db: Connection, table: str) -> None:
    """An id that was stored while the clock was a day ahead lasts five minutes from now."""
    for name, ahead in {"ahead": "1 day", "usual": "290 seconds"}.items():
        db.execute(
            f"insert into queue.{table} values (1, '', %s, gen_random_uuid(), 1, clock_timestamp() + %s::interval)",
            (name, ahead),
        )
    installation(db)
    lasts = f"select array_agg(expires_at < now() + interval '301 seconds') from queue.{table}"
    assert db.execute(lasts.encode()).fetchall() == [([True, True],)]


def partitions(db: Connection) -> list[Any]:
    query = """
        select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'queue.history'::regclass order by 1"""
    return [row[0] for row in db.execute(query)]


def test_partitions_are_made_ahead_and_dropped_when_old(db: Connection) -> None:
    installation(db)
    assert len(partitions(db)) == 4
    db.execute("select queue.add_history_day('history', '2020-02-29')")
    assert "history_20200229" in partitions(db)
    installation(db)
    assert "history_20200229" not in partitions(db)
    assert len(partitions(db)) == 4


def test_a_day_with_rows_in_the_default_partition_stays_there(db: Connection) -> None:
    arn = create(db, "q.fifo")
    send(db, arn, "m", group="g")
    purge(db, arn)
    installation(db)
    assert len(partitions(db)) == 3
    assert history(db, arn) == {"purged": 1}


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_an_open_writer_of_history_does_not_stop_maintenance(db: Connection, connect: Connect, end: str) -> None:
    """A new partition needs a lock that excludes all writers, so the call leaves the partition to the next run."""
    arn = create(db, "q.fifo")
    send(db, arn, "m", group="g")
    writer = connect()
    writer.execute("begin")
    purge(writer, arn)
    running = BackgroundCall(connect(), installation)
    running.wait_until_blocked(db)
    writer.execute(end.encode())
    running.result()
    assert installation(db) == 0


OLD_PARTITIONS = {
    "history": ("queue.history_20200229", "select queue.add_history_day('history', '2020-02-29')"),
    "event": (
        "queue.event_1_20200229",
        """create table queue.event_1_20200229 partition of queue.event
            for values from (1, '2020-02-29 00:00Z') to (1, '2020-03-01 00:00Z')""",
    ),
}


@pytest.mark.parametrize("table", OLD_PARTITIONS)
@pytest.mark.parametrize("ends", [True, False], ids=["ends", "goes_on"])
def test_a_drop_waits_for_a_vacuum_without_a_lock_on_the_table(
    db: Connection, connect: Connect, table: str, ends: bool
) -> None:
    """The transaction of `vacuum` has the lock of a vacuum. Statements on the whole table must not wait for it. A drop
    that gives up leaves the partition to the next run."""
    partition, make = OLD_PARTITIONS[table]
    db.execute(make.encode())
    vacuum = connect()
    vacuum.execute("begin")
    vacuum.execute(f"lock table {partition} in share update exclusive mode".encode())
    if ends:
        running = BackgroundCall(connect(), installation)
        running.wait_until_blocked(db)
        held = "select count(*) from pg_locks where relation = %s::regclass and mode = 'AccessExclusiveLock'"
        assert value(db, held, f"queue.{table}") == 0
        vacuum.execute("commit")
        running.result()
    else:
        db.execute("alter function queue.lock_out_vacuum(text[]) set lock_timeout = '1ms'")
        installation(db)
        assert value(db, "select to_regclass(%s)::text", partition) == partition
        vacuum.execute("commit")
        installation(db)
    assert value(db, "select to_regclass(%s)", partition) is None


def test_dropping_a_partition_waits_for_nobody(db: Connection, connect: Connect) -> None:
    installation(db)
    db.execute("select queue.add_history_day('history', '2020-02-29')")
    with connect() as reader, reader.transaction():
        reader.execute("select count(*) from queue.history")
        installation(db)
        assert "history_20200229" in partitions(db)
    installation(db)
    assert "history_20200229" not in partitions(db)


def test_the_archive_ends_after_the_time_of_its_queue(db: Connection) -> None:
    for name, seconds in (("short", 60), ("long", 3600)):
        arn = create(db, name, archive="true", archive_seconds=str(seconds))
        send(db, arn, "1", "2")
        delete(db, receive(db, arn))
    db.execute("update queue.archive set archived_at = archived_at - interval '10 minutes'")
    for name in ("short", "long"):
        maintain(db, arn_of(name))
    assert (rows_of(db, "archive", arn_of("short")), rows_of(db, "archive", arn_of("long"))) == (0, 2)


def test_all_shards_are_cleaned_whichever_comes_first(db: Connection) -> None:
    arn = create(db, shards=8)
    for number in range(16):
        send(db, arn, str(number))
    while messages := receive(db, arn):
        delete(db, messages)
    maintain(db, arn)
    assert history(db, arn) == {"deleted": 16}


def test_deleted_queues_are_cleaned_a_piece_a_call(db: Connection) -> None:
    """A call returns when it has removed its maximum number of rows, regardless of the number of queues."""
    for name in "abcde":
        arn = create(db, name)
        send_many(db, arn, 20)
        call(db, DROP_QUEUE, arn)
    runs = [installation(db, 20) for _ in range(8)]
    assert max(runs) < 2 * 20 * len(TABLES)
    assert value(db, "select count(*) from queue.log") == 0


# --- statistics ---


def changed(db: Connection, rows: int) -> None:
    """Makes PostgreSQL's statistics count `rows` changed rows since the last analysis of the table."""
    db.execute("insert into queue.hole select 1, 0, n from generate_series(1, %s) n", (rows,))
    db.execute("select pg_stat_force_next_flush()")
    db.execute("select 1")


def refresh(db: Connection) -> int:
    (row,) = call(db, REFRESH_STATISTICS)
    return row.changed


def rows_known(db: Connection) -> int:
    return int(value(db, "select reltuples from pg_class where oid = 'queue.hole'::regclass"))


def test_statistics_are_brought_up_to_date_once(db: Connection) -> None:
    db.execute("alter table queue.hole set (autovacuum_enabled = off)")
    changed(db, 2000)
    assert refresh(db) == 1
    assert rows_known(db) == 2000
    assert refresh(db) == 0
    changed_again = "insert into queue.hole select 2, 0, n from generate_series(1, 9000) n"
    db.execute(changed_again.encode())
    db.execute("select pg_stat_force_next_flush()")
    assert refresh(db) == 0  # The row is at most one minute old.


def test_statistics_of_small_changes_are_left_to_autovacuum(db: Connection) -> None:
    db.execute("alter table queue.hole set (autovacuum_enabled = off)")
    changed(db, 900)
    assert refresh(db) == 0


def test_statistics_wait_for_nobody(db: Connection, connect: Connect) -> None:
    db.execute("alter table queue.hole set (autovacuum_enabled = off)")
    changed(db, 2000)
    with connect() as vacuum, vacuum.transaction():
        vacuum.execute("lock table queue.hole in share update exclusive mode")
        refresh(db)
        assert rows_known(db) <= 0
    assert refresh(db) == 1


def test_the_service_may_refresh_statistics_of_tables_it_does_not_own(db: Connection) -> None:
    definer = "select prosecdef from pg_proc where oid = 'queue.refresh_statistics()'::regprocedure"
    assert value(db, definer) is True
