"""Tests of topics.

The sources are CreateTopic, DeleteTopic, ListTopics, Get/SetTopicAttributes, TagResource, UntagResource,
ListTagsForResource, AddPermission, RemovePermission and Get/PutDataProtectionPolicy (SNS API reference).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.conformance.sns import Sns

UNKNOWN = "arn:aws:sns:us-east-1:000000000000:no-such-topic"


def test_a_topic_is_made_once(sns: Sns) -> None:
    """CreateTopic is idempotent. The ARN contains the region, the account and the name."""
    name = sns.sqs.name()
    first = sns.client.create_topic(Name=name)["TopicArn"]
    assert first == f"arn:aws:sns:us-east-1:000000000000:{name}"
    assert sns.client.create_topic(Name=name)["TopicArn"] == first


def test_other_attributes_or_tags_are_an_error(sns: Sns) -> None:
    name = sns.sqs.name()
    sns.client.create_topic(Name=name, Attributes={"DisplayName": "a"}, Tags=[{"Key": "k", "Value": "v"}])
    sns.client.create_topic(Name=name, Attributes={"DisplayName": "a"}, Tags=[{"Key": "k", "Value": "v"}])
    assert sns.refusal("create_topic", Name=name, Attributes={"DisplayName": "b"}) == (
        "InvalidParameter", 400,
        "Invalid parameter: Attributes Reason: Topic already exists with different attributes",
    )  # fmt: skip
    assert sns.refusal("create_topic", Name=name, Tags=[{"Key": "k", "Value": "w"}]) == (
        "InvalidParameter", 400, "Invalid parameter: Tags Reason: Topic already exists with different tags",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "fifo"),
    [
        ("", ""),
        ("a b", ""),
        ("a.b", ""),
        ("x" * 257, ""),
        ("ü", ""),
        ("a.fifo", ""),
        ("a", "true"),
        ("a.fifo", "false"),
    ],
)
def test_bad_names(sns: Sns, name: str, fifo: str) -> None:
    """A name has 1-256 letters, digits, hyphens and underscores. Only the names of FIFO topics end in .fifo."""
    attributes = {"FifoTopic": fifo} if fifo else {}
    refused = sns.refusal("create_topic", Name=name, Attributes=attributes)
    assert refused == ("InvalidParameter", 400, "Invalid parameter: Topic Name")


def test_created_again(sns: Sns) -> None:
    """CreateTopic with fewer or no tags, or with FifoTopic=false, returns the existing topic. Other tags are an error
    (recorded at AWS).
    """
    name, tags = sns.sqs.name(), [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]
    made = sns.client.create_topic(Name=name, Tags=tags)["TopicArn"]
    for more in ({}, {"Tags": tags[:1]}, {"Tags": tags}, {"Attributes": {"FifoTopic": "false"}}):
        assert sns.client.create_topic(Name=name, **more)["TopicArn"] == made
    for other in ({"Key": "a", "Value": "2"}, {"Key": "c", "Value": "1"}):
        assert sns.refusal("create_topic", Name=name, Tags=[other]) == (
            "InvalidParameter", 400, "Invalid parameter: Tags Reason: Topic already exists with different tags",
        )  # fmt: skip
    assert sns.client.list_tags_for_resource(ResourceArn=made)["Tags"] == tags


@pytest.mark.parametrize("yes", ["True", "TRUE", "TrUe"])
def test_booleans_in_any_letter_case(sns: Sns, yes: str) -> None:
    arn = sns.create(".fifo", FifoTopic=yes, ContentBasedDeduplication=yes)
    found = sns.attributes(arn)
    assert (found["FifoTopic"], found["ContentBasedDeduplication"]) == ("true", "true")
    no = {"AttributeName": "ContentBasedDeduplication", "AttributeValue": "False"}
    sns.client.set_topic_attributes(TopicArn=arn, **no)
    assert sns.attributes(arn)["ContentBasedDeduplication"] == "false"


def test_a_delivery_policy_is_normalised(sns: Sns) -> None:
    """As recorded at AWS, the policy contains `disableSubscriptionOverrides` and no nulls."""
    retries = {"numRetries": 5, "minDelayTarget": None}
    given = {"http": {"defaultHealthyRetryPolicy": retries, "defaultThrottlePolicy": None}}
    found = sns.attributes(sns.create(DeliveryPolicy=json.dumps(given)))["DeliveryPolicy"]
    assert json.loads(found) == {
        "http": {"defaultHealthyRetryPolicy": {"numRetries": 5}, "disableSubscriptionOverrides": False}
    }


PUBLISH = {"Effect": "Allow", "Principal": "*", "Action": "sns:Publish", "Resource": "*"}


def test_the_longest_name(sns: Sns) -> None:
    name = (sns.sqs.name() + "-" + "x" * 256)[:256]
    assert sns.client.create_topic(Name=name)["TopicArn"].endswith(name)


def test_attributes_read_back(sns: Sns) -> None:
    topic = sns.create()
    fresh = sns.attributes(topic)
    assert (fresh["TopicArn"], fresh["Owner"]) == (topic, "000000000000")
    assert {fresh[f"Subscriptions{state}"] for state in ("Confirmed", "Pending", "Deleted")} == {"0"}
    policy = json.loads(fresh["Policy"])
    assert policy["Statement"][0]["Condition"] == {"StringEquals": {"AWS:SourceOwner": "000000000000"}}
    retries = json.loads(fresh["EffectiveDeliveryPolicy"])["http"]["defaultHealthyRetryPolicy"]
    assert (retries["numRetries"], retries["minDelayTarget"], retries["maxDelayTarget"]) == (3, 20, 20)
    values = {
        "DisplayName": "Orders ü",
        "Policy": json.dumps({"Version": "2012-10-17", "Statement": [PUBLISH]}),
        "SignatureVersion": "2",
        "TracingConfig": "Active",
        "KmsMasterKeyId": "alias/aws/sns",
    }
    for name, value in values.items():
        sns.client.set_topic_attributes(TopicArn=topic, AttributeName=name, AttributeValue=value)
    after = sns.attributes(topic)
    assert {name: after[name] for name in values} == values


def test_an_empty_value_takes_an_attribute_away(sns: Sns) -> None:
    topic = sns.create(KmsMasterKeyId="alias/aws/sns")
    sns.client.set_topic_attributes(TopicArn=topic, AttributeName="KmsMasterKeyId", AttributeValue="")
    assert "KmsMasterKeyId" not in sns.attributes(topic)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NoSuchAttribute", "1"),
        ("FifoTopic", "true"),
        ("SignatureVersion", "3"),
        ("TracingConfig", "Off"),
        ("DisplayName", "x" * 101),
        ("Policy", "{"),
        ("Policy", '{"Statement": ["x"]}'),
        ("Policy", json.dumps({"Statement": [{**PUBLISH, "Resource": "arn:aws-cn:sns:us-east-1:000000000000:t"}]})),
        ("Policy", json.dumps({"Version": "x" * 30_720})),
        ("DisplayName", "a\0b"),
        ("ContentBasedDeduplication", "true"),
    ],
)
def test_bad_attributes_change_nothing(sns: Sns, name: str, value: str) -> None:
    topic = sns.create()
    before = sns.attributes(topic)
    refused = sns.refusal("set_topic_attributes", TopicArn=topic, AttributeName=name, AttributeValue=value)
    assert refused[:2] == ("InvalidParameter", 400)
    assert sns.attributes(topic) == before


def test_fifo_attributes(sns: Sns) -> None:
    topic = sns.create_fifo()
    fresh = sns.attributes(topic)
    assert (fresh["FifoTopic"], fresh["ContentBasedDeduplication"]) == ("true", "false")
    for name, value in (("ContentBasedDeduplication", "true"), ("FifoThroughputScope", "MessageGroup")):
        sns.client.set_topic_attributes(TopicArn=topic, AttributeName=name, AttributeValue=value)
        assert sns.attributes(topic)[name] == value


def test_topics_are_listed_in_pages(sns: Sns) -> None:
    """A page contains 100 topics. Every page except the last page has a token."""
    there = sns.sqs.caller("123123123123")
    mine = Sns(there)
    before = {
        topic["TopicArn"] for page in mine.client.get_paginator("list_topics").paginate() for topic in page["Topics"]
    }
    made = {mine.create() for _ in range(101)}
    pages = [page["Topics"] for page in mine.client.get_paginator("list_topics").paginate()]
    assert len(pages[0]) == 100
    assert {topic["TopicArn"] for page in pages for topic in page} == before | made
    for bad in ("nonsense!", ".", "bm8gdG9waWM"):
        assert mine.refusal("list_topics", NextToken=bad)[:2] == ("InvalidParameter", 400)
    for topic in made | before:
        mine.client.delete_topic(TopicArn=topic)


def test_a_deletion_ends_the_subscriptions_of_the_topic(sns: Sns) -> None:
    """DeleteTopic also ends the topic's subscriptions. DeleteTopic succeeds for a topic that does not exist."""
    topic = sns.create()
    _, subscription = sns.queue(topic)
    for _ in range(2):
        sns.client.delete_topic(TopicArn=topic)
    assert sns.refusal("get_topic_attributes", TopicArn=topic) == ("NotFound", 404, "Topic does not exist")
    assert sns.refusal("get_subscription_attributes", SubscriptionArn=subscription)[:2] == ("NotFound", 404)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("get_topic_attributes", {}),
        ("set_topic_attributes", {"AttributeName": "DisplayName", "AttributeValue": "x"}),
        ("publish", {"Message": "x"}),
        ("list_subscriptions_by_topic", {}),
        ("add_permission", {"Label": "l", "AWSAccountId": ["111122223333"], "ActionName": ["Publish"]}),
        ("remove_permission", {"Label": "l"}),
        ("subscribe", {"Protocol": "sqs", "Endpoint": "arn:aws:sqs:us-east-1:000000000000:q"}),
        ("publish_batch", {"PublishBatchRequestEntries": [{"Id": "1", "Message": "m"}]}),
        ("publish_batch", {"PublishBatchRequestEntries": [{"Id": "1", "Message": "m", "Subject": "\n"}]}),
    ],
)
def test_unknown_topics(sns: Sns, method: str, parameters: dict[str, object]) -> None:
    assert sns.refusal(method, TopicArn=UNKNOWN, **parameters) == ("NotFound", 404, "Topic does not exist")
    for bad in ("nonsense", "arn:aws:sqs:us-east-1:000000000000:q", "arn:aws:sns:eu-west-1:000000000000:t"):
        assert sns.refusal(method, TopicArn=bad, **parameters)[:2] == ("InvalidParameter", 400)


@pytest.mark.parametrize("method", ["list_tags_for_resource", "tag_resource", "untag_resource"])
def test_tags_of_an_unknown_topic(sns: Sns, method: str) -> None:
    more: dict[str, dict[str, Any]] = {
        "tag_resource": {"Tags": [{"Key": "a", "Value": "b"}]},
        "untag_resource": {"TagKeys": ["a"]},
    }
    refused = sns.refusal(method, ResourceArn=UNKNOWN, **more.get(method, {}))
    assert refused == ("ResourceNotFound", 404, "Resource does not exist")


def test_a_topic_has_the_tags_that_requests_set_and_remove(sns: Sns) -> None:
    topic = sns.create()
    sns.client.tag_resource(ResourceArn=topic, Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}])
    sns.client.tag_resource(ResourceArn=topic, Tags=[{"Key": "a", "Value": "2"}])
    sns.client.untag_resource(ResourceArn=topic, TagKeys=["b", "none"])
    assert sns.client.list_tags_for_resource(ResourceArn=topic)["Tags"] == [{"Key": "a", "Value": "2"}]


def test_too_many_tags(sns: Sns) -> None:
    """A topic has at most 50 tags."""
    topic = sns.create()
    tags = [{"Key": str(number), "Value": "v"} for number in range(50)]
    sns.client.tag_resource(ResourceArn=topic, Tags=tags)
    refused = sns.refusal("tag_resource", ResourceArn=topic, Tags=[{"Key": "one more", "Value": "v"}])
    assert refused[:2] == ("TagLimitExceeded", 400)
    assert len(sns.client.list_tags_for_resource(ResourceArn=topic)["Tags"]) == 50


def test_a_permission_becomes_a_statement_of_the_policy(sns: Sns) -> None:
    topic = sns.create()
    grant = {"AWSAccountId": ["111122223333"], "ActionName": ["Publish"]}
    sns.client.add_permission(TopicArn=topic, Label="friends", **grant)
    statements = {statement["Sid"]: statement for statement in json.loads(sns.attributes(topic)["Policy"])["Statement"]}
    assert statements["friends"] == {
        "Sid": "friends",
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::111122223333:root"},
        "Action": "SNS:Publish",
        "Resource": topic,
    }
    assert sns.refusal("add_permission", TopicArn=topic, Label="friends", **grant)[:2] == ("InvalidParameter", 400)
    sns.client.remove_permission(TopicArn=topic, Label="friends")
    assert "friends" not in sns.attributes(topic)["Policy"]


@pytest.mark.parametrize(
    "bad",
    [
        {"AWSAccountId": ["12"]},
        {"AWSAccountId": []},
        {"ActionName": ["SendMessage"]},
        {"ActionName": []},
        {"Label": ""},
    ],
)
def test_bad_permissions(sns: Sns, bad: dict[str, object]) -> None:
    topic = sns.create()
    before = sns.attributes(topic)
    good = {"Label": "l", "AWSAccountId": ["111122223333"], "ActionName": ["Publish"]}
    assert sns.refusal("add_permission", TopicArn=topic, **(good | bad))[1] == 400
    assert sns.attributes(topic) == before


def test_data_protection_is_not_for_new_customers(sns: Sns) -> None:
    """ "Message data protection availability change", SNS Developer Guide."""
    topic = sns.create()
    assert sns.client.get_data_protection_policy(ResourceArn=topic).get("DataProtectionPolicy", "") == ""
    refused = sns.refusal("put_data_protection_policy", ResourceArn=topic, DataProtectionPolicy="{}")
    assert refused[:2] == ("AuthorizationError", 403)
    assert sns.refusal("get_data_protection_policy", ResourceArn=UNKNOWN)[:2] == ("NotFound", 404)


def test_a_permission_does_not_make_a_policy_too_long(sns: Sns) -> None:
    """A policy has at most 30 KB ("Amazon SNS API permissions", SNS Developer Guide)."""
    topic = sns.create()
    accounts = [f"{number:012}" for number in range(1_000)]
    refused = sns.refusal("add_permission", TopicArn=topic, Label="many", AWSAccountId=accounts, ActionName=["Publish"])
    assert refused == ("InvalidParameter", 400, "Invalid parameter: Policy Error: null")


# --- topic sizes -----------------------------------------------------------------------------------------------------
# Tests a topic's MaximumMessageSize, and the attributes that Subscribe and SetSubscriptionAttributes refuse.
#
#
# The sources are Publish, PublishBatch, SetTopicAttributes, GetTopicAttributes, Subscribe and SetSubscriptionAttributes
# (SNS API reference), "Publishing large messages with Amazon SNS" and "Filter policy constraints" (Developer Guide),
# and the endpoints and quotas of SNS (General Reference). The texts come from users' reports: Terraform runs that
# failed at SetSubscriptionAttributes, and responses to Subscribe that contain "Attributes Reason".

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
    response = sns.client.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)
    assert len(response["Successful"]) == 2
    assert sns.sqs.counts(url) == (2, 0, 0)


def test_a_set_attribute_reads_back(sns: Sns) -> None:
    """A client can raise and lower the limit at any time."""
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
    """A URL cannot subscribe to a topic with a raised limit, and a topic to which a URL subscribes cannot have a higher
    limit.
    """
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
    """Subscribe takes a map of attributes, but SetSubscriptionAttributes takes a single attribute.

    One of the error texts of SetSubscriptionAttributes does not name the attribute (recorded at AWS).
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
    """The default limits are 200 and 10,000, but this test uses 2 and 3. Subscriptions without a policy do not count,
    and a client can replace a policy at the limit.
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
