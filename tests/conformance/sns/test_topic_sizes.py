"""Tests MaximumMessageSize of a topic, and the attributes that Subscribe and SetSubscriptionAttributes refuse.


Sources: Publish, PublishBatch, SetTopicAttributes, GetTopicAttributes, Subscribe, SetSubscriptionAttributes (SNS API
reference); "Publishing large messages with Amazon SNS" and "Filter policy constraints" (Developer Guide); endpoints
and quotas of SNS (General Reference). The texts come from reports of users (terraform runs that
SetSubscriptionAttributes ended; answers to Subscribe that say "Attributes Reason").
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.conformance.sns import Sns

KIB_256, MIB = 262_144, 1_048_576
TOO_LONG = ("InvalidParameter", 400, "Invalid parameter: Message too long")
# The size includes the attribute's name, type and value: 1 + 6 + 3 bytes.
TEN_BYTES = {"a": {"DataType": "String", "StringValue": "ün"}}


def sized(sns: Sns, size: int | None) -> str:
    return sns.create() if size is None else sns.create(MaximumMessageSize=str(size))


@pytest.mark.parametrize("size", [None, 1_024, MIB])
def test_the_longest_message(sns: Sns, size: int | None) -> None:
    """The default limit is 256 KiB. SNS counts bytes, not characters, and includes attributes."""
    topic = sized(sns, size)
    url, _ = sns.queue(topic, RawMessageDelivery="true")
    text = "ü" * ((size or KIB_256) // 2 - 5)
    sns.publish(topic, text, MessageAttributes=TEN_BYTES)
    assert sns.sqs.receive_one(url)["Body"] == text
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
    """The limit can be raised and lowered at any time."""
    topic = sns.create()
    assert "MaximumMessageSize" not in sns.attributes(topic)
    for size in ("2048", "1024"):
        sns.client.set_topic_attributes(TopicArn=topic, AttributeName="MaximumMessageSize", AttributeValue=size)
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
    """A URL cannot subscribe to such a topic, and the limit of a topic with such a subscription cannot be raised."""
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
        return {"TopicArn": topic, "Protocol": "sqs", "Endpoint": f"arn:aws:sqs:us-east-1:000000000000:q{number}"}

    arns = [sns.client.subscribe(**subscribe(number))["SubscriptionArn"] for number in range(100)]
    assert sns.refusal("subscribe", **subscribe(100))[:2] == ("InvalidParameter", 400)
    assert sns.client.subscribe(**subscribe(7))["SubscriptionArn"] == arns[7]
    sns.client.set_topic_attributes(**large(sns, topic) | {"AttributeValue": "1024"})
    sns.client.subscribe(**subscribe(100))
    assert sns.refusal("set_topic_attributes", **large(sns, topic))[:2] == ("InvalidParameter", 400)


SIX = json.dumps({str(n): ["v"] for n in range(6)})
TOO_MANY = json.dumps({"a": [str(n) for n in range(151)]})
LIMITED = {"SNS_TOPIC_FILTER_POLICIES": "2", "SNS_ACCOUNT_FILTER_POLICIES": "3"}
LIMIT = ("FilterPolicyLimitExceeded", 403)
REDACTED = "[Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: 1, column: "
OPEN = f" Unexpected end-of-input: expected close marker for Object (start marker at {REDACTED}1])\n at {REDACTED}2]"
AT_B = '\n at [Source: (String)"{"a": "b"}"; line: 1, column: 8]'


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("FilterPolicy", "{", f"FilterPolicy: failed to parse JSON.{OPEN}"),
        ("FilterPolicy", SIX, "FilterPolicy: Filter policy can not have more than 5 keys"),
        ("FilterPolicy", TOO_MANY, "FilterPolicy: Filter policy is too complex"),
        ("FilterPolicy", '{"a": "b"}', f'FilterPolicy: "a" must be an object or an array{AT_B}'),
        ("FilterPolicy", '{"a": {"b": ["c"]}}',
         "FilterPolicy: Filter policy scope MessageAttributes does not support nested filter policy"),
        ("RedrivePolicy", "x", "RedrivePolicy: failed to parse JSON."),
        ("RedrivePolicy", "{}", "RedrivePolicy: Missing deadLetterTargetArn attribute"),
        ("RedrivePolicy", '{"deadLetterTargetArn": "x"}', "RedrivePolicy: deadLetterTargetArn is an invalid arn"),
        ("RawMessageDelivery", "yes", "RawMessageDelivery: Invalid value [yes]. Must be true or false."),
    ],
)  # fmt: skip
def test_subscribe_names_its_map_of_attributes(sns: Sns, name: str, value: str, reason: str) -> None:
    """Subscribe takes a map of attributes, SetSubscriptionAttributes a single attribute.

    One text of the latter does not name the attribute (recorded at AWS).
    """
    topic = sns.create()
    endpoint = {"Protocol": "sqs", "Endpoint": "arn:aws:sqs:us-east-1:000000000000:q"}
    refused = sns.refusal("subscribe", TopicArn=topic, **endpoint, Attributes={name: value})
    assert refused == ("InvalidParameter", 400, f"Invalid parameter: Attributes Reason: {reason}")
    arn = sns.client.subscribe(TopicArn=topic, **endpoint)["SubscriptionArn"]
    one = {"AttributeName": name, "AttributeValue": value}
    refused = sns.refusal("set_subscription_attributes", SubscriptionArn=arn, **one)
    alone = reason.replace("FilterPolicy: Filter policy scope", "Filter policy scope")
    assert refused == ("InvalidParameter", 400, f"Invalid parameter: {alone}")


def test_filter_policies_of_a_topic_and_an_account(sns: Sns) -> None:
    """The default limits are 200 and 10,000; this test uses 2 and 3. Subscriptions without a policy do not count, and
    a policy can be replaced at the limit.
    """
    mine = Sns(sns.sqs.caller(f"4{sns.sqs.name().removeprefix('queue-'):0>11}").with_settings(LIMITED))
    first, second = mine.create(), mine.create()
    policy = {"FilterPolicy": '{"a": ["b"]}'}
    arns = [mine.queue(first, **policy)[1] for _ in range(2)]
    _, without = mine.queue(first)
    third = mine.sqs.arn(mine.sqs.create())
    subscribe = {"TopicArn": first, "Protocol": "sqs", "Endpoint": third, "Attributes": policy}
    change = {"AttributeName": "FilterPolicy", "AttributeValue": '{"a": ["c"]}'}
    assert mine.refusal("subscribe", **subscribe)[:2] == LIMIT
    assert mine.refusal("set_subscription_attributes", SubscriptionArn=without, **change)[:2] == LIMIT
    assert "FilterPolicy" not in mine.subscription(without)
    mine.client.set_subscription_attributes(SubscriptionArn=arns[0], **change)
    mine.queue(second, **policy)
    assert mine.refusal("subscribe", **subscribe | {"TopicArn": second})[:2] == LIMIT
    mine.client.unsubscribe(SubscriptionArn=arns[0])
    mine.client.subscribe(**subscribe)


def test_a_fifo_topic_has_100_subscriptions(sns: Sns) -> None:
    topic = sns.create_fifo()

    def subscribe(number: int) -> dict[str, str]:
        return {"TopicArn": topic, "Protocol": "sqs", "Endpoint": f"arn:aws:sqs:us-east-1:000000000000:q{number}"}

    for number in range(100):
        sns.client.subscribe(**subscribe(number))
    assert sns.refusal("subscribe", **subscribe(100))[:2] == ("SubscriptionLimitExceeded", 403)
