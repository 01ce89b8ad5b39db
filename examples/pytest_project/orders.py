"""Implements a shop that sends orders to a queue, and a worker that ships the orders. Tests pass their own clients to
these functions."""

import json
from collections.abc import Callable
from typing import Any


def take_order(sqs: Any, queue_url: str, order: int) -> None:
    """Sends an order to the worker."""
    sqs.send_message(QueueUrl=queue_url, MessageBody=json.dumps({"order": order}))


def always(_: int) -> bool:
    """Returns True, because every order can be shipped."""
    return True


def ship(sqs: Any, queue_url: str, can_ship: Callable[[int], bool] = always, wait_seconds: int = 0) -> list[int]:
    """Ships the waiting orders. If an order cannot be shipped, it stays in the queue for another attempt."""
    response = sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=wait_seconds)
    shipped = []
    for message in response.get("Messages", []):
        order = json.loads(message["Body"])["order"]
        if can_ship(order):
            shipped.append(order)
            sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
    return shipped
