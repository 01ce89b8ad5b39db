"""Tests that concurrent calls wait for each other in the right order, and never deadlock.

Each of the deadlocks in these tests has occurred. PostgreSQL would detect a deadlock after deadlock_timeout and make
one of the calls fail.
"""

from collections.abc import Callable
from typing import TypeVar

import psycopg
import pytest

from tests.integration.sql.conftest import Connect
from tests.support.database import Database
from tests.support.sql.calls import (
    BackgroundCall,
    Connection,
    Counts,
    Entry,
    bodies,
    change,
    change_by_id,
    counts,
    create,
    delete,
    delete_by_id,
    maintain,
    purge,
    receive,
    redrive,
    send,
    send_entries,
)
from tests.support.sql.concurrent_use import Outcome, Plan, run

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
Call = Callable[[Connection], T]


def lock_group(connection: Connection, name: str) -> None:
    connection.execute("select from queue.fifo_group where group_id = %s for update", (name,))


def two_groups(db: Connection, arn: str) -> None:
    """Creates the empty groups a and b. Group a has the lower key."""
    send(db, arn, "first", group="a")
    send(db, arn, "first", group="b")
    assert delete(db, receive(db, arn)) == ["deleted", "deleted"]


def collide(db: Connection, connect: Connect, first: Call[A], second: Call[B]) -> tuple[A, B]:
    """Runs both calls. The second call begins while the first call waits for group a. Returns their results."""
    with connect() as blocker, blocker.transaction():
        lock_group(blocker, "a")
        one = BackgroundCall(connect(), first)
        one.wait_until_blocked(db)
        other = BackgroundCall(connect(), second)
        other.wait_until_blocked(db)
    return one.result(), other.result()


def test_deletes_with_unlike_receive_counts_do_not_deadlock(db: Connection, connect: Connect) -> None:
    """The call locks all FIFO groups in the order of their keys, regardless of the receive counts in the handles."""
    arn = create(db, "q.fifo")
    two_groups(db, arn)
    send(db, arn, "a1", group="a")
    send(db, arn, "b1", group="b")
    receive(db, arn, visibility=0)
    a, b = receive(db, arn)
    a_then_b = [a._replace(receive_count=1), b]
    b_then_a = [b._replace(receive_count=1), a]
    outcomes = collide(db, connect, lambda c: delete(c, a_then_b), lambda c: delete(c, b_then_a))
    assert outcomes == (["expired", "deleted"], ["gone", "deleted"])


def test_delete_and_change_visibility_do_not_deadlock(db: Connection, connect: Connect) -> None:
    """The message ids rise while the keys of their groups fall."""
    arn = create(db, "q.fifo")
    two_groups(db, arn)
    send(db, arn, "b1", group="b")
    send(db, arn, "a1", group="a")
    messages = receive(db, arn)
    outcomes = collide(db, connect, lambda c: delete(c, messages), lambda c: change(c, messages, 60))
    assert outcomes == (["deleted", "deleted"], ["gone", "gone"])


def lock_reader(connection: Connection, arn: str, shard: int) -> None:
    connection.execute(
        "select pg_advisory_xact_lock(queue.lock_key(1, queue_id, %s)) from queue.queues where arn = %s", (shard, arn)
    )


def send_to_both_shards(connect: Connect, arn: str) -> dict[int, int]:
    """Sends a message to each of a queue's two shards. Returns the messages' public ids by shard."""
    one, other = connect(), connect()
    with one.transaction(), other.transaction():  # Only one transaction at a time writes to a shard.
        sent = [*send(one, arn, "m"), *send(other, arn, "m")]
    return {(message.id & 255) - 2: message.id for message in sent if message.id is not None}


def test_a_receive_that_holds_messages_waits_for_no_reader(db: Connection, connect: Connect) -> None:
    """The reader of the shard can wait for one of these messages while a transaction deletes several."""
    arn = create(db)
    send(db, arn, "again")
    change(db, receive(db, arn), 0)
    send(db, arn, "fresh")
    with connect() as blocker, blocker.transaction():
        lock_reader(blocker, arn, 0)
        assert bodies(BackgroundCall(connect(), lambda c: receive(c, arn)).result()) == ["again"]
    assert bodies(receive(db, arn)) == ["fresh"]


def test_purge_and_delete_do_not_deadlock(db: Connection, connect: Connect) -> None:
    """Both calls process the shards in descending order."""
    arn = create(db, shards=2)
    send_to_both_shards(connect, arn)
    messages = receive(db, arn)
    assert {message.shard for message in messages} == {0, 1}
    with connect() as blocker, blocker.transaction():
        blocker.execute("select from queue.lease where shard = 0 and pos > 0 for update")
        purging = BackgroundCall(connect(), lambda c: purge(c, arn))
        purging.wait_until_blocked(db)
        deleting = BackgroundCall(connect(), lambda c: delete(c, messages))
        deleting.wait_until_blocked(db)
    assert (purging.result(), deleting.result()) == (2, ["gone", "gone"])
    assert counts(db, arn) == Counts(0, 0, 0)


def test_purge_and_delete_by_id_do_not_deadlock(db: Connection, connect: Connect) -> None:
    """A delete by id becomes the reader of its shards before it locks a lease."""
    arn = create(db)
    send(db, arn, "leased")
    (leased,) = receive(db, arn)
    (fresh,) = send(db, arn, "fresh")
    assert fresh.id is not None
    ids = (leased.public_id, fresh.id)
    with connect() as blocker, blocker.transaction():
        lock_reader(blocker, arn, 0)
        purging = BackgroundCall(connect(), lambda c: purge(c, arn))
        purging.wait_until_blocked(db)
        deleting = BackgroundCall(connect(), lambda c: delete_by_id(c, arn, *ids))
        deleting.wait_until_blocked(db)
    assert (purging.result(), deleting.result()) == (2, [])


def test_delete_by_id_and_purge_read_the_shards_in_one_order(db: Connection, connect: Connect) -> None:
    arn = create(db, shards=2)
    fresh = send_to_both_shards(connect, arn)
    with connect() as blocker, blocker.transaction():
        lock_reader(blocker, arn, 0)
        purging = BackgroundCall(connect(), lambda c: purge(c, arn))
        purging.wait_until_blocked(db)
        deleting = BackgroundCall(connect(), lambda c: delete_by_id(c, arn, *fresh.values()))
        deleting.wait_until_blocked(db)
    assert (purging.result(), deleting.result()) == (2, [])


def test_delete_by_id_finds_a_message_that_is_being_received(db: Connection, connect: Connect) -> None:
    """The delete waits until the receive commits, and then deletes the in-flight message."""
    arn = create(db)
    (sent,) = send(db, arn, "m")
    receiver = connect()
    with receiver.transaction():
        receive(receiver, arn)
        deleting = BackgroundCall(connect(), lambda c: delete_by_id(c, arn, sent.id or 0))
        deleting.wait_until_blocked(db)
    assert deleting.result() == [sent.id]
    assert counts(db, arn) == Counts(0, 0, 0)


@pytest.mark.parametrize("undone", [False, True], ids=["expired", "undone"])
def test_delete_finds_a_message_that_is_being_received_again(db: Connection, connect: Connect, undone: bool) -> None:
    """The receive that issued the handle has expired, or a crash undid it. The queue must not redeliver an acknowledged
    message."""
    arn = create(db)
    send(db, arn, "m")
    with db.transaction() as transaction:
        handles = receive(db, arn, visibility=0)
        if undone:
            raise psycopg.Rollback(transaction)
    receiver = connect()
    with receiver.transaction():
        assert bodies(receive(receiver, arn)) == ["m"]
        deleting = BackgroundCall(connect(), lambda c: delete(c, handles))
        deleting.wait_until_blocked(db)
    assert deleting.result() == ["deleted"]
    assert counts(db, arn) == Counts(0, 0, 0)


def test_delete_finds_an_unreceived_message_that_is_being_hidden(db: Connection, connect: Connect) -> None:
    """A crash undid the receive that issued the handle. An operator moves the message to the side table."""
    arn = create(db)
    (sent,) = send(db, arn, "m")
    with db.transaction() as transaction:
        handles = receive(db, arn)
        raise psycopg.Rollback(transaction)
    operator = connect()
    with operator.transaction():
        assert change_by_id(operator, arn, sent.id or 0, 60)
        deleting = BackgroundCall(connect(), lambda c: delete(c, handles))
        deleting.wait_until_blocked(db)
    assert deleting.result() == ["deleted"]
    assert counts(db, arn) == Counts(0, 0, 0)


def test_change_by_id_finds_a_message_that_is_being_received(db: Connection, connect: Connect) -> None:
    arn = create(db)
    (sent,) = send(db, arn, "m")
    receiver = connect()
    with receiver.transaction():
        receive(receiver, arn)
        changing = BackgroundCall(connect(), lambda c: change_by_id(c, arn, sent.id or 0, 0))
        changing.wait_until_blocked(db)
    assert changing.result()
    assert counts(db, arn) == Counts(1, 0, 0)


def test_two_receives_in_one_transaction_do_not_deadlock(db: Connection, connect: Connect) -> None:
    """A transaction that already reads one shard does not wait for another shard."""
    arn = create(db, shards=2)
    one, other = connect(), connect()
    send_to_both_shards(connect, arn)
    with one.transaction(), other.transaction():
        taken = [*receive(one, arn, 1), *receive(other, arn, 1)]
        assert {message.shard for message in taken} == {0, 1}
        send_to_both_shards(connect, arn)
        db.execute("select 1")
        (own, foreign) = (receive(one, arn, 1), receive(other, arn, 1))
        assert [m.shard for m in (*own, *foreign)] == [m.shard for m in taken]
        assert (receive(one, arn, 1), receive(other, arn, 1)) == ([], [])


def test_fifo_queues_may_share_a_dead_letter_queue(db: Connection, connect: Connect) -> None:
    """A receive uses a group in the dead-letter queue only if the group is unlocked. If the group is locked, the
    messages wait."""
    dead = create(db, "dead.fifo")
    two_groups(db, dead)
    arn = create(db, "q.fifo", RedrivePolicy=redrive(dead))
    for group in ("b", "a"):
        send(db, arn, group, group=group)
    receive(db, arn, visibility=0)
    with connect() as sender, sender.transaction():
        send(sender, dead, "s", group="a")
        assert receive(db, arn) == []  # Message b moved. Message a has not exceeded its maximum number of receives.
        assert (sum(counts(db, arn)), sum(counts(db, dead))) == (1, 1)
    assert receive(db, arn) == []
    received = bodies(receive(db, dead))
    assert sorted(received) == ["a", "b", "s"]
    assert received.index("s") < received.index("a")


def test_new_groups_of_a_dead_letter_queue_are_not_waited_for(db: Connection, connect: Connect) -> None:
    dead = create(db, "dead.fifo")
    arn = create(db, "q.fifo", RedrivePolicy=redrive(dead))
    send(db, arn, "m", group="new")
    receive(db, arn, visibility=0)
    with connect() as sender, sender.transaction():
        send(sender, dead, "s", group="new")
        assert receive(db, arn) == []
    assert receive(db, arn) == []
    assert bodies(receive(db, dead)) == ["s", "m"]


def test_maintenance_waits_for_nobody(db: Connection, connect: Connect) -> None:
    """Maintenance does not wait for a group's sender, a receiver or a delete."""
    fifo = create(db, "q.fifo", MessageRetentionPeriod="60")
    standard = create(db, MessageRetentionPeriod="60")
    send(db, fifo, "m", group="g")
    send(db, standard, "fresh")
    send(db, standard, "delayed", delay=900)
    db.execute("update queue.fifo_message set sent_at = sent_at - interval '1 hour'")
    db.execute("update queue.log set sent_at = sent_at - interval '1 hour'")
    db.execute("update queue.side set sent_at = sent_at - interval '1 hour'")
    with connect() as busy, busy.transaction():
        send(busy, fifo, "n", group="g")
        lock_reader(busy, standard, 0)
        busy.execute("select from queue.side for update")
        assert (maintain(db, fifo), maintain(db, standard)) == (0, 0)
    assert (maintain(db, fifo), maintain(db, standard)) == (1, 2)


def test_cleaning_does_not_wait_for_a_late_delete(db: Connection, connect: Connect) -> None:
    """A second delete of a message does not lock the finished lease."""
    arn = create(db)
    send(db, arn, "m")
    messages = receive(db, arn)
    delete(db, messages)
    with connect() as late, late.transaction():
        assert delete(late, messages) == ["gone"]
        assert maintain(db, arn) == 1


def test_a_call_over_two_fifo_queues_leaves_other_groups_alone(db: Connection, connect: Connect) -> None:
    """A call that sends to group g2 in queue b does not lock group g2 in queue a."""
    a, b = create(db, "a.fifo"), create(db, "b.fifo")
    send(db, a, "first", group="g2")
    delete(db, receive(db, a))
    with connect() as sender, sender.transaction():
        send(sender, a, "waits", group="g2")
        send_entries(db, a, [Entry("1", None, "g1", "1", arn=a), Entry("2", None, "g2", "2", arn=b)])
    assert sorted(bodies(receive(db, a))) == ["1", "waits"]


# --- concurrent use --------------------------------------------------------------------------------------------------
# Tests the tables while senders, receivers and maintenance fail in every way that concurrent_use.py lists.


def check(outcome: Outcome, plan: Plan) -> None:
    """Checks that no message is lost, invented, duplicated, reordered or left over, and that each message ends once."""
    assert outcome.errors == []
    assert outcome.findings.violations == {}
    assert (outcome.findings.unknown_sends, outcome.findings.unknown_deletes) == (0, 0)
    assert outcome.counts == Counts(0, 0, 0)
    cursors = 0 if plan.groups else plan.shards
    assert outcome.rows == {"log": 0, "lease": cursors, "side": 0, "hole": 0, "deferred": 0}
    assert sum(outcome.history.values()) == outcome.findings.sent > plan.messages // 2
    assert outcome.history.get("dead_lettered", 0) == outcome.moved


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(Plan(1500), id="standard"),
        pytest.param(Plan(600, maximum=2), id="standard-dead-letters"),
        pytest.param(Plan(1500, fair_groups=20), id="fair"),
        pytest.param(Plan(600, fair_groups=3, shards=1, maximum=2), id="fair-dead-letters"),
        pytest.param(Plan(500, groups=20, receivers=8, crash_rate=0.01), id="fifo-20-groups"),
        pytest.param(Plan(100, groups=1, receivers=8, crash_rate=0.01), id="fifo-1-group"),
        pytest.param(Plan(300, groups=20, receivers=8, maximum=2, crash_rate=0.03), id="fifo-dead-letters"),
    ],
)
def test_nothing_is_lost_doubled_or_disordered(database: Database, plan: Plan) -> None:
    check(run(database.api_dsn, plan), plan)


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(Plan(100_000, senders=6, receivers=6, shards=4), id="standard"),
        pytest.param(Plan(20_000, senders=6, receivers=8, shards=2, maximum=2), id="standard-dead-letters"),
        pytest.param(Plan(60_000, senders=6, receivers=6, shards=2, fair_groups=20), id="fair"),
        pytest.param(Plan(20_000, groups=20, receivers=8, crash_rate=0.005), id="fifo-20-groups"),
        pytest.param(Plan(5_000, groups=20, receivers=8, maximum=2, crash_rate=0.02), id="fifo-dead-letters"),
    ],
)
def test_nothing_is_lost_doubled_or_disordered_in_a_long_run(database: Database, plan: Plan) -> None:
    check(run(database.api_dsn, plan), plan)
