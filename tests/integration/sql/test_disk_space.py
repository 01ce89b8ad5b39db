"""Tests the disk space of deleted rows: autovacuum also handles the last rows, and releases the indexes of empty
tables.
"""

import secrets

import pytest

from penstock.postgres.statements.installation import RECLAIM_SPACE
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import Connection, bodies, call, create, queue_id, receive, rows_of, send, value
from tests.support.wait import wait_until

# Their rows are short-lived. The last dead rows are enough to start autovacuum, even if the table had many rows.
SHRINKING = ("log", "lease", "side", "fifo_message", "fifo_group", "fifo_ready", "deduplication", "topic_deduplication")
MESSAGES = """
insert into queue.fifo_message
    (id, group_key, visible_at, sent_at, message_id, queue_id, deduplication_id, body)
select n, 1, now(), now(), gen_random_uuid(), 1, '', %s from generate_series(1, 400) n"""
# A server that was built without lz4 uses the other compression.
COMPRESSION = """
select case when 'lz4' = any (enumvals) then 'lz4' else 'pglz' end
from pg_settings where name = 'default_toast_compression'"""
FILES = "pg_total_relation_size('queue.hole')"


def vacuum(db: Connection, table: str) -> None:
    """Vacuums at a moment when no other session of this database has a snapshot. A snapshot, such as ANALYZE's, would
    keep dead rows.
    """

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
    """Makes a formerly large table whose rows are deleted and not vacuumed yet."""
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
    """The catalog then says that the table is empty. The size of the file shows the truth."""
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


def test_it_waits_for_nobody(db: Connection, connect: Connect) -> None:
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
    """The cursor is the newest row, and the only remaining one."""
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
    """Vacuum ran while the table still had a row at its end. `move_cursors` rewrites a row, and the dead version that
    the row leaves makes autovacuum run again.
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
    """The dead rows are on fewer than a fiftieth of the pages, where vacuum leaves indexes unchanged if it may (VACUUM,
    INDEX_CLEANUP)."""
    db.execute("alter table queue.fifo_message set (autovacuum_enabled = off)")
    db.execute(MESSAGES.encode(), (secrets.token_hex(850),))  # A page holds a few rows.
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
