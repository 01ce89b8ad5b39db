"""Tests what the SQL functions know about the life of a message, that they look at a limited number of messages, and
that queues without PenstockTrace pay nothing for it."""

import json
from typing import Any
from uuid import UUID

import pytest

from penstock.postgres.statements.message_life import FIND_MESSAGE, READ_MESSAGE, LifeRow, PlaceRow
from tests.support.sql.calls import (
    ACCOUNT,
    REGION,
    Connection,
    Delivery,
    call,
    change,
    create,
    delete,
    fail,
    group,
    maintain,
    receive,
    redrive,
    rows_of,
    send,
    value,
)

pytestmark = pytest.mark.emptied

BOTH = pytest.mark.parametrize("name", ["q", "q.fifo"])
NEVER = UUID(int=0)


def read(db: Connection, arn: str, number: int | None, message_id: str | None = None) -> tuple[Any, list[LifeRow]]:
    rows = call(db, READ_MESSAGE, arn, number, message_id, True)
    facts = [json.loads(row.detail or "") for row in rows if row.kind == "facts"]
    return (facts[0] if facts else None), [row for row in rows if row.kind != "facts"]


def find(db: Connection, message_id: object, arn: str | None = None, scan: int = 1_000) -> list[PlaceRow]:
    return call(db, FIND_MESSAGE, ACCOUNT, REGION, arn, str(message_id), scan, 2.0)


def receive_one(db: Connection, arn: str, visibility: int = 30) -> Delivery:
    (message,) = receive(db, arn, 1, visibility=visibility)
    return message


def expire_leases(db: Connection) -> None:
    db.execute("update queue.lease set visible_at = clock_timestamp() where visible_at < 'infinity' and ids <> '{}'")


@BOTH
def test_a_message_in_each_state(db: Connection, name: str) -> None:
    arn = create(db, name)
    send(db, arn, "m", group=group(name))
    number = value(db, "select public_id from queue.peek_messages(%s, 'all', null, 9)", arn)
    assert read(db, arn, number)[0]["state"] == "visible"
    first = receive_one(db, arn, 0)
    again = receive_one(db, arn, 60)
    facts, _ = read(db, arn, number)
    assert (facts["state"], facts["receives"]) == ("in_flight", 2)
    assert facts["first_ms"] <= facts["again_ms"][0]
    assert facts["message_id"] == again.message_id == first.message_id
    delete(db, [again])
    if name == "q":
        facts, _ = read(db, arn, number)
        assert (facts["state"], facts["receives"]) == ("deleted", 2)
        assert facts["ended_ms"] >= facts["again_ms"][0]
    else:  # A FIFO queue deletes the row at once, and the history has no ids.
        assert read(db, arn, number) == (None, [])


def test_messages_of_one_lease_end_separately(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "1", "2", "3")
    one, two, three = sorted(receive(db, arn), key=lambda message: message.id)
    delete(db, [two])
    change(db, [three], 60)
    states = [read(db, arn, message.public_id)[0]["state"] for message in (one, two, three)]
    assert states == ["in_flight", "deleted", "in_flight"]
    delete(db, [three])
    # The log still has a row of the message, which left the lease without a time. The history knows the rest.
    assert read(db, arn, three.public_id)[0]["state"] == "deleted"


def test_the_history_does_not_guess_between_messages_of_one_moment(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "1", "2")
    received = receive(db, arn)
    change(db, received, 60)
    delete(db, received)
    facts, _ = read(db, arn, received[0].public_id)
    assert (facts["state"], facts["ended_ms"], facts["ended_together"]) == (None, None, 2)


def test_an_expired_message_is_no_visible_one(db: Connection) -> None:
    arn = create(db, MessageRetentionPeriod="60")
    send(db, arn, "m")
    number = value(db, "select public_id from queue.peek_messages(%s, 'all', null, 9)", arn)
    db.execute("update queue.log set sent_at = sent_at - interval '61 seconds'")
    facts, _ = read(db, arn, number)
    assert facts["state"] == "expired"
    assert facts["ended_ms"] == facts["sent_ms"] + 60_000


@pytest.mark.parametrize("cleaned", [False, True])
def test_a_dead_letter_knows_the_receives_in_its_source(db: Connection, cleaned: bool) -> None:
    """The lease of the source queue knows them, and later the history."""
    dead = create(db, "dead")
    arn = create(db, "q", RedrivePolicy=redrive(dead, 2))
    send(db, arn, "m")
    for _ in range(2):
        receive_one(db, arn)
        expire_leases(db)
    assert receive(db, arn) == []
    if cleaned:
        maintain(db, arn)
        assert rows_of(db, "log", arn) == 0
    (letter,) = call_peek(db, dead)
    facts, _ = read(db, dead, letter)
    assert (facts["source_receives"], facts["total_earlier"], len(facts["source_again_ms"])) == (2, 2, 1)
    assert facts["source_first_ms"] <= facts["source_again_ms"][0] <= facts["entered_ms"]


def call_peek(db: Connection, arn: str) -> list[int]:
    return list(value(db, "select array_agg(public_id) from queue.peek_messages(%s, 'all', null, 9)", arn))


@BOTH
def test_failures_and_recorded_receives_are_found_by_the_message_id(db: Connection, name: str) -> None:
    arn = create(db, name, PenstockTrace="true")
    send(db, arn, "m", group=group(name))
    message = receive_one(db, arn)
    db.execute(
        "select queue.trace_receive(%s, %s::uuid[], %s::bigint[], '{1}', %s::bigint[], %s, %s)",
        (message.queue_id, [message.message_id], [message.public_id], [message.sent_at_ms], "c" * 600, "a" * 300),
    )
    fail(db, [message], "boom")
    delete(db, [message])
    maintain(db, arn)
    (place, end) = find(db, message.message_id)
    assert place == PlaceRow(arn, message.public_id, False, None, None)
    assert (end.arn, end.looked_at, end.messages) == (None, 0, 0)
    facts, events = read(db, arn, None, message.message_id)
    assert (facts["state"], facts["sent_ms"], facts["receives"]) == ("deleted", message.sent_at_ms, 1)
    assert [(event.kind, event.receive_count, event.detail) for event in sorted(events)] == [
        ("failed", 1, "boom"),
        ("received", 1, None),
    ]
    (received,) = (event for event in events if event.kind == "received")
    assert (received.actor, received.agent) == ("c" * 512, "a" * 200)


@BOTH
def test_a_search_by_id_is_limited_and_says_so(db: Connection, name: str) -> None:
    arn = create(db, name)
    for number in range(20):
        send(db, arn, str(number), group=group(name))
    wanted = value(db, "select message_id from queue.peek_messages(%s, 'all', null, 1)", arn)
    (place, end) = find(db, wanted)
    assert (place.arn, place.is_there, end.looked_at, end.messages) == (arn, True, 20, 20)
    (end,) = find(db, NEVER)
    assert (end.looked_at, end.messages) == (20, 20)
    (end,) = find(db, NEVER, scan=5)
    assert (end.looked_at, end.messages) == (5, None)
    (end,) = find(db, NEVER, arn="arn:aws:sqs:us-east-1:000000000000:none")
    assert (end.looked_at, end.messages) == (0, 0)
    assert call(db, FIND_MESSAGE, "999999999999", REGION, None, str(wanted), 9, 2.0) == [
        PlaceRow(None, None, None, 0, 0)
    ]


TOUCHED = """
    select coalesce(sum(t.seq_scan + t.n_tup_ins + coalesce(t.idx_scan, 0)), 0)::int
    from pg_stat_xact_user_tables t where starts_with(t.relname, 'receive_trace')"""


@BOTH
def test_queues_without_the_attribute_do_not_touch_the_table(db: Connection, name: str) -> None:
    quiet, traced = create(db, name), create(db, f"t{name}", PenstockTrace="true")
    with db.transaction():
        send(db, quiet, "m", group=group(name))
        receive(db, quiet, visibility=0)
        db.execute("select from queue.receive(%s, vt => 0)", (quiet,))
        delete(db, receive(db, quiet))
        assert value(db, TOUCHED) == 0
        send(db, traced, "m", group=group(name))
        db.execute("select from queue.receive(%s)", (traced,))
        assert value(db, TOUCHED) > 0  # the query counts what it should


@BOTH
def test_receives_through_sql_are_recorded_in_order(db: Connection, name: str) -> None:
    arn = create(db, name, PenstockTrace="true")
    for number in range(3):
        send(db, arn, str(number), group=f"g{number}" if name.endswith(".fifo") else None)
    db.execute("set application_name = 'worker 7'")
    received = db.execute("select msg_id, message::text from queue.receive(%s, qty => 10)", (arn,)).fetchall()
    assert sorted(text for _, text in received) == ["0", "1", "2"]
    rows = db.execute(
        "select public_id, caller = session_user, agent, receive_count from queue.receive_trace"
    ).fetchall()
    assert sorted(rows) == sorted((number, True, "worker 7", 1) for number, _ in received)
    db.execute("select from queue.pop(%s)", (arn,))


def test_old_receives_leave_with_the_history(db: Connection) -> None:
    db.execute("select queue.maintain_installation(1000, 30, 'histories')")
    days = "select count(*) from pg_inherits where inhparent = 'queue.receive_trace'::regclass"
    assert value(db, days) == 4  # three days and the default
    db.execute("select queue.add_history_day('receive_trace', (now() at time zone 'utc')::date - 40)")
    assert value(db, days) == 5
    db.execute("select queue.maintain_installation(1000, 30, 'histories')")
    assert value(db, days) == 4
