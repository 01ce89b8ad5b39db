"""Tests message move tasks: the moved messages, their destinations, messages that cannot move, and the end of a
task."""

import json
import uuid

import pytest

from penstock.postgres.statements.installation import MAINTAIN_INSTALLATION
from penstock.postgres.statements.long_polls import WATCH_QUEUES
from penstock.postgres.statements.move_tasks import CANCEL_MOVE_TASK
from penstock.postgres.statements.queues import DROP_QUEUE, SET_QUEUE_ATTRIBUTES
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    BackgroundCall,
    Connection,
    Counts,
    bodies,
    call,
    change,
    counts,
    create,
    delete,
    history,
    maintain,
    receive,
    redrive,
    rows_of,
    send,
    value,
)
from tests.support.sql.move_tasks import (
    BOTH,
    NO_QUEUE,
    UNKNOWN_SOURCE,
    dead_queue,
    drain,
    poison,
    run,
    start,
    start_error,
    step,
    tasks,
)

pytestmark = pytest.mark.emptied


# --- what moves, and where to ----------------------------------------------------------------------------------------
@BOTH
def test_each_message_returns_to_its_own_queue(db: Connection, suffix: str) -> None:
    dead, one, two = dead_queue(db, suffix, "one", "two")
    poison(db, one, dead, "a1", "a2", "b1")
    poison(db, two, dead, "a3", "c1")
    assert run(db, start(db, dead)) == 5
    assert counts(db, dead) == Counts(0, 0, 0)
    assert sorted(bodies(receive(db, one, visibility=0))) == ["a1", "a2", "b1"]
    assert sorted(bodies(receive(db, two, visibility=0))) == ["a3", "c1"]
    (task,) = tasks(db, dead)
    assert (task.status, task.moved, task.to_move, task.failure_reason) == ("COMPLETED", 5, 5, None)
    assert history(db, dead) == {"moved": 5}


@BOTH
def test_a_moved_message_is_a_new_one(db: Connection, suffix: str) -> None:
    """The moved message has a new message id and enqueue time, and its receive count restarts (Developer Guide,
    dead-letter queue redrive)."""
    dead, arn = dead_queue(db, suffix, "q")
    poison(db, arn, dead, "a1")
    db.execute("update queue.side set sent_at = sent_at - interval '1 hour'")
    db.execute("update queue.fifo_message set sent_at = sent_at - interval '1 hour'")
    (old,) = receive(db, dead, visibility=0)
    run(db, start(db, dead))
    (new,) = receive(db, arn)
    assert (new.body, new.attributes, new.receive_count) == (old.body, old.attributes, 1)
    assert new.message_id != old.message_id
    assert new.sent_at_ms > old.sent_at_ms + 3_000_000
    assert "DeadLetterQueueSourceArn" in json.loads(old.system or "{}")
    assert "DeadLetterQueueSourceArn" not in json.loads(new.system or "{}")


@BOTH
def test_a_destination_takes_messages_of_every_kind(db: Connection, suffix: str) -> None:
    """The task moves dead letters, new messages, messages after their visibility timeout, and messages made visible,
    but not messages in flight."""
    dead, arn = dead_queue(db, suffix, "q")
    other = create(db, "other" + suffix)
    poison(db, arn, dead, "a1")
    send(db, dead, "in flight", group="f" if suffix else None)
    in_flight = [m for _ in range(2) for m in receive(db, dead, visibility=900)]
    change(db, [m for m in in_flight if m.body == "a1"], 0)
    send(db, dead, "received", group="r" if suffix else None)
    assert len(receive(db, dead, visibility=0)) == 2
    send(db, dead, "fresh", group="n" if suffix else None)
    send(db, dead, "after it", group="f" if suffix else None)
    task = start(db, dead, other)
    blocked = bool(suffix)  # In a FIFO queue, the message in flight blocks its group.
    assert run(db, task) == 4 - blocked
    assert tasks(db, dead)[0].status == "COMPLETED"
    assert counts(db, dead) == Counts(int(blocked), 1, 0)
    assert sorted(drain(db, other)) == ["a1", *(["after it"] * (not blocked)), "fresh", "received"]
    assert counts(db, arn) == Counts(0, 0, 0)
    assert delete(db, [m for m in in_flight if m.body == "in flight"]) == ["deleted"]
    maintain(db, dead)
    assert history(db, dead) == {"moved": 4 - blocked, "deleted": 1}


def test_messages_of_the_log_are_recorded_as_they_were(db: Connection) -> None:
    """A move does not count as a receive, so the history contains only the consumers' receives."""
    dead, _ = dead_queue(db, "", "q")
    send(db, dead, "twice")
    receive(db, dead, visibility=0)
    receive(db, dead, visibility=0)
    send(db, dead, "fresh")
    run(db, start(db, dead, create(db, "other")))
    maintain(db, dead)
    rows = db.execute(
        "select receive_count, first_received_at is not null from queue.history where outcome = 'moved' order by 1"
    ).fetchall()
    assert rows == [(0, False), (2, True)]
    assert rows_of(db, "log", dead) == 0


def test_the_delay_of_the_destination_holds(db: Connection) -> None:
    for suffix in ("", ".fifo"):
        dead, arn = dead_queue(db, suffix, "q")
        poison(db, arn, dead, "a1")
        slow = create(db, "slow" + suffix, DelaySeconds="100")
        run(db, start(db, dead, slow))
        assert counts(db, slow) == Counts(0, 0, 1)


@BOTH
def test_the_destination_is_announced(db: Connection, suffix: str) -> None:
    dead, arn = dead_queue(db, suffix, "q")
    poison(db, arn, dead, "a1")
    call(db, WATCH_QUEUES, [arn], str(uuid.uuid4()), None)
    task = start(db, dead)
    db.execute("listen penstock")
    run(db, task)
    assert [notice.payload for notice in db.notifies(timeout=10, stop_after=1)] == [arn]


def test_a_start_wakes_the_workers(db: Connection) -> None:
    dead, _ = dead_queue(db, "", "q")
    db.execute("listen penstock")
    start(db, dead)
    assert [notice.payload for notice in db.notifies(timeout=10, stop_after=1)] == ["move-tasks"]


def test_groups_keep_their_order_and_deduplication_is_not_applied(db: Connection) -> None:
    """AWS does not document the deduplication ids. Penstock uses the message ids in the dead-letter queue as
    deduplication ids."""
    dead, arn = dead_queue(db, ".fifo", "q")
    # The queue still stores the deduplication ids of the messages.
    poison(db, arn, dead, "a1", "a2", "a3", "b1")
    old_ids = {row[0] for row in db.execute("select message_id::text from queue.fifo_message").fetchall()}
    assert run(db, start(db, dead), 2) == 4
    received = receive(db, arn)
    assert [body for body in bodies(received) if body[0] == "a"] == ["a1", "a2", "a3"]
    assert {json.loads(m.system or "{}")["MessageDeduplicationId"] for m in received} == old_ids
    assert {m.message_id for m in received}.isdisjoint(old_ids)


# --- what cannot move ------------------------------------------------------------------------------------------------
@BOTH
def test_a_message_of_unknown_origin_fails_the_task(db: Connection, suffix: str) -> None:
    dead, _ = dead_queue(db, suffix, "q")
    send(db, dead, "direct", group="g" if suffix else None)
    task = start(db, dead)
    assert step(db, task) == (0, "FAILED")
    assert step(db, task) is None
    assert tasks(db, dead)[0].failure_reason == UNKNOWN_SOURCE
    assert counts(db, dead) == Counts(1, 0, 0)


@BOTH
def test_a_message_whose_origin_is_gone_fails_the_task_and_others_move(db: Connection, suffix: str) -> None:
    dead, one, two = dead_queue(db, suffix, "one", "two")
    poison(db, one, dead, "a1")
    poison(db, two, dead, "b1")
    call(db, DROP_QUEUE, two)
    assert step(db, start(db, dead)) == (1, "FAILED")
    assert tasks(db, dead)[0].failure_reason == NO_QUEUE
    assert (counts(db, dead), bodies(receive(db, one))) == (Counts(1, 0, 0), ["a1"])


@BOTH
def test_a_destination_that_goes_fails_the_task(db: Connection, suffix: str) -> None:
    dead, arn = dead_queue(db, suffix, "q")
    other = create(db, "other" + suffix)
    task = start(db, dead, other)
    send(db, dead, "direct", group="g" if suffix else None)
    call(db, DROP_QUEUE, other)
    assert step(db, task) == (0, "FAILED")
    assert tasks(db, dead)[0].failure_reason == NO_QUEUE
    assert (counts(db, dead), counts(db, arn)) == (Counts(1, 0, 0), Counts(0, 0, 0))


@BOTH
def test_a_queue_that_is_its_own_dead_letter_queue(db: Connection, suffix: str) -> None:
    """The task has no other destination, and a task that moved messages within one queue would never end."""
    arn = create(db, "q" + suffix)
    policy = json.dumps({"RedrivePolicy": redrive(arn)})
    assert call(db, SET_QUEUE_ATTRIBUTES, arn, policy, None, None) == [(None,)]
    send(db, arn, "m", group="g" if suffix else None)
    receive(db, arn, visibility=0)
    receive(db, arn, visibility=0)
    assert step(db, start(db, arn)) == (0, "FAILED")
    assert tasks(db, arn)[0].failure_reason == UNKNOWN_SOURCE


# --- tasks -----------------------------------------------------------------------------------------------------------
def test_an_invalid_task_does_not_start(db: Connection) -> None:
    dead, arn = dead_queue(db, "", "q")
    assert start_error(db, "none") == ("ResourceNotFoundException", "SourceArn")
    assert start_error(db, dead, "none") == ("ResourceNotFoundException", "DestinationArn")
    assert start_error(db, arn)[0] == "NotADeadLetterQueue"
    assert start_error(db, dead, dead)[0] == "MoveToItself"
    assert start_error(db, dead, create(db, "other.fifo"))[0] == "MoveToOtherType"
    assert tasks(db, dead) == []
    start(db, dead)
    assert start_error(db, dead) == ("MoveTaskRunning", None)


def test_two_starts_at_once_make_one_task(db: Connection, connect: Connect) -> None:
    dead, _ = dead_queue(db, "", "q")
    with connect() as first, first.transaction():
        start(first, dead)
        second = BackgroundCall(connect(), lambda c: start_error(c, dead))
        second.wait_until_blocked(db)
    assert second.result() == ("MoveTaskRunning", None)


def test_the_last_ten_are_kept(db: Connection) -> None:
    dead, _ = dead_queue(db, "", "q")
    started = []
    for _ in range(12):
        started.append(start(db, dead))
        assert step(db, started[-1]) == (0, "COMPLETED")
    assert [task.task_id for task in tasks(db, dead)] == started[:1:-1]
    assert [task.task_id for task in tasks(db, dead, 1)] == started[-1:]


@BOTH
def test_a_cancelled_task_moves_no_more(db: Connection, suffix: str) -> None:
    dead, arn = dead_queue(db, suffix, "q")
    poison(db, arn, dead, "a1", "a2", "a3")
    task = start(db, dead)
    assert step(db, task, 2) == (2, "RUNNING")
    assert call(db, CANCEL_MOVE_TASK, task, dead) == [(2, None, None)]
    assert step(db, task) is None
    assert (tasks(db, dead)[0].status, counts(db, dead), counts(db, arn)) == (
        "CANCELLED", Counts(1, 0, 0), Counts(2, 0, 0),
    )  # fmt: skip
    gone = [(None, "ResourceNotFoundException", "TaskHandle")]
    assert call(db, CANCEL_MOVE_TASK, task, dead) == gone
    assert call(db, CANCEL_MOVE_TASK, str(uuid.uuid4()), dead) == gone
    assert call(db, CANCEL_MOVE_TASK, task, "none")[0].detail == "SourceArn"


def test_a_task_of_a_deleted_queue_ends_and_goes(db: Connection) -> None:
    dead, _ = dead_queue(db, "", "q")
    task = start(db, dead)
    call(db, DROP_QUEUE, dead)
    assert step(db, task) == (0, "FAILED")
    call(db, MAINTAIN_INSTALLATION, 1000, 30, None)
    assert value(db, "select count(*) from queue.move_task") == 0
