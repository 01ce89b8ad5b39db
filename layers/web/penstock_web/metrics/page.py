"""Serves GET /metrics in Prometheus's text format or as OpenMetrics. `metrics.scraping` checks the caller. The response
contains queue names, but no message data. The response covers all processes on the port.
"""

import asyncio
import gzip
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from penstock.errors import AwsError
from penstock.postgres.statements.installation import DELETED_QUEUES
from penstock.settings import Settings
from penstock_web.database.pool import Pool

from .exposition import TEXT, ExpositionFormat, block_series, format_family
from .meter import Meter
from .negotiation import takes_gzip, wants_openmetrics
from .readings import Reading, Readings, build_reading_series
from .verdicts import VerdictReadings

_find_accounts: Final = re.compile(r"arn:aws:[a-z]+:[a-z0-9-]*:([0-9]{12}):").findall
PUBLISH_SECONDS: Final = 1.0
"""A process publishes its pool's numbers every PUBLISH_SECONDS, because another process on the port can receive the
scrape.
"""
GZIP_LEVEL: Final = 1
"""The fastest level, GZIP_LEVEL 1, compresses the 4.6 MB of 1,000 busy queues to 0.2 MB in 0.01 s."""
ROUNDS_BETWEEN_REMOVALS: Final = 60
"""The process removes deleted queues from a full table at intervals of PUBLISH_SECONDS times
ROUNDS_BETWEEN_REMOVALS."""


def write_metric_texts(meter: Meter, reading: Reading | None, form: ExpositionFormat = TEXT) -> Iterator[str]:
    """Yields the text of each family, and then the end of the response."""
    for family, series in block_series(meter.memory.total()):
        yield format_family(family, series, form)
    for family, series in build_reading_series(reading, meter.queues.label):
        yield format_family(family, series, form)
    yield form.end


def keep_account(text: str, account: str) -> str:
    """Removes the lines about resources of other accounts."""
    kept = (
        line
        for line in text.splitlines(keepends=True)
        if line.startswith("#") or set(_find_accounts(line)) == {account}
    )
    return "".join(kept)


def publish_pool(meter: Meter, pool: Pool) -> None:
    """Copies the pool's current numbers to the meter."""
    meter.set_pool_gauges(pool.stats(), pool.timeouts)


def build_metrics_router(
    meter: Meter,
    pool: Pool,
    settings: Settings,
    admit: Callable[[Request], Awaitable[str | None]],
    probe: Callable[[], Awaitable[str]],
    refresh: Callable[[], Awaitable[None]] | None = None,
) -> APIRouter:
    """Returns a router with the route /metrics. `admit` raises an error if the caller may not read /metrics. If the
    caller may read only one account's lines, `admit` returns the account. If the caller may read all lines, `admit`
    returns None. `probe` and `refresh` have the same meaning as in `Readings`.
    """
    router = APIRouter(tags=["health"])
    verdicts = VerdictReadings(pool.call, settings.queue_in_flight_limit)
    readings = Readings(pool.call, settings.queue_metrics_max_queues, verdicts, probe, refresh)

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics(request: Request) -> Response:
        """Returns metrics in the format that the request prefers."""
        account = await admit(request)
        is_openmetrics = wants_openmetrics(request.headers.get("accept", ""))
        form = ExpositionFormat(is_openmetrics, meter.exemplars if is_openmetrics else None)
        reading = await readings()
        publish_pool(meter, pool)
        parts: list[str] = []
        for text in write_metric_texts(meter, reading, form):
            parts.append(text if account is None else keep_account(text, account))
            await asyncio.sleep(0)  # The pause lets other requests run.
        headers = {"vary": "Accept, Accept-Encoding"}
        body = "".join(parts).encode()
        if takes_gzip(request.headers.get("accept-encoding", "")):
            headers["content-encoding"] = "gzip"
            # Compression in a thread does not delay requests, because zlib releases the interpreter's lock.
            body = await asyncio.to_thread(gzip.compress, body, GZIP_LEVEL)
        return Response(body, headers=headers, media_type=form.content_type)

    return router


async def maintain_metrics(meter: Meter, pool: Pool) -> None:
    """Until cancelled, publishes the pool's numbers, and removes deleted queues from a full table."""
    round_number = 0
    while True:
        publish_pool(meter, pool)
        if meter.queues.overflowed and round_number % ROUNDS_BETWEEN_REMOVALS == 0:
            await remove_deleted_queues(meter, pool)
        round_number += 1
        await asyncio.sleep(PUBLISH_SECONDS)


async def remove_deleted_queues(meter: Meter, pool: Pool) -> None:
    """Removes deleted queues from the table of queues."""
    try:
        deleted = await pool.call(DELETED_QUEUES, [list(meter.queues.arns)])
    except AwsError:
        return  # The database is unavailable. The caller tries again in a minute.
    meter.queues.remove_queues(row.arn for row in deleted)
