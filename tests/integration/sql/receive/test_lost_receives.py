"""Tests receives that a server crash undid. The consumers hold the messages and acknowledge them.

A receive from a standard queue does not wait for the disk (docs/decisions/0023-receives-without-the-disk.md). These
tests roll the receive back. The queue must not redeliver an acknowledged message.

Also tests handles for lost messages. After a failover to an asynchronous standby, or a restore, other messages have the
ids of the lost messages.

A handle deletes or hides only the message that it was issued for. The tests remove the data that a standby would lack:
the rows and the last numbers of the sequences.
"""

import uuid
from collections.abc import Callable

import psycopg
import pytest

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
    transact_deletes,
)

pytestmark = pytest.mark.emptied


def lost_receive(connection: Connection, arn: str, count: int = 10, visibility: int | None = None) -> list[Delivery]:
    """Receives messages, and undoes the receive in the database. Returns the messages that the consumer received."""
    with connection.transaction() as transaction:
        delivered = receive(connection, arn, count, visibility)
        raise psycopg.Rollback(transaction)
    return delivered


def test_lost_handles_acknowledge_messages_that_wait_again(db: Connection) -> None:
    arn = create(db)
    send(db, arn, *"12345")
    lost = lost_receive(db, arn, 3)
    assert counts(db, arn) == Counts(5, 0, 0)
    assert delete(db, lost) == ["deleted"] * 3
    assert counts(db, arn) == Counts(2, 0, 0)
    assert bodies(receive(db, arn)) == ["4", "5"]
    assert delete(db, lost) == ["gone"] * 3


def test_lost_handles_acknowledge_messages_that_others_have_received_since(db: Connection) -> None:
    """The leases end at different times, or at the same time."""
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


def test_lost_handles_acknowledge_messages_that_were_received_before(db: Connection) -> None:
    """The handles belong to an expired lease and to messages in the side table."""
    arn = create(db)
    send(db, arn, *"1234")
    first = receive(db, arn, 4, visibility=0)
    assert change(db, first[3:], 0) == ["changed"]  # This call moves the other messages to the side table.
    lost = lost_receive(db, arn)
    assert {message.receive_count for message in lost} == {2}
    assert sorted(bodies(lost)) == ["1", "2", "3", "4"]
    assert delete(db, lost) == ["deleted"] * 4
    assert counts(db, arn) == Counts(0, 0, 0)


def test_lost_handles_acknowledge_messages_that_were_received_twice_since(db: Connection) -> None:
    """Every handle of a standard queue works even after newer receives."""
    arn = create(db)
    send(db, arn, *"123")
    lost = lost_receive(db, arn)
    receive(db, arn, 3, visibility=0)
    (first, *_) = again = receive(db, arn, 3, visibility=60)
    assert change(db, [first], 60) == ["changed"]  # This call moves the message to the side table.
    assert delete(db, lost) == ["deleted"] * 3
    assert counts(db, arn) == Counts(0, 0, 0)
    assert delete(db, again) == ["gone"] * 3


def test_acknowledged_and_moved_messages_do_not_return(db: Connection) -> None:
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


TABLES = ("log", "lease", "side", "fifo_message", "fifo_group", "fifo_ready", "deduplication")
SEQUENCES = ("side_id", "fifo_id", "fifo_group_group_key_seq", "fifo_ready_version_seq")


def fall_back(db: Connection, lose: Callable[[], list[Delivery]]) -> list[Delivery]:
    """Returns the result of `lose` and restores the earlier state of the database."""
    for table in TABLES:
        db.execute(f"create temp table kept_{table} as table queue.{table}".encode())
    kept = {
        name: db.execute(f"select last_value, is_called from queue.{name}".encode()).fetchall()[0] for name in SEQUENCES
    }
    lost = lose()
    for table in TABLES:
        db.execute(f"delete from queue.{table}".encode())
        identity = b"overriding system value" if table in ("fifo_group", "fifo_ready") else b""
        db.execute(b"insert into queue.%b %b table kept_%b" % (table.encode(), identity, table.encode()))
        db.execute(f"drop table kept_{table}".encode())
    for name, (last, called) in kept.items():
        db.execute("select setval(%s, %s, %s)", (f"queue.{name}", last, called))
    return lost


def never_received(db: Connection, arn: str, number: int) -> list[Delivery]:
    return []


def received(db: Connection, arn: str, number: int) -> list[Delivery]:
    return receive(db, arn, number)


def received_one_by_one(db: Connection, arn: str, number: int) -> list[Delivery]:
    return [message for _ in range(number) for message in receive(db, arn, 1)]


def received_twice(db: Connection, arn: str, number: int) -> list[Delivery]:
    receive(db, arn, number, visibility=0)
    return receive(db, arn, number)


def on_the_slow_path(db: Connection, arn: str, number: int) -> list[Delivery]:
    change(db, receive(db, arn, number), 0)
    return receive(db, arn, number)


STATES = pytest.mark.parametrize(
    "since", [never_received, received, received_one_by_one, received_twice, on_the_slow_path]
)
Since = Callable[[Connection, str, int], list[Delivery]]


def lost_and_new(db: Connection, arn: str, since: Since, attempts: int = 1) -> tuple[list[Delivery], list[Delivery]]:
    """Returns deliveries of lost messages, and deliveries of later messages with the same ids."""
    fifo = "g" if arn.endswith(".fifo") else None
    send(db, arn, "before", group=fifo)
    delete(db, receive(db, arn))

    def lose() -> list[Delivery]:
        send(db, arn, *"1234", group=fifo)
        for _ in range(attempts - 1):
            receive(db, arn, 4, visibility=0)
        return receive(db, arn, 4)

    lost = fall_back(db, lose)
    stored = send(db, arn, *"5678", group=fifo)
    assert [row.id for row in stored] == [message.public_id for message in lost]
    return lost, since(db, arn, 4)


@STATES
@pytest.mark.parametrize("name", ["q", "q.fifo"])
@pytest.mark.parametrize("attempts", [1, 2])
def test_a_handle_deletes_no_other_message(db: Connection, name: str, since: Since, attempts: int) -> None:
    arn = create(db, name)
    lost, new = lost_and_new(db, arn, since, attempts)
    before = counts(db, arn)
    assert delete(db, lost) == ["gone"] * 4
    assert counts(db, arn) == before
    if new:
        assert delete(db, new) == ["deleted"] * len(new)
        assert counts(db, arn).in_flight == 0


@STATES
@pytest.mark.parametrize("name", ["q", "q.fifo"])
def test_a_handle_hides_no_other_message(db: Connection, name: str, since: Since) -> None:
    arn = create(db, name)
    lost, _ = lost_and_new(db, arn, since)
    before = counts(db, arn)
    assert change(db, lost, 0) == ["gone"] * 4
    assert counts(db, arn) == before


@pytest.mark.parametrize("name", ["q", "q.fifo"])
def test_a_transaction_acknowledges_no_other_message(db: Connection, name: str) -> None:
    arn = create(db, name)
    lost, new = lost_and_new(db, arn, received)
    assert transact_deletes(db, lost[:1]) == "StaleReceipt"
    assert transact_deletes(db, new[:1]) is None


def test_nonces_differ(db: Connection) -> None:
    arn = create(db)
    send(db, arn, *(str(uuid.uuid4()) for _ in range(50)))
    nonces = {receive(db, arn, 1)[0].nonce for _ in range(50)}
    assert len(nonces) == 50
    assert all(nonce is not None and 0 < nonce < 2**31 for nonce in nonces)
