"""Tests orders.py with the fixtures of the package penstock-queue."""

import json
from datetime import timedelta
from typing import Any

from orders import ship, take_order

from penstock_web.testing import Clock


def test_an_order_is_shipped_once(sqs: Any, sqs_queue: str) -> None:
    take_order(sqs, sqs_queue, 42)
    assert ship(sqs, sqs_queue) == [42]
    assert ship(sqs, sqs_queue) == []


def test_an_order_that_cannot_be_shipped_comes_again(sqs: Any, sqs_queue: str, penstock_clock: Clock) -> None:
    take_order(sqs, sqs_queue, 42)
    assert ship(sqs, sqs_queue, can_ship=lambda _: False) == []
    assert ship(sqs, sqs_queue) == []
    penstock_clock.advance(timedelta(seconds=30))
    assert ship(sqs, sqs_queue) == [42]


def test_a_topic_tells_the_shop(sqs: Any, sns: Any, sqs_queue: str) -> None:
    arn = sqs.get_queue_attributes(QueueUrl=sqs_queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    topic = sns.create_topic(Name="orders")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    sns.publish(TopicArn=topic, Message=json.dumps({"order": 7}))
    assert ship(sqs, sqs_queue, wait_seconds=20) == [7]
