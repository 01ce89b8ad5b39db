"""Tests Publish and PublishBatch to queues.

The sources are their API reference and the SNS Developer Guide, "Large payload and raw message delivery", "FIFO
topics", "Message deduplication" and "Dead-letter queues"
(https://docs.aws.amazon.com/sns/latest/dg/sns-fifo-topics.html).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.conformance.sns import Sns

pytestmark = pytest.mark.cbor("container")

ATTRIBUTES = {
    "text": {"DataType": "String", "StringValue": "ü"},
    "number": {"DataType": "Number", "StringValue": "1.5"},
    "bytes": {"DataType": "Binary", "BinaryValue": b"\0\1"},
}


def test_an_envelope_arrives(sns: Sns) -> None:
    topic = sns.create()
    url, subscription = sns.queue(topic)
    response = sns.publish(topic, 'hällo "you"\n', Subject="Greetings")
    envelope = sns.notification(url)
    assert (envelope["Type"], envelope["TopicArn"]) == ("Notification", topic)
    assert (envelope["Message"], envelope["Subject"]) == ('hällo "you"\n', "Greetings")
    assert envelope["MessageId"] == response["MessageId"]
    assert envelope["SignatureVersion"] == "1"
    assert subscription in envelope["UnsubscribeURL"]
    assert "SequenceNumber" not in response


def test_raw_delivery_passes_attributes_on(sns: Sns) -> None:
    topic = sns.create()
    url, _ = sns.queue(topic, RawMessageDelivery="true")
    sns.publish(topic, "plain", MessageAttributes=ATTRIBUTES)
    message = sns.sqs.receive_one(url, MessageAttributeNames=["All"])
    assert (message["Body"], message["MessageAttributes"]) == ("plain", ATTRIBUTES)


def test_every_subscription_gets_a_message(sns: Sns) -> None:
    topic = sns.create()
    urls = [sns.queue(topic)[0] for _ in range(5)]
    sns.publish(topic, "to all")
    assert [sns.notification(url)["Message"] for url in urls] == ["to all"] * 5


def test_a_topic_without_subscribers_takes_messages(sns: Sns) -> None:
    assert sns.publish(sns.create())["MessageId"]


def test_texts_by_protocol(sns: Sns) -> None:
    """With MessageStructure `json`, a subscription receives the text for its protocol, or the default text."""
    topic = sns.create()
    url, _ = sns.queue(topic, RawMessageDelivery="true")
    sns.publish(topic, json.dumps({"default": "d", "sqs": "s", "email": 1}), MessageStructure="json")
    sns.publish(topic, json.dumps({"default": "d", "http": "h"}), MessageStructure="json")
    assert sorted(message["Body"] for message in sns.sqs.receive(url, 2)) == ["d", "s"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Message": ""}, "Invalid parameter: Empty message"),
        ({"Message": "x" * 262_145}, "Invalid parameter: Message too long"),
        ({"Message": "x", "Subject": ""}, "Invalid parameter: Subject"),
        ({"Message": "x", "Subject": "x" * 100}, "Invalid parameter: Subject"),
        ({"Message": "x", "Subject": "a\nb"}, "Invalid parameter: Subject"),
        ({"Message": "x", "MessageStructure": "xml"}, "Invalid parameter: MessageStructure"),
        ({"Message": "{", "MessageStructure": "json"},
         "Invalid parameter: Message Structure - JSON message body failed to parse"),
        ({"Message": "{}", "MessageStructure": "json"},
         "Invalid parameter: Message Structure - No default entry in JSON message body"),
    ],
)  # fmt: skip
def test_bad_messages(sns: Sns, parameters: dict[str, str], message: str) -> None:
    topic = sns.create()
    url, _ = sns.queue(topic)
    assert sns.refusal("publish", TopicArn=topic, **parameters) == ("InvalidParameter", 400, message)
    assert sns.sqs.counts(url) == (0, 0, 0)


@pytest.mark.parametrize(
    "attribute",
    [
        {"DataType": "", "StringValue": "x"},
        {"DataType": "String", "StringValue": ""},
        {"DataType": "Number", "StringValue": "one"},
        {"DataType": "Strange", "StringValue": "x"},
    ],
)
def test_bad_attributes(sns: Sns, attribute: dict[str, str]) -> None:
    topic = sns.create()
    refused = sns.refusal("publish", TopicArn=topic, Message="x", MessageAttributes={"a": attribute})
    assert refused[:2] == ("ParameterValueInvalid", 400)


def test_targets_that_are_no_topics(sns: Sns) -> None:
    assert sns.refusal("publish", Message="x")[:2] == ("InvalidParameter", 400)
    topic = sns.create()
    url, _ = sns.queue(topic)
    sns.client.publish(TargetArn=topic, Message="by target")
    assert sns.notification(url)["Message"] == "by target"


def test_the_layout_of_an_envelope(sns: Sns) -> None:
    """The layout equals AWS's examples ("Parsing message formats", SNS Developer Guide). Some clients compare the
    text."""
    topic = sns.create()
    url, arn = sns.queue(topic)
    store = {"store": {"DataType": "String", "StringValue": "example_corp"}}
    sns.publish(topic, 'a "b"', Subject="s", MessageAttributes=store)
    body = sns.sqs.receive_one(url)["Body"]
    members = json.loads(body)
    names = ["Type", "MessageId", "TopicArn", "Subject", "Message", "Timestamp", "SignatureVersion", "Signature",
             "SigningCertURL", "UnsubscribeURL"]  # fmt: skip
    lines = [f'  "{name}" : {json.dumps(members[name])},' for name in names]
    attribute = '    "store" : {"Type":"String","Value":"example_corp"}'
    assert body.split("\n") == ["{", *lines, '  "MessageAttributes" : {', attribute, "  }", "}"]
    assert members["UnsubscribeURL"].endswith(arn)


# --- batches ---------------------------------------------------------------------------------------------------------
def test_a_batch(sns: Sns) -> None:
    """Invalid entries fail, but the service publishes the other entries."""
    topic = sns.create()
    url, _ = sns.queue(topic, RawMessageDelivery="true")
    entries: list[dict[str, Any]] = [{"Id": str(n), "Message": f"m{n}"} for n in range(9)]
    response = sns.client.publish_batch(
        TopicArn=topic, PublishBatchRequestEntries=[*entries, {"Id": "bad", "Message": "x", "Subject": "\n"}]
    )
    assert [entry["Id"] for entry in response["Successful"]] == [str(n) for n in range(9)]
    assert len({entry["MessageId"] for entry in response["Successful"]}) == 9
    ((failed),) = response["Failed"]
    assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("bad", "InvalidParameter", True)
    assert sorted(message["Body"] for message in sns.sqs.receive(url, 9)) == [f"m{n}" for n in range(9)]


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ([], "EmptyBatchRequest"),
        ([{"Id": str(n), "Message": "m"} for n in range(11)], "TooManyEntriesInBatchRequest"),
        ([{"Id": "a", "Message": "m"}] * 2, "BatchEntryIdsNotDistinct"),
        ([{"Id": "a b", "Message": "m"}], "InvalidBatchEntryId"),
        ([{"Id": str(n), "Message": "m" * 100_000} for n in range(3)], "BatchRequestTooLong"),
    ],
)
def test_bad_batches(sns: Sns, entries: list[dict[str, str]], code: str) -> None:
    topic = sns.create()
    url, _ = sns.queue(topic)
    assert sns.refusal("publish_batch", TopicArn=topic, PublishBatchRequestEntries=entries)[:2] == (code, 400)
    assert sns.sqs.counts(url) == (0, 0, 0)


GROUP = "Invalid parameter: The MessageGroupId parameter is required for FIFO topics"
DEDUPLICATION = (
    "Invalid parameter: The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId "
    "provided explicitly"
)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"MessageDeduplicationId": "b"}, ("InvalidParameter", 400, GROUP)),
        ({"MessageGroupId": "g"}, ("InvalidParameter", 400, DEDUPLICATION)),
        (
            {"MessageGroupId": "g", "MessageDeduplicationId": "b",
             "MessageAttributes": {"a": {"DataType": "Strange", "StringValue": "x"}}},
            ("ParameterValueInvalid", 400, None),
        ),
    ],
    ids=["no group", "no deduplication id", "a bad attribute"],
)  # fmt: skip
def test_some_entries_fail_a_whole_batch(
    sns: Sns, entry: dict[str, Any], expected: tuple[str, int, str | None]
) -> None:
    """As recorded at AWS, the whole call fails. AWS returned the text about the message group in March 2026."""
    topic = sns.create_fifo()
    url, _ = sns.queue(topic, ".fifo")
    good = {"Id": "a", "Message": "m", "MessageGroupId": "g", "MessageDeduplicationId": "a"}
    entries = [good, {"Id": "b", "Message": "m", **entry}]
    refused = sns.refusal("publish_batch", TopicArn=topic, PublishBatchRequestEntries=entries)
    assert refused[:2] == expected[:2]
    assert expected[2] is None or refused[2] == expected[2]
    assert sns.sqs.counts(url) == (0, 0, 0)


def test_a_batch_whose_ids_are_made_of_the_content(sns: Sns) -> None:
    topic = sns.create_fifo(ContentBasedDeduplication="true")
    url, _ = sns.queue(topic, ".fifo")
    entries = [{"Id": text, "Message": text, "MessageGroupId": "g"} for text in "ab"]
    sns.client.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)
    assert sns.sqs.counts(url) == (2, 0, 0)


# --- filter policies -------------------------------------------------------------------------------------------------
def test_dots_in_keys_of_a_policy_on_the_body(sns: Sns) -> None:
    """A key with dots is a path (recorded at AWS)."""
    topic = sns.create()
    url, arn = sns.queue(
        topic, FilterPolicyScope="MessageBody", FilterPolicy='{"object.nested": ["a"]}', RawMessageDelivery="true"
    )
    accepted = [
        '{"object": {"nested": "a"}}',
        '{"object.nested": "a"}',
        '{"object": [{"nested": "b"}, {"nested": "a"}]}',
    ]
    for body in (*accepted, '{"object": {"nested": "b"}}', '{"nested": "a"}', '{"object": "a"}'):
        sns.publish(topic, body)
    assert sorted(message["Body"] for message in sns.sqs.receive(url, 3)) == sorted(accepted)
    assert sns.subscription(arn)["FilterPolicyScope"] == "MessageBody"
    sns.client.set_subscription_attributes(SubscriptionArn=arn, AttributeName="FilterPolicy", AttributeValue="")
    assert "FilterPolicyScope" not in sns.subscription(arn)


def test_a_filter_drops_no_message_because_of_a_parser(sns: Sns) -> None:
    """RFC 8259 allows lone surrogates as escapes, and numbers of any size. If a message is too complex for the filter,
    the service delivers the message.
    """
    topic = sns.create()
    raw = {"RawMessageDelivery": "true"}
    by_body, _ = sns.queue(topic, FilterPolicyScope="MessageBody", FilterPolicy=r'{"b":[1,"\ud83d"]}', **raw)
    by_list, _ = sns.queue(topic, FilterPolicy='{"list":["x"]}', **raw)
    passing = [
        r'{"a":"thanks \ud83d","b":1}', '{"a":1e400,"b":1}', r'{"a":"x\u0000","b":1}', r'{"b":"\ud83d"}',
        '{"b":2,"a":' + "[" * 2_000 + "]" * 2_000 + "}",
    ]  # fmt: skip
    for body in (*passing, r'{"a":"\ud83d","b":2}', '{"a":1e400}'):
        sns.publish(topic, body)
    for text in (r'["x","\ud83d"]', '["x",1e400]', r'["\ud83d"]'):
        sns.publish(topic, text, MessageAttributes={"list": {"DataType": "String.Array", "StringValue": text}})
    assert sorted(message["Body"] for message in sns.sqs.receive(by_body, 5)) == sorted(passing)
    assert sorted(message["Body"] for message in sns.sqs.receive(by_list, 2)) == [
        r'["x","\ud83d"]', '["x",1e400]',
    ]  # fmt: skip
    assert (sns.sqs.counts(by_body), sns.sqs.counts(by_list)) == ((0, 5, 0), (0, 2, 0))


def test_texts_by_protocol_may_have_half_a_pair(sns: Sns) -> None:
    topic = sns.create()
    url, _ = sns.queue(topic, RawMessageDelivery="true")
    sns.publish(topic, r'{"default":"a\ud83d","sms":"\ude00","n":1e400}', MessageStructure="json")
    assert sns.sqs.receive_one(url)["Body"] == "a\ufffd"


# --- FIFO topics -----------------------------------------------------------------------------------------------------
def test_group_id_and_number_are_passed_on(sns: Sns) -> None:
    topic = sns.create_fifo()
    url, _ = sns.queue(topic, ".fifo")
    responses = [sns.publish(topic, f"m{n}", MessageGroupId="g", MessageDeduplicationId=f"d{n}") for n in range(3)]
    numbers = [response["SequenceNumber"] for response in responses]
    assert numbers == sorted(set(numbers))
    assert {len(number) for number in numbers} == {20}
    received = sns.sqs.receive(url, 3, AttributeNames=["All"])
    envelopes = [json.loads(message["Body"]) for message in received]
    assert [envelope["Message"] for envelope in envelopes] == ["m0", "m1", "m2"]
    assert [envelope["SequenceNumber"] for envelope in envelopes] == numbers
    assert {message["Attributes"]["MessageGroupId"] for message in received} == {"g"}
    assert [message["Attributes"]["MessageDeduplicationId"] for message in received] == ["d0", "d1", "d2"]


def test_a_topic_deduplicates(sns: Sns) -> None:
    """The topic deduplicates for five minutes and repeats the response for the first message."""
    topic = sns.create_fifo()
    url, _ = sns.queue(topic, ".fifo")
    first = sns.publish(topic, "m", MessageGroupId="g", MessageDeduplicationId="d")
    again = sns.publish(topic, "other", MessageGroupId="h", MessageDeduplicationId="d")
    assert (again["MessageId"], again["SequenceNumber"]) == (first["MessageId"], first["SequenceNumber"])
    assert sns.sqs.counts(url) == (1, 0, 0)


def test_a_topic_deduplicates_by_group(sns: Sns) -> None:
    topic = sns.create_fifo(FifoThroughputScope="MessageGroup")
    url, _ = sns.queue(topic, ".fifo", RawMessageDelivery="true")
    for group in ("g", "h", "g"):
        sns.publish(topic, group, MessageGroupId=group, MessageDeduplicationId="d")
    sns.client.set_topic_attributes(TopicArn=topic, AttributeName="FifoThroughputScope", AttributeValue="Topic")
    # The queue deduplicates at queue scope, so the queue stores only the first message.
    assert sns.sqs.counts(url) == (1, 0, 0)


def test_content_deduplicates(sns: Sns) -> None:
    topic = sns.create_fifo(ContentBasedDeduplication="true")
    url, _ = sns.queue(topic, ".fifo")
    for text in ("a", "b", "a"):
        sns.publish(topic, text, MessageGroupId="g")
    assert sns.sqs.counts(url) == (2, 0, 0)


@pytest.mark.parametrize(
    "missing", [{"MessageGroupId": "g"}, {"MessageDeduplicationId": "d"}], ids=["no deduplication id", "no group"]
)
def test_fifo_needs_both(sns: Sns, missing: dict[str, str]) -> None:
    topic = sns.create_fifo()
    assert sns.refusal("publish", TopicArn=topic, Message="m", **missing)[:2] == ("InvalidParameter", 400)


def test_ids_on_a_standard_topic(sns: Sns) -> None:
    """A message group id is allowed for fair queues, but a deduplication id is an error."""
    topic = sns.create()
    url, _ = sns.queue(topic)
    sns.publish(topic, MessageGroupId="tenant")
    (message,) = sns.sqs.receive(url, 1, AttributeNames=["All"])
    assert message["Attributes"]["MessageGroupId"] == "tenant"
    assert sns.refusal("publish", TopicArn=topic, Message="m", MessageDeduplicationId="d")[:2] == (
        "InvalidParameter", 400,
    )  # fmt: skip


def test_standard_queues_do_not_learn_the_group_of_a_fifo_topic(sns: Sns) -> None:
    topic = sns.create_fifo()
    url, _ = sns.queue(topic)
    sns.publish(topic, MessageGroupId="g", MessageDeduplicationId="d")
    (message,) = sns.sqs.receive(url, 1, AttributeNames=["All"])
    assert "MessageGroupId" not in message["Attributes"]


def test_a_fifo_queue_under_a_standard_topic(sns: Sns) -> None:
    """AWS refuses the subscription, as the table of cases shows. An existing subscription still receives messages."""
    topic, url = sns.create(), sns.sqs.create_fifo()
    _, arn = sns.queue(topic, RawMessageDelivery="true")
    sns.sqs.clock.connection.execute(
        "update queue.subscription set endpoint = %s where arn = %s", (sns.sqs.arn(url), arn)
    )
    for text in ("a", "a", "b"):
        sns.publish(topic, text)
    assert [message["Body"] for message in sns.sqs.receive(url, 3)] == ["a", "a", "b"]


# --- what cannot be delivered ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("raw", ["false", "true"])
def test_a_queue_that_is_gone(sns: Sns, raw: str) -> None:
    """The other subscriptions receive the messages. The dead-letter queue receives the messages for the deleted
    queue."""
    topic, dead = sns.create(), sns.sqs.create()
    policy = json.dumps({"deadLetterTargetArn": sns.sqs.arn(dead)})
    gone, _ = sns.queue(topic, RedrivePolicy=policy, RawMessageDelivery=raw)
    there, _ = sns.queue(topic, RawMessageDelivery=raw)
    sns.sqs.client.delete_queue(QueueUrl=gone)
    for text in ("first", "second"):
        sns.publish(topic, text)
    for url in (there, dead):
        bodies = [message["Body"] for message in sns.sqs.receive(url, 2)]
        if raw == "false":
            bodies = [json.loads(body)["Message"] for body in bodies]
        assert sorted(bodies) == ["first", "second"]


def test_any_number_of_attributes(sns: Sns) -> None:
    """ "Amazon SNS message attributes" does not limit the number of attributes in deliveries that are not raw."""
    topic = sns.create()
    url, _ = sns.queue(topic)
    many = {f"a{n}": {"DataType": "String", "StringValue": "v"} for n in range(1_600)}
    sns.publish(topic, "m", MessageAttributes=many)
    assert json.loads(sns.sqs.receive_one(url)["Body"])["MessageAttributes"].keys() == many.keys()


def test_raw_with_more_than_ten_attributes(sns: Sns) -> None:
    topic, dead = sns.create(), sns.sqs.create()
    url, _ = sns.queue(
        topic, RawMessageDelivery="true",
        RedrivePolicy=json.dumps({"deadLetterTargetArn": sns.sqs.arn(dead)}),
    )  # fmt: skip
    many = {f"a{n}": {"DataType": "String", "StringValue": "v"} for n in range(11)}
    sns.publish(topic, "m", MessageAttributes=many)
    assert sns.sqs.counts(url) == (0, 0, 0)
    assert sns.sqs.counts(dead) == (1, 0, 0)
