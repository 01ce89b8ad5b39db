"""Tests the SQL interface of applications: queue.send, receive, delete, pop, archive and the others."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from penstock.postgres.statements.stored_messages import READ_ARCHIVE
from tests.support.sql.calls import Connection, Counts, arn_of, call, counts, send, value


def ask(db: Connection, query: str, *arguments: object) -> list[tuple[Any, ...]]:
    return db.execute(query.encode(), arguments).fetchall()


def test_a_message_from_end_to_end(db: Connection) -> None:
    assert value(db, "select queue.create('orders')") == arn_of("orders")
    sent = value(
        db,
        "select queue.send('orders', %s, %s)",
        Jsonb({"a": [1, None]}),
        Jsonb({"k": "v", "n": 1.5, "l": []}),
    )
    ((msg_id, read_ct, enqueued_at, vt, message, headers),) = ask(
        db, "select * from queue.receive('orders', 60, 5)"
    )
    assert (msg_id, read_ct, message, headers) == (sent, 1, {"a": [1, None]}, {"k": "v", "n": 1.5, "l": []})
    assert 59 <= (vt - enqueued_at).total_seconds() <= 70
    assert value(db, "select queue.delete('orders', %s)", sent) is True
    assert value(db, "select queue.delete('orders', %s)", sent) is False


@pytest.mark.parametrize("message", [{}, [], "text", "", 0, -1.5, True, None, {"é": "\U0001f600"}])
def test_any_json_is_a_message(db: Connection, message: object) -> None:
    db.execute("select queue.create('q')")
    db.execute("select queue.send('q', %s)", (Jsonb(message),))
    assert value(db, "select message from queue.receive('q')") == message


@pytest.mark.parametrize("body", ["plain", "{broken", "[" * 200_000, "1e999999999", '"\\u0000"', ""])
def test_a_body_that_is_no_json_arrives_as_a_string(db: Connection, body: str) -> None:
    """The message was sent through SQS, where a body is any text."""
    db.execute("select queue.create('q')")
    send(db, arn_of("q"), body)
    assert value(db, "select message from queue.receive('q')") == body


def test_null_is_no_message(db: Connection) -> None:
    db.execute("select queue.create('q')")
    for query in (
        "send('q', null)",
        "send_batch('q', null)",
        "send_batch('q', '{}')",
        "send_batch('q', array['1', null]::jsonb[])",
    ):
        with pytest.raises(psycopg.Error) as refused:
            db.execute(f"select queue.{query}".encode())
        assert refused.value.sqlstate == "QU003"
    assert counts(db, arn_of("q")) == Counts(0, 0, 0)


def test_a_batch_returns_its_ids_in_order(db: Connection) -> None:
    db.execute("select queue.create('q')")
    ids = [
        row[0] for row in ask(db, "select queue.send_batch('q', array['1', '2', '3']::jsonb[], delay => 0)")
    ]
    rows = ask(db, "select msg_id, message from queue.receive('q', 30, 10)")
    assert rows == list(zip(ids, (1, 2, 3), strict=True))


def test_fifo(db: Connection) -> None:
    assert value(db, "select queue.create_fifo('f')") == arn_of("f.fifo")
    first = value(db, "select queue.send_fifo('f.fifo', '1', 'g', 'same')")
    assert value(db, "select queue.send_fifo('f.fifo', '1', 'g', 'same')") == first
    assert value(db, "select queue.send_fifo('f.fifo', '1', 'g')") != first
    assert len(ask(db, "select * from queue.receive_fifo('f.fifo', 30, 10)")) == 2


@pytest.mark.parametrize(
    ("query", "state"),
    [
        ("send('none', '1')", "QU001"),
        ("receive('none')", "QU001"),
        ("delete('none', 1)", "QU001"),
        ("archive('none', 1)", "QU001"),
        ("pop('none')", "QU001"),
        ("change_visibility('none', 1, 1)", "QU001"),
        ("purge_queue('none')", "QU001"),
        ("metrics('none')", "QU001"),
        ("""create('q', '{"DelaySeconds": "1"}')""", "QU002"),
        ("create('no spaces')", "QU003"),
        ("create('')", "QU003"),
        ("send('q', '1', delay => 31536001)", "QU003"),
        ("send('f.fifo', '1')", "QU003"),
    ],
)
def test_errors(db: Connection, query: str, state: str) -> None:
    db.execute("select queue.create('q'), queue.create_fifo('f')")
    with pytest.raises(psycopg.Error) as refused:
        db.execute(f"select * from queue.{query}".encode())
    assert refused.value.sqlstate == state


def test_pop_leaves_nothing(db: Connection) -> None:
    db.execute("select queue.create('q'), queue.create_fifo('f')")
    db.execute("select queue.send('q', '1'), queue.send('q', '2'), queue.send_fifo('f.fifo', '3', 'g')")
    assert ask(db, "select message from queue.pop('q', 5)") == [(1,), (2,)]
    assert ask(db, "select message from queue.pop('f.fifo', 5)") == [(3,)]
    assert ask(db, "select message from queue.pop('q', 5)") == []
    assert (counts(db, arn_of("q")), counts(db, arn_of("f.fifo"))) == (Counts(0, 0, 0), Counts(0, 0, 0))


@pytest.mark.parametrize("state", ["fresh", "in flight", "delayed"])
def test_the_archive_keeps_what_it_is_told_to(db: Connection, state: str) -> None:
    db.execute("select queue.create('q')")
    sent = value(
        db, "select queue.send('q', '{\"a\": 1}', '{\"h\": \"x\"}', %s)", 9 if state == "delayed" else 0
    )
    if state == "in flight":
        db.execute("select queue.receive('q')")
    assert value(db, "select queue.archive('q', %s)", sent) is True
    assert value(db, "select queue.archive('q', %s)", sent) is False
    (row,) = call(db, READ_ARCHIVE, arn_of("q"), None, 10, None)
    assert (row.public_id, row.receive_count, row.body) == (sent, int(state == "in flight"), '{"a": 1}')
    assert "StringValue" in (row.attributes or "")


@pytest.mark.parametrize("name", ["q", "q.fifo"])
def test_a_queue_that_archives_keeps_what_is_deleted_in_any_way(db: Connection, name: str) -> None:
    db.execute('select queue.create(%s, \'{"archive": "true"}\')', (name,))
    db.execute("select queue.send_batch(%s, array['1', '2', '3']::jsonb[], group_id => 'g')", (name,))
    db.execute("select queue.pop(%s, 1)", (name,))
    db.execute("select queue.delete(%s, (select msg_id from queue.receive(%s)))", (name, name))
    db.execute("select queue.purge_queue(%s)", (name,))
    rows = call(db, READ_ARCHIVE, arn_of(name), None, 10, None)
    assert [row.body for row in rows] == ["1", "2"]  # A purge deletes for good.
    assert [row.body for row in call(db, READ_ARCHIVE, arn_of(name), rows[0].archive_id, 10, None)] == ["2"]


def test_visibility_and_metrics(db: Connection) -> None:
    db.execute("select queue.create('q')")
    sent = value(db, "select queue.send('q', '1')")
    assert (
        value(db, "select queue.change_visibility('q', %s, 60) > now() + interval '59 seconds'", sent) is True
    )
    assert value(db, "select queue.change_visibility('q', 1, 60)") is None
    columns = "queue_name, queue_length, visible, in_flight, delayed, total_messages"
    # The message is delayed and not in flight, because no consumer has received it.
    assert ask(db, f"select {columns} from queue.metrics('q')") == [("q", 1, 0, 0, 1, 1)]
    assert value(db, "select queue.purge_queue('q')") == 1
    assert ask(db, "select name, fifo from queue.list_queues()") == [("q", False)]
    assert value(db, "select queue.delete_queue('q')") is True
    assert value(db, "select queue.delete_queue('q')") is False
