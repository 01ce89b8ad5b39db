"""The native REST API as an application, which is a part of the container's, and all of the function `rest`.

    handler = rest_handler()                            # functions/rest.py

On Lambda, Mangum makes an ASGI request of the event. An operation blocks the event loop until it ends, which delays no
other request: an execution environment has one connection and answers one request at a time.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from fastapi import FastAPI
from mangum import Mangum
from mangum.types import ASGI
from starlette.types import Receive, Scope, Send

from penstock import __version__
from penstock.effects import Operation
from penstock.environment import Environment
from penstock.errors import AwsError, ResponseTooLarge
from penstock.lambda_runtime import events
from penstock.lambda_runtime.environment import ExecutionEnvironment

from .api import add_native_api
from .certificates import certificates_router
from .errors import error_response
from .native_route import RunOperation
from .openapi import remove_validation_errors
from .request_id import KEY, name_request

T = TypeVar("T")

# Mangum logs a line for each request; what is answered as it should be is not logged (docs/deployment.md, "Logs").
logging.getLogger("mangum").setLevel(logging.WARNING)


class RestApplication(FastAPI):
    """Has the routes below /v1, the certificates and the OpenAPI document. `run_operation` runs operations."""

    def __init__(self, environment: Environment, run_operation: RunOperation) -> None:
        super().__init__(
            title="Penstock",
            version=__version__,
            description="Queues on plain PostgreSQL: the native REST API. The SQS API is on `/`.",
            openapi_url="/v1/openapi.json",
            docs_url=None,  # FastAPI's pages load scripts from elsewhere
            redoc_url=None,
            redirect_slashes=False,
        )
        self._environment = environment
        self.include_router(certificates_router(run_operation))
        add_native_api(self, environment, run_operation)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; its answer has its id, unless whoever calls has seen to that."""
        if scope["type"] == "http" and KEY not in scope:
            send = name_request(scope, send, self._environment)
        await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, which is made once."""
        return remove_validation_errors(super().openapi())


class RestHandler:
    """A Lambda function. The first invocation makes the application, since it reads the receipt key in the database."""

    def __init__(self, environment: ExecutionEnvironment) -> None:
        self.environment = environment
        self._adapter: Mangum | None = None

    def __call__(self, event: dict[str, Any], lambda_context: Any) -> dict[str, Any]:
        """Answers an HTTP event in the form that belongs to the kind of event."""
        with event_loop():
            answer = self._get_adapter()(event, lambda_context)
            limit = events.response_limit(event)
            if events.fits(answer, limit):
                return answer
            return lambda_adapter(error_response(ResponseTooLarge.of(limit.way)))(event, lambda_context)

    def _get_adapter(self) -> Mangum:
        if self._adapter is None:
            try:
                self._adapter = lambda_adapter(
                    RestApplication(self.environment.environment, self._run_operation)
                )
            except AwsError as error:  # no database: the next invocation tries again
                return lambda_adapter(error_response(error))
        return self._adapter

    async def _run_operation(self, operation: Operation[T], scope: Scope) -> T:  # noqa: ARG002
        return self.environment.run(operation)


@contextmanager
def event_loop() -> Iterator[None]:
    """Sets the thread's event loop, in which Mangum runs an application, and closes it at the end.

    Mangum would make a loop if there were none, and would never close it.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def lambda_adapter(app: ASGI) -> Mangum:
    """A Lambda function that runs an ASGI application; a response is such an application too."""
    return Mangum(app, lifespan="off")


def rest_handler() -> RestHandler:
    """The handler of the native REST API."""
    return RestHandler(ExecutionEnvironment(bounds_waits=True))
