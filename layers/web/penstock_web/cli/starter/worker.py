"""Receives, handles and deletes orders. A failed order becomes visible again after the visibility timeout. After five
receives, the order moves to `orders-failed`.
"""

import os
from typing import Any

import boto3


def handle(body: str) -> None:
    """Handles an order. Replace this function with your own code. If the function raises an exception, the order
    becomes visible again.
    """
    print(f"handled {body}", flush=True)


def work(sqs: Any, url: str, wait_seconds: int = 20) -> int:
    """Receives up to ten messages and handles them. Returns the number of handled messages."""
    response = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=wait_seconds)
    handled = 0
    for message in response.get("Messages", []):
        try:
            handle(message["Body"])
        except Exception as error:  # noqa: BLE001 - the message becomes visible again
            print(f"failed {message['Body']}: {error}", flush=True)
        else:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            handled += 1
    return handled


def main() -> None:
    """Handles orders until the process ends."""
    sqs = boto3.client(
        "sqs",
        endpoint_url=os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:9324"),
        region_name=os.environ.get("AWS_REGION", "us-east-1"),
        aws_access_key_id=os.environ.get("AWS_ACCESS_KEY_ID", "any"),
        aws_secret_access_key=os.environ.get("AWS_SECRET_ACCESS_KEY", "any"),
    )
    url = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    while True:
        work(sqs, url)


if __name__ == "__main__":
    main()
