"""Tests routed events in the SQL interface, inside the application's transaction (docs/reference/events.md).

Also tests which process polls for a mapping (queue.claim_mappings).
"""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import uuid4

import psycopg
import pytest

from tests.support.database import Database
from tests.support.sql.calls import Connection, counts, create, value


@pytest.fixture
def arns(db: Connection) -> list[str]:
    return [create(db, name) for name in ("a", "b", "c.fifo")]


def test_an_event_is_there_with_the_commit_or_not_at_all(db: Connection, arns: list[str]) -> None:
    for name in ("a", "b", "c.fifo"):
        assert value(db, "select queue.subscribe('orders.#', %s)", name) > 0
    for end, visible in (("rollback", 0), ("commit", 1)):
        db.execute("begin")
        rows = db.execute("select * from queue.publish_event('orders.created', '{\"id\": 1}')").fetchall()
        assert [name for name, _ in rows] == ["a", "b", "c.fifo"]
        db.execute(end.encode())
        assert [counts(db, arn).visible for arn in arns] == [visible] * 3


def test_send_topic_counts_queues(db: Connection, arns: list[str]) -> None:
    value(db, "select queue.subscribe('x.*', 'a')")
    assert value(db, "select queue.send_topic('x.y', '1')") == 1
    assert value(db, "select queue.send_topic('x', '1')") == 0
    assert value(db, "select queue.unsubscribe('x.*', 'a')") is True
    assert value(db, "select queue.unsubscribe('x.*', 'a')") is False
    assert len(arns) == 3


@pytest.mark.shared
@pytest.mark.parametrize("key", ["a..b", "", "a b", ".a", "*", "x" * 256])
def test_bad_routing_keys(db: Connection, key: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        value(db, "select count(*) from queue.publish_event(%s, '1')", key)
    assert caught.value.sqlstate == "QU003"


def test_acknowledging_with_other_work(db: Connection, arns: list[str]) -> None:
    """All effects happen at the commit. If a message is missing, the call rolls everything back."""
    message = value(db, "select queue.send('a', '1')")
    db.execute("begin")
    db.execute("select queue.ack('a', array[%s]), queue.send('b', '2')", (message,))
    db.execute("commit")
    assert [counts(db, arn).visible for arn in arns[:2]] == [0, 1]
    with pytest.raises(psycopg.Error) as caught:
        db.execute("select queue.send('b', '3'), queue.ack('a', array[%s])", (message,))
    assert caught.value.sqlstate == "QU005"
    assert counts(db, arns[1]).visible == 1


PROCESSES, MAPPINGS, ROUNDS = 4, 50, 60


def test_processes_that_begin_together_share_no_mapping(database: Database) -> None:
    """If two processes polled for the same mapping, the mapping would run twice as many concurrent invocations until
    the next claim."""
    began = Barrier(PROCESSES)

    def claim(connection: psycopg.Connection) -> list[object]:
        began.wait()
        rows = connection.execute("select mapping_id from queue.claim_mappings(%s, 60)", [uuid4()])
        return [row[0] for row in rows if row[0] is not None]

    connections = [psycopg.connect(database.dsn, autocommit=True) for _ in range(PROCESSES)]
    first = connections[0]
    first.execute(
        "insert into queue.event_source_mapping (account_id, region, queue_arn, function_arn, options, enabled) "
        "select '000000000000', 'us-east-1', 'q', format('f%%s', n), '{}', true from generate_series(1, %s) n",
        [MAPPINGS],
    )
    with ThreadPoolExecutor(PROCESSES) as threads:
        for _ in range(ROUNDS):
            first.execute("delete from queue.poller")
            first.execute("update queue.event_source_mapping set poller_id = null")
            claimed = [mapping_id for found in threads.map(claim, connections) for mapping_id in found]
            assert len(claimed) == len(set(claimed)) == MAPPINGS
    for connection in connections:
        connection.close()


def test_a_process_knows_that_others_poll(database: Database) -> None:
    """An installation without mappings has no row, so an idle process rarely sends a query."""
    claim = "select mapping_id from queue.claim_mappings(gen_random_uuid(), 15)"
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        assert connection.execute(claim).fetchall() == []
        connection.execute(
            "insert into queue.event_source_mapping (account_id, region, queue_arn, function_arn, options, enabled)"
            " values ('000000000000', 'us-east-1', 'q', 'f', '{}', true)"
        )
        ((mapping,),) = connection.execute(claim).fetchall()
        assert mapping is not None
        claim_of_another = claim.replace("mapping_id", "mapping_id, next_end_ms between 1 and 15000")
        assert connection.execute(claim_of_another).fetchall() == [(None, True)]
        connection.execute("update queue.poller set alive_until = clock_timestamp()")
        assert connection.execute(claim).fetchall() == [(mapping,)]
