"""Tests queue.change_visibilities and changes by id: zero, longer, shorter and too long timeouts, deleted messages, and
the side table."""

import pytest

from tests.support.sql.calls import (
    BOTH,
    Connection,
    Counts,
    arn_of,
    bodies,
    change,
    change_by_id,
    counts,
    create,
    delete,
    delete_by_id,
    group,
    maintain,
    receive,
    rows_of,
    send,
)

pytestmark = pytest.mark.emptied

HOURS = 3600


@BOTH
def test_zero_makes_a_message_visible_at_once(db: Connection, name: str) -> None:
    arn = create(db, name)
    send(db, arn, "1", "2", group=group(name))
    first, second = receive(db, arn)
    assert change(db, [first], 0) == ["changed"]
    assert counts(db, arn) == Counts(1, 1, 0)
    (again,) = receive(db, arn)
    assert (again.body, again.receive_count) == ("1", 2)
    assert (again.message_id, again.first_received_at_ms) == (first.message_id, first.first_received_at_ms)
    old = "expired" if name.endswith(".fifo") else "gone"
    assert delete(db, [first, second, again]) == [old, "deleted", "deleted"]
    assert counts(db, arn) == Counts(0, 0, 0)


@BOTH
def test_the_handle_stays_good_after_a_change(db: Connection, name: str) -> None:
    arn = create(db, name)
    send(db, arn, "m", group=group(name))
    messages = receive(db, arn)
    assert [change(db, messages, seconds) for seconds in (100, 200, 50)] == [["changed"]] * 3
    assert counts(db, arn) == Counts(0, 1, 0)
    assert delete(db, messages) == ["deleted"]
    assert change(db, messages, 10) == ["gone"]


@BOTH
def test_twelve_hours_from_the_first_receive_are_the_limit(db: Connection, name: str) -> None:
    """The limit counts from the first receive (Amazon SQS Developer Guide, visibility timeout)."""
    arn = create(db, name)
    send(db, arn, "m", group=group(name))
    receive(db, arn, visibility=0)
    for table in ("lease", "side", "fifo_message"):
        db.execute(f"update queue.{table} set first_received_at = first_received_at - interval '11 hours'".encode())
    messages = receive(db, arn)
    assert change(db, messages, 1 * HOURS + 1) == ["too_long"]
    assert change(db, messages, 1 * HOURS - 60) == ["changed"]


def test_one_handle_twice_in_a_call(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "m")
    (message,) = receive(db, arn)
    assert change(db, [message, message], 100) == ["changed", "changed"]
    assert rows_of(db, "side", arn) == 1


def test_a_changed_message_leaves_its_lease_to_the_others(db: Connection) -> None:
    arn = create(db)
    send(db, arn, *"abcde")
    messages = receive(db, arn)
    change(db, messages[1:3], 0)
    assert delete(db, messages) == ["deleted"] * 5
    maintain(db, arn)
    assert (rows_of(db, "log", arn), rows_of(db, "side", arn)) == (0, 0)


@pytest.mark.parametrize("state", ["fresh", "in flight", "side table", "side table in flight", "delayed"])
def test_by_id_whatever_the_state(db: Connection, state: str) -> None:
    arn = create(db)
    (sent,) = send(db, arn, "m", delay=900 if state == "delayed" else 0)
    assert sent.id is not None
    if state not in {"fresh", "delayed"}:
        messages = receive(db, arn)
        if state.startswith("side table"):
            change(db, messages, 0)
        if state == "side table in flight":
            receive(db, arn)
    assert change_by_id(db, arn, sent.id, 500)
    assert counts(db, arn).visible == 0
    assert change_by_id(db, arn, sent.id, 0)
    assert counts(db, arn) == Counts(1, 0, 0)
    assert bodies(receive(db, arn)) == ["m"]
    assert delete_by_id(db, arn, sent.id) == [sent.id]
    assert not change_by_id(db, arn, sent.id, 0)
    assert delete_by_id(db, arn, sent.id) == []
    assert counts(db, arn) == Counts(0, 0, 0)


@pytest.mark.parametrize("state", ["fresh", "in flight"])
def test_fifo_by_id_whatever_the_state(db: Connection, state: str) -> None:
    arn = create(db, "q.fifo")
    first, second = send(db, arn, "1", "2", group="g")
    assert first.id is not None
    if state == "in flight":
        receive(db, arn, 1)
    assert change_by_id(db, arn, first.id, 500)
    assert receive(db, arn) == []  # The second call waits for the first call.
    assert delete_by_id(db, arn, first.id) == [first.id]
    assert [d.public_id for d in receive(db, arn)] == [second.id]


@pytest.mark.parametrize("public_id", [0, 1, 2, 77, 255, 256, (5 << 8) | 2, 2**53 - 1, -1])
def test_ids_that_nothing_has(db: Connection, public_id: int) -> None:
    arn = create(db)
    send(db, arn, "m")
    assert not change_by_id(db, arn, public_id, 0)
    assert delete_by_id(db, arn, public_id) == []
    assert counts(db, arn) == Counts(1, 0, 0)


def test_an_unknown_queue_has_no_messages(db: Connection) -> None:
    assert not change_by_id(db, arn_of("none"), 258, 0)
    assert delete_by_id(db, arn_of("none"), 258) == []


def test_by_id_many_at_once_and_the_same_twice(db: Connection) -> None:
    arn = create(db, shards=1)
    ids = [row.id or 0 for row in send(db, arn, *map(str, range(20)))]
    receive(db, arn, 5)
    assert delete_by_id(db, arn, *ids[::2], *ids[::2]) == ids[::2]
    assert counts(db, arn) == Counts(8, 2, 0)
