"""FIFO queues while somebody's old snapshot keeps every dead row: a backup, a report, a forgotten transaction."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import Connection, Entry, create, delete, receive, send_entries

MESSAGES = 200
COMPARED = 20
GROUPS = 100
ROUNDS = 40


def pages_read(db: Connection) -> int:
    """What a message costs: the pages that its send, receive and delete look at."""
    return pages_of(db, "queue.send_fifo('q.fifo', '1', 'group')") + pages_of(
        db, "queue.delete('q.fifo', r.msg_id) from queue.receive('q.fifo', 60, 1) r"
    )


def pages_of(db: Connection, selected: str) -> int:
    """The pages that a query of one row looks at."""
    explained = db.execute(f"explain (analyze, buffers, format json) select {selected}".encode()).fetchone()
    top: dict[str, Any] = explained[0][0]["Plan"]  # type: ignore[index]
    assert top["Actual Rows"] == 1
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])


def test_a_message_costs_the_same_after_many(db: Connection, old: Connection) -> None:
    create(db, "q.fifo")
    for _ in range(COMPARED):
        pages_read(db)
    begin(old)
    costs = [pages_read(db) for _ in range(MESSAGES)]
    assert sum(costs[-COMPARED:]) <= 1.5 * sum(costs[:COMPARED])


@pytest.fixture
def old(connect: Connect) -> Connection:
    """Somebody's transaction, which stays open once it has begun."""
    return connect()


def begin(old: Connection) -> None:
    old.execute("begin isolation level repeatable read")
    old.execute("select from queue.queues")


@pytest.mark.parametrize("call", ["maintain_queue(q.queue_id)", "count_messages(q.queue_id, true, q.shards)"])
def test_cleaning_and_measuring_cost_the_same_after_many(db: Connection, old: Connection, call: str) -> None:
    arn = create(db, "q.fifo")

    def pass_messages_through() -> None:
        groups = [str(number) for number in range(GROUPS)]
        sent = send_entries(
            db, arn, [Entry("1", group=group, deduplication=str(uuid4())) for group in groups]
        )
        assert delete(db, receive(db, arn, GROUPS)) == ["deleted"] * len(sent)

    pass_messages_through()
    selected = f"queue.{call} from queue.queues q"
    pages_of(db, selected)
    begin(old)
    before = pages_of(db, selected)
    for _ in range(ROUNDS):
        pass_messages_through()
    assert pages_of(db, selected) <= 2 * before
