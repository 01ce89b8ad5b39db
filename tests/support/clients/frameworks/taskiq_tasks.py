"""Tasks of taskiq with taskiq-aio-sqs as their broker, imported by the worker, and run to send them.

Environment: ADDRESS of the service, QUEUE, RESULTS (tests/support/clients/task_results.py).
"""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

from taskiq import Context, SimpleRetryMiddleware, TaskiqDepends
from taskiq_aio_sqs import SQSBroker

from tests.support.clients.task_results import note

broker = SQSBroker(
    os.environ["QUEUE"],
    endpoint_url=os.environ["ADDRESS"],
    region_name="us-east-1",
    aws_access_key_id="x",
    aws_secret_access_key="x",
    max_number_of_messages=10,
    visibility_timeout=600,
    use_task_id_for_deduplication=True,
).with_middlewares(SimpleRetryMiddleware())


class NotYetError(Exception):
    """The task wants to be tried again."""


@broker.task
async def add(a: int, b: int) -> None:
    note("add", a, b, a + b)


@broker.task(retry_on_error=True, max_retries=3)
async def succeed_at_third(text: str, context: Annotated[Context, TaskiqDepends()]) -> None:
    retries = int(context.message.labels.get("_retries", 0))
    note("attempt", text, retries)
    if retries != 2:
        raise NotYetError


async def send() -> None:
    """Sends what the test expects the worker to do."""
    await broker.startup()
    for number in range(5):
        await add.kiq(number, 10)
    if not broker.is_worker_process and not os.environ["QUEUE"].endswith(".fifo"):
        await add.kicker().with_labels(delay=1).kiq(5, 10)
    await succeed_at_third.kiq("grüße")
    await broker.shutdown()


if __name__ == "__main__":
    asyncio.run(send())
