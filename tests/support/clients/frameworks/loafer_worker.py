"""Runs a worker of loafer-ng with a route for a queue, and another for a queue that is subscribed to a topic.

The environment contains ADDRESS and RESULTS (tests/support/clients/task_results.py). The worker runs until SIGTERM.
"""

from __future__ import annotations

import os
from typing import Any

from loafer.ext.aws.routes import SNSQueueRoute, SQSRoute
from loafer.managers import LoaferManager

from tests.support.clients.task_results import note


class NotYetError(Exception):
    """The handler requests a retry."""


# The factor makes the visibility timeout of a failed message zero.
RECEIVE = {"WaitTimeSeconds": 20, "MaxNumberOfMessages": 10, "VisibilityTimeout": 600, "BackoffFactor": 0.0001}
CLIENT = {
    "endpoint_url": os.environ["ADDRESS"],
    "region_name": "us-east-1",
    "aws_access_key_id": "x",
    "aws_secret_access_key": "x",
}


async def take(content: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """Fails at the first receive of a message whose content contains `fails`."""
    attempt = int(metadata["Attributes"]["ApproximateReceiveCount"])
    note("queue", content["text"], attempt)
    if content["fails"] and attempt == 1:
        raise NotYetError
    return True


async def take_notification(content: dict[str, Any], metadata: dict[str, Any]) -> bool:
    note("topic", content["text"], metadata["Subject"])
    return True


def options() -> dict[str, Any]:
    """Copies the options, because a provider modifies them."""
    return {"options": dict(RECEIVE), **CLIENT}


if __name__ == "__main__":
    LoaferManager(
        routes=[
            SQSRoute("loafer", options(), handler=take),
            SNSQueueRoute("loafer-topic", options(), handler=take_notification),
        ]
    ).run()
