"""Serves /v1/queues/{name}/metrics, /v1/metrics/lag and related routes. See docs/reference/metrics.md."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal
from urllib.parse import urlencode

import msgspec
from fastapi import Query, Response

from penstock import errors
from penstock.management.attention.reading import Attention, read_attention
from penstock.management.metrics import operations as metrics
from penstock.management.metrics.types import LagPage, QueueLag, QueueMetrics, QueueMinute, QueueMinutes, Window
from penstock.management.rights import right_of
from penstock.verdicts import TARGET_LAG_SECONDS
from penstock_web.routing.routes import Routes, Runner, json_response

from .metrics_csv import as_csv

routes = Routes("metrics")

CSV = "text/csv; charset=utf-8; header=present"  # RFC 4180, RFC 7111

UNKNOWN: Final = (errors.QueueDoesNotExist,)
TEXT: Final = {"text/csv": {"schema": {"type": "string"}}}
Format = Literal["json", "csv"]


@routes.get(
    "/queues/{name}/metrics",
    right=right_of(metrics.read_queue_metrics),
    response=QueueMetrics,
    media=TEXT,
    raises=UNKNOWN,
)
async def queue_metrics(
    name: str,
    runner: Runner,
    window: Literal["1m", "1h", "1d"] = "1m",
    start: Annotated[str | None, Query(alias="from", max_length=64)] = None,
    end: Annotated[str | None, Query(alias="to", max_length=64)] = None,
    group: Annotated[str | None, Query(description="a message group instead of the whole queue")] = None,
    format: Format = "json",  # noqa: A002
) -> Response:
    """Return the metrics of a queue, for each window and in total. `from` and `to` are RFC 3339 times. `to` defaults to
    now. The default range is an hour, a day or 30 days, for `window` 1m, 1h or 1d. The range can have at most 1,440
    windows. CSV contains only the windows."""
    span = metrics.parse_span(window, start, end)
    found = await runner.run(metrics.read_queue_metrics(name, span, group, runner.context))
    return json_response(found) if format == "json" else build_csv_response(Window, found.windows)


@routes.get(
    "/queues/{name}/minutes", right=right_of(metrics.read_minutes), response=QueueMinutes, media=TEXT, raises=UNKNOWN
)
async def queue_minutes(
    name: str,
    runner: Runner,
    start: Annotated[str | None, Query(alias="from", max_length=64)] = None,
    end: Annotated[str | None, Query(alias="to", max_length=64)] = None,
    format: Format = "json",  # noqa: A002
) -> Response:
    """Count the events of a queue in each minute, within the last 25 hours. `from` and `to` are RFC 3339 times and
    default to the last hour. The range can have at most 1,440 minutes. CSV contains only the minutes."""
    found = await runner.run(metrics.read_minutes(name, start, end, runner.context))
    return json_response(found) if format == "json" else build_csv_response(QueueMinute, found.minutes)


@routes.get("/queues/{name}/lag", right=right_of(metrics.read_queue_lag), response=QueueLag, raises=UNKNOWN)
async def queue_lag(
    name: str,
    runner: Runner,
    target_lag_seconds: Annotated[int, Query(ge=1, le=86_400)] = TARGET_LAG_SECONDS,
) -> Response:
    """Report one queue's lag and verdict, as a member of `queues` in /metrics/lag."""
    return json_response(await runner.run(metrics.read_queue_lag(name, target_lag_seconds, runner.context)))


@routes.get("/metrics/attention", right=right_of(read_attention), response=Attention)
async def attention(runner: Runner) -> Response:
    """List problems, starting with the worst problem: queues with a bad verdict or with dead letters, endpoints with
    exhausted deliveries, paused endpoints, late or failing schedules, failing mappings, late deliveries and old
    transactions. The list covers at most 200 queues, which have the most messages, the oldest messages, or dead
    letters.
    """
    return json_response(await runner.run(read_attention(runner.context)))


@routes.get("/metrics/lag", right=right_of(metrics.read_lag), response=LagPage, media=TEXT)
async def lag(
    runner: Runner,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
    next: str | None = None,  # noqa: A002
    target_lag_seconds: Annotated[int, Query(ge=1, le=86_400)] = TARGET_LAG_SECONDS,
    format: Format = "json",  # noqa: A002
) -> Response:
    """Report the lag of each queue, the reason for the lag, and the time when consumers will have caught up. List
    queues by name, `limit` on each page. `next` is the value of `next` from the previous page. The header `Link` of a
    CSV response has the address of the next page. `target_lag_seconds` is the longest wait for which `consumers_needed`
    is computed.
    """
    page = await runner.run(metrics.read_lag(limit, next, target_lag_seconds, runner.context))
    if format == "json":
        return json_response(page)
    query = {"format": "csv", "limit": limit, "next": page.next, "target_lag_seconds": target_lag_seconds}
    following = urlencode(query)
    link = {"link": f'</v1/metrics/lag?{following}>; rel="next"'} if page.next else {}
    return build_csv_response(QueueLag, page.queues, link)


def build_csv_response(
    kind: type[msgspec.Struct], documents: Sequence[msgspec.Struct], headers: dict[str, str] | None = None
) -> Response:
    """Returns documents as CSV. If there are no documents, the CSV contains only the header."""
    return Response(as_csv(kind, documents), media_type=CSV, headers=headers)
