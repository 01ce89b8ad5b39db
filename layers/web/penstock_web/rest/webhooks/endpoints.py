"""/v1/deliveries/endpoints: how the endpoints do; pauses and resumes one."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from penstock.audit import Act
from penstock.context import Context
from penstock.delivery import DELIVERIES
from penstock.effects import Call, Operation, Wake
from penstock.postgres.statements.deliveries import (
    LIST_DELIVERY_ENDPOINTS,
    PAUSE_DELIVERY_ENDPOINT,
    RESUME_DELIVERY_ENDPOINT,
    DeliveryEndpointRow,
)
from penstock_web.rest.documents import format_timestamp
from penstock_web.rest.errors import EndpointNotFound
from penstock_web.rest.rest_route import RestRoute, Runner
from penstock_web.rest.shapes import Body

from .attempts import MOST_LOOKED_AT, URL

router = APIRouter(prefix="/deliveries/endpoints", tags=["deliveries"], route_class=RestRoute)


class NamedEndpoint(Body):
    """A URL, as it was subscribed."""

    endpoint: Annotated[str, Field(pattern=URL)]


class EndpointDescription(BaseModel):
    """A URL, and how its attempts ended among the newest 10,000 of the account.

    `paused`: somebody paused it. `paused_until`: it failed, and after this time one webhook tries. `waiting`: webhooks
    that wait for it while it is paused, 10,001 if there are more. `p95_ms`: milliseconds, with connecting.
    """

    endpoint: str
    attempts: int
    delivered: int
    p95_ms: int | None
    last_status: int | None
    last_error: str | None
    last_at: str | None
    paused: bool
    paused_until: str | None
    waiting: int | None


@router.get("")
async def list_endpoints(runner: Runner) -> list[EndpointDescription]:
    """URLs of the account's newest attempts, and paused ones: up to 1,000, those with most failures first."""
    return await runner.run(endpoints(runner.context))


@router.post("/pause", status_code=204)
async def pause_endpoint(named: NamedEndpoint, runner: Runner) -> None:
    """Nothing more goes to the URL until it is resumed; what is published to it waits. Attempts under way go on."""
    act = Act("penstock:PauseEndpoint", named.endpoint, {"status": "paused"})
    await runner.act(act, pause(named.endpoint, runner.context), lambda _: 1)


@router.post("/resume", status_code=204)
async def resume_endpoint(named: NamedEndpoint, runner: Runner) -> None:
    """Ends a pause: what waits is delivered now."""
    act = Act("penstock:PauseEndpoint", named.endpoint, {"status": "active"})
    await runner.act(act, resume(named.endpoint, runner.context), lambda _: 1)


def endpoints(context: Context) -> Operation[list[EndpointDescription]]:
    """The account's endpoints."""
    rows = yield from Call(LIST_DELIVERY_ENDPOINTS, (context.account_id, MOST_LOOKED_AT))
    return [_shown(row) for row in rows]


def pause(endpoint: str, context: Context) -> Operation[None]:
    """Raises EndpointNotFound."""
    (row,) = yield from Call(PAUSE_DELIVERY_ENDPOINT, (context.account_id, endpoint))
    if not row.known:
        raise EndpointNotFound


def resume(endpoint: str, context: Context) -> Operation[None]:
    """Raises EndpointNotFound when the endpoint is not paused."""
    (row,) = yield from Call(RESUME_DELIVERY_ENDPOINT, (context.account_id, endpoint))
    if not row.known:
        raise EndpointNotFound("The endpoint is not paused.")
    yield Wake(DELIVERIES, 1)


def _shown(row: DeliveryEndpointRow) -> EndpointDescription:
    return EndpointDescription(
        endpoint=row.endpoint,
        attempts=row.attempts,
        delivered=row.delivered,
        p95_ms=row.p95_ms,
        last_status=row.last_status,
        last_error=row.last_error,
        last_at=None if row.last_at_ms is None else format_timestamp(row.last_at_ms),
        paused=row.stopped,
        paused_until=None if row.paused_until_ms is None else format_timestamp(row.paused_until_ms),
        waiting=row.waiting,
    )
