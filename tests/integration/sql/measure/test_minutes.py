"""queue.minute: the calls to a queue in each minute, and the messages it held."""

from __future__ import annotations

from datetime import timedelta

import pytest

from penstock.postgres.statements.installation import STORE_MEASUREMENTS, STORE_MINUTES
from tests.support.sql.calls import (
    Connection,
    call,
    create,
    delete,
    delete_by_id,
    queue_id,
    receive,
    redrive,
    send,
    value,
)

SUFFIXES = pytest.mark.parametrize("suffix", ["", ".fifo"])
COUNTS = "sum(sent), sum(received), sum(redelivered), sum(deleted), sum(dead_lettered)"


def store(db: Connection, most: int = 100) -> int:
    """How many queues had activity since the last time."""
    return sum(row.queues for row in call(db, STORE_MINUTES, 1000, most, 0))


def counts(db: Connection, arn: str) -> tuple[int, ...]:
    """Sent, received, redelivered, deleted, dead-lettered in all minutes of the queue."""
    query = f"select {COUNTS} from queue.minute where queue_id = %s"
    row = db.execute(query.encode(), (queue_id(db, arn),)).fetchone()
    assert row is not None
    return tuple(int(number or 0) for number in row)


def held(db: Connection, arn: str) -> tuple[int, ...]:
    """Visible, in flight and delayed in the queue's last minute."""
    query = "select visible, in_flight, delayed from queue.minute where queue_id = %s order by starts_at desc limit 1"
    row = db.execute(query, (queue_id(db, arn),)).fetchone()
    assert row is not None
    return tuple(row)


@SUFFIXES
def test_each_call_counts_once(db: Connection, suffix: str) -> None:
    arn = create(db, "q" + suffix)
    for number in range(3):
        send(db, arn, str(number), group="g" if suffix else None)
    receive(db, arn, 2, visibility=0)
    again = receive(db, arn, 2)
    delete(db, again)
    delete(db, again)
    assert store(db) == 1
    assert counts(db, arn) == (3, 4, 2, 2, 0)
    assert held(db, arn) == (1, 0, 0)
    assert store(db) == 0
    assert counts(db, arn) == (3, 4, 2, 2, 0)


def test_deletions_by_id_and_of_the_slow_path_count(db: Connection) -> None:
    arn = create(db)
    sent = [*send(db, arn, "received", "waits"), *send(db, arn, "delayed", delay=900)]
    receive(db, arn, 1)
    delete_by_id(db, arn, *[row.id for row in sent if row.id])
    store(db)
    assert counts(db, arn)[3] == 3


@SUFFIXES
def test_a_dead_letter_leaves_one_queue_and_enters_the_other(db: Connection, suffix: str) -> None:
    dead = create(db, "dead" + suffix)
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(dead))
    for number in range(3):
        send(db, arn, str(number), group="g" if suffix else None)
    receive(db, arn, 3, visibility=0)
    receive(db, arn, 3)
    store(db)
    assert counts(db, arn) == (3, 3, 0, 0, 3)
    assert counts(db, dead) == (3, 0, 0, 0, 0)
    assert (held(db, arn), held(db, dead)) == ((0, 0, 0), (3, 0, 0))


def test_a_move_task_delivers_nothing(db: Connection) -> None:
    arn, other = create(db), create(db, "other")
    send(db, arn, "m")
    receive(db, arn, visibility=0)
    moved = value(db, "select moved from queue.move_log(%s, 1, 10, %s)", queue_id(db, arn), other)
    store(db)
    assert moved == 1
    assert counts(db, arn) == (1, 1, 0, 0, 0)
    assert counts(db, other) == (1, 0, 0, 0, 0)


def test_what_is_rolled_back_did_not_happen(db: Connection) -> None:
    arn = create(db)
    with db.transaction(force_rollback=True):
        send(db, arn, "m")
    assert store(db) == 0


def test_minutes_without_a_change_have_no_row(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "m")
    receive(db, arn)
    store(db)
    db.execute("update queue.minute set starts_at = starts_at - interval '5 minutes'")
    call(db, STORE_MEASUREMENTS, 100, 0)
    assert value(db, "select count(*) from queue.minute") == 1
    # The visibility timeout ends: the queue changes without a call.
    db.execute(
        "update queue.lease set visible_at = clock_timestamp() - interval '1 second' where ids <> '{}'"
    )
    received_at = value(db, "select last_received_at from queue.minute")
    call(db, STORE_MEASUREMENTS, 100, 0)  # ends the round
    call(db, STORE_MEASUREMENTS, 100, 0)
    assert value(db, "select count(*) from queue.minute") == 2
    assert held(db, arn) == (1, 0, 0)
    assert (
        value(db, "select last_received_at from queue.minute order by starts_at desc limit 1") == received_at
    )


def test_of_too_many_queues_the_busiest_have_rows(db: Connection) -> None:
    busy, quiet = create(db), create(db, "quiet")
    for arn in (busy, busy, quiet):
        send(db, arn, "m")
    assert store(db, most=1) == 1
    assert counts(db, busy)[0] == 2
    assert counts(db, quiet)[0] == 0


def test_minutes_are_kept_for_25_hours(db: Connection) -> None:
    arn = create(db)
    for hours in (25, 26):
        db.execute(
            "insert into queue.minute (queue_id, starts_at) values (%s, now() - %s + interval '1 minute')",
            (queue_id(db, arn), timedelta(hours=hours)),
        )
    store(db)
    assert value(db, "select count(*) from queue.minute") == 1


def test_all_processes_share_the_pause(db: Connection) -> None:
    assert len(call(db, STORE_MINUTES, 1000, 100, 3_600_000)) == 1
    assert call(db, STORE_MINUTES, 1000, 100, 3_600_000) == []
