"""Tests queue.send_messages: order, ids, delays, sizes, unknown queues and transactions.

Also tests publications without envelopes, which are possible only if no subscription needs an envelope, even if a
publisher assumes that none does.
"""

import json
import uuid

import msgspec
import psycopg
import pytest

from penstock.postgres.statements.installation import MAINTAIN_QUEUE
from penstock.postgres.statements.sns.subscriptions import ADD_SUBSCRIPTION
from penstock.postgres.statements.sns.topics import PUBLISH_MESSAGES, PublishEntry
from penstock.postgres.statements.stored_messages import DELETE_BY_ID
from penstock.sns.publishing.publications import Publication
from tests.integration.sql.conftest import Connect
from tests.support.sql.calls import (
    Connection,
    Counts,
    Entry,
    arn_of,
    bodies,
    call,
    call_batch,
    counts,
    create,
    delete,
    purge,
    receive,
    rows_of,
    send,
    send_entries,
    value,
)

pytestmark = pytest.mark.emptied


def test_messages_come_in_the_order_of_one_sender(db: Connection) -> None:
    arn = create(db)
    send(db, arn, "1", "2")
    send(db, arn, "3")
    assert bodies(receive(db, arn)) == ["1", "2", "3"]


def test_rows_say_which_entry_they_are_about(db: Connection) -> None:
    """One call contains entries for several queues. The second queue does not exist, and the fourth entry is too
    long."""
    one, two = create(db, "one", MaximumMessageSize="1024"), create(db, "two.fifo")
    rows = send_entries(
        db,
        one,
        [
            Entry("a"),
            Entry("b", arn=arn_of("none")),
            Entry("c", group="g", deduplication="1", arn=two),
            Entry("d", size=1025),
            Entry("e", size=1024),
            Entry("f", group="g", arn=two),
            Entry("g", deduplication="2", arn=two),
        ],
    )
    assert [row.n for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert [(row.error, row.detail) for row in rows] == [
        (None, None),
        ("QueueDoesNotExist", None),
        (None, None),
        ("MessageTooLong", "1024"),
        (None, None),
        ("DeduplicationIdRequired", None),
        ("MissingParameter", "MessageGroupId"),
    ]
    assert (bodies(receive(db, one)), bodies(receive(db, two))) == (["a", "e"], ["c"])


def test_a_call_without_entries_returns_nothing(db: Connection) -> None:
    assert send_entries(db, create(db), []) == []


def test_attributes_arrive_as_they_were_sent(db: Connection) -> None:
    arn = create(db)
    attributes = {"Name": {"DataType": "String", "StringValue": "é\n\U0001f600"}}
    send_entries(db, arn, [Entry("a", attributes=json.dumps(attributes), system='{"AWSTraceHeader": "t"}'), Entry("b")])
    a, b = receive(db, arn)
    assert json.loads(a.attributes or "") == attributes
    assert json.loads(a.system or "") == {"AWSTraceHeader": "t"}
    assert (b.attributes, b.system) == (None, None)


def test_a_delay_goes_by_the_entry_and_then_by_the_queue(db: Connection) -> None:
    arn = create(db, DelaySeconds="900")
    send_entries(db, arn, [Entry("at once", delay=0), Entry("later", delay=5), Entry("as the queue says")])
    assert counts(db, arn) == Counts(1, 0, 2)
    assert bodies(receive(db, arn)) == ["at once"]


@pytest.mark.parametrize("isolation", list(psycopg.IsolationLevel))
def test_sending_is_a_part_of_the_callers_transaction(
    db: Connection, connect: Connect, isolation: psycopg.IsolationLevel
) -> None:
    arn = create(db)
    with connect() as application:
        application.isolation_level = isolation
        with application.transaction():
            application.execute("select count(*) from queue.queues")
            send(db, arn, "in between")
            send(application, arn, "kept")
            with application.transaction():
                send(application, arn, "taken back")
                raise psycopg.Rollback
            send(application, arn, "kept too")
            assert counts(db, arn) == Counts(1, 0, 0)
        with application.transaction():
            send(application, arn, "rolled back")
            raise psycopg.Rollback
    assert counts(db, arn) == Counts(3, 0, 0)
    assert sorted(bodies(receive(db, arn))) == ["in between", "kept", "kept too"]


def test_ids_of_messages_rolled_back_are_used_again_and_no_others(db: Connection) -> None:
    """The ids of a shard have no gaps and no duplicates, so a cursor can rely on them."""
    arn = create(db)
    with db.transaction():
        send(db, arn, "never")
        raise psycopg.Rollback
    ids = [row.id for row in (*send(db, arn, "1"), *send(db, arn, "2"))]
    assert ids == [1 << 8 | 2, 2 << 8 | 2]


def test_ids_go_on_after_everything_was_received_purged_or_deleted(db: Connection) -> None:
    arn = create(db)
    seen = {row.id for row in send(db, arn, "1", "2")}
    delete(db, receive(db, arn))
    call(db, MAINTAIN_QUEUE, value(db, "select queue_id from queue.queues"))
    seen |= {row.id for row in send(db, arn, "3")}
    purge(db, arn)
    (row,) = send(db, arn, "4")
    call(db, DELETE_BY_ID, arn, [row.id])
    seen |= {row.id}
    seen |= {row.id for row in send(db, arn, "5")}
    assert len(seen) == 5


def test_a_sender_never_waits_for_another_one(db: Connection, connect: Connect) -> None:
    """The test opens more transactions than shards. The other messages go to the side table, and all arrive."""
    arn = create(db, shards=2)
    senders = [connect() for _ in range(4)]
    for number, sender in enumerate(senders):
        sender.execute("begin")
        send(sender, arn, f"open {number}")
    send(db, arn, "committed")
    assert bodies(receive(db, arn)) == ["committed"]
    assert rows_of(senders[-1], "side", arn) > 0
    for sender in senders:
        sender.execute("commit")
    assert sorted(bodies(receive(db, arn))) == [f"open {number}" for number in range(4)]


def test_a_cursor_does_not_pass_what_is_not_committed(db: Connection, connect: Connect) -> None:
    arn = create(db, shards=1)
    with connect() as slow, slow.transaction():
        send(slow, arn, "slow")
        send(db, arn, "quick")
        delete(db, receive(db, arn))
        assert receive(db, arn) == []
    assert bodies(receive(db, arn)) == ["slow"]


def test_a_foreign_old_snapshot_changes_nothing(db: Connection, connect: Connect) -> None:
    arn = create(db)
    with connect() as foreign:
        foreign.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with foreign.transaction():
            foreign.execute("select count(*) from queue.log")
            for number in range(30):
                send(db, arn, str(number))
                assert bodies(receive(db, arn)) == [str(number)]
    assert counts(db, arn) == Counts(0, 30, 0)


def test_asynchronous_commit_holds_for_the_transaction_only(db: Connection) -> None:
    arn = create(db)
    with db.transaction():
        send_entries(db, arn, [Entry("m")], async_commit=True)
        assert value(db, "show synchronous_commit") == "off"
    assert value(db, "show synchronous_commit") == "on"


TOPIC = "arn:aws:sns:us-east-1:000000000000:t"
RAW = '{"RawMessageDelivery": "true"}'


@pytest.fixture
def topic(db: Connection) -> str:
    db.execute("select queue.create_topic('000000000000', 'us-east-1', 't', '{}', '{}')")
    return TOPIC


def subscribe(db: Connection, topic: str, endpoint: str, attributes: str = RAW, protocol: str = "sqs") -> None:
    (row,) = call(
        db, ADD_SUBSCRIPTION, topic, uuid.uuid4(), "000000000000", protocol, endpoint, attributes, None,
        None, None, 200, 10_000, None, None, "{}", None,
    )  # fmt: skip
    assert row.error is None, row


def publish(db: Connection, topic: str, version: str, *texts: str) -> list[tuple[str | None, str | None]]:
    """Publishes messages. Returns the error and the detail of each message."""
    entries = [
        PublishEntry(
            msgspec.json.encode(Publication(str(uuid.uuid4()), {"*": {"raw": text}}, {"MessageAttributes": {}}, 0, 100))
        )
        for text in texts
    ]
    rows = call_batch(db, PUBLISH_MESSAGES, entries, topic, version)
    return [(row.error, row.detail) for row in sorted(rows)]


def test_a_publisher_learns_that_the_signing_key_is_another(db: Connection, topic: str) -> None:
    arn = create(db)
    assert publish(db, topic, "1", "unheard") == [(None, "none")]
    subscribe(db, topic, arn)
    assert publish(db, topic, "1", "a", "b") == [(None, "none")] * 2
    assert publish(db, topic, "none", "c") == [(None, None)]
    assert bodies(receive(db, arn)) == ["a", "b", "c"]


@pytest.mark.parametrize(("attributes", "protocol"), [("{}", "sqs"), (RAW, "https")], ids=["a queue", "a URL"])
def test_a_subscriber_without_raw_delivery_gets_an_envelope(
    db: Connection, topic: str, attributes: str, protocol: str
) -> None:
    """URLs with raw delivery also need envelopes, because a failed delivery can move to a dead-letter queue."""
    arn = create(db)
    subscribe(db, topic, arn)
    subscribe(db, topic, create(db, "other") if protocol == "sqs" else "https://example.com/", attributes, protocol)
    assert publish(db, topic, "none", "m", "m") == [("OtherSignatureVersion", "1")] * 2
    assert counts(db, arn) == Counts(0, 0, 0)


def test_an_unconfirmed_subscription_wants_nothing(db: Connection, topic: str) -> None:
    subscribe(db, topic, "https://example.com/", "{}", "https")
    db.execute("update queue.subscription set confirmed = false")
    assert publish(db, topic, "none", "m") == [(None, None)]


def test_a_subscription_that_changes_meanwhile_undoes_the_publication(db: Connection, topic: str) -> None:
    """The subscription changes between the first read of the subscriptions and the second read, which sends the
    messages."""
    subscribe(db, topic, create(db), "{}")
    with pytest.raises(psycopg.errors.SerializationFailure):
        db.execute("select queue.fan_out(t, array['{}'::jsonb], false) from queue.topic t")


def test_all_raw_queues_get_the_same(db: Connection, topic: str) -> None:
    arns = [create(db, name) for name in ("a", "b", "c")]
    for arn in arns:
        subscribe(db, topic, arn)
    texts = [f"m{number}" for number in range(30)]
    assert publish(db, topic, "none", *texts) == [(None, None)] * 30
    ids: set[str] = set()
    for arn in arns:
        taken = receive(db, arn, 30)
        assert bodies(taken) == texts
        ids |= {message.message_id for message in taken}
    assert len(ids) == 90
