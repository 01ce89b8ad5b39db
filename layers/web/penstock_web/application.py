"""Combines the service into one ASGI application.

    POST|GET / and a queue's path ──────► aws_application (raw ASGI); /_aws/sqs/messages too, if enabled; any path
                                          outside /v1 with an action
    /schedules, /schedule-groups, /tags ► aws_application: EventBridge Scheduler
    everything else                   ──► FastAPI: /v1 (REST), /v1/openapi.json, /livez, /readyz, /metrics,
                                          /console, /docs

FastAPI's middleware and routing cost more than a whole SQS request, so requests on AWS paths bypass FastAPI.
Transactions bypass FastAPI too, because consumers make a transaction for each message. The application calls the
transactions' route directly.
"""

import asyncio
import logging
from collections.abc import Awaitable, MutableMapping
from functools import partial
from time import perf_counter
from typing import Any, TypeVar, cast

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from penstock.access.authentication import Api
from penstock.access.failures import rate_limit_key
from penstock.context import find_client_address
from penstock.effects import Operation
from penstock.environment import Environment
from penstock.errors import AwsError, RequestEntityTooLarge, RequestTimeout, ServiceUnavailable
from penstock.gateway import MAX_BODY_BYTES
from penstock.http import HttpRequest
from penstock.settings import SettingError, Settings

from .access_log.exchange import LoggedExchange
from .database.write_probe import WriteProbe
from .http import welcome
from .http.asgi_request import serve_request
from .http.aws_protocols import AwsApplication, names_action
from .http.health import build_health_router
from .http.request_memory import (
    PROCESSING_BYTES,
    READING_BYTES,
    READING_SHARE,
    LongRequest,
    MemoryBudget,
    Owner,
    compute_bytes_to_reserve,
)
from .http.request_notes import RequestTracer
from .metrics.page import build_metrics_router
from .metrics.scraping import admit_scraper
from .rest import transactions
from .rest.api import bearer_key
from .rest.application import RestApplication
from .rest.errors import build_error_response
from .rest.webhooks import is_webhook_url
from .routing.openapi import EVERY_ROUTE, describe_error_responses
from .routing.request_id import name_request
from .routing.routes import run_route
from .runtime.deadlines import AsgiTask, Deadlines, EndReason
from .runtime.driver import Resources, run_operation

T = TypeVar("T")

REQUEST_KEY = "penstock.request"
"""The ASGI scope stores the request's `AsgiTask` under REQUEST_KEY, and `_run_operation` passes the task to the
driver."""
PREFIX = "/v1"
# The application calls these routes directly, without FastAPI's middleware and routing.
DIRECT_ROUTES = {
    ("POST", PREFIX + route.path): route for route in transactions.routes.router.routes if isinstance(route, APIRoute)
}
PASSED_HEADERS = ("retry-after", "www-authenticate")
UNMATCHED = "(unmatched)"
"""Metrics and logs name this route for a request whose path matches no route."""

_log = logging.getLogger(__name__)


class Application(RestApplication):
    """Serves Penstock over HTTP. The caller opens and closes the resources. `tracer` records fast-path requests."""

    def __init__(self, environment: Environment, resources: Resources, tracer: RequestTracer | None = None) -> None:
        super().__init__(environment, self._run_operation)
        settings = environment.settings
        self._resources = resources
        self._meter = resources.meter
        self._has_console = settings.console != "off"
        self._deadlines = Deadlines(settings.queue_request_timeout_seconds)
        self.aws_application = AwsApplication(environment, resources, self._deadlines, tracer)
        # A long request waits for memory twice: before it is read, and before it is processed. Each wait is limited to
        # a third of the request's time, and then ends with 503. Therefore, both waits end before the request's
        # deadline, after which the response would be 408.
        longest_wait_seconds = settings.queue_request_timeout_seconds / 3
        self._reading_budget = MemoryBudget(READING_BYTES, longest_wait_seconds, READING_SHARE)
        self._processing_budget = MemoryBudget(PROCESSING_BYTES, longest_wait_seconds)
        self._add_health_and_metrics(environment)
        self._add_mcp_and_console(settings)

    def _add_health_and_metrics(self, environment: Environment) -> None:
        settings, resources = environment.settings, self._resources
        probe = WriteProbe(resources.pool.call)
        self.include_router(
            build_health_router(
                resources.pool.fetch,
                resources.pool.is_stuck,
                resources.pool.explain_failure,
                probe,
                region=settings.queue_region,
                localstack=settings.queue_localstack_health,
            )
        )
        self.include_router(
            build_metrics_router(
                resources.meter, resources.pool, settings, admit_scraper, probe, resources.refresh_gauges
            ),
            responses=describe_error_responses(*EVERY_ROUTE),
            dependencies=bearer_key(needed=environment.access is not None or bool(settings.queue_metrics_token)),
        )

    def _add_mcp_and_console(self, settings: Settings) -> None:
        """Adds the parts that settings can switch off. Raises SettingError if the optional package for MCP is
        missing."""
        if settings.queue_mcp:
            try:
                from .mcp import endpoint as mcp  # noqa: PLC0415 - its package is optional, and takes 0.5 s
            except ModuleNotFoundError as error:
                raise SettingError(f"QUEUE_MCP needs `pip install 'penstock-queue[mcp]'`: {error}") from error
            self.include_router(mcp.routes.router)
        if self._has_console:
            from .console.console import add_console  # noqa: PLC0415 - Jinja2 takes 40 ms
            from .console.documentation import add_documentation  # noqa: PLC0415 - a part of the console

            add_console(self, self._resources.refresh_gauges, self._resources.pool.stats)
            add_documentation(self, self._environment)
        else:
            self.include_router(welcome.router)

    def stop(self) -> None:
        """When the process stops, answers the remaining requests with 503."""
        self._deadlines.stop()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serves one request. Penstock's HTTP server does not use lifespan events."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
        elif size := compute_bytes_to_reserve(scope["headers"]):
            long_request = LongRequest(
                self._reading_budget, self._processing_budget, size, partial(self._find_owner, scope), receive
            )
            try:
                await self._serve(scope, long_request.receive, send)
            finally:
                long_request.release()
        else:
            await self._serve(scope, receive, send)

    async def _find_owner(self, scope: Scope) -> Owner:
        """Returns the key and the address to which the memory of a long request is charged. Refuses a request before
        its body uses memory if the head already shows the reason, and raises the error for this reason.
        """
        peer, _ = scope.get("client") or ("", 0)
        environment = self._environment
        head = HttpRequest(scope["method"], scope["path"], scope["query_string"], dict(scope["headers"]), b"", peer)
        address = find_client_address(head.headers, peer, environment.settings)
        caller = None
        if environment.access is not None and not is_webhook_url(scope["path"]):
            rest = Api.REST if scope["path"].startswith(PREFIX + "/") else Api.OTHER
            api = Api.AWS if self._is_aws(scope) else rest
            caller = await run_operation(environment.access.find_caller(head, api, address), self._resources)
        network = rate_limit_key(address)
        return Owner(caller or network, network)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_aws(scope):
            await serve_request(self.aws_application, scope, receive, send)
        else:
            await self._serve_fastapi(scope, receive, send)

    def _is_aws(self, scope: Scope) -> bool:
        """Returns whether a request is for an AWS API."""
        return not self._is_page(scope) and (
            self.aws_application.handles(scope["method"], scope["path"]) or names_action(scope)
        )

    def _is_page(self, scope: Scope) -> bool:
        """Returns whether a request asks for a page: the path is `/console` or below it, or a browser opens `/`."""
        path: str = scope["path"]
        if self._has_console and (path == "/console" or path.startswith("/console/")):
            return True
        is_first_look = path == "/" and scope["method"] == "GET" and not scope["query_string"]
        return is_first_look and b"text/html" in dict(scope["headers"]).get(b"accept", b"")

    async def _serve_fastapi(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request with FastAPI. The limits of the AWS protocols for time and body size apply."""
        request = self._deadlines.start_request(receive)
        # A long request keeps memory that other requests need, so its operation does not wait for messages.
        request.may_wait = not compute_bytes_to_reserve(scope["headers"])
        scope[REQUEST_KEY] = request
        log = self._resources.access_log
        logged = None if log is None else LoggedExchange(log, scope, receive, send)
        if logged is not None:
            # The exchange passes on all events, and collects the values of the log line.
            receive, send = logged.receive, logged.send
        send = name_request(scope, self._count_response(scope, send), self._environment)
        self._meter.request_started()
        try:
            route = DIRECT_ROUTES.get((scope["method"], scope["path"]))
            if route is None:
                await super().__call__(scope, limit_body(receive), send)
            else:
                await self._call_route(route, scope, limit_body(receive), send)
        except Exception as error:  # noqa: BLE001 - Starlette has answered 500 and raises it once more
            _log.debug("answered with 500", exc_info=error)
        except asyncio.CancelledError:
            # The deadline, the end of the process or a disconnect has cancelled the task (`AsgiTask.end`).
            if request.end_reason is not EndReason.DISCONNECTED:
                timed_out = request.end_reason is EndReason.TIMED_OUT
                ended = RequestTimeout() if timed_out else ServiceUnavailable()
                await build_error_response(ended)(scope, receive, send)
        finally:
            self._meter.request_ended()
            request.close()
            if logged is not None:
                logged.end(route_template(scope), self._environment.settings)

    async def _call_route(self, route: APIRoute, scope: Scope, receive: Receive, send: Send) -> None:
        """Calls a route, and turns an error into a response. The call bypasses FastAPI's middleware, which does nothing
        for this route.
        """
        scope["app"], scope["route"] = self, route
        request = Request(scope, receive)
        try:
            response = await run_route(route, request)
        except Exception as error:  # noqa: BLE001 - every error gets a response
            kinds = self.exception_handlers
            handler = next(kinds[kind] for kind in type(error).__mro__ if kind in kinds)
            response = await cast("Awaitable[Response]", handler(request, error))
        await response(scope, receive, send)

    def _count_response(self, scope: Scope, send: Send) -> Send:
        """Returns a `send` that counts the response when the response's head is sent. When the head is sent, the
        application knows the request's route."""
        started = perf_counter()

        async def send_counted(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                seconds = perf_counter() - started
                self._meter.count_response(scope["method"], route_template(scope), message["status"], seconds)
            await send(message)

        return send_counted

    async def _run_operation(self, operation: Operation[T], scope: Scope) -> T:
        request: AsgiTask | None = scope.get(REQUEST_KEY)
        try:
            return await run_operation(operation, self._resources, request)
        except AwsError as error:
            self._meter.count_refusal(error)
            raise


def route_template(scope: Scope) -> str:
    """Returns the route's path with the parameters' names instead of the client's values."""
    path: str | None = getattr(scope.get("route"), "path_format", None)
    if path is None:
        return UNMATCHED
    # Newer FastAPI versions report the route of an included router without the router's prefix.
    return PREFIX + path if scope["path"].startswith(PREFIX + "/") and not path.startswith(PREFIX) else path


def limit_body(receive: Receive) -> Receive:
    """Returns a `receive` that raises an HTTP error if the body is refused: 413 beyond 6.25 MiB, 503 if the memory for
    long requests stays full, 408 if the body arrives too slowly while that memory is full, and 401 or 429 if the head
    is refused.

    The wrapper raises Starlette's exception, because FastAPI answers any other exception with 400.
    """
    size = 0

    async def receive_counted() -> MutableMapping[str, Any]:
        nonlocal size
        try:
            message = await receive()
        except AwsError as error:
            response = build_error_response(error)
            headers = {name: response.headers[name] for name in PASSED_HEADERS if name in response.headers}
            raise HTTPException(response.status_code, error.message, {**headers, "connection": "close"}) from error
        size += len(message.get("body", b""))
        if size > MAX_BODY_BYTES:
            raise HTTPException(413, RequestEntityTooLarge.default_message, {"connection": "close"})
        return message

    return receive_counted
