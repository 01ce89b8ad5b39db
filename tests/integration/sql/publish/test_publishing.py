"""Tests publications without envelopes. Such a publication is possible only if no subscription needs an envelope,
even if a publisher assumes otherwise.
"""

import uuid

import msgspec
import psycopg
import pytest

from penstock.postgres.statements.sns.subscriptions import ADD_SUBSCRIPTION
from penstock.postgres.statements.sns.topics import PUBLISH_MESSAGES, PublishEntry
from penstock.sns.publishing.publications import Publication
from tests.support.sql.calls import Connection, Counts, bodies, call, call_batch, counts, create, receive

TOPIC = "arn:aws:sns:us-east-1:000000000000:t"
RAW = '{"RawMessageDelivery": "true"}'


@pytest.fixture
def topic(db: Connection) -> str:
    db.execute("select queue.create_topic('000000000000', 'us-east-1', 't', '{}', '{}')")
    return TOPIC


def subscribe(
    db: Connection, topic: str, endpoint: str, attributes: str = RAW, protocol: str = "sqs"
) -> None:
    (row,) = call(
        db, ADD_SUBSCRIPTION, topic, uuid.uuid4(), "000000000000", protocol, endpoint, attributes, None,
        None, None, 200, 10_000, None, None, "{}", None,
    )  # fmt: skip
    assert row.error is None, row


def publish(db: Connection, topic: str, version: str, *texts: str) -> list[tuple[str | None, str | None]]:
    """Returns error and detail of each message."""
    entries = [
        PublishEntry(
            msgspec.json.encode(
                Publication(str(uuid.uuid4()), {"*": {"raw": text}}, {"MessageAttributes": {}}, 0, 100)
            )
        )
        for text in texts
    ]
    rows = call_batch(db, PUBLISH_MESSAGES, entries, topic, version)
    return [(row.error, row.detail) for row in sorted(rows)]


def test_a_publisher_learns_that_the_signing_key_is_another(db: Connection, topic: str) -> None:
    arn = create(db)
    assert publish(db, topic, "1", "nobody listens") == [(None, "none")]
    subscribe(db, topic, arn)
    assert publish(db, topic, "1", "a", "b") == [(None, "none")] * 2
    assert publish(db, topic, "none", "c") == [(None, None)]
    assert bodies(receive(db, arn)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("attributes", "protocol"), [("{}", "sqs"), (RAW, "https")], ids=["a queue", "a URL"]
)
def test_a_subscriber_without_raw_delivery_gets_an_envelope(
    db: Connection, topic: str, attributes: str, protocol: str
) -> None:
    """Raw delivery to URLs needs envelopes too, because a failed delivery may go to a dead-letter queue."""
    arn = create(db)
    subscribe(db, topic, arn)
    subscribe(
        db, topic, create(db, "other") if protocol == "sqs" else "https://example.com/", attributes, protocol
    )
    assert publish(db, topic, "none", "m", "m") == [("OtherSignatureVersion", "1")] * 2
    assert counts(db, arn) == Counts(0, 0, 0)


def test_an_unconfirmed_subscription_wants_nothing(db: Connection, topic: str) -> None:
    subscribe(db, topic, "https://example.com/", "{}", "https")
    db.execute("update queue.subscription set confirmed = false")
    assert publish(db, topic, "none", "m") == [(None, None)]


def test_a_subscription_that_changes_meanwhile_undoes_the_publication(db: Connection, topic: str) -> None:
    """The change comes between the first read of the subscriptions and the second read, which hands out the
    messages.
    """
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
