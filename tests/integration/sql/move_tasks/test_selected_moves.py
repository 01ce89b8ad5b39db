"""Tests moves of selected messages: only the selected messages move, once and in order. Also tests how a move waits,
continues and ends."""

import json
from typing import Any

import pytest

from penstock.postgres.statements.move_tasks import (
    CANCEL_MOVE_TASK,
    CONTINUE_MOVE_TASK,
    DESCRIBE_MOVE_TASKS,
    RUNNING_MOVE_TASKS,
    START_MOVE_TASK,
    MoveTaskRow,
)
from penstock.postgres.statements.stored_messages import SEARCH_MESSAGES
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    BackgroundCall,
    Connection,
    Counts,
    Entry,
    bodies,
    call,
    change,
    counts,
    create,
    delete,
    history,
    maintain,
    queue_id,
    receive,
    send,
    send_entries,
    value,
)
from tests.support.sql.move_tasks import BOTH, UNKNOWN_SOURCE, dead_queue, drain, poison, run, step, tasks, work

pytestmark = pytest.mark.emptied


def start(
    db: Connection, source: str, to: str | None = None, rate: int | None = None, canary: int | None = None,
    ids: list[int] | None = None, **filters: Any,
) -> str:  # fmt: skip
    selects = None if ids is not None else json.dumps(filters)
    (row,) = call(db, START_MOVE_TASK, source, to, rate, ids, selects, canary, None)
    assert row.error is None, row
    return str(row.task_id)


def move_of(db: Connection, arn: str, task: str) -> MoveTaskRow:
    (row,) = call(db, DESCRIBE_MOVE_TASKS, arn, task)
    return row


def ids_of(db: Connection, arn: str, *wanted: str) -> list[int]:
    *rows, _ = call(db, SEARCH_MESSAGES, arn, "{}", None, 1_000, 10_000, None)
    return [row.public_id for row in rows if row.body in wanted]


# --- which messages --------------------------------------------------------------------------------------------------
@BOTH
@pytest.mark.parametrize("by_ids", [True, False])
def test_the_selected_return_to_where_they_came_from(db: Connection, suffix: str, by_ids: bool) -> None:
    dead, one, two = dead_queue(db, suffix, "one", "two")
    poison(db, one, dead, "a1", "a2", "b1")
    poison(db, two, dead, "c1", "d2")
    ids = ids_of(db, dead, "a2", "d2") if by_ids else None
    task = start(db, dead, ids=ids) if by_ids else start(db, dead, text="2")
    assert run(db, task) == 2
    assert (bodies(receive(db, one)), bodies(receive(db, two))) == (["a2"], ["d2"])
    assert sorted(drain(db, dead)) == ["a1", "b1", "c1"]
    move = move_of(db, dead, task)
    assert (move.state, move.moved, move.skipped, move.looked_at) == ("completed", 2, 0, 2 if by_ids else 5)
    assert (move.to_move, move.to_examine) == (2, 2 if by_ids else 5)
    maintain(db, dead)
    assert history(db, dead)["moved"] == 2


@BOTH
@pytest.mark.parametrize("by_ids", [True, False])
def test_a_message_that_cannot_be_received_stays_and_is_counted(db: Connection, suffix: str, by_ids: bool) -> None:
    """The move includes new messages, messages that became visible again, and messages that were received earlier, from
    any queue. The move excludes in-flight and delayed messages."""
    source, other = create(db, "orders" + suffix, shards=2), create(db, "other" + suffix)
    for name in ("flying", "returned"):
        send(db, source, name, group=name)
    held = [m for _ in range(2) for m in receive(db, source, visibility=900)]
    change(db, [m for m in held if m.body == "returned"], 0)
    send(db, source, "received", group="received")
    assert {m.body for _ in range(2) for m in receive(db, source, visibility=0)} == {"returned", "received"}
    if not suffix:
        send(db, source, "delayed", delay=900)
    send(db, source, "fresh", group="fresh")
    names = ["flying", "returned", "received", "fresh", *([] if suffix else ["delayed"])]
    ids = [*ids_of(db, source, *names), 2**40] if by_ids else None
    task = start(db, source, other, ids=ids)
    assert run(db, task) == 3
    stay = 1 if suffix else 2
    move = move_of(db, source, task)
    assert (move.state, move.moved, move.skipped) == ("completed", 3, stay + by_ids)
    assert counts(db, source) == Counts(0, 1, stay - 1)
    assert sorted(drain(db, other)) == ["fresh", "received", "returned"]
    assert delete(db, [m for m in held if m.body == "flying"]) == ["deleted"]


@BOTH
def test_a_move_of_a_group_knows_its_total_at_once(db: Connection, suffix: str) -> None:
    """The total counts messages in flight, which the move skips, because a completed move counts them too."""
    source, other = create(db, "orders" + suffix), create(db, "other" + suffix)
    for name in ("flying 2", "a 2", "b 2", "c 1"):
        send(db, source, name, group=name)
    held = [m for _ in range(4) for m in receive(db, source, visibility=900)]
    change(db, [m for m in held if not m.body.startswith("flying")], 0)
    task = start(db, source, other, canary=1, text="2")
    assert sum(moved for moved, _ in filter(None, (step(db, task, 10) for _ in range(3)))) == 1
    move = move_of(db, source, task)
    assert (move.state, move.moved, move.to_move, move.to_examine) == ("waiting", 1, 3, 3)
    send(db, source, "late 2", group="late 2")
    call(db, CONTINUE_MOVE_TASK, task, source, None)
    run(db, task)
    move = move_of(db, source, task)
    assert (move.state, move.moved, move.skipped, move.to_move) == ("completed", 2, 1, 3)


def test_a_move_does_not_guess_the_total_of_a_longer_queue(db: Connection) -> None:
    source, other = create(db, "orders"), create(db, "other")
    db.execute("select queue.send_batch('orders', array(select to_jsonb(n % 2) from generate_series(1, 10001) n))")
    task = start(db, source, other, canary=1, text="1")
    assert step(db, task, 10) == (1, "RUNNING")
    move = move_of(db, source, task)
    assert (move.to_move, move.to_examine) == (None, 10001)


def test_messages_without_an_origin_are_skipped_and_the_reason_is_told(db: Connection) -> None:
    dead, one = dead_queue(db, "", "one")
    poison(db, one, dead, "a1")
    send(db, dead, "sent here")
    task = start(db, dead)
    assert run(db, task) == 1
    move = move_of(db, dead, task)
    assert (move.state, move.moved, move.skipped, move.failure_reason) == ("completed", 1, 1, UNKNOWN_SOURCE)
    assert drain(db, dead) == ["sent here"]


@BOTH
def test_messages_that_come_after_the_start_stay(db: Connection, suffix: str) -> None:
    """If the move included later messages, messages that fail again immediately would move without end."""
    dead, one = dead_queue(db, suffix, "one")
    poison(db, one, dead, "a1", "b1", "c1")
    task = start(db, dead)
    assert step(db, task, 1) == (1, "RUNNING")
    receive(db, one, visibility=0)
    assert receive(db, one) == []
    assert run(db, task) == 2
    assert drain(db, dead) == ["a1"]


# --- FIFO ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize("by_ids", [True, False])
def test_selected_messages_of_a_group_keep_their_order(db: Connection, limit: int, by_ids: bool) -> None:
    source, other = create(db, "orders.fifo"), create(db, "other.fifo")
    names = [f"{group}{number}" for number in range(6) for group in "ab"]
    send_entries(db, source, [Entry(f"{name} {int(name[1]) % 2}", None, name[0], name) for name in names])
    wanted = [f"{name} 1" for name in names if int(name[1]) % 2]
    ids = ids_of(db, source, *wanted)[::-1] if by_ids else None
    task = start(db, source, other, ids=ids) if by_ids else start(db, source, other, text=" 1")
    assert run(db, task, limit) == 6
    arrived = drain(db, other)
    for group in "ab":
        assert [body for body in arrived if body[0] == group] == [f"{group}{number} 1" for number in (1, 3, 5)]
    assert sorted(drain(db, source)) == sorted(f"{name} 0" for name in names if not int(name[1]) % 2)


@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize("by_ids", [True, False])
def test_no_selected_message_overtakes_one_in_flight(db: Connection, limit: int, by_ids: bool) -> None:
    source, other = create(db, "orders.fifo"), create(db, "other.fifo")
    for name in ("a1", "a2", "a3", "b1"):
        send_entries(db, source, [Entry(name, None, name[0], name)])
    assert "a1" in bodies(receive(db, source, 1, visibility=900))
    ids = ids_of(db, source, "a1", "a2", "a3", "b1") if by_ids else None
    task = start(db, source, other, ids=ids)
    assert run(db, task, limit) == 1
    assert drain(db, other) == ["b1"]
    assert move_of(db, source, task).state == "completed"


# --- canary, rate, end -----------------------------------------------------------------------------------------------
@BOTH
def test_a_canary_waits_until_it_is_told_to_go_on(db: Connection, suffix: str) -> None:
    dead, one = dead_queue(db, suffix, "one")
    poison(db, one, dead, "a1", "b1", "c1", "d1")
    task = start(db, dead, canary=1)
    assert step(db, task) == (1, "RUNNING")
    assert move_of(db, dead, task).state == "waiting"
    assert tasks(db, dead)[0].status == "RUNNING"
    assert call(db, RUNNING_MOVE_TASKS) == []
    assert value(db, "select due from queue.due_work()") == []
    assert step(db, task) is None
    db.execute("listen penstock")
    assert call(db, CONTINUE_MOVE_TASK, task, dead, 500) == [(True,)]
    assert [notice.payload for notice in db.notifies(timeout=10, stop_after=1)] == ["move-tasks"]
    assert [row.task_id for row in call(db, RUNNING_MOVE_TASKS)] == [value(db, "select %s::uuid", task)]
    assert run(db, task) == 3
    move = move_of(db, dead, task)
    assert (move.state, move.moved, move.maximum_per_second) == ("completed", 4, 500)
    assert call(db, CONTINUE_MOVE_TASK, task, dead, None) == [(False,)]


def test_a_move_that_nobody_continues_ends_after_a_day(db: Connection) -> None:
    dead, one = dead_queue(db, "", "one")
    poison(db, one, dead, "a1", "b1")
    task = start(db, dead, canary=1)
    assert step(db, task) == (1, "RUNNING")
    db.execute("update queue.move_task set paced_at = paced_at - interval '25 hours'")
    assert len(call(db, RUNNING_MOVE_TASKS)) == 1
    assert step(db, task) == (0, "CANCELLED")
    assert move_of(db, dead, task).failure_reason == "NotContinued"
    assert len(drain(db, dead)) == 1


def test_the_rate_holds(db: Connection) -> None:
    dead, one = dead_queue(db, "", "one")
    poison(db, one, dead, *(f"{n}x" for n in range(8)))
    db.execute("update queue.move_task set paced_at = now()")
    task = start(db, dead, rate=3)
    db.execute("update queue.move_task set paced_at = clock_timestamp() - interval '10 seconds'")
    assert step(db, task) == (3, "RUNNING")
    assert step(db, task) in {(0, "RUNNING"), (1, "RUNNING")}


def test_a_cancelled_move_leaves_the_rest(db: Connection) -> None:
    dead, one = dead_queue(db, "", "one")
    poison(db, one, dead, "a1", "b1")
    task = start(db, dead)
    assert step(db, task, 1) == (1, "RUNNING")
    assert [row.moved for row in call(db, CANCEL_MOVE_TASK, task, dead)] == [1]
    assert step(db, task) is None
    assert (move_of(db, dead, task).state, len(drain(db, dead)), len(drain(db, one))) == ("cancelled", 1, 1)


def test_a_start_refuses_invalid_arguments(db: Connection) -> None:
    source, fifo = create(db), create(db, "other.fifo")
    for to, error in ((source, "MoveToItself"), (fifo, "MoveToOtherType"), (source + "x", "ResourceNotFoundException")):
        assert call(db, START_MOVE_TASK, source, to, None, [1], None, None, None)[0].error == error
    start(db, source, ids=[1])
    assert call(db, START_MOVE_TASK, source, None, None, [1], None, None, None)[0].error == "MoveTaskRunning"


# --- exactness -------------------------------------------------------------------------------------------------------
@BOTH
def test_a_killed_worker_loses_nothing(db: Connection, connect: Connect, suffix: str) -> None:
    dead, one = dead_queue(db, suffix, "one")
    poison(db, one, dead, "a1", "b1", "c1")
    send(db, dead, "fresh", group="f")
    other = create(db, "other" + suffix)
    task = start(db, dead, other)
    assert step(db, task, 1) == (1, "RUNNING")
    victim = connect()
    victim.execute("begin")
    assert step(victim, task) in {(3, "RUNNING"), (3, "COMPLETED")}
    assert step(db, task) is None  # The other worker has locked the move.
    assert counts(db, dead).visible + counts(db, other).visible == 4
    assert value(db, "select pg_terminate_backend(%s, 10000)", victim.info.backend_pid)
    assert counts(db, dead).visible + counts(db, other).visible == 4
    assert run(db, task) == 3
    assert sorted(drain(db, other)) == ["a1", "b1", "c1", "fresh"]
    assert (move_of(db, dead, task).moved, counts(db, dead)) == (4, Counts(0, 0, 0))


@BOTH
def test_a_locked_message_is_tried_again(db: Connection, connect: Connect, suffix: str) -> None:
    source, other = create(db, "orders" + suffix), create(db, "other" + suffix)
    send(db, source, "a1", group="a")
    task = start(db, source, other)
    holder = connect()
    with holder.transaction(force_rollback=True):
        if suffix:
            holder.execute("select from queue.fifo_group for update")
        else:
            holder.execute("select pg_advisory_xact_lock(queue.lock_key(1, %s, 0))", [queue_id(db, source)])
        assert step(db, task) == (0, "RUNNING")
    assert run(db, task) == 1
    assert drain(db, other) == ["a1"]


@BOTH
def test_two_workers_and_a_consumer(db: Connection, connect: Connect, suffix: str) -> None:
    """Exactly one queue contains each selected message, unless the consumer received it."""
    source, other = create(db, "orders" + suffix, shards=2), create(db, "other" + suffix, shards=2)
    sent = [f"{number:04}" for number in range(1_000)]
    send_entries(db, source, [Entry(n, None, n[-1] if suffix else None, n) for n in sent])
    task = start(db, source, other)
    workers = [BackgroundCall(connect(), lambda c: work(c, task)) for _ in range(2)]
    taken = [m for _ in range(10) for m in receive(db, source, 10)]
    assert set(delete(db, taken)) <= {"deleted"}
    moved = sum(worker.result() for worker in workers)
    assert (move_of(db, source, task).state, move_of(db, source, task).moved) == ("completed", moved)
    arrived = drain(db, other)
    assert len(arrived) == moved
    assert sorted([*arrived, *bodies(taken), *drain(db, source)]) == sent
