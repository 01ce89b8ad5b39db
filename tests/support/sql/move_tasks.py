"""Starts, runs and reads message move tasks in SQL, and fills queues with dead letters."""

import pytest

from penstock.postgres.statements.move_tasks import LIST_MOVE_TASKS, RUN_MOVE_TASK, START_MOVE_TASK, ListedTaskRow
from tests.support.sql.calls import (
    Connection,
    Entry,
    bodies,
    call,
    counts,
    create,
    delete,
    receive,
    redrive,
    send_entries,
    value,
)

BOTH = pytest.mark.parametrize("suffix", ["", ".fifo"])
UNKNOWN_SOURCE = "CouldNotDetermineMessageSource"
NO_QUEUE = "AWS.SimpleQueueService.NonExistentQueue"


def start(db: Connection, source: str, destination: str | None = None, rate: int | None = None) -> str:
    (row,) = call(db, START_MOVE_TASK, source, destination, rate, None, None, None, None)
    assert row.error is None, row
    return str(row.task_id)


def start_error(db: Connection, source: str, destination: str | None = None) -> tuple[str | None, str | None]:
    (row,) = call(db, START_MOVE_TASK, source, destination, None, None, None, None, None)
    return row.error, row.detail


def tasks(db: Connection, source: str, limit: int = 10) -> list[ListedTaskRow]:
    header, *rows = call(db, LIST_MOVE_TASKS, source, limit)
    assert header.error is None
    return rows


def step(db: Connection, task: str, limit: int = 100) -> tuple[int, str] | None:
    """Returns the number of moved messages and the task's status, or None if this worker had no work."""
    rows = call(db, RUN_MOVE_TASK, task, limit)
    return (rows[0].moved, rows[0].status) if rows else None


def run(db: Connection, task: str, limit: int = 100) -> int:
    """Runs steps until the task has ended for any reason. Returns the number of messages that this worker moved."""
    moved = 0
    while done := step(db, task, limit):
        moved += done[0]
    return moved


def work(db: Connection, task: str) -> int:
    """Runs steps in competition with other workers until the task has ended. Retries a step if another worker has taken
    the task.
    """
    moved = 0
    while value(db, "select status = 'RUNNING' from queue.move_task where task_id = %s", task):
        done = step(db, task, 50)
        moved += done[0] if done else 0
    return moved


def poison(db: Connection, arn: str, dead: str, *names: str) -> None:
    """Sends messages and receives them until they are dead letters. In a FIFO queue, a message's first letter is its
    group.
    """
    before = counts(db, dead).visible
    fifo = arn.endswith(".fifo")
    entries = [
        Entry(n, None, n[0] if fifo else None, n if fifo else None, '{"k": {"DataType": "String"}}') for n in names
    ]
    assert [sent.error for sent in send_entries(db, arn, entries)] == [None] * len(names)
    assert len(receive(db, arn, len(names), visibility=0)) == len(names)
    assert receive(db, arn) == []
    assert counts(db, dead).visible == before + len(names)


def dead_queue(db: Connection, suffix: str, *sources: str) -> tuple[str, ...]:
    dead = create(db, "dead" + suffix, shards=2)
    return dead, *(create(db, name + suffix, RedrivePolicy=redrive(dead)) for name in sources)


def drain(db: Connection, arn: str) -> list[str]:
    """Receives and deletes all visible messages. Returns their bodies."""
    found: list[str] = []
    while messages := receive(db, arn, 500):
        assert set(delete(db, messages)) == {"deleted"}
        found += bodies(messages)
    return found
