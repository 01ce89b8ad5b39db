"""/v1/queues/{name}/metrics and /v1/metrics/lag: the results of the metrics job. See docs/metrics.md."""

from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import urlencode

import msgspec
from fastapi import APIRouter, Query, Response

from penstock.verdicts import TARGET_LAG_SECONDS
from penstock_web.rest.openapi import Responses, json_answers
from penstock_web.rest.rest_route import RestRoute, Runner, json_response

from . import operations as measuring
from .documents import LagPage, QueueLag, QueueMetrics, QueueMinute, QueueMinutes, Window, as_csv

router = APIRouter(tags=["metrics"], route_class=RestRoute)

CSV = "text/csv; charset=utf-8; header=present"  # RFC 4180, RFC 7111

Format = Literal["json", "csv"]


def _answers(kind: type[msgspec.Struct]) -> Responses:
    answers = json_answers(kind)
    answers[200]["content"]["text/csv"] = {"schema": {"type": "string"}}
    return answers


@router.get("/queues/{name}/metrics", response_class=Response, responses=_answers(QueueMetrics))
async def queue_metrics(
    name: str,
    runner: Runner,
    window: Literal["1m", "1h", "1d"] = "1m",
    start: Annotated[str | None, Query(alias="from", max_length=64)] = None,
    end: Annotated[str | None, Query(alias="to", max_length=64)] = None,
    group: Annotated[str | None, Query(description="a message group instead of the whole queue")] = None,
    format: Format = "json",  # noqa: A002
) -> Response:
    """Metrics of a queue for each window, and their total. `from` and `to`: RFC 3339, by default up to now and an hour,
    a day or 30 days long; at most 1,440 windows. CSV has only the windows."""
    span = measuring.span_of(window, start, end)
    found = await runner.run(measuring.queue_metrics(name, span, group, runner.context))
    return json_response(found) if format == "json" else csv_response(Window, found.windows)


@router.get("/queues/{name}/minutes", response_class=Response, responses=_answers(QueueMinutes))
async def queue_minutes(
    name: str,
    runner: Runner,
    start: Annotated[str | None, Query(alias="from", max_length=64)] = None,
    end: Annotated[str | None, Query(alias="to", max_length=64)] = None,
    format: Format = "json",  # noqa: A002
) -> Response:
    """What happened in a queue by the minute, of the last 25 hours. `from` and `to`: RFC 3339, by default the last
    hour; at most 1,440 minutes. CSV has only the minutes."""
    found = await runner.run(measuring.queue_minutes(name, start, end, runner.context))
    return json_response(found) if format == "json" else csv_response(QueueMinute, found.minutes)


@router.get("/metrics/lag", response_class=Response, responses=_answers(LagPage))
async def lag(
    runner: Runner,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
    next: str | None = None,  # noqa: A002
    target_lag_seconds: Annotated[int, Query(ge=1, le=86_400)] = TARGET_LAG_SECONDS,
    format: Format = "json",  # noqa: A002
) -> Response:
    """How far behind the consumers of each queue are, why, and when they will have caught up. Queues in the order of
    their names, `limit` a page; `next` of one page, in CSV its header `Link`, asks for the following one.
    `target_lag_seconds`: the longest wait that `consumers_needed` is about."""
    page = await runner.run(measuring.lag_page(limit, next, target_lag_seconds, runner.context))
    if format == "json":
        return json_response(page)
    query = {"format": "csv", "limit": limit, "next": page.next, "target_lag_seconds": target_lag_seconds}
    following = urlencode(query)
    link = {"link": f'</v1/metrics/lag?{following}>; rel="next"'} if page.next else {}
    return csv_response(QueueLag, page.queues, link)


def csv_response(
    kind: type[msgspec.Struct], documents: Sequence[msgspec.Struct], headers: dict[str, str] | None = None
) -> Response:
    """Documents as CSV; without any, the response is the header of the table."""
    return Response(as_csv(kind, documents), media_type=CSV, headers=headers)
