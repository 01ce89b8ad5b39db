"""MaximumMessageSize of a topic. Sources: Publish, PublishBatch, SetTopicAttributes, GetTopicAttributes (SNS API
reference); "Publishing large messages with Amazon SNS" (Developer Guide).
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.conformance.sns import Sns

KIB_256, MIB = 262_144, 1_048_576
TOO_LONG = ("InvalidParameter", 400, "Invalid parameter: Message too long")
# Name, type and value of an attribute count: 1 + 6 + 3 bytes.
TEN_BYTES = {"a": {"DataType": "String", "StringValue": "ün"}}


def sized(sns: Sns, size: int | None) -> str:
    return sns.create() if size is None else sns.create(MaximumMessageSize=str(size))


@pytest.mark.parametrize("size", [None, 1_024, MIB])
def test_the_longest_message(sns: Sns, size: int | None) -> None:
    """256 KiB where nothing is said; bytes count, not characters, and attributes too."""
    topic = sized(sns, size)
    url, _ = sns.queue(topic, RawMessageDelivery="true")
    text = "ü" * ((size or KIB_256) // 2 - 5)
    sns.publish(topic, text, MessageAttributes=TEN_BYTES)
    assert sns.sqs.one(url)["Body"] == text
    refused = sns.refusal("publish", TopicArn=topic, Message=text + "x", MessageAttributes=TEN_BYTES)
    assert refused == TOO_LONG
    assert sns.sqs.counts(url) == (0, 1, 0)


def test_all_of_a_structured_message_counts(sns: Sns) -> None:
    """ "Including multiple protocols may limit message sizes." """
    topic = sized(sns, 1_024)
    head, tail = '{"default": "d", "email": "', '"}'
    fits = head + "x" * (1_024 - len(head + tail)) + tail
    sns.publish(topic, fits, MessageStructure="json")
    longer = head + "x" + fits.removeprefix(head)
    assert sns.refusal("publish", TopicArn=topic, Message=longer, MessageStructure="json") == TOO_LONG


@pytest.mark.parametrize("size", [None, 1_024, MIB])
def test_a_batch_has_the_same_limit_in_total(sns: Sns, size: int | None) -> None:
    topic = sized(sns, size)
    url, _ = sns.queue(topic, RawMessageDelivery="true")
    half = "x" * ((size or KIB_256) // 2)
    for more in ("x", "x" * 200_000):
        entries = [{"Id": "a", "Message": half}, {"Id": "b", "Message": half + more}]
        refused = sns.refusal("publish_batch", TopicArn=topic, PublishBatchRequestEntries=entries)
        assert refused[:2] == ("BatchRequestTooLong", 400)
    assert sns.sqs.counts(url) == (0, 0, 0)
    entries = [{"Id": "a", "Message": half}, {"Id": "b", "Message": half}]
    answer = sns.client.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)
    assert len(answer["Successful"]) == 2
    assert sns.sqs.counts(url) == (2, 0, 0)


def test_it_reads_back_if_it_was_set(sns: Sns) -> None:
    """And can be raised and lowered at any time."""
    topic = sns.create()
    assert "MaximumMessageSize" not in sns.attributes(topic)
    for size in ("2048", "1024"):
        sns.client.set_topic_attributes(
            TopicArn=topic, AttributeName="MaximumMessageSize", AttributeValue=size
        )
        assert sns.attributes(topic)["MaximumMessageSize"] == size
    assert sns.refusal("publish", TopicArn=topic, Message="x" * 1_025) == TOO_LONG


@pytest.mark.parametrize("size", ["1023", "1048577", "-1", "x", "1024.0"])
def test_sizes_that_cannot_be(sns: Sns, size: str) -> None:
    topic = sns.create()
    attribute = {"AttributeName": "MaximumMessageSize", "AttributeValue": size}
    assert sns.refusal("set_topic_attributes", TopicArn=topic, **attribute) == (
        "InvalidParameter", 400, "Invalid parameter: MaximumMessageSize",
    )  # fmt: skip
    assert sns.refusal("create_topic", Name=sns.sqs.name(), Attributes={"MaximumMessageSize": size}) == (
        "InvalidParameter", 400, "Invalid parameter: Attributes Reason: MaximumMessageSize",
    )  # fmt: skip


def large(sns: Sns, topic: str) -> dict[str, Any]:
    return {"TopicArn": topic, "AttributeName": "MaximumMessageSize", "AttributeValue": str(KIB_256 + 1)}


def test_more_than_256_kib_is_for_queues_alone(sns: Sns) -> None:
    """A URL cannot subscribe then, and where one has, the limit cannot be raised; else it can."""
    topic = sns.create(MaximumMessageSize=str(MIB))
    url = {"TopicArn": topic, "Protocol": "https", "Endpoint": "https://example.com/"}
    assert sns.refusal("subscribe", **url)[:2] == ("InvalidParameter", 400)
    other = sns.create()
    sns.subscribe(other, "https://example.com/", "https")
    assert sns.refusal("set_topic_attributes", **large(sns, other))[:2] == ("InvalidParameter", 400)
    assert "MaximumMessageSize" not in sns.attributes(other)
    sns.client.set_topic_attributes(**large(sns, other) | {"AttributeValue": str(KIB_256)})


def test_more_than_256_kib_is_for_100_subscriptions(sns: Sns) -> None:
    topic = sns.create(MaximumMessageSize=str(MIB))

    def subscribe(number: int) -> dict[str, Any]:
        return {
            "TopicArn": topic,
            "Protocol": "sqs",
            "Endpoint": f"arn:aws:sqs:us-east-1:000000000000:q{number}",
        }

    arns = [sns.client.subscribe(**subscribe(number))["SubscriptionArn"] for number in range(100)]
    assert sns.refusal("subscribe", **subscribe(100))[:2] == ("InvalidParameter", 400)
    assert sns.client.subscribe(**subscribe(7))["SubscriptionArn"] == arns[7]
    sns.client.set_topic_attributes(**large(sns, topic) | {"AttributeValue": "1024"})
    sns.client.subscribe(**subscribe(100))
    assert sns.refusal("set_topic_attributes", **large(sns, topic))[:2] == ("InvalidParameter", 400)
