"""Serves /v1/deliveries: pending and exhausted deliveries, attempts, and endpoints."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from fastapi import Path, Query

from penstock.documents.decoding import build_reader
from penstock.errors import InvalidParameterValue
from penstock.management.deliveries import attempts, endpoint_test, endpoints
from penstock.management.deliveries import operations as deliveries
from penstock.management.deliveries.attempts import URL, AttemptPage
from penstock.management.deliveries.endpoint_test import SentTest
from penstock.management.deliveries.endpoints import EndpointDescription
from penstock.management.deliveries.operations import DeliveryDescription, GivenUp
from penstock.management.errors import DeliveryNotFound, EndpointNotFound
from penstock.management.rights import right_of
from penstock_web.routing.routes import Routes, Runner


class Retried(msgspec.Struct):
    """Holds the delivery that the service is about to make."""

    id: int


class RetriedMany(msgspec.Struct):
    """Holds the number of retried deliveries. A client sends the value of `next` as `after` in its next request. `next`
    is null after the last delivery.
    """

    retried: int
    next: int | None


class NamedEndpoint(msgspec.Struct, forbid_unknown_fields=True):
    """The URL, spelled exactly as in the URL's subscription."""

    endpoint: Annotated[str, msgspec.Meta(pattern=URL)]


routes = Routes("deliveries", prefix="/deliveries")

_read_given_up = build_reader(GivenUp)
_read_endpoint = build_reader(NamedEndpoint)


@routes.get("", right=right_of(deliveries.find_deliveries), response=list[DeliveryDescription])
async def list_deliveries(
    runner: Runner,
    state: Literal["pending", "exhausted"] = "pending",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    after: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> list[DeliveryDescription]:
    """List deliveries in the order of their ids. `after` is the last id of the previous page."""
    return await runner.run(deliveries.find_deliveries(state, after, limit, runner.context))


@routes.post(
    "/{id}/retry", right=right_of(deliveries.retry_delivery), status=202, response=Retried, raises=(DeliveryNotFound,)
)
async def retry(id: Annotated[int, Path(ge=0, lt=2**63)], runner: Runner) -> Retried:  # noqa: A002
    """Deliver now. An exhausted delivery has its full number of attempts again. A running delivery stays unchanged."""
    return Retried(await runner.run(deliveries.retry_delivery(id, runner.context)))


@routes.post("/retry", right=right_of(deliveries.retry_given_up), status=202, body=GivenUp, response=RetriedMany)
async def retry_failed(runner: Runner) -> RetriedMany:
    """Retry exhausted deliveries. Each delivery has its full number of attempts again."""
    wanted = await runner.read(_read_given_up)
    operation = deliveries.retry_given_up(wanted, runner.context)
    row = await runner.run(operation)
    return RetriedMany(row.retried, row.last_id)


# --- attempts --------------------------------------------------------------------------------------------------------
@routes.get("/attempts", right=right_of(attempts.list_attempts), response=AttemptPage)
async def list_attempts(
    runner: Runner,
    endpoint: Annotated[str | None, Query(pattern=URL)] = None,
    failed: bool = False,
    since: datetime | None = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> AttemptPage:
    """List delivery attempts from the newest to the oldest. If `failed` is true, list only failed attempts."""
    if since is not None and since.tzinfo is None:
        raise InvalidParameterValue("query.since: a time with an offset, such as 2030-01-31T09:00:00Z")
    operation = attempts.list_attempts(
        runner.context, endpoint=endpoint, failed=failed, since=since, limit=limit, before=before
    )
    return await runner.run(operation)


# --- endpoints -------------------------------------------------------------------------------------------------------
@routes.get("/endpoints", right=right_of(endpoints.list_endpoints), response=list[EndpointDescription])
async def list_endpoints(runner: Runner) -> list[EndpointDescription]:
    """List up to 1,000 URLs, which are all paused URLs and the URLs of the account's newest attempts. URLs with the
    most failures come first.
    """
    return await runner.run(endpoints.list_endpoints(runner.context))


@routes.post(
    "/endpoints/pause",
    right=right_of(endpoints.pause_endpoint),
    status=204,
    body=NamedEndpoint,
    raises=(EndpointNotFound,),
)
async def pause_endpoint(runner: Runner) -> None:
    """Pause a URL. Messages to a paused URL wait until the URL is resumed. Running attempts continue."""
    endpoint = (await runner.read(_read_endpoint)).endpoint
    await runner.run(endpoints.pause_endpoint(endpoint, runner.context))


@routes.post(
    "/endpoints/resume",
    right=right_of(endpoints.resume_endpoint),
    status=204,
    body=NamedEndpoint,
    raises=(EndpointNotFound,),
)
async def resume_endpoint(runner: Runner) -> None:
    """Resume a paused URL. The service delivers waiting messages now."""
    endpoint = (await runner.read(_read_endpoint)).endpoint
    await runner.run(endpoints.resume_endpoint(endpoint, runner.context))


@routes.post(
    "/endpoints/test",
    right=right_of(endpoint_test.send_test),
    status=202,
    body=NamedEndpoint,
    response=SentTest,
    raises=(EndpointNotFound,),
)
async def test_endpoint(runner: Runner) -> SentTest:
    """Send a test event to a URL of the account. The service signs, checks, logs and retries the event like every other
    delivery.

    A URL with a confirmed topic subscription receives a Notification from the topic. Any other URL receives an event
    with the routing key `penstock.test`. The event waits if the endpoint is paused.
    """
    endpoint = (await runner.read(_read_endpoint)).endpoint
    return await runner.run(endpoint_test.send_test(endpoint, runner.context))
