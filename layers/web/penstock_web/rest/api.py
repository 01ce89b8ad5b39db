"""Adds the REST API to a FastAPI application, for the container or for Mangum on Lambda.

    add_rest_api(app, environment, run_operation)

`run_operation(operation, scope)` runs an operation. In the container, the runner awaits effects and merges them with
the effects of other requests. On Lambda, the runner runs the operation to completion without awaiting.
"""

from collections.abc import Sequence
from typing import Final

from fastapi import Depends, FastAPI
from fastapi.params import Depends as Dependency
from fastapi.security import HTTPBearer

from penstock.environment import Environment
from penstock_web.routing.routes import Routes
from penstock_web.routing.runner import Api, RunOperation

from .access import routes as access
from .deliveries import routes as deliveries
from .errors import add_error_handlers
from .events import routes as events
from .mappings import routes as mappings
from .messages import routes as messages
from .messages import search_routes as search
from .metrics import routes as metrics
from .moves import routes as moves
from .outbox import routes as outbox
from .queues import routes as queues
from .schedules import routes as schedules
from .topics import routes as topics
from .transactions import routes as transactions

BEARER = HTTPBearer(auto_error=False, description="A key of `penstock keys create --bearer`.")


ROUTES: Final[tuple[Routes, ...]] = (
    queues.routes,
    messages.routes,
    search.routes,
    moves.routes,
    events.routes,
    topics.routes,
    access.routes,
    transactions.routes,
    deliveries.routes,
    outbox.routes,
    schedules.routes,
    mappings.routes,
    metrics.routes,
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
