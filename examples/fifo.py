"""Sends events to a FIFO queue, which keeps each group's order and stores a repeated message only once.

Each account has a message group. An account's events arrive in the order of sending, and do not wait for other
accounts' events.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections import defaultdict
from typing import Any

import boto3

EVENTS = [
    ("alice", "opened"), ("bob", "opened"), ("alice", "paid in 50"), ("alice", "paid out 20"), ("bob", "closed"),
]  # fmt: skip


def send(sqs: Any, url: str) -> None:
    """Sends every event twice, like a client that has not received the first response."""
    run = uuid.uuid4().hex
    for number, (account, event) in enumerate(EVENTS):
        for _ in range(2):
            sqs.send_message(
                QueueUrl=url, MessageBody=event, MessageGroupId=account, MessageDeduplicationId=f"{run}-{number}"
            )
    print(f"sent {len(EVENTS)} events, each of them twice")


def receive(sqs: Any, url: str) -> dict[str, list[str]]:
    """Receives and deletes messages until the queue is empty, and returns the events by account."""
    events = defaultdict(list)
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["MessageGroupId"]).get(
        "Messages"
    ):
        for message in messages:
            events[message["Attributes"]["MessageGroupId"]].append(message["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return events


def main() -> None:
    sqs = boto3.client(
        "sqs", endpoint_url=os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:9324"), region_name="us-east-1",
        aws_access_key_id="any", aws_secret_access_key="any",
    )  # fmt: skip
    url = sqs.create_queue(QueueName="example-accounts.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    send(sqs, url)
    received = receive(sqs, url)
    for account, events in sorted(received.items()):
        print(f"{account}: {', '.join(events)}")
    for account, events in received.items():
        if events != [event for name, event in EVENTS if name == account]:
            sys.exit(f"the events of {account} did not arrive once and in order")


if __name__ == "__main__":
    main()
