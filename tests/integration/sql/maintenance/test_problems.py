"""Tests queue.find_problems on a healthy database, and on each kind of damage."""

from uuid import uuid4

import psycopg
import pytest

from penstock.postgres.migrations import find_sql_directory
from penstock.postgres.statements.installation import CHECK_SERVER, FIND_PROBLEMS, MAINTAIN_INSTALLATION
from tests.integration.sql.conftest import Connect
from tests.support.database import Database
from tests.support.events import add_bus, put
from tests.support.sql.calls import (
    Connection,
    call,
    change,
    create,
    delete,
    maintain,
    queue_id,
    receive,
    redrive,
    send,
    value,
)


def problems(db: Connection) -> list[tuple[str, str]]:
    return [(row.subject, row.problem) for row in call(db, FIND_PROBLEMS, [])]


@pytest.fixture
def queues(db: Connection) -> tuple[str, str]:
    """Creates a standard and a FIFO queue with messages in every state, and runs a cleaning."""
    dead = create(db, "dead")
    standard = create(db, "standard", shards=2, RedrivePolicy=redrive(dead, 1))
    fifo = create(db, "orders.fifo")
    for _ in range(3):
        send(db, standard, *"abcd", group="tenant")
        send(db, standard, "delayed", delay=900)
    for group in "xyz":
        send(db, fifo, *"123", group=group)
    deliveries = receive(db, standard, 6)
    change(db, deliveries[:2], 0)
    receive(db, standard, 2)
    delete(db, deliveries[2:4])
    delete(db, receive(db, fifo, 3))
    for arn in (standard, fifo, dead):
        maintain(db, arn)
    return standard, fifo


def test_a_healthy_database(db: Connection, queues: tuple[str, str]) -> None:
    assert problems(db) == []


def test_an_empty_database(db: Connection) -> None:
    assert problems(db) == []


def test_messages_that_come_again_keep_their_ids(db: Connection) -> None:
    """Redelivered messages keep their numbers from the log of their shard, which can be ahead of the sequence of
    `queue.side`."""
    arn = create(db, "retried")
    send(db, arn, *"abc")
    change(db, receive(db, arn, 3), 30)
    assert (value(db, "select max(id) from queue.side") or 0) > 0
    assert problems(db) == []


def test_events_take_blocks_of_numbers(db: Connection) -> None:
    """The sequence counts blocks of 1,024 numbers."""
    bus = add_bus(db)
    put(db, bus, *map(str, range(1024)))
    put(db, bus, "last")
    assert problems(db) == []
    db.execute("select setval('queue.event_block', 1)")
    assert [subject for subject, _ in problems(db)] == ["sequences"]


def test_an_open_transaction_is_no_damage(db: Connection, queues: tuple[str, str], connect: Connect) -> None:
    with connect() as application:
        application.execute("begin")
        for arn, group in zip(queues, (None, "new"), strict=True):
            send(application, arn, "open", group=group)
            receive(application, arn, 1)
        assert problems(db) == []
        application.execute("rollback")
    assert problems(db) == []


ONE_LEFT = """
with gone as (delete from queue.fifo_group where queue_id = {fifo})
delete from queue.fifo_message m using queue.fifo_message o
where m.queue_id = {fifo} and o.queue_id = {fifo} and m.id > o.id"""


@pytest.mark.parametrize(
    ("damage", "subject", "words"),
    [
        ("delete from queue.lease where queue_id = {standard} and shard = 1", "fences", "shard 1: it has no cursor"),
        ("update queue.lease set watermark = 'infinity' where queue_id = {standard}", "fences", "before the watermark"),
        ("update queue.lease set low = 1000 where queue_id = {standard}", "fences", "below the clean end"),
        ("update queue.lease set watermark = now() + '1 hour' where shard = 0", "positions", "has receives of"),
        ("delete from queue.fifo_ready where queue_id = {fifo}", "groups", "orders.fifo: messages in 2 of its groups"),
        ("update queue.fifo_ready set first_id = 1000", "groups", "orders.fifo: messages in 2 of its groups"),
        ("update queue.fifo_ready set visible_at = 'infinity'", "groups", "orders.fifo: messages in 2 of its groups"),
        ("delete from queue.fifo_group where queue_id = {fifo}", "groups", "orders.fifo: 6 messages have no group"),
        (ONE_LEFT, "groups", "orders.fifo: 1 message has no group"),
        ("select setval('queue.fifo_id', 1)", "sequences", "fifo_id stands at 1, queue.fifo_message.id at"),
        ("select setval('queue.side_id', 1)", "sequences", "side_id stands at 1"),
        ("select setval('queue.queues_queue_id_seq', 1)", "sequences", "queue.queues.queue_id at"),
        (
            "insert into queue.worker_position values ('maintain', 0, now() + '1 hour')",
            "positions",
            "the worker maintain ran at",
        ),
        ("update queue.server set jump_after = 0", "jumps", "ids have yet to jump"),
    ],
)
def test_each_kind_of_damage_is_named(
    db: Connection, queues: tuple[str, str], damage: str, subject: str, words: str
) -> None:
    call(db, CHECK_SERVER, False)
    ids = {name: queue_id(db, arn) for name, arn in zip(("standard", "fifo"), queues, strict=True)}
    db.execute(damage.format(**ids).encode())
    found = problems(db)
    assert any(found_subject == subject and words in problem for found_subject, problem in found), found


def test_a_day_of_history_that_is_not_part_of_it(db: Connection) -> None:
    call(db, MAINTAIN_INSTALLATION, 100, 30, None)
    name = value(db, "select min(relname) from pg_class where relname ~ '^history_2' and relkind = 'r'")
    db.execute(f"alter table queue.history detach partition queue.{name}".encode())
    assert problems(db) == [("partitions", f"queue.{name} is not attached to its table")]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("select 1", None),
        ("revoke execute on function queue.send from penstock_api", "penstock_api may not call 1 functions"),
        (
            "revoke select on queue.log from penstock_reader",
            "penstock_reader and penstock_metrics may not read 1 tables",
        ),
    ],
)
def test_rights_that_are_missing(database: Database, damage: str, words: str | None) -> None:
    with psycopg.connect(database.dsn) as administrator:
        administrator.execute((find_sql_directory() / "grants.sql").read_bytes())
        administrator.execute(damage.encode())
        assert problems(administrator) == ([("roles", words)] if words else [])
        administrator.rollback()


# --- topic maintenance -----------------------------------------------------------------------------------------------
# Tests which topic rows maintenance removes. The sources are the header of queue.maintain_topics, and for the periods
# "Message deduplication for FIFO topics", "Deleting an Amazon SNS topic and subscription" (SNS Developer Guide), and
# Subscribe (API reference).


TOPIC = "insert into queue.topic (account_id, region, name, attributes) values ('0', 'r', %s, '{}') returning topic_id"
DEDUPLICATION = """
insert into queue.topic_deduplication
select %s, '', n::text, gen_random_uuid(), n, clock_timestamp() + %s::interval from generate_series(1, %s) n"""
SUBSCRIPTION = """
insert into queue.subscription (subscription_id, topic_id, arn, owner, protocol, endpoint, attributes, confirmed, token,
    token_expires_at)
select i, %s, i::text, '0', 'https', i::text, '{}', %s, i::text, clock_timestamp() + %s::interval
from gen_random_uuid() i"""
FORMER = """
insert into queue.former_subscription
values (%s, 'https', %s, '{}', gen_random_uuid()::text, clock_timestamp() + %s::interval)"""
NOTICE = "insert into queue.notice (kind, message_id, raw) values ('event', gen_random_uuid(), 'x') returning notice_id"
DELIVERY = """
insert into queue.outgoing_delivery (notice_id, account_id, endpoint, raw) values (%s, '0', 'https://x/', true)"""


@pytest.fixture
def topic(db: Connection) -> int:
    return int(value(db, TOPIC, uuid4().hex))


def maintain_topics(db: Connection, limit: int = 1000) -> int:
    return int(value(db, "select queue.maintain_topics(%s)", limit))


def rows(db: Connection, table: str) -> int:
    return int(value(db, f"select count(*) from queue.{table}"))


def test_ids_of_messages_are_forgotten_after_their_time(db: Connection, topic: int) -> None:
    """Each call removes a limited number of ids."""
    db.execute(DEDUPLICATION, (topic, "1 second", 1))
    db.execute(DEDUPLICATION.replace("n::text", "'old' || n"), (topic, "-1 second", 25))
    assert [maintain_topics(db, 10) for _ in range(4)] == [10, 10, 5, 0]
    assert rows(db, "topic_deduplication") == 1


@pytest.mark.parametrize(("confirmed", "left", "kept"), [(False, "-1 s", 0), (False, "1 min", 1), (True, "-1 s", 1)])
def test_subscriptions_that_nobody_confirmed(db: Connection, topic: int, confirmed: bool, left: str, kept: int) -> None:
    db.execute(SUBSCRIPTION, (topic, confirmed, left))
    assert maintain_topics(db) == 1 - kept
    assert rows(db, "subscription") == kept


def test_ended_subscriptions_that_nobody_took_back(db: Connection, topic: int) -> None:
    db.execute(FORMER, (topic, "a", "-1 s"))
    db.execute(FORMER, (topic, "b", "1 min"))
    assert maintain_topics(db) == 1
    assert value(db, "select endpoint from queue.former_subscription") == "b"


def test_notices_without_webhooks(db: Connection) -> None:
    """Every call checks some rows from a random position. After a few calls, the database contains no notices without
    webhooks."""
    db.execute(DELIVERY, (value(db, NOTICE),))
    for _ in range(5):
        value(db, NOTICE)
    removed = 0
    # A call that starts at a random position behind the last row finds no row. The call after it finds the row.
    while removed < 5:
        removed += maintain_topics(db, 2)
    assert rows(db, "notice") == 1
    assert maintain_topics(db) == 0


def test_a_locked_row_is_left_to_the_next_call(db: Connection, connect: Connect, topic: int) -> None:
    db.execute(DEDUPLICATION, (topic, "-1 second", 2))
    with connect() as publisher, publisher.transaction():
        publisher.execute("select from queue.topic_deduplication where deduplication_id = '1' for update")
        assert maintain_topics(db) == 1
    assert maintain_topics(db) == 1


def test_the_installation_is_maintained_as_a_whole(db: Connection, topic: int) -> None:
    """The number excludes expired watchers, because running processes add new watchers all the time."""
    db.execute(DEDUPLICATION, (topic, "-1 second", 3))
    db.execute("insert into queue.watcher values (1, now() - interval '1 hour', gen_random_uuid())")
    assert value(db, "select queue.maintain_installation(1000, 30)") == 3
    assert rows(db, "watcher") == 0


def test_a_topic_takes_subscriptions_along_and_leaves_ids_to_maintenance(db: Connection, topic: int) -> None:
    db.execute(DEDUPLICATION, (topic, "-1 second", 1))
    db.execute(SUBSCRIPTION, (topic, True, "1 minute"))
    db.execute(FORMER, (topic, "a", "1 minute"))
    db.execute("delete from queue.topic where topic_id = %s", (topic,))
    assert [rows(db, table) for table in ("subscription", "former_subscription")] == [0, 0]
    assert value(db, "select queue.maintain_installation(1000, 30)") == 1
    assert rows(db, "topic_deduplication") == 0
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        db.execute(FORMER, (topic, "a", "1 minute"))
