"""Tests queue.receive_messages: visibility, leases, counts, redelivery, isolation and deleted queues."""

from collections.abc import Callable

import psycopg
import pytest

from penstock.postgres.statements.installation import MAINTAIN_INSTALLATION
from penstock.postgres.statements.messages import RECEIVE_ATTEMPT, RECEIVE_MESSAGES
from penstock.postgres.statements.queues import DROP_QUEUE
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    BOTH,
    BackgroundCall,
    Connection,
    Counts,
    Delivery,
    arn_of,
    bodies,
    call,
    change,
    counts,
    create,
    delete,
    group,
    history,
    maintain,
    queue_id,
    receive,
    rows_of,
    send,
    value,
)

pytestmark = pytest.mark.emptied


@BOTH
def test_the_header_tells_the_queues_wait_time(db: Connection, name: str) -> None:
    arn = create(db, name, ReceiveMessageWaitTimeSeconds="7")
    (header,) = call(db, RECEIVE_MESSAGES, arn, 10, 10, None, None, False, None)
    assert {name: told for name, told in header._asdict().items() if told is not None} == {"wait_seconds": 7}


def test_an_unknown_queue_is_an_error_in_the_header(db: Connection) -> None:
    (header,) = call(db, RECEIVE_MESSAGES, arn_of("none"), 10, 10, None, None, False, None)
    assert (header.error, header.wait_seconds) == ("QueueDoesNotExist", None)


@pytest.mark.parametrize(
    ("name", "asked", "commit"),
    [("q", False, "on"), ("q", True, "off"), ("q.fifo", False, "on"), ("q.fifo", True, "on")],
)
def test_only_a_standard_queue_may_be_received_from_without_waiting_for_the_disk(
    db: Connection, name: str, asked: bool, commit: str
) -> None:
    """The receive changes the setting only for its transaction."""
    arn = create(db, name)
    send(db, arn, "m", group=group(name))
    db.execute("set synchronous_commit = on")
    with db.transaction():
        rows = call(db, RECEIVE_MESSAGES, arn, 1, 10, None, None, asked, None)
        assert len(rows) == 2
        assert value(db, "select current_setting('synchronous_commit')") == commit
    assert value(db, "select current_setting('synchronous_commit')") == "on"


@BOTH
def test_received_messages_are_in_flight(db: Connection, name: str) -> None:
    arn = create(db, name)
    send(db, arn, "1", "2", "3", group=group(name))
    assert counts(db, arn) == Counts(3, 0, 0)
    first = receive(db, arn, 2)
    assert bodies(first) == ["1", "2"]
    assert counts(db, arn) == Counts(1, 2, 0)
    assert delete(db, first[:1]) == ["deleted"]
    assert counts(db, arn) == Counts(1, 1, 0)


@BOTH
def test_a_timeout_of_zero_brings_a_message_again_and_counts(db: Connection, name: str) -> None:
    arn = create(db, name)
    send(db, arn, "m", group=group(name))
    deliveries = [receive(db, arn, visibility=0)[0] for _ in range(3)]
    assert [d.receive_count for d in deliveries] == [1, 2, 3]
    assert len({(d.message_id, d.sent_at_ms, d.first_received_at_ms, d.public_id) for d in deliveries}) == 1
    assert counts(db, arn) == Counts(1, 0, 0)


@BOTH
def test_the_queues_timeout_holds_unless_the_call_names_one(db: Connection, name: str) -> None:
    arn = create(db, name, VisibilityTimeout="100")
    send(db, arn, "m", group=group(name))
    (first,) = receive(db, arn)
    assert 99_000 <= first.visible_at_ms - first.first_received_at_ms <= 100_001


def test_an_old_handle_of_a_fifo_queue_is_refused_after_the_next_receive(db: Connection) -> None:
    arn = create(db, "q.fifo")
    send(db, arn, "m", group="g")
    old = receive(db, arn, visibility=0)
    new = receive(db, arn)
    assert (delete(db, old), change(db, old, 0)) == (["expired"], ["expired"])
    assert delete(db, new) == ["deleted"]
    assert delete(db, new) == ["gone"]


def received_again_whole(db: Connection, arn: str) -> list[Delivery]:
    return receive(db, arn, 4)


def received_again_in_parts(db: Connection, arn: str) -> list[Delivery]:
    """Receives the messages again, which creates other leases."""
    return [*receive(db, arn, 1), *receive(db, arn, 2), *receive(db, arn, 1)]


def received_again_from_the_slow_path(db: Connection, arn: str) -> list[Delivery]:
    again = receive(db, arn, 4)
    assert change(db, again, 0) == ["changed"] * 4
    return receive(db, arn, 4)


@pytest.mark.parametrize(
    "receive_again", [received_again_whole, received_again_in_parts, received_again_from_the_slow_path]
)
def test_an_old_handle_of_a_standard_queue_is_good_after_the_next_receive(
    db: Connection, receive_again: Callable[[Connection, str], list[Delivery]]
) -> None:
    """The expected responses were recorded from AWS. The first of several handles of a message deletes the message."""
    arn = create(db)
    send(db, arn, *"1234")
    old = receive(db, arn, visibility=0)
    new = receive_again(db, arn)
    assert len(new) == 4
    assert delete(db, old[:1]) == ["deleted"]
    assert change(db, old[:1], 60) == ["gone"]
    assert change(db, old[1:2], 0) == ["changed"]
    assert counts(db, arn) == Counts(1, 2, 0)
    assert delete(db, old[2:]) == ["deleted"] * 2
    assert sorted(delete(db, new)) == ["deleted", "gone", "gone", "gone"]
    assert counts(db, arn) == Counts(0, 0, 0)
    maintain(db, arn)
    assert history(db, arn) == {"deleted": 4}
    assert rows_of(db, "log", arn) == 0


def test_the_archive_counts_the_last_receive(db: Connection) -> None:
    arn = create(db, archive="true")
    send(db, arn, "m")
    old = receive(db, arn, visibility=0)
    receive(db, arn)
    assert delete(db, old) == ["deleted"]
    assert value(db, "select array_agg(receive_count) from queue.archive") == [2]


def test_a_standard_handle_stays_good_after_its_timeout(db: Connection) -> None:
    """AWS also accepts a handle of a standard queue after the visibility timeout."""
    arn = create(db)
    send(db, arn, "m")
    assert delete(db, receive(db, arn, visibility=0)) == ["deleted"]


def test_one_handle_twice_in_a_call(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "m")
    (message,) = receive(db, arn)
    assert delete(db, [message, message]) == ["deleted", "deleted"]
    assert counts(db, arn) == Counts(0, 0, 0)


def test_calls_without_handles(db: Connection) -> None:
    assert (delete(db, []), change(db, [], 0)) == ([], [])


def test_a_large_lease_comes_back_in_pieces(db: Connection) -> None:
    arn = create(db)
    sent = [str(number) for number in range(25)]
    send(db, arn, *sent)
    whole = receive(db, arn, 25, visibility=0, lease_size=25)
    assert delete(db, [whole[3], whole[20]]) == ["deleted", "deleted"]
    parts = [receive(db, arn, 10) for _ in range(4)]
    assert [len(part) for part in parts] == [10, 10, 3, 0]
    received = [body for part in parts for body in bodies(part)]
    assert sorted(received, key=int) == [body for body in sent if body not in {"3", "20"}]
    assert {d.receive_count for part in parts for d in part} == {2}
    for part in parts:
        assert delete(db, part) == ["deleted"] * len(part)
    maintain(db, arn)
    assert counts(db, arn) == Counts(0, 0, 0)


def test_a_receive_rolled_back_did_not_happen(db: Connection, connect: Connect) -> None:
    arn = create(db)
    send(db, arn, "m")
    crashed = connect()
    crashed.execute("begin")
    (message,) = receive(crashed, arn)
    crashed.close()
    (again,) = receive(db, arn)
    assert (again.receive_count, again.id) == (1, message.id)


def test_more_than_there_is_and_nothing(db: Connection) -> None:
    arn = create(db, shards=4)
    assert receive(db, arn, 1000) == []
    send(db, arn, *map(str, range(37)))
    assert len(receive(db, arn, 1000, lease_size=10)) == 37
    assert receive(db, arn, 1000) == []
    assert receive(db, arn, 0) == []


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_receiving_needs_read_committed(db: Connection, connect: Connect, isolation: str) -> None:
    """If the snapshot were older than the lock, a receive would return messages that other consumers have in flight."""
    arn = create(db)
    send(db, arn, *map(str, range(10)))
    with connect() as old:
        old.execute(f"begin isolation level {isolation}".encode())
        old.execute("select count(*) from queue.queues")
        receive(db, arn)
        with pytest.raises(psycopg.Error) as refused:
            receive(old, arn, 5)
    assert refused.value.sqlstate == "QU004"


def test_a_message_that_expired_while_its_delete_is_open_is_passed_over(db: Connection, connect: Connect) -> None:
    """If the delete rolls back, the message is available again, because the watermark waits for the transaction."""
    arn = create(db)
    send(db, arn, "1")
    held = receive(db, arn, visibility=0)
    with connect() as slow:
        slow.execute("begin")
        delete(slow, held)
        send(db, arn, "2")
        assert bodies(receive(db, arn)) == ["2"]
        assert receive(db, arn) == []
        slow.execute("rollback")
    assert bodies(receive(db, arn)) == ["1"]


def test_a_clock_that_goes_back_stops_nothing(db: Connection) -> None:
    """The watermark of a shard is in the future, as after a change of the clock."""
    arn = create(db)
    send(db, arn, "1")
    receive(db, arn)
    db.execute("update queue.lease set watermark = clock_timestamp() + interval '1 hour' where pos = 1")
    send(db, arn, "2", "3")
    assert bodies(receive(db, arn, 1)) == ["2"]
    assert bodies(receive(db, arn, 1)) == ["3"]


@BOTH
def test_a_queue_deleted_between_receive_and_delete(db: Connection, name: str) -> None:
    arn = create(db, name)
    send(db, arn, "m", group=group(name))
    messages = receive(db, arn)
    call(db, DROP_QUEUE, arn)
    assert (delete(db, messages), change(db, messages, 0)) == (["no_queue"], ["no_queue"])
    again = create(db, name)
    assert counts(db, again) == Counts(0, 0, 0)
    assert delete(db, messages) == ["no_queue"]


def test_shards_are_served_in_turn(db: Connection, connect: Connect) -> None:
    """The next receive uses the shard whose first message has waited longest."""
    arn = create(db, shards=2)
    with connect() as one, one.transaction():
        send(one, arn, "older")
        send(db, arn, "newer")
    db.execute("update queue.log set sent_at = sent_at - interval '1 minute' where body = 'older'")
    assert bodies(receive(db, arn, 1)) == ["older"]
    assert value(db, "select count(distinct shard)::int from queue.log") == 2


# --- attempts --------------------------------------------------------------------------------------------------------
# Tests concurrent, rolled-back and expired retries with the same ReceiveRequestAttemptId.
#
# tests/conformance/sqs/fifo/test_fifo_handles.py tests a retry's response.


def attempt(db: Connection, arn: str, attempt_id: str, count: int = 10) -> list[Delivery]:
    header, *rows = call(db, RECEIVE_ATTEMPT, arn, count, None, None, attempt_id, None, None)
    assert (header.error, header.wait_seconds) == (None, 0), header
    return rows


def fifo(db: Connection, *groups: str) -> str:
    """Creates a queue with two messages in each group."""
    arn = create(db, "q.fifo")
    for name in groups:
        send(db, arn, f"{name}1", f"{name}2", group=name)
    return arn


def test_the_order_of_the_response_stays(db: Connection) -> None:
    """The groups also keep their order, although group c was ready before group a."""
    arn = fifo(db, "c", "b", "a")
    first = attempt(db, arn, "x", 5)
    assert bodies(first) == ["c1", "c2", "b1", "b2", "a1"]
    again = attempt(db, arn, "x")
    assert [(d.handle, d.body) for d in again] == [(d.handle, d.body) for d in first]
    assert again[0].visible_at_ms >= first[0].visible_at_ms


def test_one_at_a_time(db: Connection, connect: Connect) -> None:
    """A retry can arrive while the first request is still running. The retry waits and returns the same messages as the
    first request."""
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
    """The two attempt ids are in different sets of 256, so neither call waits for the other."""
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


def test_receive_attempts_are_forgotten_after_five_minutes(db: Connection) -> None:
    arn = fifo(db, "a", "b")
    attempt(db, arn, "x", 2)
    attempt(db, arn, "y", 2)
    call(db, MAINTAIN_INSTALLATION, 100, 30, None)
    assert rows_of(db, "receive_attempt", arn) == 2
    db.execute(
        "update queue.receive_attempt set received_at = received_at - interval '5 minutes' where attempt_id = 'x'"
    )
    assert call(db, MAINTAIN_INSTALLATION, 100, 30, None) == [(1,)]
    assert value(db, "select array_agg(attempt_id) from queue.receive_attempt") == ["y"]


def test_a_deleted_queue_leaves_none(db: Connection) -> None:
    arn = fifo(db, "a")
    attempt(db, arn, "x")
    call(db, DROP_QUEUE, arn)
    call(db, MAINTAIN_INSTALLATION, 100, 30, None)
    assert value(db, "select count(*) from queue.receive_attempt") == 0


def test_a_standard_queue_and_an_unknown_one(db: Connection) -> None:
    arn = create(db, "q")
    send(db, arn, "m")
    assert bodies(attempt(db, arn, "x")) == ["m"]
    assert attempt(db, arn, "x") == []
    (header,) = call(db, RECEIVE_ATTEMPT, arn + "-none", 1, None, None, "x", None, None)
    assert header.error == "QueueDoesNotExist"
