"""Tests subscriptions of every protocol, including protocols to which Penstock does not deliver.

The sources are Subscribe (SNS API reference), recorded responses of AWS for the need to confirm, the order of checks
and the principal, and "Parsing message formats" (SNS Developer Guide). `/v1/outbox` exists only in Penstock
(docs/reference/topics.md).
"""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from tests.support import client_setup
from tests.support.conformance.sns import Sns, outbox

ACCOUNT = "000000000000"
ROLE = {"SubscriptionRoleArn": "arn:aws:iam::000000000000:role/stream"}
_numbers = count(15_550_100_000)


def endpoint_of(sns: Sns, protocol: str) -> str:
    """Returns an endpoint for one test."""
    name = sns.sqs.name()
    if protocol == "application":
        application = sns.client.create_platform_application(
            Name=name, Platform="GCM", Attributes={"PlatformCredential": "secret"}
        )["PlatformApplicationArn"]
        made = sns.client.create_platform_endpoint(PlatformApplicationArn=application, Token="token")
        return str(made["EndpointArn"])
    return {
        "email": f"{name}@example.com",
        "email-json": f"{name}@example.com",
        "sms": f"+{next(_numbers)}",
        "lambda": f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:{name}",
        "firehose": f"arn:aws:firehose:us-east-1:{ACCOUNT}:deliverystream/{name}",
    }[protocol]


@pytest.mark.parametrize("protocol", ["sms", "application", "lambda", "firehose"])
def test_some_protocols_need_no_confirmation(sns: Sns, protocol: str) -> None:
    topic, to = sns.create(), endpoint_of(sns, protocol)
    attributes = ROLE if protocol == "firehose" else {}
    response = sns.client.subscribe(TopicArn=topic, Protocol=protocol, Endpoint=to, Attributes=attributes)
    assert response["SubscriptionArn"].startswith(f"{topic}:")
    found = sns.subscription(response["SubscriptionArn"])
    assert (found["Protocol"], found["Endpoint"], found["PendingConfirmation"]) == (protocol, to, "false")
    assert found["ConfirmationWasAuthenticated"] == "true"
    assert "EffectiveDeliveryPolicy" not in found


@pytest.mark.parametrize("protocol", ["email", "email-json"])
def test_readers_of_mail_confirm(sns: Sns, protocol: str) -> None:
    topic, to = sns.create(), endpoint_of(sns, protocol)
    response = sns.client.subscribe(TopicArn=topic, Protocol=protocol, Endpoint=to)
    assert response["SubscriptionArn"] == "pending confirmation"
    sns.publish(topic, "too early")
    (asked,) = outbox(sns, destination=to)
    assert (asked["kind"], asked["protocol"], asked["state"]) == ("SubscriptionConfirmation", protocol, "kept")
    link = json.loads(asked["text"])["SubscribeURL"]
    assert client_setup.get(link).status_code == 200
    sns.publish(topic, "now", Subject="s")
    _, sent = outbox(sns, destination=to)
    assert (sent["kind"], sent["subject"], sent["topic_arn"]) == ("Notification", "s", topic)
    text = json.loads(sent["text"])["Message"] if protocol == "email-json" else sent["text"]
    assert text == "now"


def test_each_protocol_gets_its_text(sns: Sns) -> None:
    """With MessageStructure `json`, a mobile app receives the text for its platform (Publish, API reference)."""
    topic = sns.create()
    texts = {"default": "d", "sms": "for phones", "GCM": '{"data":{}}', "lambda": "for functions"}
    chosen = {"sms": "for phones", "application": '{"data":{}}', "lambda": "for functions", "firehose": "d"}
    endpoints = {protocol: endpoint_of(sns, protocol) for protocol in chosen}
    for protocol, to in endpoints.items():
        sns.subscribe(topic, to, protocol, **(ROLE if protocol == "firehose" else {}))
    sns.client.publish(TopicArn=topic, Message=json.dumps(texts), MessageStructure="json")
    for protocol, to in endpoints.items():
        (sent,) = outbox(sns, destination=to, protocol=protocol)
        enveloped = protocol in ("lambda", "firehose")
        assert (json.loads(sent["text"])["Message"] if enveloped else sent["text"]) == chosen[protocol]


def test_filters_and_raw_delivery_hold_for_all(sns: Sns) -> None:
    topic, to = sns.create(), endpoint_of(sns, "firehose")
    raw = {"RawMessageDelivery": "true", "FilterPolicy": '{"a": ["b"]}'}
    sns.subscribe(topic, to, "firehose", **ROLE, **raw)
    sns.publish(topic, "not this")
    sns.publish(topic, "this", MessageAttributes={"a": {"DataType": "String", "StringValue": "b"}})
    (sent,) = outbox(sns, destination=to)
    assert sent["text"] == "this"
    assert sent["attributes"] == {"a": {"DataType": "String", "StringValue": "b"}}


@pytest.mark.parametrize(
    ("protocol", "attributes"),
    [
        ("firehose", {}),
        ("firehose", {"SubscriptionRoleArn": "stream"}),
        ("email", {"RawMessageDelivery": "true"}),
        ("sms", {"RawMessageDelivery": "true"}),
        ("lambda", {"DeliveryPolicy": '{"healthyRetryPolicy": {"numRetries": 1}}'}),
    ],
)
def test_attributes_that_a_protocol_lacks(sns: Sns, protocol: str, attributes: dict[str, str]) -> None:
    """A stream needs a role (Subscribe, API reference). Raw delivery is available for queues, URLs and streams."""
    topic, to = sns.create(), endpoint_of(sns, protocol)
    refused = sns.refusal("subscribe", TopicArn=topic, Protocol=protocol, Endpoint=to, Attributes=attributes)
    assert refused[:2] == ("InvalidParameter", 400)
    assert refused[2].startswith("Invalid parameter: Attributes Reason: ")


def test_a_topic_that_is_missing_comes_first(sns: Sns) -> None:
    missing = f"arn:aws:sns:us-east-1:{ACCOUNT}:{sns.sqs.name()}"
    for protocol, to in (("sqs", "no ARN"), ("email", "no address"), ("sms", "12"), ("pigeon", "home")):
        refused = sns.refusal("subscribe", TopicArn=missing, Protocol=protocol, Endpoint=to)
        assert refused[:2] == ("NotFound", 404)
    refused = sns.refusal("subscribe", TopicArn=sns.create(), Protocol="sms", Endpoint="12")
    assert refused == ("InvalidParameter", 400, "Invalid SMS endpoint: 12")


@pytest.mark.parametrize("protocol", ["email", "sms", "lambda"])
def test_a_fifo_topic_has_queues_only(sns: Sns, protocol: str) -> None:
    refused = sns.refusal(
        "subscribe", TopicArn=sns.create_fifo(), Protocol=protocol, Endpoint=endpoint_of(sns, protocol)
    )
    assert refused[:2] == ("InvalidParameter", 400)


def test_the_principal_is_the_caller(sns: Sns) -> None:
    """If the service does not check signatures, the principal consists of `user/` and the key id."""
    _, arn = sns.queue(sns.create())
    principal = sns.subscription(arn)["SubscriptionPrincipal"]
    assert principal == f"arn:aws:iam::{ACCOUNT}:user/{sns.client._request_signer._credentials.access_key}"


def test_a_queue_of_another_region(sns: Sns) -> None:
    elsewhere = sns.sqs.caller(region="eu-west-1")
    url = elsewhere.create()
    arn = f"arn:aws:sqs:eu-west-1:{ACCOUNT}:{url.rpartition('/')[2]}"
    topic = sns.create()
    sns.subscribe(topic, arn)
    sns.publish(topic, "over the ocean")
    (message,) = elsewhere.receive(url, 1)
    assert json.loads(message["Body"])["Message"] == "over the ocean"


def test_pages_of_the_outbox(sns: Sns) -> None:
    topic, to = sns.create(), endpoint_of(sns, "sms")
    sns.subscribe(topic, to, "sms")
    for number in range(3):
        sns.publish(topic, f"m{number}")
    found: list[Any] = []
    while page := outbox(sns, destination=to, limit=2, after=found[-1]["id"] if found else 0):
        found += page
    assert [message["text"] for message in found] == ["m0", "m1", "m2"]
