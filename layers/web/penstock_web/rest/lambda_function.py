"""Implements the Lambda function `rest`, which serves the REST API and the console.

    handler = build_rest_handler()                      # functions/rest.py

Mangum turns the event into an ASGI request. An operation blocks the event loop until the operation ends. An operation
does not delay other requests, because an execution environment serves one request at a time.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from mangum import Mangum
from mangum.types import ASGI
from starlette.types import Receive, Scope, Send

from penstock.effects import Operation
from penstock.environment import Environment
from penstock.errors import AwsError, ResponseTooLarge
from penstock.lambda_runtime import events
from penstock.lambda_runtime.environment import ExecutionEnvironment
from penstock_web.routing.runner import HOST_CHECKED_KEY, RESPONSE_LIMIT_KEY, RunOperation

from .application import RestApplication
from .errors import build_error_response

T = TypeVar("T")

# Mangum logs a line for each request. The function does not log successful requests (docs/operate/logs.md).
logging.getLogger("mangum").setLevel(logging.WARNING)


class RestHandler:
    """Serves Lambda's invocations. The first invocation creates the application, because the application must read the
    key for receipt handles from the database."""

    def __init__(self, environment: ExecutionEnvironment) -> None:
        self.environment = environment
        self._adapter: Mangum | None = None

    def __call__(self, event: dict[str, Any], lambda_context: Any) -> dict[str, Any]:
        """Returns the response in the format of the event, which comes from an HTTP API, a REST API or a load
        balancer."""
        event = events.strip_stage(event)
        with event_loop():
            response = self._get_adapter()(event, lambda_context)
            limit = events.find_response_limit(event)
            if events.is_within_limit(response, limit):
                return response
            return build_lambda_adapter(build_error_response(ResponseTooLarge.of(limit.way)))(event, lambda_context)

    def _get_adapter(self) -> Mangum:
        if self._adapter is None:
            try:
                application = build_rest_application(self.environment.environment, self._run_operation)
                self._adapter = build_lambda_adapter(describe_events(application))
            except AwsError as error:  # The database is unreachable. The next invocation tries again.
                return build_lambda_adapter(build_error_response(error))
        return self._adapter

    async def _run_operation(self, operation: Operation[T], scope: Scope) -> T:  # noqa: ARG002
        return self.environment.run(operation)


@contextmanager
def event_loop() -> Iterator[None]:
    """Sets an event loop for the thread, because Mangum needs an event loop, and closes the loop at the end.

    If no loop is set, Mangum creates a loop and never closes it.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def describe_events(application: ASGI) -> ASGI:
    """Adds two facts about the Lambda event to the scope of each request: whether the Host header was checked, and the
    size limit of the response.
    """

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        event = scope["aws.event"]
        scope[HOST_CHECKED_KEY] = events.is_host_checked(event)
        scope[RESPONSE_LIMIT_KEY] = events.find_response_limit(event)
        await application(scope, receive, send)

    return respond


def build_lambda_adapter(app: ASGI) -> Mangum:
    """Returns a Lambda handler for an ASGI application. A Starlette response is also an ASGI application."""
    return Mangum(app, lifespan="off")


def build_rest_handler() -> RestHandler:
    """Returns the handler of the REST API."""
    return RestHandler(ExecutionEnvironment.start(bounds_waits=True))


def build_rest_application(environment: Environment, run_operation: RunOperation) -> RestApplication:
    """Returns the application with the routes below /v1. Adds the routes below /console, unless QUEUE_CONSOLE is
    off."""
    application = RestApplication(environment, run_operation)
    if environment.settings.console != "off":
        from penstock_web.console.console import add_console  # noqa: PLC0415 - Jinja2 takes 40 ms

        add_console(application)
    return application
