"""Admits requests and runs their operations, for the REST API, the console and MCP."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from fastapi import Request
from starlette.types import Scope

from penstock.access.audit.refusals import counting_refusals, watch_refusals
from penstock.access.authentication import AccessRule
from penstock.access.quotas import check_rate
from penstock.aws.arn import is_region
from penstock.context import Context, Interface
from penstock.effects import LONG_COMPUTATION_BYTES, Compute, Operation
from penstock.environment import Environment
from penstock.errors import InvalidParameterValue
from penstock.http import HttpRequest
from penstock.management.rights import Right, authorize_request
from penstock.settings import Settings

from .errors import UnsupportedMediaType
from .request_id import get_request_id

T = TypeVar("T")
RUNNER_KEY = "penstock.call"
HOST_CHECKED_KEY: Final = "penstock.host_checked"
RESPONSE_LIMIT_KEY: Final = "penstock.limits.response_limit"
"""The Lambda function sets these members of the scope for the fields of `HttpRequest`."""
COMMAND_LINE: Final = "penstock-cli/"
"""The User-Agent of the command line begins with this prefix."""
REGION_HEADER = b"penstock-region"
"""The header Penstock-Region names the region of the queues, topics and schedules in a request. The default is
QUEUE_REGION."""
ACCOUNT_HEADER: Final = "penstock-account"
"""The header Penstock-Account of a response names the caller's account. Our choice: AWS's GetCallerIdentity tells the
account of a signature, but not the account of a bearer key."""


class RunOperation(Protocol):
    """Runs an operation for the request that has this scope, and returns the result."""

    def __call__(self, operation: Operation[T], scope: Scope, /) -> Awaitable[T]: ...


@dataclass(frozen=True, slots=True)
class Api:
    """Holds the environment and the driver of an application's routes."""

    environment: Environment
    run_operation: RunOperation


class OperationRunner:
    """Runs the operations of one request."""

    def __init__(self, request: Request) -> None:
        self._api: Api = request.app.state.api
        self._request = request
        self._scope = request.scope
        settings = self._api.environment.settings
        http = HttpRequest(
            request.method,
            request.url.path,
            request.scope["query_string"],
            dict(request.scope["headers"]),
            b"",
            (request.client and request.client.host) or "",
            request.scope.get(HOST_CHECKED_KEY, False),
            request.scope.get(RESPONSE_LIMIT_KEY),
        )
        request_id = get_request_id(request.scope, self._api.environment)
        self.context = Context(
            settings.queue_account_id, settings.queue_region, request_id, self._api.environment, http
        )
        self._action = f"{request.method} {request.url.path}"
        self.context.interface = Interface.CLI if is_command_line(request) else Interface.REST

    async def admit(self, right: Right) -> None:
        """Checks that the caller has the right, and sets the context's account to the caller's account. Raises the
        error of QUEUE_ACCESS for a refused caller, AccessDenied for a user without the right, and InvalidParameterValue
        for an unknown region. The method also raises MisdirectedRequest, RequestThrottled and UnsupportedMediaType.
        """
        http = self.context.http
        with counting_refusals(self.context, self._action):
            self.context.environment.hosts.check(http.headers, http.host_checked)
        self.context.region = read_region(http, self.context.environment.settings)
        access = self.context.environment.access
        if access is not None:
            await self.run(self._check(access, right))
        check_rate(self.context, len(await self._request.body()))
        if not is_json(self._request) and await self._request.body():
            raise UnsupportedMediaType

    def _check(self, access: AccessRule, right: Right) -> Operation[None]:
        yield from access.check_rest_request(self.context)
        names = self._scope.get("path_params", {})  # `run_route` sets no path parameters.
        yield from authorize_request(right, tuple(names.values()), self.context)

    async def read(self, reader: Callable[[bytes], T]) -> T:
        """Reads the body of the request with `reader`. Reads a long body in a thread, so that other requests run."""
        body = await self._request.body()
        if len(body) <= LONG_COMPUTATION_BYTES:
            return reader(body)
        return await self.run(iter(Compute(lambda: reader(body))))

    async def run(self, operation: Operation[T]) -> T:
        """Returns the result of the operation. `rest.errors` turns the operation's typed errors into responses. If
        access control is on, the audit log counts errors that refuse the caller.
        """
        if self._api.environment.access is not None:
            operation = watch_refusals(operation, self.context, self._action)
        return await self._api.run_operation(operation, self._scope)


def read_region(http: HttpRequest, settings: Settings) -> str:
    """Returns the region in the Penstock-Region header, or QUEUE_REGION if the header is missing. Raises
    InvalidParameterValue."""
    header = http.headers.get(REGION_HEADER)
    if header is None:
        return settings.queue_region
    region = header.decode("latin-1")
    if not is_region(region) or not settings.serves(region):
        served = f"one of QUEUE_REGIONS: {settings.queue_regions}" if settings.queue_regions else "such as us-east-1"
        raise InvalidParameterValue(f"Penstock-Region: a region, {served}")
    return region


def is_command_line(request: Request) -> bool:
    """Returns whether the request comes from the command line."""
    return request.headers.get("user-agent", "").startswith(COMMAND_LINE)


def is_json(request: Request) -> bool:
    """Returns whether the Content-Type header declares JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
