"""HTTP front ends of the functions: API Gateway's HTTP API chooses by routes, a load balancer by rules.

When a function fails, API Gateway answers 500, or 503 after a timeout, and a load balancer answers 502
("Troubleshooting HTTP API Lambda integrations", "Troubleshoot your Application Load Balancers").
"""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Route as HttpRoute

from .balancer import Rule
from .environment import FunctionError
from .events import EventForm, Request, event_of, response_of
from .template import Route

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]

Invoke = Callable[[str, Mapping[str, Any]], Awaitable[Any]]

_log = logging.getLogger(__name__)
_segment = re.compile(r"\{[^}+]+\}")


class FrontEnd:
    """An ASGI application that invokes functions.

    `choose` returns the name of the function for a request, or None if there is none. `failure_status`: the status of
    the response when the function fails.
    """

    def __init__(
        self, form: EventForm, choose: Callable[[Request], str | None], invoke: Invoke, failure_status: int
    ) -> None:
        self._form: EventForm = form
        self._choose = choose
        self._invoke = invoke
        self._failure_status = failure_status
        self.app = Starlette(routes=[HttpRoute("/{path:path}", self.answer, methods=METHODS)])

    async def answer(self, http: HttpRequest) -> HttpResponse:
        """Answers one request: makes an event of it, invokes the function, makes a response of its result."""
        request = await read_request(http)
        name = self._choose(request)
        if name is None:
            return error_response(404, "Not Found")
        try:
            answer = response_of(await self._invoke(name, event_of(self._form, request)))
        except FunctionError as error:
            _log.error("%s", error)
            return error_response(self._failure_status, "Internal Server Error")
        response = HttpResponse(answer.body, answer.status)
        response.raw_headers[:] = [
            (key.lower().encode("latin-1"), value.encode("latin-1"))
            for key, value in [*answer.headers, ("content-length", str(len(answer.body)))]
        ]
        return response


def route_chooser(routes: Sequence[Route]) -> Callable[[Request], str | None]:
    """Chooses by the HTTP API's most specific route: full matches first, then {segments}, then {greedy+} variables."""
    known = [(route, route_pattern(route.path)) for route in sorted(routes, key=broadness)]

    def choose(request: Request) -> str | None:
        for route, pattern in known:
            if route.method in (request.method, "ANY") and pattern.fullmatch(request.path):
                return route.function
        return None

    return choose


def broadness(route: Route) -> tuple[int, int, int]:
    """A sort key that puts specific routes before broad ones."""
    return route.path.count("+}"), len(_segment.findall(route.path)), route.method == "ANY"


def route_pattern(path: str) -> re.Pattern[str]:
    """A pattern of the paths of a route: `{name}` is one segment, `{name+}` one or more."""
    parts = re.split(r"(\{[^}]+\})", path)
    return re.compile(
        "".join(
            (".+" if part.endswith("+}") else "[^/]+") if part.startswith("{") else re.escape(part)
            for part in parts
        )
    )


def rule_chooser(rules: Sequence[Rule], default: str) -> Callable[[Request], str | None]:
    """Chooses the function of the first rule that matches, else the default one."""

    def choose(request: Request) -> str | None:
        return next((rule.function for rule in rules if rule.matches(request)), default)

    return choose


async def read_request(http: HttpRequest) -> Request:
    """The client's request, with the headers that AWS's front ends add."""
    headers = [(key.decode("latin-1"), value.decode("latin-1")) for key, value in http.headers.raw]
    forwarded = [("X-Forwarded-Proto", http.url.scheme), ("X-Forwarded-Port", str(http.url.port or 80))]
    return Request(
        http.method,
        http.scope["raw_path"].decode("ascii"),
        http.scope["query_string"].decode("ascii"),
        (*headers, *forwarded),
        await http.body(),
    )


def error_response(status: int, text: str) -> HttpResponse:
    """A response of the front end itself, without a function."""
    return HttpResponse(f'{{"message":"{text}"}}', status, media_type="application/json")
