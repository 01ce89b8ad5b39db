"""Tests concurrent message move tasks, their rate and their worker: each message moves once or not at all."""

from typing import Any

import pytest

from penstock.postgres.statements.move_tasks import RUNNING_MOVE_TASKS
from penstock.settings import Settings
from penstock.workers import move
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
    receive,
    redrive,
    rows_of,
    send,
    send_entries,
    set_search_due,
    value,
)
from tests.support.sql.move_tasks import BOTH, dead_queue, drain, poison, run, start, step, tasks, work

pytestmark = pytest.mark.emptied


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
    assert step(db, task) is None  # The other worker has locked the task.
    assert value(db, "select pg_terminate_backend(%s, 10000)", victim.info.backend_pid)
    assert run(db, task) == 2
    assert sorted(drain(db, arn)) == ["a1", "b1", "c1"]
    assert (tasks(db, dead)[0].moved, history(db, dead)) == (3, {"moved": 3})


@BOTH
def test_5000_messages_two_workers_and_a_consumer(db: Connection, connect: Connect, suffix: str) -> None:
    """Messages that the consumer does not receive arrive exactly once. The history or a queue contains every
    message."""
    dead, _ = dead_queue(db, suffix, "q")
    other = create(db, "other" + suffix, shards=2)
    sent = [f"{number:04}" for number in range(5000)]
    for first in range(0, 5000, 500):
        send_entries(db, dead, [Entry(n, None, n[-1] if suffix else None, n) for n in sent[first : first + 500]])
    if not suffix:
        half = [m for _ in range(5) for m in receive(db, dead, 500, visibility=900, lease_size=7)]
        change(db, half[::2], 0)  # Some messages are in the side table, and some belong to ended leases.
        db.execute("update queue.lease set visible_at = clock_timestamp() where ids <> '{}'")
    task = start(db, dead, other)
    workers = [BackgroundCall(connect(), lambda c: work(c, task)) for _ in range(2)]
    taken = [m for _ in range(20) for m in receive(db, dead, 10)]
    assert set(delete(db, taken)) <= {"deleted"}
    moved = sum(worker.result() for worker in workers)
    assert (tasks(db, dead)[0].status, tasks(db, dead)[0].moved) == ("COMPLETED", moved)
    moved += run(db, start(db, dead, other))  # the consumer held these messages for a moment
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
    """A failing consumer, tasks that return its messages, and cleaning run concurrently without a deadlock."""
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

    jobs: list[BackgroundCall[Any]] = [BackgroundCall(connect(), job) for job in (fail, fail, clean)]
    moved = BackgroundCall(connect(), move_back)
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
    """The next group also has a turn if the rate allows only one message."""
    dead, arn = dead_queue(db, ".fifo", "q")
    poison(db, arn, dead, "a1", "b1")
    task = start(db, dead)
    with connect() as sender, sender.transaction():
        send(sender, arn, "a2", group="a")
        assert step(db, task, 1) == (1, "RUNNING")
        assert step(db, task, 1) == (0, "RUNNING")
        assert bodies(receive(db, arn)) == ["b1"]
    assert run(db, task) == 1
    # On a busy machine, the sender's transaction is so old that only a full search finds the message.
    set_search_due(db, arn)
    assert bodies(receive(db, arn)) == ["a2", "a1"]


def test_a_task_ends_also_when_a_search_of_the_queue_is_due(db: Connection) -> None:
    """The search is due because a consumer received from the queue earlier."""
    dead, arn = dead_queue(db, ".fifo", "q")
    poison(db, arn, dead, "a1", "b1")
    delete(db, receive(db, dead, 1))
    set_search_due(db, dead)
    assert step(db, start(db, dead)) == (1, "COMPLETED")


# --- the rate --------------------------------------------------------------------------------------------------------
def pace(db: Connection, task: str, by: str) -> None:
    """Sets the time up to which the task has used its rate."""
    db.execute("update queue.move_task set paced_at = clock_timestamp() + %s::interval where task_id = %s", (by, task))


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
    assert since  # Half of the second is available to the next step.
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
    """Replaces the worker's clock. Only pauses advance the time."""

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


def full_dead_letter_queue(db: Connection, name: str) -> str:
    dead = create(db, name)
    create(db, f"source-of-{name}", RedrivePolicy=redrive(dead))
    send(db, dead, *map(str, range(300)))
    return dead


def test_accounts_take_turns(db: Connection, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """An account with many tasks, some of which are slow, leaves half of the steps to the only task of another
    account."""
    others = [full_dead_letter_queue(db, f"other{n}") for n in range(6)]
    mine = full_dead_letter_queue(db, "mine")
    target = create(db, "target")
    for n, arn in enumerate(others):
        start(db, arn, target, rate=1 if n % 2 else None)
    task = start(db, mine, target)
    db.execute("update queue.queues set account_id = '111122223333' where name like 'other%'")
    moved: list[tuple[bool, int]] = []
    take_step = move.step

    def step_of(calls: Any, task_id: Any) -> int:
        number = take_step(calls, task_id)
        moved.append((str(task_id) == task, number))
        return number

    monkeypatch.setattr(move, "step", step_of)
    move.run_once(Settings.read({}), db)
    until_mine_is_done = moved[: max(at for at, (is_mine, number) in enumerate(moved) if is_mine and number)]
    assert sum(number for is_mine, number in until_mine_is_done if not is_mine) <= 400
    assert sum(number for _, number in moved) >= 4 * 300
    assert value(db, "select count(*) from queue.move_task where status = 'RUNNING'") == 3


def test_a_task_that_another_worker_has_is_left_to_it(db: Connection, connect: Connect) -> None:
    """The second worker runs the next task of the account. A second worker without a task stays ready, because the
    first worker can die."""
    target = create(db, "target")
    first, second = (start(db, full_dead_letter_queue(db, name), target) for name in ("first", "second"))
    with connect() as other, other.transaction():
        step(other, first)
        assert [str(row.task_id) for row in call(db, RUNNING_MOVE_TASKS)] == [second]
        db.execute("update queue.move_task set status = 'COMPLETED' where task_id = %s", (second,))
        assert [str(row.task_id) for row in call(db, RUNNING_MOVE_TASKS)] == [first]


def test_a_run_of_the_worker_is_bounded(db: Connection, time: Time) -> None:
    dead, arn = dead_queue(db, "", "q")
    poison(db, arn, dead, "a1")
    pace(db, start(db, dead, rate=1), "1 hour")
    assert move.run_once(Settings.read({}), db)["messages"] == 0
    assert move.MAX_RUN_SECONDS <= time.now < move.MAX_RUN_SECONDS + 2 * move.PAUSE_SECONDS
