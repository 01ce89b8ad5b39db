"""Webhooks: those that wait and those that were given up; deliver one now."""

from fastapi import APIRouter, Response

from penstock.audit import Act
from penstock_web.console.console_route import ConsoleRoute, CurrentPage, redirect
from penstock_web.native.deliveries import list_webhooks, retry_webhook
from penstock_web.native.documents import parse_timestamp
from penstock_web.native.errors import DeliveryNotFound

router = APIRouter(route_class=ConsoleRoute, include_in_schema=False)

PAGE = 50
STATES = ("pending", "exhausted")
LAST_ID = 2**63 - 1


@router.get("/console/webhooks")
async def webhooks(page: CurrentPage) -> Response:
    """Deliveries in a state, the oldest first."""
    state, after = page.choice("state", STATES), page.number("after", 0, LAST_ID)
    found = await page.read(
        ("webhooks", state, after), lambda: list_webhooks(state, after or None, PAGE + 1, page.context)
    )
    return page.show(
        "webhooks.html", title="Webhooks", deliveries=found[:PAGE], more=len(found) > PAGE, state=state, states=STATES,
        after=after, moment=parse_timestamp, may_retry=page.may("penstock:RetryDelivery"),
        done=page.query.get("done", ""),
    )  # fmt: skip


@router.post("/console/webhooks/{delivery}/retry")
async def retry(delivery: str, page: CurrentPage) -> Response:
    """Delivers a webhook now."""
    if not (delivery.isascii() and delivery.isdigit() and len(delivery) <= 18):
        raise DeliveryNotFound
    operation = retry_webhook(int(delivery), page.context)
    await page.act(Act("penstock:RetryDelivery", delivery), operation, lambda _: 1)
    return redirect("/console/webhooks?done=retried")
