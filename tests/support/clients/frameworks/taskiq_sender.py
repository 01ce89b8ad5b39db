"""Sends the tasks for the worker of taskiq-aio-sqs. The sender needs the environment variables of taskiq_tasks.py."""

from __future__ import annotations

import asyncio

from tests.support.clients.frameworks.taskiq_tasks import FIFO, add, broker, succeed_at_third


async def send() -> None:
    await broker.startup()
    for number in range(5):
        await add.kiq(number, 10)
    if not FIFO:
        await add.kicker().with_labels(delay=1).kiq(5, 10)
    await succeed_at_third.kiq("grüße")
    await broker.shutdown()


if __name__ == "__main__":
    asyncio.run(send())
