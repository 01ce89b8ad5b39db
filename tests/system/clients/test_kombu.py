"""Tests kombu alone: a producer with the options of SQS, and a consumer that acknowledges, gives back and rejects.

The source is kombu's documentation of `kombu.transport.SQS`. boto3 reads the state of the queue afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kombu import Connection, Consumer, Producer, Queue

from tests.support.clients.service_client import Deployment, counts, sqs_client

pytestmark = pytest.mark.clients


@pytest.fixture
def connection(up: Deployment) -> Iterator[Connection]:
    options = {"region": "us-east-1", "visibility_timeout": 600, "wait_time_seconds": 5}
    with Connection(up.address.replace("http://", "sqs://x:x@"), transport_options=options) as connection:
        yield connection


def test_a_message_that_is_given_back_comes_again(up: Deployment, connection: Connection) -> None:
    seen: list[tuple[Any, ...]] = []

    def take(body: Any, message: Any) -> None:
        seen.append((body, message.headers.get("of"), bool(message.delivery_info.get("redelivered"))))
        if body == {"text": "again"} and len([call for call in seen if call[0] == body]) == 1:
            message.requeue()
        elif body == {"text": "refused"}:
            message.reject()
        else:
            message.ack()

    queue = Queue("kombu", routing_key="kombu")
    with connection.channel() as channel:
        producer = Producer(channel)
        for text in ("grüße", "again", "refused"):
            producer.publish({"text": text}, routing_key="kombu", declare=[queue], headers={"of": "kombu"})
        producer.publish({"text": "late"}, routing_key="kombu", DelaySeconds=900)
        assert counts(up, "kombu") == ["3", "0", "1"]
        with Consumer(channel, [queue], callbacks=[take]):
            while len(seen) < 4:
                connection.drain_events(timeout=60)
    assert sorted(body["text"] for body, _, _ in seen) == ["again", "again", "grüße", "refused"]
    assert {of for _, of, _ in seen} == {"kombu"}
    assert counts(up, "kombu") == ["0", "0", "1"]


def test_groups_of_a_fifo_queue(up: Deployment, connection: Connection) -> None:
    queue = connection.SimpleQueue("kombu.fifo")
    for group, text in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a1")]:
        queue.put({"text": text}, MessageGroupId=group, MessageDeduplicationId=text)
    messages = [queue.get(timeout=60) for _ in range(3)]
    texts = [message.payload["text"] for message in messages]
    assert sorted(texts) == ["a1", "a2", "b1"]
    assert [text for text in texts if text.startswith("a")] == ["a1", "a2"]
    assert counts(up, "kombu.fifo") == ["0", "3", "0"]
    for message in messages:
        message.ack()
    queue.close()
    assert counts(up, "kombu.fifo") == ["0", "0", "0"]
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName="kombu.fifo")["QueueUrl"]
        assert sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["FifoQueue"])["Attributes"] == {
            "FifoQueue": "true"
        }
