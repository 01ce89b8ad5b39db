"""Defines the taskiq tasks that the worker and the sender import. The broker is taskiq-aio-sqs.

The environment contains ADDRESS, QUEUE and RESULTS (tests/support/clients/task_results.py).
"""

from __future__ import annotations

import os
from typing import Annotated

from taskiq import Context, SimpleRetryMiddleware, TaskiqDepends
from taskiq_aio_sqs import SQSBroker

from tests.support.clients.task_results import note

FIFO = os.environ["QUEUE"].endswith(".fifo")

broker = SQSBroker(
    os.environ["QUEUE"],
    endpoint_url=os.environ["ADDRESS"],
    region_name="us-east-1",
    aws_access_key_id="x",
    aws_secret_access_key="x",
    wait_time_seconds=2,
    max_number_of_messages=10,
    visibility_timeout=600,
).with_middlewares(SimpleRetryMiddleware())


class NotYetError(Exception):
    """The task requests a retry."""


@broker.task  # type: ignore[untyped-decorator]
async def add(a: int, b: int) -> None:
    note("add", a, b, a + b)


@broker.task(retry_on_error=True, max_retries=3)  # type: ignore[untyped-decorator]
async def succeed_at_third(text: str, context: Annotated[Context, TaskiqDepends()]) -> None:
    retries = int(context.message.labels.get("_retries", 0))
    note("attempt", text, retries)
    if retries != 2:
        raise NotYetError
