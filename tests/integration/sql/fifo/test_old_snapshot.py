"""FIFO queues while somebody's old snapshot keeps every dead row: a backup, a report, a forgotten transaction."""

from __future__ import annotations

from typing import Any

from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import Connection, create

MESSAGES = 200
COMPARED = 20


def pages_read(db: Connection) -> int:
    """What a message costs: the pages that its send, receive and delete look at."""
    calls = (
        "select queue.send_fifo('q.fifo', '1', 'group')",
        "select queue.delete('q.fifo', r.msg_id) from queue.receive('q.fifo', 60, 1) r",
    )
    pages = 0
    for call in calls:
        explained = db.execute(f"explain (analyze, buffers, format json) {call}".encode()).fetchone()
        top: dict[str, Any] = explained[0][0]["Plan"]  # type: ignore[index]
        assert top["Actual Rows"] == 1
        pages += top["Shared Hit Blocks"] + top["Shared Read Blocks"]
    return pages


def test_a_message_costs_the_same_after_many(db: Connection, connect: Connect) -> None:
    create(db, "q.fifo")
    for _ in range(COMPARED):
        pages_read(db)
    old = connect()
    old.execute("begin isolation level repeatable read")
    old.execute("select from queue.queues")
    costs = [pages_read(db) for _ in range(MESSAGES)]
    assert sum(costs[-COMPARED:]) <= 1.5 * sum(costs[:COMPARED])
