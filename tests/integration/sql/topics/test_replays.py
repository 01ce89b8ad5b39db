"""Replays archived messages to subscriptions exactly once, while publishers publish and when a step fails.

Source: "Amazon SNS message replay for FIFO topic subscribers"
(https://docs.aws.amazon.com/sns/latest/dg/message-archiving-and-replay-subscriber.html).
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, TypeVar

import pytest

from penstock import drivers
from penstock.aws.sns_arn import TopicArn
from penstock.effects import Operation
from penstock.environment import build_worker_environment
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statement import Statement
from penstock.postgres.statements.sns.replays import DELIVER_REPLAYED, ReplayedRow
from penstock.sns import replays, subscriptions, topics
from penstock.sns import types as sns
from penstock.sns.publishing.publications import build_publisher_context
from penstock.sns.publishing.publish import publish
from penstock.workers.events import EventDeliverer
from tests.integration.sql.conftest import Connect
from tests.support.events import ACCOUNT, REGION, SETTINGS, run, sequence
from tests.support.sql.calls import Connection, create, value
from tests.support.wait import wait_until

TOPIC = TopicArn(REGION, ACCOUNT, "orders.fifo")
CONTEXT = build_publisher_context(TOPIC, build_worker_environment(SETTINGS))
START = json.dumps({"PointType": "Timestamp", "StartingPoint": "2026-01-01T00:00:00Z"})
ResultT = TypeVar("ResultT")


@pytest.fixture(autouse=True)
def _topic(db: Connection) -> None:
    attributes = {"FifoTopic": "true", "ArchivePolicy": '{"MessageRetentionPeriod":"1"}'}
    operate(db, topics.create_topic(sns.CreateTopicRequest(TOPIC.name, attributes), CONTEXT))


def operate(db: Connection, operation: Operation[ResultT]) -> ResultT:
    return drivers.run(operation, TransactionExecutor(db))


def send(db: Connection, text: str, group: str = "g") -> None:
    request = sns.PublishRequest(text, str(TOPIC), message_group_id=group, message_deduplication_id=f"{group}-{text}")
    operate(db, publish(request, CONTEXT))


def subscribe(db: Connection, queue: str, **attributes: str) -> str:
    given = {"RawMessageDelivery": "true", **attributes}
    request = sns.SubscribeRequest(str(TOPIC), "sqs", queue, given)
    return operate(db, subscriptions.subscribe(request, CONTEXT)).subscription_arn or ""


def read(db: Connection, queue: str) -> dict[str, list[str]]:
    """Returns the texts of a FIFO queue by group, in their order."""
    rows = db.execute(
        "select m.system ->> 'MessageGroupId', m.body from queue.fifo_message m join queue.queues q using (queue_id) "
        "where q.arn = %s order by m.id",
        [queue],
    )
    found = defaultdict(list)
    for group, body in rows:
        found[group].append(body)
    return dict(found)


def get_status(db: Connection, subscription: str) -> str:
    request = sns.GetSubscriptionAttributesRequest(subscription)
    return (operate(db, subscriptions.get_subscription_attributes(request, CONTEXT)).attributes or {})["ReplayStatus"]


@contextmanager
def publishing(connect: Connect, groups: str) -> Iterator[dict[str, list[str]]]:
    """Publishes numbers to each group on a separate connection, until the block ends. Yields the published texts."""
    over, sent = Event(), {group: list[str]() for group in groups}

    def work(connection: Connection, group: str) -> None:
        while not over.is_set():
            text = str(len(sent[group]))
            send(connection, text, group)
            sent[group].append(text)

    threads = [Thread(target=work, args=(connect(), group)) for group in groups]
    for thread in threads:
        thread.start()
    try:
        yield sent
    finally:
        over.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("scope", ["Topic", "MessageGroup"])
def test_a_replay_catches_up_with_publishers(db: Connection, connect: Connect, scope: str) -> None:
    """Each message arrives once, and each group in order, although publications and the end of the replay overlap."""
    request = sns.SetTopicAttributesRequest(str(TOPIC), "FifoThroughputScope", scope)
    operate(db, topics.set_topic_attributes(request, CONTEXT))
    queue = create(db, "late.fifo", FifoQueue="true")
    for number in range(3):
        send(db, str(number), "early")
    with publishing(connect, "ab") as sent:
        wait_until(lambda: min(map(len, sent.values())) > 10)
        subscription = subscribe(db, queue, ReplayPolicy=START)
        while get_status(db, subscription) != "Completed":
            EventDeliverer().run_once(SETTINGS, db)
        send(db, "live", "early")
    run(db)
    assert read(db, queue) == {"early": ["0", "1", "2", "live"], **sent}
    assert value(db, "select count(*) from queue.list_event_buses(%s, %s, null, null, 9)", ACCOUNT, REGION) == 0


def test_a_step_that_fails_is_repeated_as_a_whole(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure of one replay does not stop the others."""
    first, second = create(db, "first.fifo", FifoQueue="true"), create(db, "second.fifo", FifoQueue="true")
    for text in "abc":
        send(db, text)
    subscription = subscribe(db, first, ReplayPolicy=START)
    with monkeypatch.context() as broken:
        broken.setattr(replays, "DELIVER_REPLAYED", Statement("queue.missing", DELIVER_REPLAYED.types, ReplayedRow))
        run(db, failed=1)
    subscribe(db, second, ReplayPolicy=START)
    run(db, delivered=3)
    assert (read(db, first), read(db, second)) == ({}, {"g": ["a", "b", "c"]})
    assert get_status(db, subscription) == "Pending"
    db.execute("update queue.topic_replay set due_at = now()")
    run(db, delivered=3)
    run(db)
    assert read(db, first) == {"g": ["a", "b", "c"]}


def test_a_replay_that_yields_delivers_a_page_and_pauses_all_replays(db: Connection) -> None:
    queue = create(db, "late.fifo", FifoQueue="true")
    for text in "ab":
        send(db, text)
        sequence(db)
    subscribe(db, queue, ReplayPolicy=START)
    archive = value(db, "select archive_id from queue.topic_replay")
    step = replays.ReplayStep(db, build_worker_environment(SETTINGS), Counter())
    assert step.deliver(archive, yields=True)
    assert read(db, queue) == {"g": ["a"]}
    pause = "select queue.read_replay_pause(r.resumes_at - interval '1 ms') = r.resumes_at from queue.topic_replay r"
    assert value(db, pause) is True
    work = "select array[cardinality(archives), pause_ms] from queue.next_event_work(null, 20, '{}')"
    with db.transaction(force_rollback=True):
        db.execute(
            "create or replace function queue.read_replay_pause(p_now timestamptz) returns timestamptz "
            "language sql stable return p_now + interval '9 milliseconds'"
        )
        assert value(db, work) == [0, 9]
        assert step.deliver(archive) is False
    db.execute("update queue.topic_replay set resumes_at = null")
    assert value(db, work) == [1, None]
    run(db, delivered=1)
    assert read(db, queue) == {"g": ["a", "b"]}


def test_a_replay_can_be_replaced_and_ended(db: Connection) -> None:
    """A new ReplayPolicy replaces the replay, also with the same text, and an empty one lets publications through."""
    queue = create(db, "q.fifo", FifoQueue="true")
    subscription = subscribe(db, queue)
    send(db, "a")
    for policy, replayed, text in ((START, 1, "b"), (START, 2, "c"), ("{}", 0, "d")):
        given: Any = {"ReplayPolicy": policy}
        operate(db, subscriptions.replace_attributes(subscription, given, CONTEXT))
        run(db, **({"delivered": replayed} if replayed else {}))
        send(db, text)
    assert read(db, queue) == {"g": ["a", "a", "b", "a", "b", "c", "d"]}
    operate(db, subscriptions.replace_attributes(subscription, {"ReplayPolicy": START}, CONTEXT))
    request = sns.SetTopicAttributesRequest(str(TOPIC), "ArchivePolicy", "{}")
    operate(db, topics.set_topic_attributes(request, CONTEXT))
    assert get_status(db, subscription) == "Failed"
    send(db, "e")
    assert read(db, queue)["g"][-1] == "e"
    operate(db, topics.delete_topic(sns.DeleteTopicRequest(str(TOPIC)), CONTEXT))
