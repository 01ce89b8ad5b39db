"""Tests routed events in the SQL interface, inside the application's transaction (docs/reference/events.md)."""

import psycopg
import pytest

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


@pytest.mark.parametrize("key", ["a..b", "", "a b", ".a", "*", "x" * 256])
def test_bad_routing_keys(db: Connection, key: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        value(db, "select count(*) from queue.publish_event(%s, '1')", key)
    assert caught.value.sqlstate == "QU003"


def test_acknowledging_with_other_work(db: Connection, arns: list[str]) -> None:
    """All effects happen at the commit. A message that no longer exists rolls everything back."""
    message = value(db, "select queue.send('a', '1')")
    db.execute("begin")
    db.execute("select queue.ack('a', array[%s]), queue.send('b', '2')", (message,))
    db.execute("commit")
    assert [counts(db, arn).visible for arn in arns[:2]] == [0, 1]
    with pytest.raises(psycopg.Error) as caught:
        db.execute("select queue.send('b', '3'), queue.ack('a', array[%s])", (message,))
    assert caught.value.sqlstate == "QU005"
    assert counts(db, arns[1]).visible == 1
