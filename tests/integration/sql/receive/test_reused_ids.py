"""Handles whose message is lost: a failover to an asynchronous standby, or a restore, gave its id to another message.

Rule: a handle deletes and hides the message that it was made for, or nothing. What the server lost is taken away here
as the standby would lack it: the rows, and what sequences had given out.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from tests.support.sql.calls import (
    Connection,
    Delivery,
    change,
    counts,
    create,
    delete,
    receive,
    send,
    transact_deletes,
)

TABLES = ("log", "lease", "side", "fifo_message", "fifo_group", "fifo_ready", "deduplication")
SEQUENCES = ("side_id", "fifo_id", "fifo_group_group_key_seq", "fifo_ready_version_seq")


def fall_back(db: Connection, lose: Callable[[], list[Delivery]]) -> list[Delivery]:
    """What `lose` returns; the database is as it was before."""
    for table in TABLES:
        db.execute(f"create temp table kept_{table} as table queue.{table}".encode())
    kept = {
        name: db.execute(f"select last_value, is_called from queue.{name}".encode()).fetchall()[0]
        for name in SEQUENCES
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


def lost_and_new(
    db: Connection, arn: str, since: Since, attempts: int = 1
) -> tuple[list[Delivery], list[Delivery]]:
    """Deliveries of lost messages, and of those that have their ids now, as far as they were received."""
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
