"""Archives of FIFO topics, and replays to subscriptions.

Sources: "Amazon SNS message archiving for FIFO topic owners"
(https://docs.aws.amazon.com/sns/latest/dg/message-archiving-and-replay-topic-owner.html) and "Amazon SNS message replay
for FIFO topic subscribers" (https://docs.aws.amazon.com/sns/latest/dg/message-archiving-and-replay-subscriber.html).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.workers.events import EventDeliverer
from tests.support.conformance.sns import Sns
from tests.support.events import SETTINGS
from tests.support.wait import wait_until

ARCHIVE = json.dumps({"MessageRetentionPeriod": "30"})


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def policy(start: str, **more: str) -> str:
    return json.dumps({"PointType": "Timestamp", "StartingPoint": start, **more})


def publish(sns: Sns, topic: str, text: str, group: str = "g", **more: Any) -> str:
    published = sns.publish(topic, text, MessageGroupId=group, MessageDeduplicationId=sns.sqs.name(), **more)
    return str(published["MessageId"])


def replay(sns: Sns, subscription: str, start: str, **more: str) -> None:
    """Sets a ReplayPolicy, and waits until the replay is complete."""
    sns.client.set_subscription_attributes(
        SubscriptionArn=subscription, AttributeName="ReplayPolicy", AttributeValue=policy(start, **more)
    )
    complete(sns, subscription)


def complete(sns: Sns, subscription: str) -> None:
    """Runs the worker, beside that of a container, until the replay is complete."""

    def is_complete() -> bool:
        EventDeliverer().run_once(SETTINGS, sns.sqs.clock.connection)
        return sns.subscription(subscription)["ReplayStatus"] == "Completed"

    wait_until(is_complete)


def bodies(sns: Sns, url: str, number: int) -> list[dict[str, Any]]:
    """Receives and deletes this number of messages. Returns their envelopes."""
    found: list[dict[str, Any]] = []
    for message in sns.sqs.receive(url, number):
        found.append(json.loads(message["Body"]))
        sns.sqs.delete(url, message)
    assert sns.sqs.poll(url) == []
    return found


@pytest.mark.cbor("container")
def test_a_new_subscription_receives_the_archive_and_then_publications(sns: Sns) -> None:
    """A replayed message has the content, MessageId and Timestamp of the original and the boolean `Replayed`. Filter
    policies apply. A group stays in order."""
    start = now()
    topic = sns.create_fifo(ArchivePolicy=ARCHIVE)
    live, _ = sns.queue(topic, ".fifo")
    big = {"size": {"DataType": "String", "StringValue": "big"}}
    for text, group, more in (("a1", "a", {}), ("b1", "b", {}), ("a2", "a", {"MessageAttributes": big})):
        publish(sns, topic, text, group, Subject="s", **more)
    originals = {message["Message"]: message for message in bodies(sns, live, 3)}
    late, subscription = sns.queue(topic, ".fifo", ReplayPolicy=policy(start))
    raw, filtered = sns.queue(
        topic, RawMessageDelivery="true", FilterPolicy='{"size":["big"]}', ReplayPolicy=policy(start)
    )
    complete(sns, subscription)
    complete(sns, filtered)
    replayed = bodies(sns, late, 3)
    assert [message["Message"] for message in replayed if message["Message"][0] == "a"] == ["a1", "a2"]
    for message in replayed:
        assert message.pop("Replayed") is True
        original = originals.pop(message["Message"])
        assert message.pop("UnsubscribeURL") != original.pop("UnsubscribeURL")
        assert message == original
    (only,) = sns.sqs.receive(raw, MessageAttributeNames=["All"])
    assert (only["Body"], only["MessageAttributes"]) == (
        "a2",
        {**big, "Replayed": {"DataType": "String", "StringValue": "true"}},
    )
    publish(sns, topic, "a3", "a")
    (new,) = bodies(sns, late, 1)
    assert (new["Message"], "Replayed" in new) == ("a3", False)
    assert sns.subscription(subscription)["ReplayPolicy"] == policy(start)


@pytest.mark.parametrize("sqs", ["container-query", "lambda-json"], indirect=True)
def test_an_ending_point_pauses_the_subscription(sns: Sns) -> None:
    """To resume, a client sets a ReplayPolicy without EndingPoint that starts at the former EndingPoint."""
    start = now()
    topic = sns.create_fifo(ArchivePolicy=ARCHIVE)
    url, subscription = sns.queue(topic, ".fifo")
    publish(sns, topic, "1")
    end = now()
    publish(sns, topic, "2")
    assert [message["Message"] for message in bodies(sns, url, 2)] == ["1", "2"]
    replay(sns, subscription, start, EndingPoint=end)
    publish(sns, topic, "3")
    assert [message["Message"] for message in bodies(sns, url, 1)] == ["1"]
    replay(sns, subscription, end)
    publish(sns, topic, "4")
    assert [message["Message"] for message in bodies(sns, url, 3)] == ["2", "3", "4"]


@pytest.mark.parametrize("sqs", ["container-query", "lambda-json"], indirect=True)
def test_the_archive_ends_with_its_policy(sns: Sns) -> None:
    """An active archive protects its topic. The deactivation deletes the messages."""
    start = now()
    topic = sns.create_fifo(ArchivePolicy=ARCHIVE)
    found = sns.attributes(topic)
    assert found["ArchivePolicy"] == ARCHIVE
    assert start[:19] <= found["BeginningArchiveTime"] <= now()
    publish(sns, topic, "archived")
    url, subscription = sns.queue(topic, ".fifo")
    refused = sns.refusal("delete_topic", TopicArn=topic)
    assert refused == ("InvalidState", 400, "Invalid state: Cannot delete a topic with an ArchivePolicy")
    replay(sns, subscription, start, EndingPoint=now())
    bodies(sns, url, 1)
    for value in ("{}", ARCHIVE):
        sns.client.set_topic_attributes(TopicArn=topic, AttributeName="ArchivePolicy", AttributeValue=value)
        assert ("BeginningArchiveTime" in sns.attributes(topic)) is (value == ARCHIVE)
    publish(sns, topic, "new")
    assert [message["Message"] for message in bodies(sns, url, 1)] == ["new"]
    replay(sns, subscription, start)
    assert [message["Message"] for message in bodies(sns, url, 1)] == ["new"]
    sns.client.set_topic_attributes(TopicArn=topic, AttributeName="ArchivePolicy", AttributeValue="{}")
    given = {"AttributeName": "ReplayPolicy", "AttributeValue": policy(start)}
    told = "ReplayPolicy: the topic has no ArchivePolicy"
    refused = sns.refusal("set_subscription_attributes", SubscriptionArn=subscription, **given)
    assert refused == ("InvalidParameter", 400, f"Invalid parameter: {told}")
    new = {"TopicArn": topic, "Protocol": "sqs", "Endpoint": sns.sqs.arn(sns.sqs.create())}
    refused = sns.refusal("subscribe", **new, Attributes={"ReplayPolicy": policy(start)})
    assert refused == ("InvalidParameter", 400, f"Invalid parameter: Attributes Reason: {told}")
    sns.client.delete_topic(TopicArn=topic)
