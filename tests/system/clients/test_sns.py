"""Topics with boto3 and with the SDK for JavaScript: queues, filters, FIFO, batches, and an endpoint that confirms.

The expected results are in the SNS developer guide and API reference; the endpoint is on this machine.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clients.service_client import Deployment, client, sqs_client
from tests.support.delivery.receiver import Receiver, running_receiver
from tests.support.sns_signatures import verify
from tests.support.wait import wait_until
from tests.system.clients.test_node import printed

SEEN_BY_NODE = {
    "fanOut": {
        "all": ["small", "grüße\n世界"],
        "some": ["grüße\n世界", "large", ["kind", "size"]],
        "raw": [["small", "9"], ["grüße\n世界", "11"]],
        "batch": [["large"], [["long", "InvalidParameter", True]]],
        "policy": {"kind": ["large"], "size": [{"numeric": [">", 10]}]},
        "tags": [{"Key": "of", "Value": "node"}],
        "subscriptions": 3,
        "unsubscribed": 200,
        "left": 2,
    },
    "ordered": {"rising": True, "duplicate": True, "received": [["one", "a"], ["two", "a"]]},
    "endpoints": {
        "pending": "pending confirmation",
        "seen": [
            [kind, kind] for kind in ("SubscriptionConfirmation", "Notification", "UnsubscribeConfirmation")
        ],
        "message": "hello",
    },
    "errors": {
        "unknown": ["NotFoundException", "NotFoundException", 404],
        "name": ["InvalidParameterException", "InvalidParameterException", 400],
        "policy": ["InvalidParameterException", "InvalidParameterException", 400],
        "emptyBatch": ["EmptyBatchRequestException", "EmptyBatchRequestException", 400],
    },
}


@pytest.fixture
def sns(up: Deployment) -> Iterator[Any]:
    with client("sns", up) as sns:
        yield sns


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        yield receiver


@pytest.mark.clients
def test_sdk_for_javascript(up: Deployment) -> None:
    assert printed("sns.cjs", up.address) == SEEN_BY_NODE


def test_a_topic_feeds_a_queue_and_an_endpoint(up: Deployment, sns: Any, receiver: Receiver) -> None:
    topic = sns.create_topic(Name="boto3", Attributes={"SignatureVersion": "2"})["TopicArn"]
    with sqs_client(up) as sqs:
        url = sqs.create_queue(QueueName="boto3-topic")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = json.dumps({"store": [{"prefix": "example"}], "price": [{"numeric": [">=", 100]}]})
        sns.subscribe(
            TopicArn=topic,
            Protocol="sqs",
            Endpoint=arn,
            Attributes={"FilterPolicy": policy, "FilterPolicyScope": "MessageBody"},
        )
        pending = sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=receiver.url("/200"))
        assert pending["SubscriptionArn"] == "pending confirmation"
        wait_until(lambda: receiver.count("/200") == 1)
        confirmation = json.loads(receiver.requests[0].body)
        subscription = sns.confirm_subscription(TopicArn=topic, Token=confirmation["Token"])[
            "SubscriptionArn"
        ]
        bodies = [json.dumps({"store": "example.com", "price": price}) for price in (99, 100)]
        for body in bodies:
            sns.publish(TopicArn=topic, Message=body)
        wait_until(lambda: receiver.count("/200") == 3)
        (message,) = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        assert json.loads(message["Body"])["Message"] == bodies[1]
        posted = [json.loads(request.body) for request in receiver.requests]
        with urllib.request.urlopen(posted[0]["SigningCertURL"]) as answer:
            certificate = answer.read().decode()
        for each in posted:
            verify(each, certificate)
        assert sorted(each["Message"] for each in posted[1:]) == sorted(bodies)
        sns.unsubscribe(SubscriptionArn=subscription)
        wait_until(lambda: receiver.count("/200") == 4)
        kinds = [request.headers["x-amz-sns-message-type"] for request in receiver.requests]
        assert kinds == [
            "SubscriptionConfirmation",
            "Notification",
            "Notification",
            "UnsubscribeConfirmation",
        ]
