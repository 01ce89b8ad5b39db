"""Receives that a crash of the server has undone: their consumers have the messages, and acknowledge them.

A receive of a standard queue does not wait for the disk (docs/decisions/0011-the-hot-path.md). Here it is rolled back.
Rule: a duplicate is explained by an expired lease or an unknown outcome, so what was acknowledged does not come again.
"""

from __future__ import annotations

import psycopg

from tests.support.sql.calls import (
    Connection,
    Counts,
    Delivery,
    bodies,
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
)


def lost_receive(
    connection: Connection, arn: str, count: int = 10, visibility: int | None = None
) -> list[Delivery]:
    """What a consumer got, of which the database knows nothing any more."""
    with connection.transaction() as transaction:
        delivered = receive(connection, arn, count, visibility)
        raise psycopg.Rollback(transaction)
    return delivered


def test_they_acknowledge_what_waits_again(db: Connection) -> None:
    arn = create(db)
    send(db, arn, *"12345")
    lost = lost_receive(db, arn, 3)
    assert counts(db, arn) == Counts(5, 0, 0)
    assert delete(db, lost) == ["deleted"] * 3
    assert counts(db, arn) == Counts(2, 0, 0)
    assert bodies(receive(db, arn)) == ["4", "5"]
    assert delete(db, lost) == ["gone"] * 3


def test_they_acknowledge_what_others_have_received_since(db: Connection) -> None:
    """In leases with other ends, and the same one."""
    arn = create(db)
    send(db, arn, *"12345678")
    lost = lost_receive(db, arn, 6)
    again = [*receive(db, arn, 2), *receive(db, arn, 4), *receive(db, arn, 1)]
    assert delete(db, lost[:5]) == ["deleted"] * 5
    assert counts(db, arn) == Counts(1, 2, 0)
    assert delete(db, again[:5]) == ["gone"] * 5
    assert delete(db, again[5:]) == ["deleted"] * 2
    assert delete(db, receive(db, arn)) == ["deleted"]
    maintain(db, arn)
    assert history(db, arn) == {"deleted": 8}
    assert rows_of(db, "log", arn) == 0


def test_they_acknowledge_what_was_received_before(db: Connection) -> None:
    """Of a lease that was over, and of the slow path."""
    arn = create(db)
    send(db, arn, *"1234")
    first = receive(db, arn, 4, visibility=0)
    assert change(db, first[3:], 0) == ["changed"]  # goes to the slow path
    lost = lost_receive(db, arn)
    assert {message.receive_count for message in lost} == {2}
    assert sorted(bodies(lost)) == ["1", "2", "3", "4"]
    assert delete(db, lost) == ["deleted"] * 4
    assert counts(db, arn) == Counts(0, 0, 0)


def test_they_acknowledge_what_was_received_twice_since(db: Connection) -> None:
    """As any handle of a standard queue after newer receives."""
    arn = create(db)
    send(db, arn, *"123")
    lost = lost_receive(db, arn)
    receive(db, arn, 3, visibility=0)
    (first, *_) = again = receive(db, arn, 3, visibility=60)
    assert change(db, [first], 60) == ["changed"]  # goes to the slow path
    assert delete(db, lost) == ["deleted"] * 3
    assert counts(db, arn) == Counts(0, 0, 0)
    assert delete(db, again) == ["gone"] * 3


def test_what_was_acknowledged_or_moved_to_a_dead_letter_queue_is_gone(db: Connection) -> None:
    dead = create(db, "dead")
    arn = create(db, RedrivePolicy=redrive(dead))
    send(db, arn, *"12")
    lost = lost_receive(db, arn)
    first = receive(db, arn, 2, visibility=0)
    assert delete(db, first[:1]) == ["deleted"]
    assert receive(db, arn) == []  # the other one moves
    assert counts(db, dead) == Counts(1, 0, 0)
    assert delete(db, lost) == ["gone", "gone"]
    assert counts(db, dead) == Counts(1, 0, 0)
