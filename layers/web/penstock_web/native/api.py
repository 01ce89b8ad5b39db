"""Adds the native API to a FastAPI application: the container's, or the one that Mangum runs on Lambda.

    add_native_api(app, environment, run_operation)

`run_operation(operation, scope)` runs an operation. The container's awaits effects, which it merges with those of
other requests; Lambda's runs the operation to its end without awaiting.
"""

from typing import Any

from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer

from penstock.environment import Environment

from . import deliveries, messages, queues, transactions
from .errors import add_error_handlers
from .events import routes as events
from .metrics import routes as metrics
from .native_route import NativeApi, RunOperation
from .schedules import routes as schedules
from .shapes import ErrorAnswer

# Only for the OpenAPI document; `NativeRoute` checks the key.
BEARER = HTTPBearer(auto_error=False, description="A key of `penstock keys create --bearer`.")


def add_native_api(app: FastAPI, environment: Environment, run_operation: RunOperation) -> None:
    """Adds the routes below /v1 to `app`, and the handlers that give every error of `app` the same shape."""
    app.state.native = NativeApi(environment, run_operation)
    add_error_handlers(app, environment)
    problems: dict[int | str, dict[str, Any]] = {
        "default": {"model": ErrorAnswer},
        422: {"model": ErrorAnswer},
    }
    for module in (queues, messages, events, transactions, deliveries, schedules, metrics):
        app.include_router(module.router, prefix="/v1", responses=problems, dependencies=[Depends(BEARER)])
