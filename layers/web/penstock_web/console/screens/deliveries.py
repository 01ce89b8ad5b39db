"""Shows endpoints, delivery attempts, and waiting or exhausted deliveries. Retries deliveries, and pauses endpoints."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from fastapi import Response

from penstock.delivery.warnings import hide_secrets
from penstock.documents.times import parse_timestamp
from penstock.endpoint import MAX_URL_CHARACTERS, mask_password
from penstock.errors import InvalidParameterValue
from penstock.management.attention.concerns import GIVEN_UP
from penstock.management.deliveries import endpoints
from penstock.management.deliveries.attempts import URL, list_attempts
from penstock.management.deliveries.endpoint_test import send_test
from penstock.management.deliveries.operations import (
    GivenUp,
    count_given_up,
    find_deliveries,
    retry_delivery,
    retry_given_up,
)
from penstock.management.errors import DeliveryNotFound
from penstock.management.rights import right_of
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.paging import PAGE, cut_page
from penstock_web.console.rendering import query
from penstock_web.console.resources import read_others
from penstock_web.console.responses import redirect, show_page
from penstock_web.console.screen import act, screen

VIEWS = ("endpoints", "attempts", "waiting", "given-up")
STATES = {"waiting": "pending", "given-up": "exhausted"}
DONE: Final = {"paused": "paused", "active": "resumed", "again": "tried"}
"""What a form with a status did to an endpoint."""
LAST_ID = 2**63 - 1
MAX_RETRIED = 10_000
SINCE = ("hour", "day", "any time")
HOURS = {"hour": 1, "day": 24}
SORTS: Final[dict[str, Callable[[endpoints.EndpointDescription], tuple[float, str]] | None]] = {
    "": None,
    "endpoint": lambda row: (0, row.endpoint),
    "delivered": lambda row: (-row.delivered, row.endpoint),
    "failed": lambda row: (row.delivered - row.attempts, row.endpoint),
    "p95": lambda row: (1 if row.p95_ms is None else -row.p95_ms, row.endpoint),
}
"""The orders of the endpoints. Without a sort, the endpoints that fail come first."""


@screen("/console/deliveries", right=right_of(find_deliveries), title="Deliveries", position=60)
async def deliveries(page: CurrentPage) -> Response:
    """Shows one view: the endpoints, the attempts from the newest to the oldest, or the waiting or exhausted deliveries
    from the oldest to the newest.
    """
    view = page.query.read_choice("view", VIEWS)
    rows, following = await _read_rows(page, view)
    others = await read_others(page) if view == "endpoints" else []
    given_up = {concern.name for concern in others if concern.kind == GIVEN_UP}
    return show_page(
        page, "deliveries.html", view=view, views=VIEWS, rows=rows, following=following, name=hide_secrets,
        given_up=given_up, keeps_responses=page.context.environment.settings.webhook_log_responses,
        may_read_responses=page.may("penstock:ReadResponses"),
        endpoint=page.query.get("endpoint", ""), failed=bool(page.query.get("failed")), moment=parse_timestamp,
        may_retry=page.may("penstock:RetryDelivery"), may_pause=page.may("penstock:PauseEndpoint"), since=SINCE,
        done=page.query.get("done", ""), count=page.query.get("count", ""),
        may_test=page.may("penstock:TestEndpoint"), test=page.query.get("test", ""), sort=page.query.get("sort", ""),
    )  # fmt: skip


async def _read_endpoints(page: Page) -> list[endpoints.EndpointDescription]:
    found = await page.read(("endpoints",), lambda: endpoints.list_endpoints(page.context))
    order = SORTS[page.query.read_choice("sort", tuple(SORTS))]
    return found if order is None else sorted(found, key=order)


async def _read_rows(page: Page, view: str) -> tuple[list[object], int | None]:
    """Returns the view's rows, and the position where the next page begins."""
    if view == "endpoints":
        return [*await _read_endpoints(page)], None
    at = page.query.read_number("after", 0, LAST_ID) or None
    if view == "attempts":
        to, failed = page.query.get("endpoint") or None, bool(page.query.get("failed"))
        found = await page.read(
            ("attempts", to, failed, at, page.may("penstock:ReadResponses")),
            lambda: list_attempts(page.context, endpoint=to, failed=failed, limit=PAGE, before=at),
        )
        return [*found.attempts], found.next
    listed = await page.read(
        ("deliveries", view, at), lambda: find_deliveries(STATES[view], at, PAGE + 1, page.context)
    )
    shown, more = cut_page(listed)
    return [*shown], shown[-1].id if more else None


@act("/console/deliveries/retry", right=right_of(retry_given_up))
async def retry_failed(page: CurrentPage) -> Response:
    """Asks with the number, and then retries exhausted deliveries to one endpoint or to all endpoints. Selects
    deliveries of the last hour, of the last day, or of any time.
    """
    hours = HOURS.get(page.form.get("since"))
    wanted = GivenUp(
        endpoint=page.form.get("endpoint").strip() or None,
        since=None if hours is None else datetime.now(UTC) - timedelta(hours=hours),
        limit=MAX_RETRIED,
    )
    if page.form.get("confirmed") != "yes":
        found = await page.run(count_given_up(wanted, page.context))
        return show_page(
            page, "deliveries_retry.html", title="Retry deliveries", number=min(found, MAX_RETRIED),
            more=found > MAX_RETRIED, endpoint=wanted.endpoint or "", since=page.form.get("since"), known=HOURS,
        )  # fmt: skip
    row = await page.act(retry_given_up(wanted, page.context))
    return redirect(f"/console/deliveries?view=waiting&done=replayed&count={row.retried}")


@act("/console/deliveries/{delivery}/retry", right=right_of(retry_delivery))
async def retry(delivery: str, page: CurrentPage) -> Response:
    """Retries a delivery now."""
    if not (delivery.isascii() and delivery.isdigit() and len(delivery) <= 18):
        raise DeliveryNotFound
    operation = retry_delivery(int(delivery), page.context)
    await page.act(operation)
    return redirect("/console/deliveries?view=waiting&done=retried")


@act("/console/deliveries/pause", right=right_of(endpoints.pause_endpoint))
async def pause_endpoint(page: CurrentPage) -> Response:
    """Pauses an endpoint, or resumes it, or ends the service's pause after failures."""
    endpoint, wanted = page.form.get("endpoint"), page.form.get("status")
    if wanted not in DONE or not 0 < len(endpoint) <= MAX_URL_CHARACTERS:
        raise InvalidParameterValue("The form needs an endpoint and a status (paused, active or again).")
    operation = (endpoints.pause_endpoint if wanted == "paused" else endpoints.resume_endpoint)(endpoint, page.context)
    await page.act(operation)
    return redirect(f"/console/deliveries?done={DONE[wanted]}")


@act("/console/deliveries/test", right=right_of(send_test))
async def send_test_event(page: CurrentPage) -> Response:
    """Sends a test event to an endpoint. Redirects to the endpoint's attempts, which show the response."""
    endpoint = page.form.get("endpoint").strip()
    if not re.fullmatch(URL, endpoint):
        raise InvalidParameterValue("The form needs the URL of an endpoint.")
    sent = await page.act(send_test(endpoint, page.context))
    return redirect(
        "/console/deliveries"
        + query({"view": "attempts", "endpoint": mask_password(endpoint), "test": sent.message_id})
    )
