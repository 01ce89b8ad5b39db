"""Tests deletions that a person can undo within 30 seconds, and edited copies that replace their originals.

A message is at any time in its queue, or in a deletion that can be undone, or deleted (Penstock's choice). An undo
restores the id, the receive count and the place of the message.
"""

import uuid
from typing import Any

import pytest

from penstock.calls import transpose
from penstock.postgres.statements.installation import MAINTAIN_INSTALLATION
from penstock.postgres.statements.messages import SendEntry
from penstock.postgres.statements.stored_messages import (
    DELETE_WITH_UNDO,
    READ_MESSAGES,
    REPLACE_MESSAGES,
    UNDO_DELETION,
    FoundRow,
    ReplacedRow,
)
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    BOTH,
    BackgroundCall,
    Connection,
    Counts,
    Entry,
    bodies,
    call,
    counts,
    create,
    delete,
    group,
    history,
    maintain,
    receive,
    rows_of,
    send,
    send_entry,
    value,
)

pytestmark = pytest.mark.emptied


def delete_for_now(db: Connection, arn: str, *ids: int | None) -> uuid.UUID:
    rows = call(db, DELETE_WITH_UNDO, arn, list(ids), uuid.uuid4())
    assert sorted(row.id for row in rows) == sorted(id_ for id_ in ids if id_ is not None)
    return rows[0].deletion_id


def undo(db: Connection, arn: str, deletion: uuid.UUID) -> list[int]:
    return [row.id for row in call(db, UNDO_DELETION, arn, deletion)]


def finish(db: Connection) -> int:
    (row,) = call(db, MAINTAIN_INSTALLATION, 1_000, 30, "deletions")
    return row.changed


def pass_time(db: Connection) -> None:
    db.execute("update queue.pending_deletion set deleted_at = deleted_at - interval '31 seconds'")


def read(db: Connection, arn: str, *ids: int | None) -> list[FoundRow]:
    return call(db, READ_MESSAGES, arn, list(ids))


def replace(
    db: Connection, source: str, target: str, *edits: tuple[int | None, Entry], deletion: uuid.UUID | None = None
) -> list[ReplacedRow]:
    entries = [send_entry(entry, target) for _, entry in edits]
    columns = transpose(entries, len(SendEntry._fields))
    return sorted(call(db, REPLACE_MESSAGES, source, [id_ for id_, _ in edits], *columns, deletion))


# --- undo ------------------------------------------------------------------------------------------------------------
@BOTH
@pytest.mark.parametrize("state", ["unreceived", "received", "in flight"])
def test_an_undo_brings_back_the_same_message(db: Connection, name: str, state: str) -> None:
    arn = create(db, name)
    (sent,) = send(db, arn, "one", group=group(name))
    held = [] if state == "unreceived" else receive(db, arn, visibility=0 if state == "received" else 600)
    before = read(db, arn, sent.id)
    deletion = delete_for_now(db, arn, sent.id)
    assert (read(db, arn, sent.id), receive(db, arn), counts(db, arn)) == ([], [], Counts(0, 0, 0))
    assert undo(db, arn, deletion) == [sent.id]
    (after,) = read(db, arn, sent.id)
    assert after._replace(visible_at_ms=0) == before[0]._replace(visible_at_ms=0)
    assert rows_of(db, "pending_deletion", arn) == 0
    if state == "in flight":
        assert after.visible_at_ms == before[0].visible_at_ms
        assert receive(db, arn) == []
        assert delete(db, held) == ["deleted"]  # The consumer's receipt handle works again.
    else:
        (again,) = receive(db, arn)
        assert (again.body, again.receive_count) == ("one", before[0].receive_count + 1)
        assert delete(db, [again]) == ["deleted"]
    maintain(db, arn)
    assert (history(db, arn), counts(db, arn)) == ({"deleted": 1}, Counts(0, 0, 0))


@BOTH
def test_a_deletion_lasts_after_30_seconds(db: Connection, name: str) -> None:
    arn = create(db, name, archive="true")
    first, second = send(db, arn, "one", "two", group=group(name))
    deletion = delete_for_now(db, arn, first.id)
    assert finish(db) == 0
    pass_time(db)
    assert undo(db, arn, deletion) == []
    assert "maintenance" in value(db, "select due from queue.due_work()")
    assert (finish(db), finish(db)) == (1, 0)
    assert "maintenance" not in value(db, "select due from queue.due_work()")
    assert undo(db, arn, deletion) == []
    assert (history(db, arn), rows_of(db, "archive", arn)) == ({"deleted": 1}, 1)
    assert [row.body for row in read(db, arn, first.id, second.id)] == ["two"]


def test_an_undo_works_once_and_in_its_queue(db: Connection) -> None:
    arn, other = create(db, "q"), create(db, "other")
    (sent,) = send(db, arn, "one")
    deletion = delete_for_now(db, arn, sent.id)
    assert undo(db, other, deletion) == []
    assert undo(db, arn, uuid.uuid4()) == []
    assert undo(db, arn, deletion) == [sent.id]
    assert undo(db, arn, deletion) == []
    assert counts(db, arn) == Counts(1, 0, 0)


def test_a_deletion_outlives_its_queue_without_harm(db: Connection) -> None:
    arn = create(db, "q")
    (sent,) = send(db, arn, "one")
    deletion = delete_for_now(db, arn, sent.id)
    db.execute("delete from queue.queues where arn = %s", (arn,))
    assert undo(db, arn, deletion) == []
    pass_time(db)
    assert finish(db) == 1


def test_a_fifo_message_returns_to_its_place(db: Connection) -> None:
    """The deletion of a group's first message makes the next message available, as every deletion does."""
    arn = create(db, "q.fifo")
    sent = send(db, arn, "one", "two", "three", group="g")
    deletion = delete_for_now(db, arn, sent[0].id, sent[1].id)
    (third,) = receive(db, arn)
    assert third.body == "three"
    assert delete(db, [third]) == ["deleted"]
    assert sorted(undo(db, arn, deletion)) == sorted(row.id or 0 for row in sent[:2])
    assert bodies(receive(db, arn, 1)) == ["one"]
    assert counts(db, arn) == Counts(1, 1, 0)


def test_a_fifo_group_that_was_removed_comes_back(db: Connection) -> None:
    arn = create(db, "q.fifo")
    (sent,) = send(db, arn, "one", group="g")
    deletion = delete_for_now(db, arn, sent.id)
    db.execute("update queue.fifo_ready set changed_at = changed_at - interval '1 hour'")
    maintain(db, arn)
    assert rows_of(db, "fifo_group", arn) == 0
    assert undo(db, arn, deletion) == [sent.id]
    assert bodies(receive(db, arn)) == ["one"]


# --- edited copies ---------------------------------------------------------------------------------------------------
@BOTH
def test_a_copy_replaces_its_original(db: Connection, name: str) -> None:
    arn, target = create(db, name), create(db, f"to-{name}")
    (sent,) = send(db, arn, "one", group=group(name))
    copied = Entry("two", group=group(name), deduplication="d" if group(name) else None)
    (row,) = replace(db, arn, target, (sent.id, copied))
    assert (row.n, row.replaced, row.error) == (1, 1, None)
    assert (counts(db, arn), counts(db, target)) == (Counts(0, 0, 0), Counts(1, 0, 0))
    (copy,) = receive(db, target)
    assert (copy.body, copy.public_id, copy.receive_count) == ("two", row.id, 1)
    assert history(db, arn) == {"deleted": 1}


@BOTH
def test_a_message_in_flight_or_gone_stays_as_it_is(db: Connection, name: str) -> None:
    arn = create(db, name)
    group_id = group(name)

    def entry() -> Entry:
        return Entry("new", group=group_id, deduplication=str(uuid.uuid4()) if group_id else None)

    first, second = send(db, arn, "one", "two", group=group_id)
    (held,) = receive(db, arn, 1, lease_size=1)
    rows = replace(db, arn, arn, (first.id, entry()), (second.id, entry()), (999 << 8 | 2, entry()))
    assert [row.error for row in rows] == ["MessageInFlight", None, "MessageNotFound"]
    assert {row.replaced for row in rows} == {1}
    assert delete(db, [held]) == ["deleted"]
    assert bodies(receive(db, arn)) == ["new"]


def test_the_target_s_refusal_keeps_the_original(db: Connection) -> None:
    arn, small, fifo = create(db, "q"), create(db, "small", MaximumMessageSize="1024"), create(db, "to.fifo")
    (sent,) = send(db, arn, "one")
    refused: list[Any] = [
        (small, Entry("x" * 1025), "MessageTooLong"), (fifo, Entry("x"), "MissingParameter"),
        (fifo, Entry("x", group="g"), "DeduplicationIdRequired"), ("arn:aws:sqs:us-east-1:0:none", Entry("x"),
        "QueueDoesNotExist"),
    ]  # fmt: skip
    for target, entry, error in refused:
        (row,) = replace(db, arn, target, (sent.id, entry))
        assert (row.error, row.id, row.replaced) == (error, None, 0)
        assert counts(db, arn) == Counts(1, 0, 0)
    assert bodies(receive(db, arn)) == ["one"]


def test_a_copy_that_the_target_would_drop_keeps_the_original(db: Connection) -> None:
    """A FIFO queue acknowledges a message with the deduplication id of an earlier message, and drops it."""
    arn = create(db, "q.fifo")
    sent = send(db, arn, "one", group="g")
    first = Entry("two", group="g", deduplication="same")
    (row,) = replace(db, arn, arn, (sent[0].id, first))
    assert row.error is None
    (again,) = replace(db, arn, arn, (row.id, first))
    assert again.error == "DuplicateMessage"
    assert bodies(receive(db, arn)) == ["two"]


@BOTH
def test_an_undo_replaces_a_copy_by_its_original(db: Connection, name: str) -> None:
    """The copy waits until the undo is over, and an undo leaves no trace of it. A repeated edit is no duplicate."""
    arn, target = create(db, name), create(db, f"to-{name}")
    (sent,) = send(db, arn, "one", group=group(name))
    copied = Entry("two", group=group(name), deduplication="d" if group(name) else None, delay=30)
    for _ in range(2):
        deletion = uuid.uuid4()
        (row,) = replace(db, arn, target, (sent.id, copied), deletion=deletion)
        assert (row.error, counts(db, arn), counts(db, target)) == (None, Counts(0, 0, 0), Counts(0, 0, 1))
        assert receive(db, target) == []
        assert undo(db, arn, deletion) == [sent.id]
        assert (counts(db, arn), counts(db, target)) == (Counts(1, 0, 0), Counts(0, 0, 0))
        assert rows_of(db, "edited_message", arn) == 0
    assert bodies(receive(db, arn)) == ["one"]


@BOTH
def test_an_undo_leaves_a_copy_that_was_received(db: Connection, name: str) -> None:
    arn, target = create(db, name), create(db, f"to-{name}")
    sent = send(db, arn, "one", "two", group=group(name))
    deletion = uuid.uuid4()
    copies = [
        (row.id, Entry("new", group=f"{n}" if group(name) else None, deduplication=f"{n}" if group(name) else None))
        for n, row in enumerate(sent)
    ]
    assert {row.error for row in replace(db, arn, target, *copies, deletion=deletion)} == {None}
    (held,) = receive(db, target, 1, lease_size=1)
    assert len(undo(db, arn, deletion)) == 1
    assert (counts(db, arn), counts(db, target)) == (Counts(1, 0, 0), Counts(0, 1, 0))
    assert delete(db, [held]) == ["deleted"]
    pass_time(db)
    assert finish(db) == 1


@BOTH
def test_an_edit_waits_for_a_receive_and_then_leaves_its_message(connect: Connect, name: str) -> None:
    db, other = connect(), connect()
    arn = create(db, name)
    (sent,) = send(db, arn, "one", group=group(name))
    entry = send_entry(Entry("two", group=group(name), deduplication="d" if group(name) else None), arn)
    with db.transaction():
        assert bodies(receive(db, arn)) == ["one"]
        edit = BackgroundCall(
            other, lambda one: call(one, REPLACE_MESSAGES, arn, [sent.id], *transpose([entry], len(entry)), None)
        )
        edit.wait_until_blocked(connect())
    assert [row.error for row in edit.result()] == ["MessageInFlight"]
    assert counts(db, arn) == Counts(0, 1, 0)


def test_messages_are_read_by_id_in_every_state(db: Connection) -> None:
    arn = create(db, "q")
    sent = send(db, arn, "one", "two") + send(db, arn, "late", delay=600)
    receive(db, arn, 1, lease_size=1)
    rows = read(db, arn, *(row.id for row in sent), 5)
    assert {row.body: row.state for row in rows} == {"one": "in_flight", "two": "visible", "late": "delayed"}
    assert [row.public_id for row in rows] == sorted(row.public_id for row in rows)
