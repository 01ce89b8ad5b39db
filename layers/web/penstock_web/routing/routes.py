"""Declares routes with the rights that they require. A route first checks the caller.

    routes = Routes("queues", prefix="/queues")

    @routes.get("/{name}", right=right_of(queues.describe_queue), response=QueueDescription, raises=UNKNOWN)
    async def describe_queue(name: str, runner: Runner) -> QueueDescription: ...

The function returns None, a response, or a document for msgspec.
"""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import wraps
from typing import Annotated, Any, Final, NamedTuple, Required, TypedDict, TypeVar, Unpack

import msgspec
from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute

from penstock.access.quotas import count_response
from penstock.errors import AwsError, InvalidParameterValue
from penstock.management.rights import Right

from .openapi import EVERY_ROUTE, Responses, describe_error_responses, describe_json_responses, request_body_schema
from .runner import ACCOUNT_HEADER, RUNNER_KEY, OperationRunner

Endpoint = Callable[..., Coroutine[Any, Any, object]]
Responding = Callable[..., Coroutine[Any, Any, Response]]
EndpointT = TypeVar("EndpointT", bound=Endpoint)


CHANGED: Final = (200, 204)
"""The statuses of a route that changes a resource are 200 with the resource, and 204 if the caller may not read the
resource."""


class RouteOptions(TypedDict, total=False):
    """A route's declaration. `raises` lists the errors of the route, in addition to the errors of every route. `status`
    is the status of the response. `statuses` lists the statuses of a route that has several statuses. `body` is the
    type of the request, and `response` is the type of the response, or several types. `media` maps other media types of
    the response to schemas. `in_schema` is false for a route that the OpenAPI document omits.
    """

    right: Required[Right]
    raises: tuple[type[AwsError], ...]
    status: int
    statuses: tuple[int, ...]
    body: object
    response: object
    media: Mapping[str, object]
    in_schema: bool


class Declared(NamedTuple):
    """A declared route."""

    method: str
    path: str
    name: str
    right: Right
    raises: tuple[type[AwsError], ...]


class Routes:
    """Collects the routes of one subject. `router` is FastAPI's router."""

    def __init__(self, tag: str, prefix: str = "") -> None:
        self.router = APIRouter(prefix=prefix, tags=[tag], route_class=AdmittingRoute)

    def __iter__(self) -> Iterator[Declared]:
        """Yields the routes in the order of declaration."""
        for route in self.router.routes:
            if isinstance(route, APIRoute):
                yield find_declaration(route.endpoint)

    def get(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[EndpointT], EndpointT]:
        """Declares a route for GET."""
        return self._declare("GET", path, options)

    def post(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[EndpointT], EndpointT]:
        """Declares a route for POST."""
        return self._declare("POST", path, options)

    def put(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[EndpointT], EndpointT]:
        """Declares a route for PUT."""
        return self._declare("PUT", path, options)

    def patch(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[EndpointT], EndpointT]:
        """Declares a route for PATCH."""
        return self._declare("PATCH", path, options)

    def delete(self, path: str, **options: Unpack[RouteOptions]) -> Callable[[EndpointT], EndpointT]:
        """Declares a route for DELETE."""
        return self._declare("DELETE", path, options)

    def _declare(self, method: str, path: str, options: RouteOptions) -> Callable[[EndpointT], EndpointT]:
        if "right" not in options:
            raise TypeError(f"{method} {self.router.prefix}{path} requires no right: declare it with right=")
        raises, status = options.get("raises", ()), options.get("status", 200)

        def add(endpoint: EndpointT) -> EndpointT:
            encoded = encode_result(endpoint, status)
            full_path = self.router.prefix + path
            declared = Declared(method, full_path, endpoint.__name__, options["right"], raises)
            encoded.__dict__[DECLARED] = declared
            body = options.get("body")
            self.router.add_api_route(
                path,
                encoded,
                methods=[method],
                status_code=status,
                response_class=Response,
                response_model=None,
                responses={**describe_error_responses(*EVERY_ROUTE, *raises), **describe_responses(options)},
                openapi_extra=None if body is None else request_body_schema(body),
                include_in_schema=options.get("in_schema", True),
            )
            return endpoint

        return add


DECLARED = "penstock_declared"


def find_declaration(endpoint: Callable[..., object]) -> Declared:
    """Returns the declaration of a route. Raises TypeError if the route has no declaration."""
    declared: Declared | None = getattr(endpoint, DECLARED, None)
    if declared is None:
        raise TypeError(f"{endpoint.__module__}.{endpoint.__name__} requires no right: declare it with Routes")
    return declared


def describe_responses(options: RouteOptions) -> Responses:
    """Returns the responses of a route for the OpenAPI document."""
    if "response" not in options:
        return {}
    response = options["response"]
    kinds = response if isinstance(response, tuple) else (response,)
    statuses = options.get("statuses", (options.get("status", 200),))
    responses = describe_json_responses(*kinds, statuses=statuses)
    for described in responses.values():
        described["content"].update(options.get("media", {}))
    return responses


def encode_result(endpoint: Endpoint, status: int) -> Responding:
    """Wraps the function of a route. The wrapper encodes the result as a response with `status`, unless the result is
    already a response."""

    @wraps(endpoint)
    async def respond(*arguments: object, **named: object) -> Response:
        result = await endpoint(*arguments, **named)
        if isinstance(result, Response):
            return result
        return json_response(result, status)

    return respond


class AdmittingRoute(APIRoute):
    """Checks the caller's access first, so that a refused caller receives no other error. A FastAPI dependency would
    check too late, because FastAPI reads parameters before it resolves dependencies. The routes' functions read request
    bodies, with limits (`penstock.documents.decoding`).
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Returns a handler that checks the caller and then calls FastAPI's handler."""
        handle, right = super().get_route_handler(), find_declaration(self.endpoint).right
        known = frozenset(field.alias for field in self.dependant.query_params)

        async def admit_and_handle(request: Request) -> Response:
            runner = request.scope[RUNNER_KEY] = OperationRunner(request)
            await runner.admit(right)
            check_parameters(request, known)
            response = await handle(request)
            response.headers[ACCOUNT_HEADER] = runner.context.account_id
            count_response(runner.context, len(response.body))
            return response

        return admit_and_handle


def check_parameters(request: Request, known: frozenset[str]) -> None:
    """Raises InvalidParameterValue if the query string contains an unknown parameter. The parameters of an AWS
    signature (X-Amz-…) are allowed.
    """
    unknown = sorted(name for name in request.query_params if name not in known and not name.startswith("X-Amz-"))
    if unknown:
        has = ", ".join(sorted(known)) or "none"
        raise InvalidParameterValue(f"query: no parameter is called {unknown[0][:80]!r}; this route has {has}")


async def run_route(route: APIRoute, request: Request) -> Response:
    """Calls a route without FastAPI. The function of the route must take only the runner."""
    runner = OperationRunner(request)
    await runner.admit(find_declaration(route.endpoint).right)
    response: Response = await route.endpoint(runner)
    return response


async def _get_runner(request: Request) -> OperationRunner:
    """Returns the request's runner. FastAPI would call a plain function in a thread, so `_get_runner` is a
    coroutine."""
    runner: OperationRunner = request.scope[RUNNER_KEY]
    return runner


Runner = Annotated[OperationRunner, Depends(_get_runner)]


def json_response(value: object, status: int = 200, location: str | None = None) -> Response:
    """Encodes a value as a response. The JSON of messages stays unchanged. `location` is the value of the Location
    header. If the value is missing, the response has no body, and a status of 200 becomes 204.
    """
    headers = None if location is None else {"location": location}
    if value is None:
        return Response(None, 204 if status == 200 else status, headers)
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")
