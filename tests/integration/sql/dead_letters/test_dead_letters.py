"""Tests dead-letter queues: when a message moves, which values it keeps, and dead-letter queues that are missing, the
same queue, or of the other type."""

import json

import pytest

from penstock.postgres.statements.long_polls import READY_QUEUES
from tests.support.sql.calls import (
    Connection,
    Counts,
    arn_of,
    bodies,
    call,
    change,
    counts,
    create,
    delete,
    history,
    maintain,
    receive,
    redrive,
    send,
)

pytestmark = pytest.mark.emptied

BOTH = pytest.mark.parametrize("suffix", ["", ".fifo"])


def group(suffix: str) -> str | None:
    return "g" if suffix else None


@BOTH
def test_a_message_moves_with_the_receive_after_the_last_one(db: Connection, suffix: str) -> None:
    dead = create(db, "dead" + suffix)
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(dead, 2))
    send(db, arn, "m", group=group(suffix))
    first = receive(db, arn, visibility=0)
    assert len(receive(db, arn, visibility=0)) == 1
    assert counts(db, arn) == Counts(1, 0, 0)
    assert receive(db, arn) == []
    assert (counts(db, arn), counts(db, dead)) == (Counts(0, 0, 0), Counts(1, 0, 0))
    (moved,) = receive(db, dead)
    assert (moved.message_id, moved.body, moved.receive_count) == (first[0].message_id, "m", 1)
    assert json.loads(moved.system or "{}")["DeadLetterQueueSourceArn"] == arn
    maintain(db, arn)
    assert history(db, arn) == {"dead_lettered": 1}


@BOTH
def test_a_message_received_once_more_is_delivered_when_there_is_no_such_queue(db: Connection, suffix: str) -> None:
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(arn_of("none" + suffix), 1))
    send(db, arn, "m", group=group(suffix))
    assert [receive(db, arn, visibility=0)[0].receive_count for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize(("name", "dead"), [("q", "dead.fifo"), ("q.fifo", "dead")])
def test_a_dead_letter_queue_of_the_other_type_gets_nothing(db: Connection, name: str, dead: str) -> None:
    arn = create(db, name, RedrivePolicy=redrive(create(db, dead), 1))
    send(db, arn, "m", group=group(name[1:]))
    assert [receive(db, arn, visibility=0)[0].receive_count for _ in range(3)] == [1, 2, 3]


@BOTH
def test_a_queue_that_is_its_own_dead_letter_queue(db: Connection, suffix: str) -> None:
    """The message moves to its own queue, because the queue is its own dead-letter queue. The queue does not lose the
    message, and the receive does not loop."""
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(arn_of("q" + suffix), 1))
    send(db, arn, "m", group=group(suffix))
    received = [d.receive_count for _ in range(6) for d in receive(db, arn, visibility=0)]
    assert set(received) == {1}
    assert len(received) >= 3
    assert counts(db, arn) == Counts(1, 0, 0)


@BOTH
def test_many_at_once_and_none_beyond_the_maximum(db: Connection, suffix: str) -> None:
    dead = create(db, "dead" + suffix)
    arn = create(db, "q" + suffix, RedrivePolicy=redrive(dead, 1))
    sent = [str(number) for number in range(250)]
    send(db, arn, *sent, group=group(suffix))
    receive(db, arn, 250, visibility=0, lease_size=250)
    for _ in range(5):
        assert receive(db, arn) == []
    assert sorted(bodies(receive(db, dead, 250, lease_size=250)), key=int) == sent


def test_many_of_the_slow_path(db: Connection) -> None:
    dead = create(db, "dead")
    arn = create(db, RedrivePolicy=redrive(dead, 1))
    send(db, arn, *map(str, range(250)))
    change(db, receive(db, arn, 250), 0)
    send(db, arn, "fresh")
    received = [body for _ in range(5) for body in bodies(receive(db, arn))]
    assert received == ["fresh"]
    assert (counts(db, arn), counts(db, dead)) == (Counts(0, 1, 0), Counts(250, 0, 0))


def test_an_acknowledged_message_does_not_move(db: Connection) -> None:
    dead = create(db, "dead")
    arn = create(db, RedrivePolicy=redrive(dead, 1))
    send(db, arn, *"abc")
    a, b, _ = receive(db, arn, visibility=0)
    delete(db, [a])
    change(db, [b], 900)
    assert receive(db, arn) == []
    assert (counts(db, arn), counts(db, dead)) == (Counts(0, 1, 0), Counts(1, 0, 0))
    assert delete(db, [b]) == ["deleted"]
    maintain(db, arn)
    assert history(db, arn) == {"deleted": 2, "dead_lettered": 1}


def test_a_standard_message_keeps_its_time_of_sending_and_a_fifo_one_does_not(db: Connection) -> None:
    """The source is the Amazon SQS Developer Guide, dead-letter queues and message retention."""
    for suffix, kept in (("", True), (".fifo", False)):
        dead = create(db, "dead" + suffix)
        arn = create(db, "q" + suffix, RedrivePolicy=redrive(dead, 1))
        send(db, arn, "m", group=group(suffix))
        db.execute("update queue.log set sent_at = sent_at - interval '1 hour'")
        db.execute("update queue.fifo_message set sent_at = sent_at - interval '1 hour'")
        (first,) = receive(db, arn, visibility=0)
        receive(db, arn)
        (moved,) = receive(db, dead)
        assert (moved.sent_at_ms == first.sent_at_ms) is kept


def test_the_dead_letter_queue_is_announced(db: Connection) -> None:
    dead = create(db, "dead")
    arn = create(db, RedrivePolicy=redrive(dead, 1))
    send(db, arn, "m")
    receive(db, arn, visibility=0)
    assert call(db, READY_QUEUES, [arn, dead]) == [(arn,)]
    receive(db, arn)
    assert call(db, READY_QUEUES, [arn, dead]) == [(dead,)]
