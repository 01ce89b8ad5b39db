"""GET /metrics, in Prometheus's text format. No credentials: keep it from where it should not be read.

It names queues, and nothing else of what they hold. Several processes on one port answer for all of them.
"""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from penstock.errors import AwsError
from penstock.postgres.statements import DELETED_QUEUES
from penstock_web.database.pool import Pool

from .exposition import CONTENT_TYPE, format_blocks
from .meter import Meter
from .readings import Reading, Readings, format_reading

PUBLISH_SECONDS: Final = 1.0
"""The pool's numbers are good for so long where another process of the port is asked."""
ROUNDS_BETWEEN_REMOVALS: Final = 60
"""Of that length: how often a full table of queues looks for those that are gone."""


def metric_texts(meter: Meter, reading: Reading | None) -> Iterator[str]:
    """Every family, a text each."""
    yield from format_blocks(meter.memory.total())
    yield from format_reading(reading, meter.queues.label)


def publish_pool(meter: Meter, pool: Pool) -> None:
    """The pool's own numbers, as they are now."""
    meter.set_pool_gauges(pool.stats(), pool.timeouts)


def metrics_router(meter: Meter, pool: Pool, most_queues: int) -> APIRouter:
    """The route."""
    router = APIRouter(tags=["health"])
    readings = Readings(pool.call, most_queues)

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Any:
        """Metrics for Prometheus: see docs/metrics.md."""
        reading = await readings()
        publish_pool(meter, pool)
        parts: list[str] = []
        for text in metric_texts(meter, reading):
            parts.append(text)
            await asyncio.sleep(0)  # requests go on in between
        return PlainTextResponse("".join(parts), media_type=CONTENT_TYPE)

    return router


async def maintain_metrics(meter: Meter, pool: Pool) -> None:
    """Keeps the pool's numbers fresh, and makes room in a table of queues that is full. Until it is cancelled."""
    round_number = 0
    while True:
        publish_pool(meter, pool)
        if meter.queues.overflowed and round_number % ROUNDS_BETWEEN_REMOVALS == 0:
            await remove_deleted_queues(meter, pool)
        round_number += 1
        await asyncio.sleep(PUBLISH_SECONDS)


async def remove_deleted_queues(meter: Meter, pool: Pool) -> None:
    """Takes queues that do not exist from the table."""
    try:
        deleted = await pool.call(DELETED_QUEUES, [list(meter.queues.arns)])
    except AwsError:
        return  # the database is away; again in a minute
    meter.queues.remove_queues(arn for (arn,) in deleted)
