"""Adds the REST API to a FastAPI application, for the container or for AWS Lambda (with Mangum).

    add_rest_api(app, environment, run_operation)

`run_operation(operation, scope)` runs an operation. In the container, the runner awaits effects, and merges them with
the effects of other requests. On Lambda, the runner runs an operation to its end without awaiting.
"""

from collections.abc import Sequence
from typing import Final

from fastapi import Depends, FastAPI
from fastapi.params import Depends as Dependency
from fastapi.security import HTTPBearer

from penstock.environment import Environment
from penstock_web.routing.routes import Routes
from penstock_web.routing.runner import Api, RunOperation

from . import (
    access,
    alerts,
    api_destinations,
    buses,
    connections,
    deliveries,
    events,
    mappings,
    message_search,
    messages,
    metrics,
    moves,
    outbox,
    queues,
    schedules,
    topics,
    transactions,
    webhooks,
)
from .errors import add_error_handlers

BEARER = HTTPBearer(auto_error=False, description="A key that `penstock keys create --bearer` has made.")


ROUTES: Final[tuple[Routes, ...]] = (
    queues.routes,
    messages.routes,
    message_search.routes,
    message_search.routes_of_all_queues,
    moves.routes,
    events.routes,
    buses.routes,
    webhooks.routes,
    connections.routes,
    api_destinations.routes,
    topics.routes,
    access.routes,
    transactions.routes,
    deliveries.routes,
    outbox.routes,
    schedules.routes,
    mappings.routes,
    metrics.routes,
    alerts.routes,
)


def add_rest_api(app: FastAPI, environment: Environment, run_operation: RunOperation) -> None:
    """Adds the routes below /v1 and the error handlers to `app`."""
    app.state.api = Api(environment, run_operation)
    add_error_handlers(app, environment)
    key = bearer_key(needed=environment.access is not None)
    for routes in ROUTES:
        app.include_router(routes.router, prefix="/v1", dependencies=key)


def bearer_key(needed: bool) -> Sequence[Dependency]:
    """Returns the key requirement for the OpenAPI document. The routes themselves check the key."""
    return [Depends(BEARER)] if needed else []
