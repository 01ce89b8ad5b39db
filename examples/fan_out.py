"""Publishes messages to a topic with two queues. One queue has a filter policy."""

from __future__ import annotations

import json
import os
from typing import Any

import boto3


def client(service: str) -> Any:
    return boto3.client(
        service, endpoint_url=os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:9324"), region_name="us-east-1",
        aws_access_key_id="any", aws_secret_access_key="any",
    )  # fmt: skip


def subscribed_queue(sns: Any, sqs: Any, topic: str, name: str, **attributes: str) -> str:
    """Creates a queue, subscribes the queue to the topic, and returns the queue's URL."""
    url: str = sqs.create_queue(QueueName=name)["QueueUrl"]
    response = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    # With raw delivery, the queue receives only the message. Without raw delivery, the queue receives SNS's JSON
    # envelope with the message.
    sns.subscribe(
        TopicArn=topic,
        Protocol="sqs",
        Endpoint=response["Attributes"]["QueueArn"],
        Attributes={"RawMessageDelivery": "true", **attributes},
    )
    return url


def publish(sns: Any, topic: str, text: str, amount: int) -> None:
    attributes = {"amount": {"DataType": "Number", "StringValue": str(amount)}}
    sns.publish(TopicArn=topic, Message=text, MessageAttributes=attributes)
    print(f"published: {text}")


def drain(sqs: Any, url: str) -> list[str]:
    """Receives and deletes the messages in the queue, and returns their bodies."""
    bodies = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in messages:
            bodies.append(message["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return sorted(bodies)


def main() -> None:
    sns, sqs = client("sns"), client("sqs")
    topic = sns.create_topic(Name="example-sales")["TopicArn"]
    billing = subscribed_queue(sns, sqs, topic, "example-billing")
    large = json.dumps({"amount": [{"numeric": [">=", 1000]}]})
    fraud = subscribed_queue(sns, sqs, topic, "example-fraud", FilterPolicy=large)
    publish(sns, topic, "sale of 20", amount=20)
    publish(sns, topic, "sale of 5000", amount=5000)
    # Publish stores the message in all queues in one transaction, so each queue has the message at once.
    found = {"billing": drain(sqs, billing), "fraud": drain(sqs, fraud)}
    for name, bodies in found.items():
        print(f"{name} received: {', '.join(bodies)}")
    if found != {"billing": ["sale of 20", "sale of 5000"], "fraud": ["sale of 5000"]}:
        raise SystemExit("a queue has not received the right messages")


if __name__ == "__main__":
    main()
