"""Tests FIFO queues: order within a group, deduplication, and several groups."""

from typing import Any
from uuid import uuid4

import pytest

from penstock.postgres.statements.long_polls import READY_QUEUES
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    Connection,
    Counts,
    Entry,
    Sent,
    bodies,
    call,
    change,
    counts,
    create,
    delete,
    maintain,
    purge,
    queue_id,
    receive,
    rows_of,
    send,
    send_entries,
    value,
)

pytestmark = pytest.mark.emptied


def send_one(db: Connection, arn: str, body: str, group: str = "g", deduplication: str | None = None) -> Sent:
    (row,) = send_entries(db, arn, [Entry(body, group=group, deduplication=deduplication)])
    return row


def test_a_group_with_a_message_in_flight_waits(db: Connection) -> None:
    arn = create(db, "q.fifo")
    send(db, arn, "a1", "a2", "a3", group="a")
    send(db, arn, "b1", group="b")
    first = receive(db, arn, 2)
    assert bodies(first) == ["a1", "a2"]
    assert bodies(receive(db, arn)) == ["b1"]
    assert delete(db, first[1:]) == ["deleted"]
    assert receive(db, arn) == []
    assert delete(db, first[:1]) == ["deleted"]
    assert bodies(receive(db, arn)) == ["a3"]


def test_a_returned_message_comes_first(db: Connection) -> None:
    arn = create(db, "q.fifo")
    send(db, arn, "1", "2", "3", group="g")
    first, second = receive(db, arn, 2)
    change(db, [second], 0)
    assert receive(db, arn) == []  # The group's first message is still in flight.
    change(db, [first], 0)
    assert bodies(receive(db, arn)) == ["1", "2", "3"]


def test_an_expired_handle_is_refused(db: Connection) -> None:
    """A FIFO handle does not work after the visibility timeout (Amazon SQS API reference, DeleteMessage)."""
    arn = create(db, "q.fifo")
    send(db, arn, "m", group="g")
    old = receive(db, arn, visibility=0)
    assert (delete(db, old), change(db, old, 60)) == (["expired"], ["expired"])
    assert counts(db, arn) == Counts(1, 0, 0)
    new = receive(db, arn)
    assert (delete(db, old), change(db, old, 0)) == (["expired"], ["expired"])
    assert counts(db, arn) == Counts(0, 1, 0)
    assert delete(db, new) == ["deleted"]
    assert (delete(db, new), delete(db, old), change(db, old, 0)) == (["gone"], ["gone"], ["gone"])


def test_sequence_numbers_rise_and_are_delivered(db: Connection) -> None:
    arn = create(db, "q.fifo")
    numbers = [row.sequence_number or 0 for row in send(db, arn, "1", "2", group="g")]
    numbers += [row.sequence_number or 0 for row in send(db, arn, "3", group="g")]
    assert numbers == sorted(set(numbers))
    assert [d.id for d in receive(db, arn)] == numbers


def test_a_duplicate_is_accepted_and_not_stored(db: Connection) -> None:
    """The response contains the original's id and sequence number, even after a consumer deleted the original."""
    arn = create(db, "q.fifo")
    original = send_one(db, arn, "m", deduplication="1")
    stored = receive(db, arn)
    duplicate = send_one(db, arn, "other", group="another", deduplication="1")
    assert (duplicate.sequence_number, duplicate.message_id) == (original.sequence_number, stored[0].message_id)
    delete(db, stored)
    assert send_one(db, arn, "m", deduplication="1").sequence_number == original.sequence_number
    assert counts(db, arn) == Counts(0, 0, 0)


def test_duplicates_in_one_batch(db: Connection) -> None:
    arn = create(db, "q.fifo")
    rows = send_entries(
        db, arn, [Entry(body, group="g", deduplication=key) for body, key in zip("abc", "112", strict=True)]
    )
    assert rows[0].sequence_number == rows[1].sequence_number != rows[2].sequence_number
    assert rows[0].message_id is None is rows[2].message_id
    assert rows[1].message_id is not None
    assert bodies(receive(db, arn)) == ["a", "c"]


def test_a_deduplication_id_is_good_for_five_minutes(db: Connection) -> None:
    arn = create(db, "q.fifo")
    send_one(db, arn, "1", deduplication="x")
    db.execute("update queue.deduplication set expires_at = expires_at - interval '4 minutes'")
    send_one(db, arn, "2", deduplication="x")
    db.execute("update queue.deduplication set expires_at = expires_at - interval '61 seconds'")
    send_one(db, arn, "3", deduplication="x")
    assert bodies(receive(db, arn)) == ["1", "3"]


@pytest.mark.parametrize(("scope", "stored"), [("queue", ["a"]), ("messageGroup", ["a", "b"])])
def test_the_scope_of_deduplication(db: Connection, scope: str, stored: list[str]) -> None:
    arn = create(db, "q.fifo", DeduplicationScope=scope)
    send_one(db, arn, "a", "a", "1")
    send_one(db, arn, "b", "b", "1")
    send_one(db, arn, "again", "a", "1")
    assert bodies(receive(db, arn)) == stored


def test_content_based_deduplication(db: Connection) -> None:
    """The deduplication id is the body's SHA-256. The message attributes do not change the id, and an explicit id
    replaces the SHA-256."""
    arn = create(db, "q.fifo", ContentBasedDeduplication="true")
    for entry in (
        Entry("same", group="g"),
        Entry("same", group="g", attributes='{"a": {"DataType": "String", "StringValue": "x"}}'),
        Entry("same", group="g", deduplication="own"),
        Entry("other", group="g"),
    ):
        send_entries(db, arn, [entry])
    assert bodies(receive(db, arn)) == ["same", "same", "other"]


def test_a_duplicate_of_a_send_that_is_rolled_back_is_stored(db: Connection, connect: Connect) -> None:
    arn = create(db, "q.fifo")
    with connect() as application:
        application.execute("begin")
        send_one(application, arn, "never", deduplication="1")
        application.execute("rollback")
    send_one(db, arn, "m", deduplication="1")
    assert bodies(receive(db, arn)) == ["m"]


def test_an_open_sender_holds_up_its_group_only(db: Connection, connect: Connect) -> None:
    arn = create(db, "q.fifo")
    with connect() as application, application.transaction():
        send_one(application, arn, "open", "a", "1")
        send_one(db, arn, "b", "b", "2")
        assert bodies(receive(db, arn)) == ["b"]
    # A search skips messages that were committed late until the next full search (queue.store_search).
    db.execute("update queue.fifo_search set full_due_at = searched_at")
    assert bodies(receive(db, arn)) == ["open"]


def a_minute_passes(db: Connection) -> None:
    db.execute("update queue.fifo_ready set changed_at = changed_at - interval '1 minute'")


def test_empty_groups_are_forgotten_and_come_back(db: Connection) -> None:
    arn = create(db, "q.fifo")
    send(db, arn, "1", group="g")
    send(db, arn, "kept", group="h")
    delete(db, [d for d in receive(db, arn) if d.body == "1"])
    maintain(db, arn)
    assert rows_of(db, "fifo_group", arn) == 2
    a_minute_passes(db)
    maintain(db, arn)
    assert rows_of(db, "fifo_group", arn) == rows_of(db, "fifo_ready", arn) == 1
    send(db, arn, "2", group="g")
    assert bodies(receive(db, arn)) == ["2"]


def test_a_clock_that_went_back_keeps_no_unreceived_message(db: Connection) -> None:
    """Messages whose send time is an hour in the future wait only for their delay. A message in flight stays in flight,
    and other messages do not change."""
    arn, delayed = create(db, "q.fifo"), create(db, "delayed.fifo", DelaySeconds="900")
    send(db, arn, "in flight", group="b")
    assert bodies(receive(db, arn)) == ["in flight"]
    send(db, arn, "a1", "a2", group="a")
    send(db, arn, "b2", group="b")
    send(db, delayed, "later", group="a")
    ahead = {"fifo_message": ("sent_at", "visible_at"), "fifo_ready": ("visible_at", "changed_at")}
    for table, columns in ahead.items():
        changes = ", ".join(f"{column} = {column} + interval '1 hour'" for column in columns)
        db.execute(f"update queue.{table} set {changes}".encode())
    send(db, arn, "a3", group="a")
    assert receive(db, arn) == []
    for queue in (arn, delayed):
        maintain(db, queue)
    assert bodies(receive(db, arn)) == ["a1", "a2", "a3"]
    assert (receive(db, arn), receive(db, delayed)) == ([], [])
    waits = "select max(visible_at) between now() + interval '880 seconds' and now() + interval '901 seconds'"
    for table in ("fifo_message", "fifo_ready"):
        assert value(db, f"{waits} from queue.{table} where queue_id = %s", queue_id(db, delayed))


def test_a_group_of_which_everything_was_a_duplicate_is_no_obstacle(db: Connection) -> None:
    arn = create(db, "q.fifo")
    send_one(db, arn, "m", "a", "1")
    send_one(db, arn, "m", "b", "1")
    assert bodies(receive(db, arn)) == ["m"]
    assert call(db, READY_QUEUES, [arn]) == []


def test_receivers_of_one_call_share_no_group(db: Connection) -> None:
    """One receiver receives messages 1 to 3, and another receiver receives the next three messages. The other messages
    of a group stay behind its first messages."""
    arn = create(db, "q.fifo")
    send(db, arn, "a1", "a2", "a3", "a4", group="a")
    send(db, arn, "b1", "b2", group="b")
    send(db, arn, "c1", "c2", "c3", group="c")
    assert bodies(receive(db, arn, 9, lease_size=3)) == ["a1", "a2", "a3", "b1", "b2", "c1"]
    assert receive(db, arn, 9, lease_size=3) == []


def test_many_groups_of_one_message_fill_one_receive(db: Connection) -> None:
    arn = create(db, "q.fifo")
    for number in range(40):
        send(db, arn, f"m{number}", group=str(number))
    assert bodies(receive(db, arn, 30, lease_size=10)) == [f"m{number}" for number in range(30)]
    assert bodies(receive(db, arn, 10)) == [f"m{number}" for number in range(30, 40)]


def test_a_purge_leaves_what_is_not_committed(db: Connection, connect: Connect) -> None:
    """Maintenance keeps an open transaction's message and deduplication id, but removes committed messages and ids."""
    arn = create(db, "q.fifo")
    send_one(db, arn, "committed", "a", deduplication="1")
    with connect() as sender:
        with sender.transaction():
            assert send_one(sender, arn, "open", "b", deduplication="2").is_new
            assert purge(db, arn) == 1
        assert not send_one(sender, arn, "again", "b", deduplication="2").is_new
    assert send_one(db, arn, "new", "a", deduplication="1").is_new
    assert sorted(bodies(receive(db, arn))) == ["new", "open"]


# --- old snapshot ----------------------------------------------------------------------------------------------------
# Tests FIFO queues while an old snapshot prevents the removal of dead rows. A backup, a report or a forgotten
# transaction can hold such an old snapshot.


MESSAGES = 200
COMPARED = 20
GROUPS = 100
ROUNDS = 40


def pages_read(db: Connection) -> int:
    """Returns the number of pages that the send, the receive and the delete of a message read."""
    return pages_of(db, "queue.send_fifo('q.fifo', '1', 'group')") + pages_of(
        db, "queue.delete('q.fifo', r.msg_id) from queue.receive('q.fifo', 60, 1) r"
    )


def pages_of(db: Connection, selected: str) -> int:
    """Returns the number of pages that a query for one row reads."""
    explained = db.execute(f"explain (analyze, buffers, format json) select {selected}".encode()).fetchone()
    top: dict[str, Any] = explained[0][0]["Plan"]  # type: ignore[index]
    assert top["Actual Rows"] == 1
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])


def test_a_message_costs_the_same_after_many(db: Connection, old: Connection) -> None:
    create(db, "q.fifo")
    for _ in range(COMPARED):
        pages_read(db)
    begin(old)
    costs = [pages_read(db) for _ in range(MESSAGES)]
    assert sum(costs[-COMPARED:]) <= 1.5 * sum(costs[:COMPARED])


@pytest.fixture
def old(connect: Connect) -> Connection:
    """Begins a transaction that the test leaves open."""
    return connect()


def begin(old: Connection) -> None:
    old.execute("begin isolation level repeatable read")
    old.execute("select from queue.queues")


@pytest.mark.parametrize("call", ["maintain_queue(q.queue_id)", "count_messages(q.queue_id, true, q.shards)"])
def test_cleaning_and_measuring_cost_the_same_after_many(db: Connection, old: Connection, call: str) -> None:
    arn = create(db, "q.fifo")

    def pass_messages_through() -> None:
        groups = [str(number) for number in range(GROUPS)]
        sent = send_entries(db, arn, [Entry("1", group=group, deduplication=str(uuid4())) for group in groups])
        assert delete(db, receive(db, arn, GROUPS)) == ["deleted"] * len(sent)

    pass_messages_through()
    selected = f"queue.{call} from queue.queues q"
    pages_of(db, selected)
    begin(old)
    before = pages_of(db, selected)
    for _ in range(ROUNDS):
        pass_messages_through()
    assert pages_of(db, selected) <= 2 * before
