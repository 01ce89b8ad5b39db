"""Tests the stored failures of messages: what a dead letter shows, when a failure ends, and that messages without
failures cost nothing."""

import json
from typing import Any

import pytest

from tests.support.sql.calls import (
    Connection,
    Counts,
    change,
    counts,
    create,
    delete,
    fail,
    maintain,
    receive,
    redrive,
    send,
    value,
)
from tests.support.sql.move_tasks import run, start

pytestmark = pytest.mark.emptied

BOTH = pytest.mark.parametrize("suffix", ["", ".fifo"])


def create_queues(db: Connection, suffix: str, receives: int = 1) -> tuple[str, str]:
    dead = create(db, "dead" + suffix)
    return create(db, "q" + suffix, RedrivePolicy=redrive(dead, receives)), dead


def attributes_of(message: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(message.attributes or "{}")
    return found


def send_one(db: Connection, arn: str, body: str = "m") -> None:
    send(db, arn, body, group="g" if arn.endswith(".fifo") else None)


@BOTH
def test_a_dead_letter_has_its_last_error(db: Connection, suffix: str) -> None:
    arn, dead = create_queues(db, suffix, 2)
    send_one(db, arn)
    for error in ("first", "second"):
        assert fail(db, receive(db, arn), error, 0) == ["changed"]
    assert receive(db, arn) == []
    (letter,) = receive(db, dead)
    assert attributes_of(letter) == {"PenstockError": {"DataType": "String", "StringValue": "second"}}


@BOTH
def test_a_failure_without_seconds_leaves_the_visibility(db: Connection, suffix: str) -> None:
    arn, dead = create_queues(db, suffix)
    send_one(db, arn)
    received = receive(db, arn)
    assert fail(db, received, "boom") == ["changed"]
    assert counts(db, arn) == Counts(0, 1, 0)
    change(db, received, 0)
    assert receive(db, arn) == []
    assert attributes_of(receive(db, dead)[0])["PenstockError"]["StringValue"] == "boom"


@BOTH
def test_a_letter_without_a_failure_has_no_error(db: Connection, suffix: str) -> None:
    """An unknown cause stays unknown, also beside a message with a failure."""
    arn, dead = create_queues(db, suffix)
    for body in ("known", "unknown"):
        send(db, arn, body, group=body if suffix else None)
    received = {message.body: message for message in receive(db, arn, visibility=60)}
    fail(db, [received["known"]], "boom")
    assert change(db, list(received.values()), 0) == ["changed", "changed"]
    assert receive(db, arn) == []
    letters = {letter.body: attributes_of(letter) for letter in receive(db, dead)}
    assert letters["unknown"] == {}
    assert letters["known"]["PenstockError"]["StringValue"] == "boom"


@BOTH
def test_a_redrive_removes_the_error_and_keeps_other_attributes(db: Connection, suffix: str) -> None:
    arn, dead = create_queues(db, suffix)
    send_one(db, arn)
    for table in ("log", "fifo_message"):
        db.execute(f"""update queue.{table} set attributes = '{{"k": {{"DataType": "String"}}}}'""".encode())
    fail(db, receive(db, arn), "boom", 0)
    assert receive(db, arn) == []
    assert run(db, start(db, dead)) == 1
    (again,) = receive(db, arn, visibility=0)
    assert attributes_of(again) == {"k": {"DataType": "String"}}
    assert receive(db, arn) == []
    (letter,) = receive(db, dead)
    assert set(attributes_of(letter)) == {"k"}  # the message was sent anew, so the earlier failure does not count


def test_a_failed_batch_becomes_letters_with_its_error(db: Connection) -> None:
    """The whole lease expires, so the messages move from the log."""
    arn, dead = create_queues(db, "")
    send(db, arn, "1", "2", "3")
    assert fail(db, receive(db, arn), "boom") == ["changed"] * 3
    db.execute("update queue.lease set visible_at = clock_timestamp() where visible_at < 'infinity'")
    assert receive(db, arn) == []
    errors = [attributes_of(letter)["PenstockError"]["StringValue"] for letter in receive(db, dead)]
    assert errors == ["boom"] * 3


@BOTH
def test_handles_fail_separately(db: Connection, suffix: str) -> None:
    arn, _ = create_queues(db, suffix, 9)
    for body in ("1", "2"):
        send(db, arn, body, group=body if suffix else None)
    first, second = receive(db, arn)
    delete(db, [first])
    assert fail(db, [first, second], "boom", 100) == ["gone", "changed"]
    assert fail(db, [first, second], "boom again") == ["gone", "changed"]
    assert counts(db, arn) == Counts(0, 1, 0)
    assert value(db, "select array_agg(error) from queue.failure") == ["boom again"]
    assert fail(db, [second._replace(queue_id=99)], "boom") == ["no_queue"]


def test_the_error_is_cut_and_cleaned(db: Connection) -> None:
    arn, _ = create_queues(db, "", 9)
    send_one(db, arn)
    fail(db, receive(db, arn), "\x01" + "e" * 2_000)
    assert value(db, "select error from queue.failure") == "\ufffd" + "e" * 1_023


@BOTH
def test_applications_name_the_message_by_id(db: Connection, suffix: str) -> None:
    arn, dead = create_queues(db, suffix)
    send_one(db, arn)
    (received,) = receive(db, arn)
    assert value(db, "select queue.fail(%s, %s, 'no stock', 0)", arn, received.public_id) is True
    assert receive(db, arn) == []
    (letter,) = receive(db, dead)
    assert attributes_of(letter)["PenstockError"]["StringValue"] == "no stock"
    assert value(db, "select queue.fail(%s, %s, 'no stock')", arn, received.public_id) is False


@BOTH
def test_maintenance_removes_old_failures(db: Connection, suffix: str) -> None:
    arn, _ = create_queues(db, suffix, 9)
    send_one(db, arn)
    fail(db, receive(db, arn), "boom")
    maintain(db, arn)
    assert value(db, "select count(*) from queue.failure") == 1
    db.execute("update queue.failure set failed_at = failed_at - interval '15 days'")
    maintain(db, arn)
    assert value(db, "select count(*) from queue.failure") == 0


def test_a_deleted_queue_loses_its_failures(db: Connection) -> None:
    arn, _ = create_queues(db, "", 9)
    send_one(db, arn)
    fail(db, receive(db, arn), "boom")
    db.execute("select queue.drop_queue(%s)", (arn,))
    db.execute("select queue.maintain_installation(1000, 30, 'deleted_queues')")
    assert value(db, "select count(*) from queue.failure") == 0


@BOTH
def test_messages_without_failures_do_not_touch_the_table(db: Connection, suffix: str) -> None:
    """Sends, receives, repeated receives, changes of visibility and deletes neither read nor write queue.failure."""
    arn, _ = create_queues(db, suffix, 3)
    query = """
        select coalesce(sum(t.seq_scan + t.n_tup_ins + t.n_tup_upd + t.n_tup_del), 0)::int
            + coalesce((select sum(i.idx_scan) from pg_stat_xact_user_tables i
                where i.relid = 'queue.failure'::regclass), 0)::int
        from pg_stat_xact_user_tables t where t.relid = 'queue.failure'::regclass"""
    with db.transaction():
        send_one(db, arn)
        receive(db, arn, visibility=0)
        (message,) = receive(db, arn)
        assert message.receive_count == 2
        delete(db, [message])
        assert value(db, query) == 0
        send_one(db, arn)
        fail(db, receive(db, arn), "boom")
        assert value(db, query) > 0  # the query counts what it should
