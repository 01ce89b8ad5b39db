"""Tests the applications' SQL interface: queue.send, queue.receive, queue.delete, queue.pop, queue.archive and other
functions."""

import json
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from penstock.postgres.migrations import find_sql_directory
from penstock.postgres.statements.stored_messages import READ_ARCHIVE
from tests.support.database import Database
from tests.support.sql.calls import Connection, Counts, arn_of, call, counts, send, value


def ask(db: Connection, query: str, *arguments: object) -> list[tuple[Any, ...]]:
    return db.execute(query.encode(), arguments).fetchall()


def test_a_message_from_end_to_end(db: Connection) -> None:
    assert value(db, "select queue.create('orders')") == arn_of("orders")
    sent = value(
        db, "select queue.send('orders', %s, %s)", Jsonb({"a": [1, None]}), Jsonb({"k": "v", "n": 1.5, "l": []})
    )
    ((msg_id, read_ct, enqueued_at, vt, message, headers),) = ask(db, "select * from queue.receive('orders', 60, 5)")
    assert (msg_id, read_ct, message, headers) == (sent, 1, {"a": [1, None]}, {"k": "v", "n": 1.5, "l": []})
    assert 59 <= (vt - enqueued_at).total_seconds() <= 70
    assert value(db, "select queue.delete('orders', %s)", sent) is True
    assert value(db, "select queue.delete('orders', %s)", sent) is False


@pytest.mark.parametrize("message", [{}, [], "text", "", 0, -1.5, True, None, {"é": "\U0001f600"}])
def test_any_json_is_a_message(db: Connection, message: object) -> None:
    db.execute("select queue.create('q')")
    db.execute("select queue.send('q', %s)", (Jsonb(message),))
    assert value(db, "select message from queue.receive('q')") == message


@pytest.mark.parametrize("body", ["plain", "{broken", "[" * 200_000, "1e999999999", ""])
def test_a_body_that_is_no_json_arrives_as_a_string(db: Connection, body: str) -> None:
    """The sender uses SQS, which accepts any text as a body."""
    db.execute("select queue.create('q')")
    send(db, arn_of("q"), body)
    assert value(db, "select message from queue.receive('q')") == body


def test_escapes_that_jsonb_refuses_arrive_as_the_replacement_character(db: Connection) -> None:
    """JSON allows escapes for U+0000 and for half of a surrogate pair (RFC 8259), but PostgreSQL's type jsonb does
    not."""
    db.execute("select queue.create('q')")
    send(db, arn_of("q"), '{"a": "x\\u0000y", "b": "\\ud83d"}')
    assert value(db, "select message from queue.receive('q')") == {"a": "x\ufffdy", "b": "\ufffd"}


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
    ids = [row[0] for row in ask(db, "select queue.send_batch('q', array['1', '2', '3']::jsonb[], delay => 0)")]
    rows = ask(db, "select msg_id, message from queue.receive('q', 30, 10)")
    assert rows == list(zip(ids, (1, 2, 3), strict=True))


def test_a_fifo_queue_drops_a_repeated_deduplication_id(db: Connection) -> None:
    assert value(db, "select queue.create_fifo('f')") == arn_of("f.fifo")
    first = value(db, "select queue.send_fifo('f.fifo', '1', 'g', 'same')")
    assert value(db, "select queue.send_fifo('f.fifo', '1', 'g', 'same')") == first
    assert value(db, "select queue.send_fifo('f.fifo', '1', 'g')") != first
    assert len(ask(db, "select * from queue.receive_fifo('f.fifo', 30, 10)")) == 2


@pytest.mark.shared
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
def test_a_refused_call_has_its_sqlstate(db: Connection, query: str, state: str) -> None:
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
    sent = value(db, "select queue.send('q', '{\"a\": 1}', '{\"h\": \"x\"}', %s)", 9 if state == "delayed" else 0)
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
    assert [row.body for row in rows] == ["1", "2"]  # A purge does not archive messages.
    assert [row.body for row in call(db, READ_ARCHIVE, arn_of(name), rows[0].archive_id, 10, None)] == ["2"]


def test_visibility_and_metrics(db: Connection) -> None:
    db.execute("select queue.create('q')")
    sent = value(db, "select queue.send('q', '1')")
    assert value(db, "select queue.change_visibility('q', %s, 60) > now() + interval '59 seconds'", sent) is True
    assert value(db, "select queue.change_visibility('q', 1, 60)") is None
    columns = "queue_name, queue_length, visible, in_flight, delayed, total_messages"
    # The metrics count the message as delayed and not as in flight, because no consumer has received it.
    assert ask(db, f"select {columns} from queue.metrics('q')") == [("q", 1, 0, 0, 1, 1)]
    assert value(db, "select queue.purge_queue('q')") == 1
    assert ask(db, "select name, fifo from queue.list_queues()") == [("q", False)]
    assert value(db, "select queue.delete_queue('q')") is True
    assert value(db, "select queue.delete_queue('q')") is False


# --- two-phase commit -------------------------------------------------------------------------------------------------
CALLS = {
    "ack": "queue.ack('q', array[queue.send('q', '1')])",
    "archive": "queue.archive('q', 1)",
    "change_visibility": "queue.change_visibility('q', 2, 0)",
    "create": "queue.create('new')",
    "create_fifo": "queue.create_fifo('new')",
    "create_schedule": "queue.create_schedule('s', fire_at => now(), queue => 'q', message => '1')",
    "delete": "queue.delete('q', 1)",
    "delete_queue": "queue.delete_queue('q')",
    "delete_schedule": "queue.delete_schedule('old')",
    "fail": "queue.fail('q', 2, 'boom', 0)",
    "list_queues": "queue.list_queues()",
    "metrics": "queue.metrics('q')",
    "next_fires": "queue.next_fires('rate(1 minute)')",
    "parse_schedule": "queue.parse_schedule('every', '5m')",
    "pop": "queue.pop('q', 1)",
    "preview_schedule": "queue.preview_schedule(every => '5m')",
    "publish_event": "queue.publish_event('k', '1')",
    "put_events": 'queue.put_events(\'bus\', \'[{"Data": 1, "SystemMetadata": {"DeduplicationId": "1"}}]\')',
    "purge_queue": "queue.purge_queue('q')",
    "receive": "queue.receive('q', 0)",
    "receive_fifo": "queue.receive_fifo('f.fifo', 0)",
    "send": "queue.send('q', '1')",
    "send_batch": "queue.send_batch('q', array['1', '2']::jsonb[])",
    "send_fifo": "queue.send_fifo('f.fifo', '1', 'g', '1')",
    "send_topic": "queue.send_topic('k', '1')",
    "subscribe": "queue.subscribe('k.*', 'q')",
    "unsubscribe": "queue.unsubscribe('k', 'q')",
}
"""A call of each function of the interface, in a database with the queues `q` and `f.fifo` that contain two messages
each."""
SENDS = ("send", "send_batch", "send_fifo", "publish_event", "send_topic", "put_events")


def stock(db: Connection) -> None:
    """Creates the queues, and registers processes that wait for every kind of change."""
    dead = value(db, "select queue.create('dead')")
    policy = json.dumps({"deadLetterTargetArn": dead, "maxReceiveCount": 1})
    value(db, "select queue.create('q', %s)", Jsonb({"RedrivePolicy": policy}))
    value(db, "select queue.create('f.fifo')")
    value(db, "select queue.subscribe('k', 'q')")
    bus = "select b.created from queue.caller_account() c, queue.create_event_bus(c.account_id, c.region, 'bus', %s, %s"
    value(db, f"{bus}, null, null) b", "arn:bus", '{"retention_days": 1, "tags": {}}')
    value(db, "select queue.create_schedule('old', every => '1h', queue => 'q', message => '1')")
    for name in ("q", "q"):
        value(db, f"select queue.send('{name}', '1')")
    value(db, "select count(*) from queue.receive('q', 0, 1)")
    value(db, "select queue.send_fifo('f.fifo', '1', 'g', '0')")


def wait(db: Connection) -> None:
    """Registers processes that wait for every queue and for deliveries."""
    db.execute(
        "insert into queue.watcher (queue_id, watcher) select q, gen_random_uuid()"
        " from (select queue_id from queue.queues union all values (0), (-1)) u(q)"
    )


def test_the_table_of_calls_has_every_function() -> None:
    files = (find_sql_directory() / "functions" / "api").glob("queue.*.sql")
    assert {file.name.split(".")[1] for file in files} == CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_transaction_without_notifications_can_be_prepared(db: Connection, name: str) -> None:
    stock(db)
    wait(db)
    db.execute("begin")
    db.execute("set local penstock.notify = 'off'")
    db.execute(f"select {CALLS[name]}".encode())
    db.execute(f"prepare transaction '{db.info.dbname}'".encode())
    db.execute(f"commit prepared '{db.info.dbname}'".encode())


def test_the_check_of_each_second_finds_what_was_sent_without_a_notification(
    db: Connection, database: Database
) -> None:
    """A process runs this check every second during a long poll (tests/unit/web/long_poll/test_dispatcher.py)."""
    for name in ("q", "f.fifo"):
        value(db, "select queue.create(%s)", name)
    wait(db)
    check = "select arn, snapshot from queue.poll_queues(array[%s, %s], %s)"
    arns = [arn_of("q"), arn_of("f.fifo")]
    with psycopg.connect(database.dsn, autocommit=True) as process:
        process.execute("listen penstock")
        ((nothing, seen),) = process.execute(check, [*arns, None]).fetchall()
        assert nothing is None
        for send_it, found in {"send": arns[:1], "send_fifo": arns}.items():
            db.execute("begin")
            db.execute("set local penstock.notify = 'off'")
            db.execute(f"select {CALLS[send_it]}".encode())
            db.execute("commit")
            *ready, (_, seen) = process.execute(check, [*arns, seen]).fetchall()
            assert sorted(arn for arn, _ in ready) == sorted(found)
        assert not list(process.notifies(timeout=0))
        value(db, "select queue.send('q', '1')")
        assert list(process.notifies(timeout=10, stop_after=1))


@pytest.mark.parametrize("prepare", ["prepare transaction 'x'", "/* XA */ PREPARE\n TRANSACTION 'x'"])
@pytest.mark.parametrize("name", SENDS)
def test_a_prepare_after_a_send_names_the_setting_although_no_process_waits(
    db: Connection, name: str, prepare: str
) -> None:
    stock(db)
    db.execute("begin")
    db.execute(f"select {CALLS[name]}".encode())
    with pytest.raises(psycopg.errors.FeatureNotSupported, match=r"penstock\.notify"):
        db.execute(prepare.encode())


def test_a_prepare_in_the_text_of_several_statements_fails_too(db: Connection) -> None:
    stock(db)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="PREPARE"):
        db.execute(b"begin; select queue.send('q', '1'); prepare transaction 'x'")


def test_a_message_may_speak_of_a_prepared_transaction(db: Connection) -> None:
    stock(db)
    text = "prepare transaction"
    assert value(db, "select queue.send('q', to_jsonb('prepare transaction; prepare transaction'::text))") > 0
    assert value(db, "select queue.send('q', to_jsonb(%s::text))", text) > 0


def test_a_role_or_a_database_may_turn_notifications_off(db: Connection, database: Database) -> None:
    stock(db)
    with psycopg.connect(database.dsn, autocommit=True) as administrator:
        administrator.execute(f"alter database {db.info.dbname} set penstock.notify = 'off'".encode())
    with psycopg.connect(database.dsn, autocommit=True) as application:
        application.execute("begin")
        application.execute("select queue.send('q', '1')")
        application.execute(f"prepare transaction '{db.info.dbname}'".encode())
        application.execute(f"rollback prepared '{db.info.dbname}'".encode())
