"""Tests the measurements for /metrics: a round measures each queue once, and counts each move to a dead-letter queue
once."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statements.installation import DELETED_QUEUES, READ_INSTALLATION, READ_MEASUREMENTS
from penstock.settings import Settings
from penstock.workers import measure
from tests.integration.sql.conftest import Connect
from tests.support.database import Database
from tests.support.sql.calls import (
    Connection,
    Delivery,
    arn_of,
    call,
    change,
    create,
    delete,
    delete_by_id,
    maintain,
    queue_id,
    receive,
    redrive,
    send,
    value,
)
from tests.support.sql.calls import history as history_of
from tests.support.wait import wait_until

SETTINGS = Settings.read({"QUEUE_METRICS_INTERVAL_MS": "3600000"})
PAUSE_IS_OVER = (
    "update queue.worker_position set ran_at = ran_at - interval '2 hours' where worker in ('measure', 'minutes')",
    "update queue.measurement set measured_at = measured_at - interval '2 hours'",
)


def measured(db: Connection) -> int:
    """Runs a new round. Returns the number of measured queues."""
    for statement in PAUSE_IS_OVER:
        db.execute(statement.encode())
    return measure.run_once(SETTINGS, TransactionExecutor(db))["queues"]


def reading(db: Connection, name: str) -> dict[str, float]:
    return {str(row.label): row.value or 0 for row in call(db, READ_INSTALLATION) if row.name == name}


def rows(db: Connection, limit: int = 100) -> dict[str | None, tuple[Any, ...]]:
    """Returns the numbers of visible, in-flight, delayed and dead-lettered messages."""
    return {
        row.arn: (row.visible, row.in_flight, row.delayed, row.dead_lettered)
        for row in call(db, READ_MEASUREMENTS, limit)
    }


def test_a_round_measures_each_queue_and_pauses_for_all(db: Connection, connect: Connect) -> None:
    arns = [create(db, name) for name in ("a", "b.fifo")]
    send(db, arns[0], "1")
    send(db, arns[0], "2", delay=900)
    send(db, arns[1], "1", group="g")
    receive(db, arns[1])
    assert measured(db) == 2
    assert measure.run_once(SETTINGS, TransactionExecutor(connect()))["queues"] == 0
    assert rows(db) == {arns[0]: (1, 0, 1, 0), arns[1]: (0, 1, 0, 0)}


def test_queues_beyond_the_limit_are_added_up(db: Connection) -> None:
    arns = [create(db, name) for name in ("a", "b", "c")]
    for arn in arns:
        send(db, arn, "1")
    measured(db)
    assert rows(db, 1) == {arns[0]: (1, 0, 0, 0), None: (2, 0, 0, 0)}
    assert rows(db, 0) == {None: (3, 0, 0, 0)}
    assert rows(db, 3).keys() == set(arns)


@pytest.mark.parametrize("suffix", ["", ".fifo"])
def test_each_move_to_a_dead_letter_queue_counts_once(db: Connection, suffix: str) -> None:
    dead = create(db, "dead" + suffix)
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(dead, 1))
    for number in range(3):
        send(db, arn, str(number), group="g" if suffix else None)
    receive(db, arn, 10, visibility=0)
    measured(db)
    assert rows(db)[arn][3] == 0
    receive(db, arn, 10, visibility=0)
    for _ in range(2):
        measured(db)
        assert rows(db)[arn][3] == 3
        assert rows(db)[dead][3] == 0
    assert value(db, "select count(*) from queue.outcome_count") == 0


def age(db: Connection) -> None:
    """Moves all messages past their retention of 60 seconds."""
    for table in ("log", "side", "fifo_message"):
        db.execute(f"update queue.{table} set sent_at = sent_at - interval '61 seconds'".encode())


@pytest.mark.parametrize("cleaner", [maintain, receive], ids=lambda cleaner: cleaner.__name__)
@pytest.mark.parametrize("suffix", ["", ".fifo"])
def test_each_message_past_its_retention_counts_once(
    db: Connection, suffix: str, cleaner: Callable[[Connection, str], object]
) -> None:
    """The minute and the measurement both count the message, regardless of where the message is stored and which call
    ends it."""
    arn = create(db, "q" + suffix, MessageRetentionPeriod="60")
    for state in ("delayed", "in flight", "waits"):
        send(db, arn, state, delay=900 if state == "delayed" and not suffix else 0, group=state)
        if state == "in flight":
            receive(db, arn, 1)
    age(db)
    for _ in range(2):
        cleaner(db, arn)
        maintain(db, arn)
        measured(db)
        assert [row.expired for row in call(db, READ_MEASUREMENTS, 10)] == [3]
        assert value(db, "select sum(expired) from queue.minute") == 3


def delete_all(db: Connection, arn: str, received: list[Delivery]) -> None:
    age(db)
    delete(db, received)


def delete_by_ids(db: Connection, arn: str, received: list[Delivery]) -> None:
    age(db)
    delete_by_id(db, arn, *(delivery.public_id for delivery in received))


def hide_and_delete(db: Connection, arn: str, received: list[Delivery]) -> None:
    change(db, received, 600)
    age(db)
    delete(db, received)


def delete_unreceived(db: Connection, arn: str, received: list[Delivery]) -> None:
    delete(db, received)
    sent = send(db, arn, "c", "d")
    age(db)
    delete_by_id(db, arn, *(row.id for row in sent if row.id))


def delete_one_and_receive_again(db: Connection, arn: str, received: list[Delivery]) -> None:
    """The second receive records the deleted message of the lease."""
    age(db)
    delete(db, received[:1])
    db.execute("update queue.log set sent_at = clock_timestamp() where id = %s", (received[1].id,))
    change(db, received[1:], 0)
    delete(db, receive(db, arn, 2))


def delete_after_the_clock_went_back(db: Connection, arn: str, received: list[Delivery]) -> None:
    """The second message is older than the first message, and only the second message is past its retention."""
    age(db)
    db.execute("update queue.log set sent_at = clock_timestamp() where id = %s", (received[0].id,))
    delete(db, received)


def delete_the_older_and_receive_again(db: Connection, arn: str, received: list[Delivery]) -> None:
    age(db)
    db.execute("update queue.log set sent_at = clock_timestamp() where id = %s", (received[0].id,))
    delete(db, received[1:])
    change(db, received[:1], 0)
    delete(db, receive(db, arn, 2))


@pytest.mark.parametrize("history", [True, False])
@pytest.mark.parametrize(
    ("suffix", "end", "late", "deleted"),
    [
        ("", delete_all, 2, 0),
        ("", delete_by_ids, 2, 0),
        ("", hide_and_delete, 2, 0),
        ("", delete_unreceived, 4, 0),
        ("", delete_one_and_receive_again, 1, 1),
        ("", delete_after_the_clock_went_back, 1, 1),
        ("", delete_the_older_and_receive_again, 1, 1),
        (".fifo", delete_all, 2, 0),
        (".fifo", delete_by_ids, 2, 0),
    ],
)
def test_a_deletion_after_the_retention_counts_as_expired(
    db: Connection,
    suffix: str,
    end: Callable[[Connection, str, list[Delivery]], None],
    late: int,
    deleted: int,
    history: bool,
) -> None:
    """The minutes and the measurement agree with the history (queue.ending)."""
    arn = create(db, "q" + suffix, MessageRetentionPeriod="60", history=str(history).lower())
    send(db, arn, "a", "b", group="g")
    end(db, arn, receive(db, arn, 2))
    for _ in range(2):
        maintain(db, arn)
        measured(db)
        assert [row.expired for row in call(db, READ_MEASUREMENTS, 10)] == [late]
        counted = db.execute("select sum(deleted), sum(expired) from queue.minute").fetchone()
        assert counted == (deleted, late)
        assert not history or history_of(db, arn) == +Counter(expired=late, deleted=deleted)


def test_moves_out_of_the_slow_path_count_too(db: Connection) -> None:
    dead = create(db, "dead")
    arn = create(db, "q", RedrivePolicy=redrive(dead, 1))
    send(db, arn, "late", delay=1)
    db.execute("update queue.side set visible_at = now()")
    receive(db, arn, visibility=0)
    receive(db, arn, visibility=0)
    measured(db)
    assert rows(db)[arn][3] == 1


def test_a_queue_that_is_gone_is_forgotten(db: Connection) -> None:
    arn = create(db, "a")
    measured(db)
    number = queue_id(db, arn)
    db.execute("select queue.delete_queue('a')")
    db.execute("insert into queue.outcome_count (queue_id, dead_lettered) values (%s, 1)", [number])
    assert rows(db) == {}
    measured(db)
    assert (
        value(db, "select (select count(*) from queue.measurement) + (select count(*) from queue.outcome_count)") == 0
    )
    assert call(db, DELETED_QUEUES, [arn, arn_of("b"), create(db, "c")]) == [(arn,), (arn_of("b"),)]


def test_the_installation(db: Connection, connect: Connect) -> None:
    create(db, "a")
    with connect().transaction() as _:
        measured(db)
    assert reading(db, "dead_rows").keys() == reading(db, "live_rows").keys()
    assert "history" in reading(db, "live_rows")  # The reading is the sum over all daily partitions.
    partitions = ("history_default", "history_p", "history_2")
    assert not [table for table in reading(db, "live_rows") if table.startswith(partitions)]
    for name in ("oldest_xmin", "oldest_transaction", "schedules_overdue", "deliveries_pending", "deliveries_overdue"):
        assert reading(db, name)[""] >= 0


def test_an_open_transaction_is_seen(db: Connection, connect: Connect) -> None:
    other = connect()
    other.execute("begin isolation level repeatable read")
    other.execute("select 1")
    measured(db)
    first = reading(db, "oldest_transaction")[""]
    measured(db)
    assert reading(db, "oldest_transaction")[""] > first > 0
    other.execute("rollback")


def test_figures_that_a_role_without_pg_monitor_does_not_see_are_missing(db: Connection, database: Database) -> None:
    """A value of 0 would mean that no transaction is open."""
    measured(db)
    assert "" in reading(db, "oldest_transaction")
    with psycopg.connect(database.dsn) as other, psycopg.connect(database.dsn, autocommit=True) as superuser:
        other.execute("select 1")
        measured(db)
        assert reading(db, "oldest_transaction") == reading(db, "oldest_xmin") == {}
        measured(superuser)
        assert reading(db, "oldest_transaction")[""] > 0


def test_the_oldest_snapshot_is_of_this_database(db: Connection, connect: Connect, empty_database: Database) -> None:
    """A snapshot of another database does not keep the dead rows of this database (Vacuum's ComputeXidHorizons)."""
    burn = "do $$ begin for i in 1..2000 loop perform pg_current_xact_id(); commit; end loop; end $$"

    def held_for() -> float:
        db.execute(burn.encode())
        measured(db)
        return reading(db, "oldest_xmin")[""]

    with psycopg.connect(empty_database.dsn) as stranger, connect() as holder:
        stranger.execute("set transaction isolation level repeatable read")
        stranger.execute("select 1")
        # An autovacuum in this database can also hold a snapshot.
        wait_until(lambda: held_for() < 2000)
        for begin, statement in (
            ("begin isolation level repeatable read", "select 1"),
            ("begin", "select pg_current_xact_id()"),  # a transaction id, and no snapshot between statements
        ):
            holder.execute(begin)
            holder.execute(statement)
            assert held_for() >= 2000
            holder.execute("rollback")


def test_an_overdue_schedule_is_seen(db: Connection) -> None:
    db.execute("select queue.create('jobs')")
    measured(db)
    assert reading(db, "schedules_overdue") == {"": 0}
    assert reading(db, "deliveries_pending") == {"": 0}


def test_counts_that_nobody_measures_are_added_up(db: Connection) -> None:
    """Counts accumulate if only functions run, because no worker measures. No count is lost, but Penstock removes the
    counts of deleted queues."""
    arn = create(db, "a")
    number = queue_id(db, arn)
    query = "insert into queue.outcome_count (queue_id, dead_lettered) select %s, 2 from generate_series(1, 1200)"
    db.execute(query.encode(), [number])
    db.execute(query.encode(), [number + 1])
    db.execute("select queue.maintain_installation(10000, 30)")
    assert db.execute("select queue_id, dead_lettered from queue.outcome_count").fetchall() == [(number, 2400)]
    measured(db)
    assert rows(db)[arn][3] == 2400


def test_sql_events_that_no_filter_can_judge_are_counted_once(db: Connection, caplog: pytest.LogCaptureFixture) -> None:
    """The log entry names the routing key. A rollback also undoes the count."""
    deep = '{"b": 2, "a": ' + "[" * 40 + "]" * 40 + "}"
    for key, message in (("deep.one", deep), ("deep.two", '{"b": 1}'), ("deep.three", '{"b": 2}'), ("deep.four", "1")):
        value(db, "select count(*) from queue.publish_event(%s, %s)", key, message)
    db.execute("begin")
    value(db, "select queue.send_topic('deep.undone', %s)", deep)
    db.execute("rollback")
    for statement in PAUSE_IS_OVER:
        db.execute(statement.encode())
    with caplog.at_level(logging.WARNING, "penstock.filters"):
        assert measure.run_once(SETTINGS, TransactionExecutor(db))["unjudged"] == 1
    assert [record.__dict__["source"] for record in caplog.records] == ["deep.one"]
    value(db, "select queue.send_topic('deep.later', %s)", deep)
    value(db, "select queue.create_schedule('s', every => '1h', topic => 'deep.fired', message => %s)", deep)
    value(db, "select queue.publish_schedule_event(s, now(), false, null) from queue.schedule s")
    for expected in (2, 0):
        for statement in PAUSE_IS_OVER:
            db.execute(statement.encode())
        assert measure.run_once(SETTINGS, TransactionExecutor(db))["unjudged"] == expected
