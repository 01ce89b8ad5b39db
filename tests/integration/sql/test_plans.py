"""Tests that frequent calls read about as many rows as they return, even with misleading statistics.

Often the statistics are the worst possible: a full queue was emptied, and was then vacuumed. PostgreSQL sees no
difference between the indexes of a table with two rows on many pages. Plans from that time stay in use when the queue
fills again.
"""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from penstock.postgres.statements.messages import RECEIVE_MESSAGES
from tests.integration.sql.conftest import Connect
from tests.support.database import Database
from tests.support.sql.calls import (
    Connection,
    Entry,
    call,
    change,
    change_by_id,
    create,
    delete,
    delete_by_id,
    maintain,
    purge,
    receive,
    send,
    send_entries,
    value,
)

MESSAGES = 3000
# A call for ten messages fetches at most this many rows. Measured values are 2 to 204. A scan of the queue reads
# 3,000 rows.
MOST = 300


def fill(db: Connection, arn: str) -> None:
    for number in range(MESSAGES // 100):
        send(db, arn, *["m"] * 100, group=group_of(arn, number))


def group_of(arn: str, number: int) -> str | None:
    """Only FIFO queues have groups in these tests, because a full standard queue with tenants reads ahead."""
    return f"g{number}" if arn.endswith(".fifo") else None


def fetched(db: Connection, call: Callable[[], object]) -> int:
    """Returns the number of table rows that a call fetches, with and without an index."""
    query = """
        select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int
        from pg_stat_xact_user_tables where schemaname = 'queue'"""
    with db.transaction():
        before = db.execute(query).fetchone()
        call()
        after = db.execute(query).fetchone()
    assert before is not None
    assert after is not None
    return int(after[0] - before[0])


@pytest.fixture(params=["q", "q.fifo"])
def arn(db: Connection, database: Database, request: pytest.FixtureRequest) -> str:
    """Creates a full queue with the statistics of an almost empty one."""
    arn = create(db, request.param)
    fill(db, arn)
    held = receive(db, arn, 100)
    change(db, held[:50], 100)
    purge(db, arn)
    while maintain(db, arn):
        pass
    send(db, arn, "1", "2", group=group_of(arn, 0))
    with psycopg.connect(database.dsn, autocommit=True) as administration:
        administration.execute("vacuum analyze")
    fill(db, arn)
    return arn


def test_hot_calls_read_what_they_are_about(arn: str, connect: Connect) -> None:
    db = connect()
    read = {"send": fetched(db, lambda: send(db, arn, *["m"] * 10, group=group_of(arn, 1)))}
    messages = [receive(db, arn, 10) for _ in range(20)]
    read["receive"] = fetched(db, lambda: messages.append(receive(db, arn, 10)))
    read["delete"] = fetched(db, lambda: delete(db, messages[0]))
    read["change"] = fetched(db, lambda: change(db, messages[1], 100))
    read["delete in the slow path"] = fetched(db, lambda: delete(db, messages[1]))
    read["show"] = fetched(db, lambda: change(db, messages[2], 0))
    read["receive again"] = fetched(db, lambda: messages.append(receive(db, arn, 10)))
    read["change by id"] = fetched(db, lambda: change_by_id(db, arn, messages[3][0].public_id, 100))
    read["delete by id"] = fetched(db, lambda: delete_by_id(db, arn, *(m.public_id for m in messages[4])))
    for name in ("attempt", "repeat"):
        read[name] = fetched(db, lambda: call(db, RECEIVE_MESSAGES, arn, 10, 10, None, 120_000, False, "id", None))
    count = "select queue.count_in_flight(q.queue_id, q.fifo, q.shards) from queue.queues q"
    read["count"] = fetched(db, lambda: value(db, count))
    assert {name: rows for name, rows in read.items() if rows > MOST} == {}


def test_the_end_of_a_retention_period_reads_no_others(db: Connection) -> None:
    arn = create(db, "q")
    for _ in range(MESSAGES // 100):
        send(db, arn, *["m"] * 100, delay=900)
    query = "select queue.purge_side(q.queue_id, clock_timestamp() - interval '1 hour') from queue.queues q"
    assert fetched(db, lambda: value(db, query)) <= MOST


# --- costs -----------------------------------------------------------------------------------------------------------
# A call's cost does not grow with the contents of other queues in any session.
#
# The cost is the number of pages that a call reads. The server counts the pages, and the count is the same on every
# machine.


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
    """Yields a session of an application with PostgreSQL's default planner settings."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        for name in ("jit", "enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"):
            connection.execute(f"set {name} = on".encode())
        connection.execute("set plan_cache_mode = auto")
        yield connection


def pages(session: Connection, selected: str) -> int:
    """Returns the number of pages that a query reads."""
    explained = session.execute(f"explain (analyze, buffers, format json) select {selected}".encode()).fetchone()
    top: dict[str, Any] = explained[0][0]["Plan"]  # type: ignore[index]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])


def costs(session: Connection) -> dict[str, int]:
    """Returns the number of pages of each call. The lowest of several tries counts, because a new page makes one call
    more expensive.
    """
    rounds = [{name: pages(session, selected) for name, selected in CALLS.items()} for _ in range(WARM_UP + 4)]
    return {name: min(each[name] for each in rounds[WARM_UP:]) for name in CALLS}


def fill_queue(session: Connection, messages: int) -> None:
    """Adds this many messages to other queues, and refreshes the statistics."""
    for _ in range(messages // 1000):
        send_entries(session, "arn:aws:sqs:us-east-1:000000000000:others", [Entry("m")] * 1000, async_commit=True)
    grouped = [Entry("m", group=str(n % 100), deduplication=f"{messages}-{n}") for n in range(messages // 10)]
    send_entries(session, "arn:aws:sqs:us-east-1:000000000000:others.fifo", grouped, async_commit=True)
    session.execute("analyze")


def test_calls_cost_the_same_beside_many_messages_of_others(session: Connection) -> None:
    for name in ("mine", "nothing", "others", "mine.fifo", "others.fifo"):
        create(session, name)
    fill_queue(session, FEW)
    before = costs(session)
    fill_queue(session, MANY)
    after = costs(session)
    # A further level of an index costs a further page for each search. A call makes about a dozen searches.
    assert {name: (before[name], after[name]) for name in CALLS if after[name] > before[name] * 1.5} == {}
