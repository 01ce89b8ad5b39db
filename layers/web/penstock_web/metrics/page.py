"""GET /metrics, in Prometheus's text format. `native.scraping` decides who may read it.

The response contains the names of queues, but nothing of their messages. Each of several processes on one port answers
with the metrics of all of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from penstock.errors import AwsError
from penstock.postgres.statements.installation import DELETED_QUEUES
from penstock.settings import Settings
from penstock_web.database.pool import Pool

from .exposition import CONTENT_TYPE, format_blocks
from .meter import Meter
from .readings import Reading, Readings, format_reading
from .verdicts import VerdictReadings

PUBLISH_SECONDS: Final = 1.0
"""How often a process publishes its pool's numbers, for a scrape that another process of the port answers."""
ROUNDS_BETWEEN_REMOVALS: Final = 60
"""Rounds of PUBLISH_SECONDS after which deleted queues are removed from a full table again."""


def metric_texts(meter: Meter, reading: Reading | None) -> Iterator[str]:
    """The text of each family."""
    yield from format_blocks(meter.memory.total())
    yield from format_reading(reading, meter.queues.label)


def publish_pool(meter: Meter, pool: Pool) -> None:
    """Copies the pool's current numbers to the meter."""
    meter.set_pool_gauges(pool.stats(), pool.timeouts)


def metrics_router(
    meter: Meter,
    pool: Pool,
    settings: Settings,
    admit: Callable[[Request], Awaitable[None]],
    refresh: Callable[[], Awaitable[None]] | None = None,
) -> APIRouter:
    """A router with the route /metrics.

    `admit` raises an error for who may not read it; `refresh`: as Readings.
    """
    router = APIRouter(tags=["health"])
    verdicts = VerdictReadings(pool.call, settings.queue_in_flight_limit)
    readings = Readings(pool.call, settings.queue_metrics_max_queues, verdicts, refresh)

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics(request: Request) -> PlainTextResponse:
        """Metrics for Prometheus: see docs/metrics.md."""
        await admit(request)
        reading = await readings()
        publish_pool(meter, pool)
        parts: list[str] = []
        for text in metric_texts(meter, reading):
            parts.append(text)
            await asyncio.sleep(0)  # lets other requests run between two families
        return PlainTextResponse("".join(parts), media_type=CONTENT_TYPE)

    return router


async def maintain_metrics(meter: Meter, pool: Pool) -> None:
    """Publishes the pool's numbers and removes deleted queues from a full table, until it is cancelled."""
    round_number = 0
    while True:
        publish_pool(meter, pool)
        if meter.queues.overflowed and round_number % ROUNDS_BETWEEN_REMOVALS == 0:
            await remove_deleted_queues(meter, pool)
        round_number += 1
        await asyncio.sleep(PUBLISH_SECONDS)


async def remove_deleted_queues(meter: Meter, pool: Pool) -> None:
    """Removes queues that no longer exist from the table of queues."""
    try:
        deleted = await pool.call(DELETED_QUEUES, [list(meter.queues.arns)])
    except AwsError:
        return  # the database does not answer; the next attempt is in a minute
    meter.queues.remove_queues(row.arn for row in deleted)
