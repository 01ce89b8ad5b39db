"""What maintenance removes of topics. Sources: the header of queue.maintain_topics; how long things last: "Message
deduplication for FIFO topics", "Deleting an Amazon SNS topic and subscription" (SNS Developer Guide), Subscribe (API
reference).
"""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest

from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import Connection, value

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


def maintain(db: Connection, limit: int = 1000) -> int:
    return int(value(db, "select queue.maintain_topics(%s)", limit))


def rows(db: Connection, table: str) -> int:
    return int(value(db, f"select count(*) from queue.{table}"))


def test_ids_of_messages_are_forgotten_after_their_time(db: Connection, topic: int) -> None:
    """At most so many a call."""
    db.execute(DEDUPLICATION, (topic, "1 second", 1))
    db.execute(DEDUPLICATION.replace("n::text", "'old' || n"), (topic, "-1 second", 25))
    assert [maintain(db, 10) for _ in range(4)] == [10, 10, 5, 0]
    assert rows(db, "topic_deduplication") == 1


@pytest.mark.parametrize(
    ("confirmed", "left", "kept"), [(False, "-1 s", 0), (False, "1 min", 1), (True, "-1 s", 1)]
)
def test_subscriptions_that_nobody_confirmed(
    db: Connection, topic: int, confirmed: bool, left: str, kept: int
) -> None:
    db.execute(SUBSCRIPTION, (topic, confirmed, left))
    assert maintain(db) == 1 - kept
    assert rows(db, "subscription") == kept


def test_ended_subscriptions_that_nobody_took_back(db: Connection, topic: int) -> None:
    db.execute(FORMER, (topic, "a", "-1 s"))
    db.execute(FORMER, (topic, "b", "1 min"))
    assert maintain(db) == 1
    assert value(db, "select endpoint from queue.former_subscription") == "b"


def test_notices_without_webhooks(db: Connection) -> None:
    """Every call looks at some, from anywhere on: after a few, none is left."""
    db.execute(DELIVERY, (value(db, NOTICE),))
    for _ in range(5):
        value(db, NOTICE)
    removed = 0
    # A call that begins behind the last one finds nothing. That is a matter of luck, and of the next call.
    while removed < 5:
        removed += maintain(db, 2)
    assert rows(db, "notice") == 1
    assert maintain(db) == 0


def test_what_is_locked_is_left_to_the_next_call(db: Connection, connect: Connect, topic: int) -> None:
    db.execute(DEDUPLICATION, (topic, "-1 second", 2))
    with connect() as publisher, publisher.transaction():
        publisher.execute("select from queue.topic_deduplication where deduplication_id = '1' for update")
        assert maintain(db) == 1
    assert maintain(db) == 1


def test_the_installation_is_maintained_as_a_whole(db: Connection, topic: int) -> None:
    db.execute(DEDUPLICATION, (topic, "-1 second", 3))
    assert value(db, "select queue.maintain_installation(1000, 30)") == 3


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
