"""Adds the REST API to a FastAPI application: the container's, or the one that Mangum runs on Lambda.

    add_rest_api(app, environment, run_operation)

`run_operation(operation, scope)` runs an operation. The container's awaits effects, which it merges with those of
other requests; Lambda's runs the operation to its end without awaiting.
"""

from collections.abc import Sequence
from typing import Final

from fastapi import Depends, FastAPI
from fastapi.params import Depends as Dependency
from fastapi.security import HTTPBearer

from penstock.environment import Environment

from . import messages, moves, outbox, queues, search, transactions
from .access import routes as access
from .errors import add_error_handlers
from .events import routes as events
from .mappings import routes as mappings
from .metrics import routes as metrics
from .rest_route import RestApi, RunOperation
from .schedules import routes as schedules
from .topics import routes as topics
from .webhooks import attempts, deliveries, endpoint_test, endpoints

BEARER = HTTPBearer(auto_error=False, description="A key of `penstock keys create --bearer`.")


MODULES: Final = (
    queues,
    messages,
    search,
    moves,
    events,
    topics,
    access,
    transactions,
    deliveries,
    attempts,
    endpoints,
    endpoint_test,
    outbox,
    schedules,
    mappings,
    metrics,
)
"""Those with the routes below /v1, each with its `router`."""


def add_rest_api(app: FastAPI, environment: Environment, run_operation: RunOperation) -> None:
    """Adds the routes below /v1 to `app`, and the handlers that give every error of `app` the same shape."""
    app.state.rest = RestApi(environment, run_operation)
    add_error_handlers(app, environment)
    key = bearer_key(needed=environment.access is not None)
    for module in MODULES:
        app.include_router(module.router, prefix="/v1", dependencies=key)


def bearer_key(needed: bool) -> Sequence[Dependency]:
    """What the OpenAPI document says of routes that want a key here; they check it themselves."""
    return [Depends(BEARER)] if needed else []
