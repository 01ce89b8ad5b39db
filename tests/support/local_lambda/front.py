"""Provides HTTP front ends of the functions. API Gateway's HTTP API chooses by routes, and a load balancer by rules.

                                     HTTP API                        load balancer
    request body too large           413, 10 MB                      413, 1 MB
    event of more than 6 MB          413                             -
    result too large                 500, 6 MB (FunctionError)       502, 1 MB
    the function fails               500                             502
    no environment is free           500                             502
    no result in time                503, 30 s                       502, the function's timeout

`limits` defines the sizes and times. The sources of the statuses are "Troubleshooting issues with HTTP API Lambda
integrations", https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-troubleshooting-lambda.html; "How
do I troubleshoot issues for API Gateway endpoints that integrate with Lambda?" (throttled: Internal server error),
https://repost.aws/knowledge-center/api-gateway-internal-server-error; "Troubleshoot your Application Load Balancers",
https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-troubleshooting.html. The last page
does not mention throttled functions. For other errors of the Lambda service, the page names status 502.
"""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Route as HttpRoute

from .events import EventForm, Request, Response, event_of, response_of
from .limits import (
    BALANCER_REQUEST_BYTES,
    BALANCER_RESPONSE_BYTES,
    HTTP_API_REQUEST_BYTES,
    HTTP_API_SECONDS,
    INVOCATION_BYTES,
    InvocationError,
    RequestTooLargeError,
)
from .template import DEFAULT_ROUTE, Route, Rule

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]

# An `Invoke` takes a function's name and an event, and returns the result as JSON. Raises InvocationError.
Invoke = Callable[[str, Mapping[str, Any]], Awaitable[bytes]]

_log = logging.getLogger(__name__)
_segment = re.compile(r"\{[^}+]+\}")


class FrontKind(NamedTuple):
    """AWS's front end. `request_bytes` limits a request's body, `response_bytes` the result in JSON, and `seconds` the
    wait (None: the function's timeout). `failure_status` is the status for an invocation without a result.
    """

    form: EventForm
    request_bytes: int
    response_bytes: int
    seconds: float | None
    failure_status: int


HTTP_API: Final = FrontKind("http_api", HTTP_API_REQUEST_BYTES, INVOCATION_BYTES, HTTP_API_SECONDS, 500)
BALANCER: Final = FrontKind("alb_multi_value", BALANCER_REQUEST_BYTES, BALANCER_RESPONSE_BYTES, None, 502)


class FrontEnd:
    """Implements an ASGI application that invokes functions.

    `choose` returns the name of a request's function, or None if no function serves the request.
    """

    def __init__(self, kind: FrontKind, choose: Callable[[Request], str | None], invoke: Invoke) -> None:
        self._kind = kind
        self._choose = choose
        self._invoke = invoke
        self._invocations: set[asyncio.Future[bytes]] = set()
        self.app = Starlette(routes=[HttpRoute("/{path:path}", self.response, methods=METHODS)])

    async def response(self, http: HttpRequest) -> HttpResponse:
        """Converts the request to an event, invokes the function, and converts the result to a response."""
        request = await read_request(http)
        name = self._choose(request)
        if name is None:
            return build_error_response(404, "Not Found")
        if len(request.body) > self._kind.request_bytes:
            return build_error_response(413, "Request Entity Too Large")
        try:
            result = await self._result(name, event_of(self._kind.form, request))
        except RequestTooLargeError as error:
            _log.error("%s", error)
            return build_error_response(413, "Request Entity Too Large")
        except TimeoutError:
            _log.error("%s: no result after %g s", name, self._kind.seconds)
            return build_error_response(503, "Service Unavailable")
        except InvocationError as error:
            _log.error("%s", error)
            return build_error_response(self._kind.failure_status, "Internal Server Error")
        if len(result) > self._kind.response_bytes:
            _log.error("%s: the result has %d bytes", name, len(result))
            return build_error_response(self._kind.failure_status, "Internal Server Error")
        return response_to_client(response_of(json.loads(result)))

    async def _result(self, name: str, event: Mapping[str, Any]) -> bytes:
        """Returns the result. Raises TimeoutError after the front end's time limit. The function then continues, but
        its result is lost.
        """
        invocation = asyncio.ensure_future(self._invoke(name, event))
        self._invocations.add(invocation)
        invocation.add_done_callback(self._forget)
        return await asyncio.wait_for(asyncio.shield(invocation), self._kind.seconds)

    def _forget(self, invocation: "asyncio.Future[bytes]") -> None:
        self._invocations.discard(invocation)
        if not invocation.cancelled():
            # asyncio would otherwise warn that the exception was never retrieved.
            invocation.exception()


def response_to_client(given: Response) -> HttpResponse:
    """Returns a function's response with only the headers that the function set."""
    response = HttpResponse(given.body, given.status)
    response.raw_headers[:] = [
        (key.lower().encode("latin-1"), value.encode("latin-1"))
        for key, value in [*given.headers, ("content-length", str(len(given.body)))]
    ]
    return response


def route_chooser(routes: Sequence[Route]) -> Callable[[Request], str | None]:
    """Returns a chooser that finds the HTTP API's most specific route: full matches, then {segments}, {greedy+}, and
    $default. The HTTP API compares the decoded path.
    """
    known = [(route, route_pattern(route.path)) for route in sorted(routes, key=broadness)]

    def choose(request: Request) -> str | None:
        path = unquote(request.path)
        for route, pattern in known:
            if route.method in (request.method, "ANY") and pattern.fullmatch(path):
                return route.function
        return None

    return choose


def broadness(route: Route) -> tuple[bool, int, int, bool]:
    """Returns a sort key that puts specific routes before general ones."""
    return (
        route.path == DEFAULT_ROUTE,
        route.path.count("+}"),
        len(_segment.findall(route.path)),
        route.method == "ANY",
    )


def route_pattern(path: str) -> re.Pattern[str]:
    """Returns a pattern for a route's path: `{name}` matches one segment, `{name+}` matches one or more segments, and
    `$default` matches any path.
    """
    if path == DEFAULT_ROUTE:
        return re.compile(".*")
    parts = re.split(r"(\{[^}]+\})", path)
    return re.compile(
        "".join(
            (".+" if part.endswith("+}") else "[^/]+") if part.startswith("{") else re.escape(part) for part in parts
        )
    )


def rule_chooser(rules: Sequence[Rule], default: str) -> Callable[[Request], str | None]:
    """Returns a chooser that finds the first matching rule's function, or else `default`."""

    def choose(request: Request) -> str | None:
        return next((rule.function for rule in rules if rule.matches(request)), default)

    return choose


async def read_request(http: HttpRequest) -> Request:
    """Returns the client's request with the headers that AWS's front ends add."""
    headers = [(key.decode("latin-1"), value.decode("latin-1")) for key, value in http.headers.raw]
    forwarded = [("X-Forwarded-Proto", http.url.scheme), ("X-Forwarded-Port", str(http.url.port or 80))]
    return Request(
        http.method,
        http.scope["raw_path"].decode("ascii"),
        http.scope["query_string"].decode("ascii"),
        (*headers, *forwarded),
        await http.body(),
    )


def build_error_response(status: int, text: str) -> HttpResponse:
    """Returns an error response that the front end itself creates."""
    return HttpResponse(f'{{"message":"{text}"}}', status, media_type="application/json")
