"""What a call costs does not grow with what other queues hold, in any session.

Costs are pages that a call looks at: the server counts them, and they are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.database import Database
from tests.support.sql.calls import Connection, Entry, create, send_entries

FEW, MANY = 1_000, 20_000
WARM_UP = 6  # PostgreSQL may choose another plan for the sixth execution ("PREPARE", plan_cache_mode)
CALLS = {
    "send": "queue.send('mine', '{}')",
    "receive and delete": "queue.delete('mine', r.msg_id) from queue.receive('mine', 60, 1) r",
    "receive from an empty queue": "r from queue.receive('nothing', 60, 1) r",
    "send to a group": "queue.send_fifo('mine.fifo', '1', 'group')",
    "receive from a group": "queue.delete('mine.fifo', r.msg_id) from queue.receive('mine.fifo', 60, 1) r",
    "look for what to clean": (
        "queue.queues_with_leftover_rows(array(select queue_id from queue.queues where name ^@ 'mine'))"
    ),
    "look for messages": "p from queue.poll_queues(array(select arn from queue.queues where name ^@ 'mine')) p",
}


@pytest.fixture
def session(database: Database) -> Iterator[Connection]:
    """A session of an application, with the planner settings that PostgreSQL begins with."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        for name in ("jit", "enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"):
            connection.execute(f"set {name} = on".encode())
        connection.execute("set plan_cache_mode = auto")
        yield connection


def pages(session: Connection, selected: str) -> int:
    """The pages that a query looks at."""
    explained = session.execute(
        f"explain (analyze, buffers, format json) select {selected}".encode()
    ).fetchone()
    top: dict[str, Any] = explained[0][0]["Plan"]  # type: ignore[index]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])


def costs(session: Connection) -> dict[str, int]:
    """The pages of each call: the fewest of some, since a page that fills up costs one call more."""
    rounds = [
        {name: pages(session, selected) for name, selected in CALLS.items()} for _ in range(WARM_UP + 4)
    ]
    return {name: min(each[name] for each in rounds[WARM_UP:]) for name in CALLS}


def fill(session: Connection, messages: int) -> None:
    """Adds so many messages to others' queues, and reads the statistics anew."""
    for _ in range(messages // 1000):
        send_entries(
            session, "arn:aws:sqs:us-east-1:000000000000:others", [Entry("m")] * 1000, async_commit=True
        )
    grouped = [Entry("m", group=str(n % 100), deduplication=f"{messages}-{n}") for n in range(messages // 10)]
    send_entries(session, "arn:aws:sqs:us-east-1:000000000000:others.fifo", grouped, async_commit=True)
    session.execute("analyze")


def test_calls_cost_the_same_beside_many_messages_of_others(session: Connection) -> None:
    for name in ("mine", "nothing", "others", "mine.fifo", "others.fifo"):
        create(session, name)
    fill(session, FEW)
    before = costs(session)
    fill(session, MANY)
    after = costs(session)
    # A level of an index more is a page more for each search; a call makes a dozen.
    assert {name: (before[name], after[name]) for name in CALLS if after[name] > before[name] * 1.5} == {}
