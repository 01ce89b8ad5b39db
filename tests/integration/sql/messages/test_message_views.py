"""Tests queue.live_message and queue.finished_message together: the views contain each message once, with all recorded
facts.

test_model.py tests random sequences of calls. This module tests cases that random calls rarely reach.
"""

from collections import Counter
from typing import Any, NamedTuple

import psycopg
import pytest

from penstock.postgres.statements.move_tasks import START_MOVE_TASK
from penstock.postgres.statements.queues import DROP_QUEUE
from tests.integration.sql.conftest import Connect
from tests.support.database import Database
from tests.support.sql.calls import (
    BOTH,
    Connection,
    call,
    change,
    change_by_id,
    check_groups_again,
    create,
    delete,
    delete_by_id,
    maintain,
    purge,
    queue_id,
    receive,
    redrive,
    rows_of,
    send,
    value,
)
from tests.support.sql.move_tasks import start, step
from tests.support.wait import wait_until


class Seen(NamedTuple):
    """Describes a message in the views, without times."""

    view: str
    became: str | None
    receive_count: int
    group: str | None


EVERYTHING = """
select 'live', coalesce(outcome, state), receive_count, group_id from queue.live_message where queue_id = %(queue)s
union all
select 'finished', outcome, receive_count, group_id from queue.finished_message where queue_id = %(queue)s"""


def seen(db: Connection, arn: str) -> Counter[Seen]:
    rows = db.execute(EVERYTHING, {"queue": queue_id(db, arn)}).fetchall()
    return Counter(Seen(*row) for row in rows)


def live(became: str, receive_count: int, group: str | None = None) -> Seen:
    return Seen("live", became, receive_count, group)


def finished(became: str, receive_count: int, group: str | None = None) -> Seen:
    return Seen("finished", became, receive_count, group)


def test_a_message_of_the_log_from_sent_to_cleaned(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "1", "2", "3")
    assert seen(db, arn) == {live("visible", 0): 3}
    first, *others = receive(db, arn, 3)
    assert seen(db, arn) == {live("in_flight", 1): 3}
    delete(db, [first])
    assert seen(db, arn) == {live("in_flight", 1): 2, live("deleted", 1): 1}
    delete(db, others)
    assert seen(db, arn) == {live("deleted", 1): 3}
    maintain(db, arn)
    assert seen(db, arn) == {finished("deleted", 1): 3}


def test_an_early_acknowledged_message_counts_as_received_once(db: Connection) -> None:
    arn = create(db)
    send(db, arn, *"12345")
    delete(db, receive(db, arn, 5, visibility=0)[:2])
    (third,) = receive(db, arn, 1, visibility=0)  # This receive splits the remaining messages of the lease.
    assert delete(db, [third]) == ["deleted"]
    assert seen(db, arn) == {finished("deleted", 1): 2, live("deleted", 2): 1, live("visible", 1): 2}
    delete(db, receive(db, arn, 5))
    maintain(db, arn)
    assert seen(db, arn) == {finished("deleted", 1): 2, finished("deleted", 2): 3}


def test_the_slow_path(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "later", delay=900, group="a")
    send(db, arn, "m", group="b")
    assert seen(db, arn) == {live("delayed", 0, "a"): 1, live("visible", 0, "b"): 1}
    messages = receive(db, arn)
    change(db, messages, 100)
    assert seen(db, arn) == {live("delayed", 0, "a"): 1, live("in_flight", 1, "b"): 1}
    delete(db, messages)
    maintain(db, arn)
    assert seen(db, arn) == {live("delayed", 0, "a"): 1, finished("deleted", 1, "b"): 1}
    purge(db, arn)
    assert seen(db, arn) == {finished("purged", 0, "a"): 1, finished("deleted", 1, "b"): 1}


def test_messages_received_together_keep_their_groups(db: Connection) -> None:
    """The messages share one history row."""
    arn = create(db)
    for group in ("a", "b", None):
        send(db, arn, "1", "2", group=group)
    delete(db, receive(db, arn, 6))
    maintain(db, arn)
    assert seen(db, arn) == {finished("deleted", 1, group): 2 for group in ("a", "b", None)}
    assert value(db, "select count(*) from queue.history") == 1


def test_a_message_without_groups_costs_no_list(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "1", "2")
    delete(db, receive(db, arn))
    maintain(db, arn)
    assert value(db, "select count(*) from queue.history where group_ids is null") == 1


def test_the_key_of_the_history_writes_few_bytes(db: Connection) -> None:
    """Logical replication needs the key. The test compares the WAL volume of the key with the WAL volume of an index on
    the key's other columns, which readers need anyway.
    """

    def written() -> int:
        insert = "insert into queue.history (queue_id, receive_count, outcome, sent_at, finished_at)"
        rows = "select 1, 1, 'deleted', array[now()], array[now()] from generate_series(1, 1000)"
        db.execute(f"{insert} {rows}".encode())  # This statement creates the first pages.
        return int(value(db, f"explain (analyze, wal, format json) {insert} {rows}")[0]["Plan"]["WAL Bytes"])

    with_key = written()
    db.execute("alter table queue.history drop column history_id")
    db.execute("create index on queue.history (recorded_at, queue_id)")
    assert with_key - written() <= 8 * 1000


def test_messages_of_a_noisy_group_that_were_passed_over(db: Connection) -> None:
    arn = create(db)
    send(db, arn, *["m"] * 50, group="noisy")
    first = receive(db, arn, 10)
    check_groups_again(db, arn)
    first += receive(db, arn, 10)
    send(db, arn, "m", group="quiet")
    check_groups_again(db, arn)
    (overtook,) = receive(db, arn, 1)
    assert rows_of(db, "deferred", arn) == 1
    assert seen(db, arn) == {
        live("in_flight", 1, "noisy"): 20, live("visible", 0, "noisy"): 30, live("in_flight", 1, "quiet"): 1,
    }  # fmt: skip
    assert value(db, "select max(visible_at) < 'infinity' from queue.live_message") is True
    assert delete(db, [*first, overtook]) == ["deleted"] * 21
    maintain(db, arn)
    assert seen(db, arn).total() == 51


@BOTH
def test_archived_messages_have_ended(db: Connection, name: str) -> None:
    arn = create(db, name)
    (sent,) = send(db, arn, "m", group="g")
    assert sent.id is not None
    assert value(db, "select queue.archive(%s, %s)", name, sent.id) is True
    assert seen(db, arn) == {finished("deleted", 0, "g"): 1}


@BOTH
@pytest.mark.parametrize("received", [True, False])
def test_expired_messages(db: Connection, name: str, received: bool) -> None:
    arn = create(db, name, MessageRetentionPeriod="60")
    send(db, arn, "m", group="g")
    if received:
        receive(db, arn)
    for table in ("log", "fifo_message"):
        db.execute(f"update queue.{table} set sent_at = sent_at - interval '1 day'".encode())
    for _ in range(2):
        maintain(db, arn)
    assert seen(db, arn) == {finished("expired", int(received), "g"): 1}


@BOTH
def test_messages_on_their_way_to_a_dead_letter_queue_and_back(db: Connection, name: str) -> None:
    """Each queue shows a separate message: one queue shows an ended message, and the other queue shows a new
    message."""
    dead = create(db, name.replace("q", "dead"))
    arn = create(db, name, RedrivePolicy=redrive(dead))
    send(db, arn, "m", group="g")
    receive(db, arn, visibility=0)
    assert receive(db, arn) == []
    assert seen(db, dead) == {live("visible", 0, "g"): 1}
    call(db, START_MOVE_TASK, dead, None, None, None, None, None, None)
    task = value(db, "select task_id from queue.move_task")
    db.execute("select * from queue.run_move_task(%s, 100)", (task,))
    assert seen(db, dead) == {finished("moved", 0, "g"): 1}
    maintain(db, arn)
    assert seen(db, arn) == {finished("dead_lettered", 1, "g"): 1, live("visible", 0, "g"): 1}


@BOTH
def test_a_queue_without_history_shows_only_what_is_alive(db: Connection, name: str) -> None:
    arn = create(db, name, history="false")
    send(db, arn, "1", "2", "3", group="g")
    one, two, _ = receive(db, arn, 3)
    delete(db, [one])
    assert seen(db, arn) == {live("in_flight", 1, "g"): 2}
    delete_by_id(db, arn, two.public_id)
    purge(db, arn)
    maintain(db, arn)
    assert seen(db, arn) == {}


@BOTH
def test_a_deleted_queue_leaves_its_history_alone(db: Connection, name: str) -> None:
    arn = create(db, name)
    send(db, arn, "1", "2", "3", group="g", delay=None)
    delete(db, receive(db, arn, 1))
    maintain(db, arn)
    call(db, DROP_QUEUE, arn)
    assert value(db, "select count(*) from queue.live_message") == 0
    assert value(db, "select count(*) from queue.finished_message") == 1


def times(db: Connection, view: str) -> tuple[Any, ...]:
    """Returns the times at which a queue's only message was sent, first received and finished."""
    query = f"select sent_at, first_received_at, finished_at from queue.{view}"
    (row,) = db.execute(query.encode()).fetchall()
    return tuple(row)


@pytest.mark.parametrize("storage", ["log", "side table", "q.fifo"])
def test_the_times_of_a_message(db: Connection, storage: str) -> None:
    """The times do not change while the message moves between tables."""
    arn = create(db, "q.fifo" if storage == "q.fifo" else "q")
    before = value(db, "select clock_timestamp()")
    send(db, arn, "m", group="g")
    sent, none, _ = times(db, "live_message")
    assert none is None
    assert before < sent < value(db, "select clock_timestamp()")
    messages = receive(db, arn)
    _, received, none = times(db, "live_message")
    assert none is None
    assert sent < received < value(db, "select clock_timestamp()")
    if storage == "side table":
        change(db, messages, 100)
    assert times(db, "live_message") == (sent, received, None)
    at = value(db, "select clock_timestamp()")
    delete(db, messages)
    maintain(db, arn)
    *unchanged, ended = times(db, "finished_message")
    assert unchanged == [sent, received]
    assert at < ended < value(db, "select clock_timestamp()")


def test_cleaning_does_not_show_in_a_snapshot(db: Connection, connect: Connect) -> None:
    """A query on both views in one snapshot returns each message once, even if maintenance cleans during the query."""
    arn = create(db)
    send(db, arn, "1", "2")
    delete(db, receive(db, arn, 1))
    reader = connect()
    reader.execute("begin isolation level repeatable read")
    earlier = seen(reader, arn)
    maintain(db, arn)
    delete(db, receive(db, arn, 1))
    assert seen(reader, arn) == earlier == {live("deleted", 1): 1, live("visible", 0): 1}
    reader.execute("commit")
    assert seen(reader, arn).total() == 2


def test_the_transaction_of_a_row_tells_what_a_snapshot_may_have_missed(db: Connection, connect: Connect) -> None:
    """The transaction records the row before the snapshot and commits after it. A reader that reads up to
    pg_snapshot_xmin finds the row when it reads again."""
    one, other = create(db, "one.fifo"), create(db, "other.fifo")
    for arn in (one, other):
        send(db, arn, "m", group="g")
    below = "select count(*) from queue.finished_message where transaction < pg_snapshot_xmin(pg_current_snapshot())"
    with connect() as late:
        late.execute("begin")
        delete(late, receive(late, one))
        delete(db, receive(db, other))
        assert value(db, "select count(*) from queue.finished_message") == 1
        assert value(db, below) == 0  # Another transaction could have recorded an earlier row.
        late.execute("commit")
    # Autovacuum can also run a transaction in any database of the server.
    wait_until(lambda: value(db, below) == 2)


# --- message columns -------------------------------------------------------------------------------------------------
# A column that a later release adds moves with the messages. A receive does not call a function for each row.


BOTH_KINDS = pytest.mark.parametrize("suffix", ["", ".fifo"])


@pytest.fixture
def extended_db(db: Connection, database: Database) -> Connection:
    """Adds a column to the tables of messages. No function names the column."""
    with psycopg.connect(database.dsn, autocommit=True) as owner:
        for table in ("log", "side", "fifo_message", "archive"):
            owner.execute(f"alter table queue.{table} add column hint text")
    return db


def send_hint(db: Connection, arn: str) -> int:
    """Sends a message with a value in the added column. Returns the public id."""
    (sent,) = send(db, arn, "m", group="g" if arn.endswith(".fifo") else None)
    db.execute(f"update queue.{'fifo_message' if arn.endswith('.fifo') else 'log'} set hint = 'h'")
    assert sent.id is not None
    return sent.id


def hints(extended_db: Connection, table: str, arn: str) -> list[str | None]:
    query = f"select array(select hint from queue.{table} join queue.queues using (queue_id) where arn = %s)"
    return list(value(extended_db, query, arn))


def test_an_added_column_stays_when_a_waiting_message_is_delayed(extended_db: Connection) -> None:
    arn = create(extended_db)
    assert change_by_id(extended_db, arn, send_hint(extended_db, arn), 60)
    assert hints(extended_db, "side", arn) == ["h"]


@BOTH_KINDS
def test_an_added_column_goes_to_dead_letter_queues(extended_db: Connection, suffix: str) -> None:
    """The message moves from the log to the side table, and then between queues."""
    last = create(extended_db, "last" + suffix)
    dead = create(extended_db, "dead" + suffix, RedrivePolicy=redrive(last))
    arn = create(extended_db, "q" + suffix, RedrivePolicy=redrive(dead))
    send_hint(extended_db, arn)
    table = "fifo_message" if suffix else "side"
    for source, target in [(arn, dead), (dead, last)]:
        assert len(receive(extended_db, source, visibility=0)) == 1
        assert receive(extended_db, source) == []
        assert (hints(extended_db, table, source), hints(extended_db, table, target)) == ([], ["h"])
    assert len(receive(extended_db, last)) == 1


def test_an_added_column_goes_back_with_a_move_task(extended_db: Connection) -> None:
    dead = create(extended_db, "dead.fifo")
    arn = create(extended_db, "q.fifo", RedrivePolicy=redrive(dead))
    send_hint(extended_db, arn)
    assert len(receive(extended_db, arn, visibility=0)) == 1
    assert receive(extended_db, arn) == []
    assert step(extended_db, start(extended_db, dead)) == (1, "COMPLETED")
    assert hints(extended_db, "fifo_message", arn) == ["h"]


@pytest.mark.parametrize("state", ["waiting", "received", "delayed"])
@BOTH_KINDS
def test_the_archive_keeps_it(extended_db: Connection, suffix: str, state: str) -> None:
    arn = create(extended_db, "q" + suffix, archive="true")
    sent = send_hint(extended_db, arn)
    if state == "received":
        assert delete(extended_db, receive(extended_db, arn)) == ["deleted"]
    else:
        assert state == "waiting" or change_by_id(extended_db, arn, sent, 60)
        assert delete_by_id(extended_db, arn, sent) == [sent]
    assert hints(extended_db, "archive", arn) == ["h"]


@pytest.mark.parametrize(
    "constructed",
    [
        "queue.log l cross join lateral queue.build_received_row(l, l.id, 1, now(), now(), 7)",
        "queue.side s cross join lateral queue.build_received_row(p_side => s)",
        "queue.fifo_message f cross join lateral queue.build_received_row(p_fifo => f)",
    ],
)
def test_the_planner_inlines_the_row_of_a_delivery(extended_db: Connection, constructed: str) -> None:
    """Without inlining, a receive would call a function for each message ("Function Scan")."""
    plan = [line for (line,) in extended_db.execute(f"explain (costs off) select d.* from {constructed} d")]
    assert len(plan) == 1, plan
    assert "Scan" in plan[0]
