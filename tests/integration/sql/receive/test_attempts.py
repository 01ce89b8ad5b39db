"""Receives that are repeated by their ReceiveRequestAttemptId: side by side, rolled back, and forgotten in the end.

What a retry gets is in tests/conformance/sqs/fifo/test_receive_attempts.py.
"""

from __future__ import annotations

from penstock.postgres.statements.installation import MAINTAIN_INSTALLATION
from penstock.postgres.statements.messages import RECEIVE_MESSAGES
from penstock.postgres.statements.queues import DROP_QUEUE
from tests.integration.sql.conftest import Connect
from tests.support.sql.background_call import BackgroundCall
from tests.support.sql.calls import Connection, Delivery, bodies, call, create, queue_id, rows_of, send, value


def attempt(db: Connection, arn: str, attempt_id: str, count: int = 10) -> list[Delivery]:
    header, *rows = call(db, RECEIVE_MESSAGES, arn, count, count, None, None, False, attempt_id, None)
    assert (header.error, header.wait_seconds) == (None, 0), header
    return rows


def fifo(db: Connection, *groups: str) -> str:
    """A queue with two messages in each group."""
    arn = create(db, "q.fifo")
    for group in groups:
        send(db, arn, f"{group}1", f"{group}2", group=group)
    return arn


def test_the_order_of_the_answer_stays(db: Connection) -> None:
    """Groups too come in the same order, though group c was ready before a."""
    arn = fifo(db, "c", "b", "a")
    first = attempt(db, arn, "x", 5)
    assert bodies(first) == ["c1", "c2", "b1", "b2", "a1"]
    again = attempt(db, arn, "x")
    assert [(d.handle, d.body) for d in again] == [(d.handle, d.body) for d in first]
    assert again[0].visible_at_ms >= first[0].visible_at_ms


def test_one_at_a_time(db: Connection, connect: Connect) -> None:
    """The retry may come while the first request is still under way: it waits and gets the same."""
    arn = fifo(db, "a", "b")
    with connect() as other, other.transaction():
        first = attempt(other, arn, "x", 2)
        second = BackgroundCall(connect(), lambda connection: attempt(connection, arn, "x", 2))
        second.wait_until_blocked(db)
    assert [d.handle for d in second.result()] == [d.handle for d in first]


def test_of_a_receive_that_is_rolled_back_nothing_is_known(db: Connection, connect: Connect) -> None:
    arn = fifo(db, "a")
    with connect() as other:
        other.execute("begin")
        attempt(other, arn, "x")
        other.execute("rollback")
    assert rows_of(db, "receive_attempt", arn) == 0
    assert [d.receive_count for d in attempt(db, arn, "x")] == [1, 1]


def test_other_ids_do_not_wait(db: Connection, connect: Connect) -> None:
    """As long as they are not in one of the 256 sets with it, as these two."""
    arn = fifo(db, "a")
    assert value(db, "select (hashtext('x') & 255) <> (hashtext('y') & 255)")
    with connect() as other, other.transaction():
        key = "queue.lock_key(3, %s, hashtext('x') & 255)"
        other.execute(f"select pg_advisory_xact_lock({key})".encode(), (queue_id(db, arn),))
        assert bodies(attempt(db, arn, "y")) == ["a1", "a2"]


def test_a_new_receive_takes_the_place_of_the_old_one(db: Connection) -> None:
    arn = fifo(db, "a", "b")
    attempt(db, arn, "x", 2)
    db.execute("update queue.receive_attempt set received_at = received_at - interval '5 minutes'")
    second = attempt(db, arn, "x", 2)
    assert bodies(second) == ["b1", "b2"]
    assert bodies(attempt(db, arn, "x", 2)) == ["b1", "b2"]
    assert rows_of(db, "receive_attempt", arn) == 1


def test_an_empty_receive_is_not_kept(db: Connection) -> None:
    arn = fifo(db)
    assert attempt(db, arn, "x") == []
    assert rows_of(db, "receive_attempt", arn) == 0


def test_they_are_forgotten_after_five_minutes(db: Connection) -> None:
    arn = fifo(db, "a", "b")
    attempt(db, arn, "x", 2)
    attempt(db, arn, "y", 2)
    call(db, MAINTAIN_INSTALLATION, 100, 30)
    assert rows_of(db, "receive_attempt", arn) == 2
    db.execute(
        "update queue.receive_attempt set received_at = received_at - interval '5 minutes' where attempt_id = 'x'"
    )
    assert call(db, MAINTAIN_INSTALLATION, 100, 30) == [(1,)]
    assert value(db, "select array_agg(attempt_id) from queue.receive_attempt") == ["y"]


def test_a_deleted_queue_leaves_none(db: Connection) -> None:
    arn = fifo(db, "a")
    attempt(db, arn, "x")
    call(db, DROP_QUEUE, arn)
    call(db, MAINTAIN_INSTALLATION, 100, 30)
    assert value(db, "select count(*) from queue.receive_attempt") == 0


def test_a_standard_queue_and_an_unknown_one(db: Connection) -> None:
    arn = create(db, "q")
    send(db, arn, "m")
    assert bodies(attempt(db, arn, "x")) == ["m"]
    assert attempt(db, arn, "x") == []
    (header,) = call(db, RECEIVE_MESSAGES, arn + "-none", 1, 1, None, None, False, "x", None)
    assert header.error == "QueueDoesNotExist"
