"""Serves /v1/queues/{name}/metrics and /v1/metrics/lag: the results of the metrics job. See
docs/reference/metrics.md."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal
from urllib.parse import urlencode

import msgspec
from fastapi import Query, Response

from penstock import errors
from penstock.management.attention import Attention, read_attention
from penstock.management.metrics import operations as metrics
from penstock.management.metrics.types import LagPage, QueueLag, QueueMetrics, QueueMinute, QueueMinutes, Window
from penstock.management.rights import right_of
from penstock.verdicts import TARGET_LAG_SECONDS
from penstock_web.routing.routes import Routes, Runner, json_response

from .csv import as_csv

routes = Routes("metrics")

CSV = "text/csv; charset=utf-8; header=present"  # RFC 4180 and RFC 7111 define this type.

UNKNOWN: Final = (errors.QueueDoesNotExist,)
TEXT: Final = {"text/csv": {"schema": {"type": "string"}}}
Format = Literal["json", "csv"]


@routes.get(
    "/queues/{name}/metrics",
    right=right_of(metrics.read_queue_metrics),
    answer=QueueMetrics,
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
    """Return the metrics of a queue for each window, and their total. `from` and `to` are RFC 3339. `to` defaults to
    now, and the range defaults to an hour, a day or 30 days. There are at most 1,440 windows. CSV has only the
    windows."""
    span = metrics.parse_span(window, start, end)
    found = await runner.run(metrics.read_queue_metrics(name, span, group, runner.context))
    return json_response(found) if format == "json" else csv_response(Window, found.windows)


@routes.get(
    "/queues/{name}/minutes", right=right_of(metrics.read_minutes), answer=QueueMinutes, media=TEXT, raises=UNKNOWN
)
async def queue_minutes(
    name: str,
    runner: Runner,
    start: Annotated[str | None, Query(alias="from", max_length=64)] = None,
    end: Annotated[str | None, Query(alias="to", max_length=64)] = None,
    format: Format = "json",  # noqa: A002
) -> Response:
    """Return the events of a queue by the minute, for the last 25 hours. `from` and `to` are RFC 3339 and default to
    the last hour. There are at most 1,440 minutes. CSV has only the minutes."""
    found = await runner.run(metrics.read_minutes(name, start, end, runner.context))
    return json_response(found) if format == "json" else csv_response(QueueMinute, found.minutes)


@routes.get("/metrics/attention", right=right_of(read_attention), answer=Attention)
async def attention(runner: Runner) -> Response:
    """List what needs attention, the worst first: queues by their verdicts, dead letters among them; endpoints to which
    deliveries were given up; paused endpoints. If there are many queues, the list covers only the 200 with the most
    messages, the oldest messages, or dead letters.
    """
    return json_response(await runner.run(read_attention(runner.context)))


@routes.get("/metrics/lag", right=right_of(metrics.read_lag), answer=LagPage, media=TEXT)
async def lag(
    runner: Runner,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
    next: str | None = None,  # noqa: A002
    target_lag_seconds: Annotated[int, Query(ge=1, le=86_400)] = TARGET_LAG_SECONDS,
    format: Format = "json",  # noqa: A002
) -> Response:
    """Report how far the consumers of each queue are behind, why, and when they will have caught up. Queues are in the
    order of their names, `limit` on each page. `next` of one page, or the header `Link` of its CSV, requests the
    following page. `target_lag_seconds` is the longest wait that `consumers_needed` assumes.
    """
    page = await runner.run(metrics.read_lag(limit, next, target_lag_seconds, runner.context))
    if format == "json":
        return json_response(page)
    query = {"format": "csv", "limit": limit, "next": page.next, "target_lag_seconds": target_lag_seconds}
    following = urlencode(query)
    link = {"link": f'</v1/metrics/lag?{following}>; rel="next"'} if page.next else {}
    return csv_response(QueueLag, page.queues, link)


def csv_response(
    kind: type[msgspec.Struct], documents: Sequence[msgspec.Struct], headers: dict[str, str] | None = None
) -> Response:
    """Returns documents as CSV. The response is only the header of the table if there are no documents."""
    return Response(as_csv(kind, documents), media_type=CSV, headers=headers)
