"""A worker of loafer-ng with a route for a queue and one for a queue that a topic sends to.

Environment: ADDRESS of the service, RESULTS (tests/support/clients/task_results.py). It runs until SIGTERM.
"""

from __future__ import annotations

import os
from typing import Any

from loafer.ext.aws.routes import SNSQueueRoute, SQSRoute
from loafer.managers import LoaferManager

from tests.support.clients.task_results import note


class NotYetError(Exception):
    """The handler wants the message again."""


# The back-off multiplies the visibility timeout of a message that failed, here to nothing.
RECEIVE = {
    "WaitTimeSeconds": 20,
    "MaxNumberOfMessages": 10,
    "VisibilityTimeout": 600,
    "BackoffFactor": 0.0001,
}
CLIENT = {
    "endpoint_url": os.environ["ADDRESS"],
    "region_name": "us-east-1",
    "aws_access_key_id": "x",
    "aws_secret_access_key": "x",
}


async def take(content: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """Fails at the first receive of a message that says so."""
    attempt = int(metadata["Attributes"]["ApproximateReceiveCount"])
    note("queue", content["text"], attempt)
    if content["fails"] and attempt == 1:
        raise NotYetError
    return True


async def take_notification(content: dict[str, Any], metadata: dict[str, Any]) -> bool:
    note("topic", content["text"], metadata["Subject"])
    return True


def options() -> dict[str, Any]:
    """A provider changes the options that it is given."""
    return {"options": dict(RECEIVE), **CLIENT}


if __name__ == "__main__":
    LoaferManager(
        routes=[
            SQSRoute("loafer", options(), handler=take),
            SNSQueueRoute("loafer-topic", options(), handler=take_notification),
        ]
    ).run()
