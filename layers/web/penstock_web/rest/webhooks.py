"""Serves the URLs of webhook event sources, and shows their credentials.

A request to a webhook proves its sender itself, so the route needs no key.
"""

from typing import Annotated, Final

import msgspec
from fastapi import APIRouter, Path, Request, Response

from penstock import errors
from penstock.errors import AwsError
from penstock.events.errors import WebhookNotFound, WebhookRefused
from penstock.events.webhooks import PATH, ReceivedEvent, build_headers, receive
from penstock.management.buses.webhooks import WebhookSecret, read_webhook_secret
from penstock.management.errors import EventSourceNotFound
from penstock.management.rights import right_of
from penstock_web.routing.openapi import UNAVAILABLE, describe_error_responses, describe_json_responses
from penstock_web.routing.routes import Routes, Runner
from penstock_web.routing.runner import OperationRunner, RunOperation

routes = Routes("buses", prefix="/event-sources")

TAG: Final = "webhook events"
RAISES: Final = (
    AwsError, WebhookRefused, errors.AccessDenied, WebhookNotFound, errors.RequestEntityTooLarge,
    errors.MisdirectedRequest, errors.RequestThrottled, *UNAVAILABLE,
)  # fmt: skip
_encode = msgspec.json.Encoder().encode


@routes.get(
    "/{source}/secret",
    right=right_of(read_webhook_secret),
    response=WebhookSecret,
    raises=(EventSourceNotFound,),
)
async def show_webhook_secret(
    source: Annotated[str, Path(json_schema_extra={"minLength": 1, "maxLength": 256})], runner: Runner
) -> WebhookSecret:
    """Show the URL and the credential of a webhook event source. The response does not show a replaced credential."""
    return await runner.run(read_webhook_secret(source, runner.context))


def build_webhooks_router(run_operation: RunOperation) -> APIRouter:
    """Returns the route POST /v1/webhook-events/<key>."""
    router = APIRouter(tags=[TAG])

    @router.post(
        PATH + "{key}",
        status_code=202,
        response_class=Response,
        responses={**describe_error_responses(*RAISES), **describe_json_responses(ReceivedEvent, statuses=(202,))},
        openapi_extra={"requestBody": {"content": {"*/*": {"schema": {}}}, "required": True}},
    )
    async def receive_webhook_event(key: str, request: Request) -> Response:
        """Publish the body of a webhook's request as an event. The webhook's configuration says how the request proves
        its sender."""
        context = OperationRunner(request).context
        context.environment.hosts.check(context.http.headers, context.http.host_checked)
        headers = build_headers(request.scope["headers"])
        received = await run_operation(receive(key, headers, await request.body(), context), request.scope)
        return Response(_encode(received), 202, media_type="application/json")

    return router


def is_webhook_url(path: str) -> bool:
    """Returns whether a path is the path of a webhook's URL."""
    return path.startswith(PATH)
