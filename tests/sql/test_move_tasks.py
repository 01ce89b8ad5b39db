"""Message move tasks: each message moves once or not at all, whatever happens meanwhile; what cannot move stays."""

from __future__ import annotations

import json
import uuid
from typing import Any, NamedTuple

import pytest

from penstock import statements
from penstock.settings import Settings
from penstock.workers import move
from tests.sql.background import Background
from tests.sql.calls import (
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
    receive,
    redrive,
    rows_of,
    send,
    send_entries,
    value,
)
from tests.sql.conftest import Connect

BOTH = pytest.mark.parametrize("suffix", ["", ".fifo"])
UNKNOWN_SOURCE = "CouldNotDetermineMessageSource"
NO_QUEUE = "AWS.SimpleQueueService.NonExistentQueue"


class Task(NamedTuple):
    """A row of queue.list_move_tasks."""

    task_id: str
    status: str
    destination_arn: str | None
    maximum_per_second: int | None
    moved: int
    to_move: int
    failure_reason: str | None
    started_at_ms: int


def start(db: Connection, source: str, destination: str | None = None, rate: int | None = None) -> str:
    ((task, error, _),) = call(db, statements.START_MOVE_TASK, source, destination, rate)
    assert error is None, error
    return str(task)


def start_error(db: Connection, source: str, destination: str | None = None) -> tuple[Any, ...]:
    return call(db, statements.START_MOVE_TASK, source, destination, None)[0][1:]


def tasks(db: Connection, source: str, limit: int = 10) -> list[Task]:
    header, *rows = call(db, statements.LIST_MOVE_TASKS, source, limit)
    assert header[0] is None
    return [Task(*row[1:]) for row in rows]


def step(db: Connection, task: str, limit: int = 100) -> tuple[int, str] | None:
    """Messages moved, and the task's status; None when there was nothing to do for this worker."""
    rows = call(db, statements.RUN_MOVE_TASK, task, limit)
    return (rows[0][0], rows[0][1]) if rows else None


def run(db: Connection, task: str, limit: int = 100) -> int:
    """Steps until the task has ended for whatever reason; messages moved by this worker."""
    moved = 0
    while done := step(db, task, limit):
        moved += done[0]
    return moved


def work(db: Connection, task: str) -> int:
    """As `run`, beside other workers: a step that found the task taken is tried again."""
    moved = 0
    while value(db, "select status = 'RUNNING' from queue.move_task where task_id = %s", task):
        done = step(db, task, 50)
        moved += done[0] if done else 0
    return moved


def poison(db: Connection, arn: str, dead: str, *names: str) -> None:
    """Sends messages and receives them until they are dead letters; FIFO: a group each, but `a…` in one."""
    before = counts(db, dead).visible
    fifo = arn.endswith(".fifo")
    entries = [
        Entry(n, None, n[0] if fifo else None, n if fifo else None, '{"k": {"DataType": "String"}}')
        for n in names
    ]
    assert [sent.error for sent in send_entries(db, arn, entries)] == [None] * len(names)
    assert len(receive(db, arn, len(names), visibility=0)) == len(names)
    assert receive(db, arn) == []
    assert counts(db, dead).visible == before + len(names)


def dead_queue(db: Connection, suffix: str, *sources: str) -> tuple[str, ...]:
    """A dead-letter queue and its sources."""
    dead = create(db, "dead" + suffix, shards=2)
    return dead, *(create(db, name + suffix, RedrivePolicy=redrive(dead)) for name in sources)


def drain(db: Connection, arn: str) -> list[str]:
    """All bodies that can be received, which are then deleted."""
    found: list[str] = []
    while messages := receive(db, arn, 500):
        assert set(delete(db, messages)) == {"deleted"}
        found += bodies(messages)
    return found


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
    """Developer Guide, dead-letter queue redrive: a new message id and enqueue time; the receive count starts anew."""
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
    """Arrivals, fresh ones, ones whose receive is over, ones made visible; not those in flight."""
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
    blocked = bool(suffix)  # nothing overtakes a message in flight in its group
    assert run(db, task) == 4 - blocked
    assert tasks(db, dead)[0].status == "COMPLETED"
    assert counts(db, dead) == Counts(int(blocked), 1, 0)
    assert sorted(drain(db, other)) == ["a1", *(["after it"] * (not blocked)), "fresh", "received"]
    assert counts(db, arn) == Counts(0, 0, 0)
    assert delete(db, [m for m in in_flight if m.body == "in flight"]) == ["deleted"]
    maintain(db, dead)
    assert history(db, dead) == {"moved": 4 - blocked, "deleted": 1}


def test_messages_of_the_log_are_recorded_as_they_were(db: Connection) -> None:
    """A move is no receive: the history has the consumers' receives alone."""
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
    call(db, statements.WATCH_QUEUES, [arn], str(uuid.uuid4()))
    db.execute("listen penstock")
    run(db, start(db, dead))
    assert [notice.payload for notice in db.notifies(timeout=10, stop_after=1)] == [arn]


def test_groups_keep_their_order_and_deduplication_is_not_applied(db: Connection) -> None:
    """AWS says nothing of the deduplication ids: they stay what the dead-letter queue made them, the message ids."""
    dead, arn = dead_queue(db, ".fifo", "q")
    poison(db, arn, dead, "a1", "a2", "a3", "b1")  # their deduplication ids are still remembered
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
    call(db, statements.DROP_QUEUE, two)
    assert step(db, start(db, dead)) == (1, "FAILED")
    assert tasks(db, dead)[0].failure_reason == NO_QUEUE
    assert (counts(db, dead), bodies(receive(db, one))) == (Counts(1, 0, 0), ["a1"])


@BOTH
def test_a_destination_that_goes_fails_the_task(db: Connection, suffix: str) -> None:
    dead, arn = dead_queue(db, suffix, "q")
    other = create(db, "other" + suffix)
    task = start(db, dead, other)
    send(db, dead, "direct", group="g" if suffix else None)
    call(db, statements.DROP_QUEUE, other)
    assert step(db, task) == (0, "FAILED")
    assert tasks(db, dead)[0].failure_reason == NO_QUEUE
    assert (counts(db, dead), counts(db, arn)) == (Counts(1, 0, 0), Counts(0, 0, 0))


@BOTH
def test_a_queue_that_is_its_own_dead_letter_queue(db: Connection, suffix: str) -> None:
    """There is no other queue to return to, and no end of moving within one."""
    arn = create(db, "q" + suffix)
    policy = json.dumps({"RedrivePolicy": redrive(arn)})
    assert call(db, statements.SET_QUEUE_ATTRIBUTES, arn, policy) == [(None,)]
    send(db, arn, "m", group="g" if suffix else None)
    receive(db, arn, visibility=0)
    receive(db, arn, visibility=0)
    assert step(db, start(db, arn)) == (0, "FAILED")
    assert tasks(db, arn)[0].failure_reason == UNKNOWN_SOURCE


# --- tasks -----------------------------------------------------------------------------------------------------------
def test_what_cannot_be_started(db: Connection) -> None:
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
        second = Background(connect(), lambda c: start_error(c, dead))
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
    assert call(db, statements.CANCEL_MOVE_TASK, task, dead) == [(2, None, None)]
    assert step(db, task) is None
    assert (tasks(db, dead)[0].status, counts(db, dead), counts(db, arn)) == (
        "CANCELLED", Counts(1, 0, 0), Counts(2, 0, 0),
    )  # fmt: skip
    gone = [(None, "ResourceNotFoundException", "TaskHandle")]
    assert call(db, statements.CANCEL_MOVE_TASK, task, dead) == gone
    assert call(db, statements.CANCEL_MOVE_TASK, str(uuid.uuid4()), dead) == gone
    assert call(db, statements.CANCEL_MOVE_TASK, task, "none")[0][2] == "SourceArn"


def test_a_task_of_a_deleted_queue_ends_and_goes(db: Connection) -> None:
    dead, _ = dead_queue(db, "", "q")
    task = start(db, dead)
    call(db, statements.DROP_QUEUE, dead)
    assert step(db, task) == (0, "FAILED")
    call(db, statements.MAINTAIN_INSTALLATION, 1000, 30)
    assert value(db, "select count(*) from queue.move_task") == 0


# --- exactness -------------------------------------------------------------------------------------------------------
@BOTH
def test_a_step_that_is_rolled_back_moves_nothing(db: Connection, connect: Connect, suffix: str) -> None:
    dead, arn = dead_queue(db, suffix, "q")
    poison(db, arn, dead, "a1", "b1")
    send(db, dead, "c1", group="c" if suffix else None)
    other = create(db, "other" + suffix)
    task = start(db, dead, other)
    for _ in range(3):
        with connect() as worker, worker.transaction(force_rollback=True):
            moved = 0
            while (done := step(worker, task, 1)) and done[0]:
                moved += done[0]
            assert moved == 3
        assert counts(db, dead) == Counts(3, 0, 0)
        assert counts(db, other) == Counts(0, 0, 0)
    assert run(db, task) == 3
    assert sorted(drain(db, other)) == ["a1", "b1", "c1"]


@BOTH
def test_a_worker_that_is_killed_moves_nothing_and_another_goes_on(
    db: Connection, connect: Connect, suffix: str
) -> None:
    dead, arn = dead_queue(db, suffix, "q")
    poison(db, arn, dead, "a1", "b1", "c1")
    task = start(db, dead)
    assert step(db, task, 1) == (1, "RUNNING")
    victim = connect()
    victim.execute("begin")
    assert step(victim, task, 1) == (1, "RUNNING")
    assert step(db, task) is None  # it is the other worker's
    assert value(db, "select pg_terminate_backend(%s, 10000)", victim.info.backend_pid)
    assert run(db, task) == 2
    assert sorted(drain(db, arn)) == ["a1", "b1", "c1"]
    assert (tasks(db, dead)[0].moved, history(db, dead)) == (3, {"moved": 3})


@BOTH
def test_5000_messages_two_workers_and_a_consumer(db: Connection, connect: Connect, suffix: str) -> None:
    """What the consumer does not take arrives once; everything is in the history or still there."""
    dead, _ = dead_queue(db, suffix, "q")
    other = create(db, "other" + suffix, shards=2)
    sent = [f"{number:04}" for number in range(5000)]
    for first in range(0, 5000, 500):
        send_entries(
            db, dead, [Entry(n, None, n[-1] if suffix else None, n) for n in sent[first : first + 500]]
        )
    if not suffix:
        half = [m for _ in range(5) for m in receive(db, dead, 500, visibility=900, lease_size=7)]
        change(db, half[::2], 0)  # some through the slow lane, some as leases that are over
        db.execute("update queue.lease set visible_at = clock_timestamp() where ids <> '{}'")
    task = start(db, dead, other)
    workers = [Background(connect(), lambda c: work(c, task)) for _ in range(2)]
    taken = [m for _ in range(20) for m in receive(db, dead, 10)]
    assert set(delete(db, taken)) <= {"deleted"}
    moved = sum(worker.result() for worker in workers)
    assert (tasks(db, dead)[0].status, tasks(db, dead)[0].moved) == ("COMPLETED", moved)
    moved += run(db, start(db, dead, other))  # what was in the consumer's hands for a moment
    arrived = drain(db, other)
    assert len(arrived) == moved
    assert sorted([*arrived, *bodies(taken)]) == sent
    for _ in range(5):
        maintain(db, dead)
    assert history(db, dead) == {"moved": moved, **({"deleted": len(taken)} if taken else {})}
    assert (counts(db, dead), rows_of(db, "side", dead)) == (Counts(0, 0, 0), 0)
    if suffix:
        for group in "0123456789":
            order = [body for body in arrived if body[-1] == group]
            assert order == sorted(order)


@BOTH
def test_messages_that_go_round_and_round_are_neither_lost_nor_doubled(
    db: Connection, connect: Connect, suffix: str
) -> None:
    """A consumer that fails, the tasks that bring its messages back, and the cleaning, all at once; no deadlock."""
    dead, arn = dead_queue(db, suffix, "q")
    sent = [f"{number:03}" for number in range(200)]
    send_entries(db, arn, [Entry(n, None, n[-1] if suffix else None, n) for n in sent])

    def fail(connection: Connection) -> None:
        for _ in range(150):
            receive(connection, arn, 10, visibility=0)

    def move_back(connection: Connection) -> int:
        return sum(run(connection, start(connection, dead), 7) for _ in range(30))

    def clean(connection: Connection) -> None:
        for _ in range(50):
            maintain(connection, arn)
            maintain(connection, dead)

    jobs: list[Background[Any]] = [Background(connect(), job) for job in (fail, fail, clean)]
    moved = Background(connect(), move_back)
    for job in jobs:
        job.result()
    assert moved.result() > 0
    assert sorted([*drain(db, dead), *drain(db, arn), *drain(db, dead)]) == sent


@BOTH
def test_a_step_waits_for_nobody(db: Connection, connect: Connect, suffix: str) -> None:
    dead, arn = dead_queue(db, suffix, "q")
    other = create(db, "other" + suffix)
    send(db, dead, "m", group="g" if suffix else None)
    task = start(db, dead, other)
    with connect() as reader, reader.transaction():
        assert len(receive(reader, dead, visibility=0)) == 1
        assert step(db, task) == (0, "RUNNING")
    if suffix:
        with connect() as sender, sender.transaction():
            send(sender, other, "first", group="g")
            assert step(db, task) == (0, "RUNNING")
    assert step(db, task) == (1, "COMPLETED")
    assert drain(db, other)[-1] == "m"
    assert drain(db, arn) == []


def test_a_busy_group_holds_up_no_other(db: Connection, connect: Connect) -> None:
    """Also when the rate allows a single message: the next group has its turn."""
    dead, arn = dead_queue(db, ".fifo", "q")
    poison(db, arn, dead, "a1", "b1")
    task = start(db, dead)
    with connect() as sender, sender.transaction():
        send(sender, arn, "a2", group="a")
        assert step(db, task, 1) == (1, "RUNNING")
        assert step(db, task, 1) == (0, "RUNNING")
        assert bodies(receive(db, arn)) == ["b1"]
    assert run(db, task) == 1
    assert bodies(receive(db, arn)) == ["a2", "a1"]


# --- the rate --------------------------------------------------------------------------------------------------------
def pace(db: Connection, task: str, by: str) -> None:
    """Puts the moment up to which the rate is used up."""
    db.execute(
        "update queue.move_task set paced_at = clock_timestamp() + %s::interval where task_id = %s",
        (by, task),
    )


def used(db: Connection, task: str) -> Any:
    return value(db, "select paced_at from queue.move_task where task_id = %s", task)


@BOTH
def test_the_rate_allows_a_seconds_worth_at_once(db: Connection, suffix: str) -> None:
    dead, _ = dead_queue(db, suffix, "q")
    send(db, dead, *map(str, range(50)), group="g" if suffix else None)
    task = start(db, dead, create(db, "other" + suffix), rate=10)
    pace(db, task, "1 hour")
    assert step(db, task) == (0, "RUNNING")
    pace(db, task, "-1 day")
    began = value(db, "select clock_timestamp()")
    assert step(db, task) == (10, "RUNNING")
    assert began <= used(db, task) <= value(db, "select clock_timestamp()")
    pace(db, task, "-1 day")
    assert step(db, task, 5) == (5, "RUNNING")
    since = value(db, "select clock_timestamp() - %s > interval '0.5 s'", used(db, task))
    assert since  # half of the second is left for the next step
    assert tasks(db, dead)[0].moved == 15


def test_workers_keep_the_rate_together(db: Connection, connect: Connect) -> None:
    dead, _ = dead_queue(db, "", "q")
    send(db, dead, *map(str, range(500)))
    task = start(db, dead, create(db, "other"), rate=500)
    began = value(db, "select started_at from queue.move_task")
    workers = [connect() for _ in range(3)]
    moved = 0
    while moved < 100:
        moved += sum(done[0] for worker in workers if (done := step(worker, task)))
        allowed = value(db, "select 500 * extract(epoch from clock_timestamp() - %s)", began)
        assert moved <= allowed


# --- the worker ------------------------------------------------------------------------------------------------------
class Time:
    """Stands in for the worker's clock: only pauses take time."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(move, "monotonic", lambda: time.now)
    monkeypatch.setattr(move, "sleep", time.sleep)
    return time


def test_the_worker_does_every_task(db: Connection, time: Time) -> None:
    dead, one = dead_queue(db, "", "one")
    fifo, two = dead_queue(db, ".fifo", "two")
    poison(db, one, dead, *(f"a{n}" for n in range(250)))
    poison(db, two, fifo, "b1", "b2")
    start(db, dead)
    start(db, fifo)
    assert move.run_once(Settings.read({}), db)["messages"] == 252
    assert {task.status for arn in (dead, fifo) for task in tasks(db, arn)} == {"COMPLETED"}
    assert time.now == 0
    assert move.run_once(Settings.read({}), db) == {"steps": 0, "messages": 0}


def test_a_run_of_the_worker_is_bounded(db: Connection, time: Time) -> None:
    dead, arn = dead_queue(db, "", "q")
    poison(db, arn, dead, "a1")
    pace(db, start(db, dead, rate=1), "1 hour")
    assert move.run_once(Settings.read({}), db)["messages"] == 0
    assert move.LONGEST_RUN_SECONDS <= time.now < move.LONGEST_RUN_SECONDS + 2 * move.PAUSE_SECONDS
