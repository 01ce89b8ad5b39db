"""Runs a producer of ten orders, and a worker that fails at its first attempt to handle one of the orders.

A message stays in the queue until the worker deletes it. If the worker fails or ends, a worker later receives the
message again.
"""

from __future__ import annotations

import os
from typing import Any

import boto3

ORDERS = [f"order {number}" for number in range(1, 11)]


def produce(sqs: Any, url: str) -> None:
    entries = [{"Id": str(number), "MessageBody": order} for number, order in enumerate(ORDERS)]
    response = sqs.send_message_batch(QueueUrl=url, Entries=entries)
    print(f"the producer sent {len(response['Successful'])} orders")


def work(sqs: Any, url: str) -> None:
    """Handles messages until every order is done. A worker in production would never end."""
    open_orders = set(ORDERS)
    while open_orders:
        # The call waits up to 20 seconds for a message, and returns as soon as a message arrives.
        response = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=20, AttributeNames=["ApproximateReceiveCount"]
        )
        for message in response.get("Messages", []):
            try:
                handle(message)
            except ConnectionError as error:
                # The message stays in the queue. A visibility timeout of 0 makes the message visible again at once.
                print(f"the worker failed on {message['Body']}: {error}")
                sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
            else:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                open_orders.discard(message["Body"])
    print("the worker handled every order")


def handle(message: dict[str, Any]) -> None:
    received = int(message["Attributes"]["ApproximateReceiveCount"])
    if message["Body"] == "order 3" and received == 1:
        raise ConnectionError("the card service does not respond")
    print(f"the worker handled {message['Body']}, received {received} time(s)")


def main() -> None:
    sqs = boto3.client(
        "sqs", endpoint_url=os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:9324"), region_name="us-east-1",
        aws_access_key_id="any", aws_secret_access_key="any",
    )  # fmt: skip
    url = sqs.create_queue(QueueName="example-orders")["QueueUrl"]
    # In production, the producer and the worker are separate programs, and any number of processes can run each
    # program.
    produce(sqs, url)
    work(sqs, url)


if __name__ == "__main__":
    main()
