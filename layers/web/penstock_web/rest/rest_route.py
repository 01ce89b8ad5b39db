"""Routes of the REST API: they check the caller's access, run operations, and encode JSON."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar

import msgspec
from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from starlette.types import Scope

from penstock.access.authentication import AccessRule
from penstock.access.authorization import ANY, authorize_one, check_user
from penstock.access.request_rate import check_rate, count_answer
from penstock.audit import Act, record_act
from penstock.aws.arn import is_region
from penstock.aws.sns_arn import TopicArn
from penstock.context import Context
from penstock.effects import LONG_COMPUTATION_BYTES, Compute, Operation
from penstock.environment import Environment
from penstock.errors import InvalidParameterValue, RequestEntityTooLarge
from penstock.http import HttpRequest
from penstock.lambda_runtime.events import is_host_checked, response_limit
from penstock.settings import Settings

from .actions import ACTIONS, OF_A_QUEUE, OF_A_TOPIC
from .errors import UnsupportedMediaType
from .openapi import route_responses
from .operations import arn_of
from .request_id import request_id_of

T = TypeVar("T")

RUNNER_KEY = "penstock.call"
REGION_HEADER = b"penstock-region"
"""Whose queues, topics and schedules a request is about, where that is not QUEUE_REGION (our choice)."""
MAX_BODY_BYTES = 262_144  # the attributes of a queue have at most 100 KB, 1,000 receipts 64


class RunOperation(Protocol):
    """A driver: runs an operation of the request with this scope, and returns its result."""

    def __call__(self, operation: Operation[T], scope: Scope, /) -> Awaitable[T]: ...


@dataclass(frozen=True, slots=True)
class RestApi:
    """The environment and the driver that all REST routes of an application share."""

    environment: Environment
    run_operation: RunOperation


class OperationRunner:
    """Runs the operations of one request. `context`: the request's."""

    def __init__(self, request: Request) -> None:
        self._api: RestApi = request.app.state.rest
        self._request = request
        self._scope = request.scope
        settings = self._api.environment.settings
        event = request.scope.get("aws.event")  # in the container there is none
        http = HttpRequest(
            request.method,
            request.url.path,
            request.scope["query_string"],
            dict(request.scope["headers"]),
            b"",
            (request.client and request.client.host) or "",
            is_host_checked(event or {}),
            None if event is None else response_limit(event),
        )
        request_id = request_id_of(request.scope, self._api.environment)
        self.context = Context(
            settings.queue_account_id, settings.queue_region, request_id, self._api.environment, http
        )

    async def admit(self, route: str) -> None:
        """Sets the context's account to the caller's. `route`: the name of the route's function.

        Raises MisdirectedRequest, the error with which QUEUE_ACCESS refuses the caller, AccessDenied where a user's
        policies do, RequestThrottled, UnsupportedMediaType, and InvalidParameterValue for a region that is none.
        """
        http = self.context.http
        self.context.environment.hosts.check(http.headers, http.host_checked)
        self.context.region = requested_region(http, self.context.environment.settings)
        access = self.context.environment.access
        if access is not None:
            await self.run(self._check(access, route))
        check_rate(self.context, len(await self._request.body()))
        if not is_json(self._request) and await self._request.body():
            raise UnsupportedMediaType

    async def act(self, act: Act, operation: Operation[T], count: Callable[[T], int | None]) -> T:
        """As `run`, and notes in the audit who did it, and `count` of the result: how many it was about."""
        return await self.run(record_act(act, operation, count, self.context, self._key_id()))

    def _key_id(self) -> str | None:
        """The id of the bearer key with which the caller was admitted."""
        if self._api.environment.access is None or self.context.user is None:
            return None
        header = self.context.http.headers.get(b"authorization", b"").decode("latin-1")
        return header.partition(" ")[2].strip().partition(".")[0]

    def _check(self, access: AccessRule, route: str) -> Operation[None]:
        yield from access.check_rest_request(self.context)
        path = self._scope.get("path_params", {})  # transactions are routed outside FastAPI
        if route in OF_A_TOPIC:
            yield from authorize_topic(ACTIONS[route], path["topic"], self.context)
        else:
            name = path.get("name") if route in OF_A_QUEUE else None
            yield from authorize_actions(ACTIONS[route], name, self.context)

    async def read(self, reader: Callable[[bytes], T]) -> T:
        """What `reader` makes of the request's body; of a long one without holding up other requests."""
        body = await self._request.body()
        if len(body) <= LONG_COMPUTATION_BYTES:
            return reader(body)
        return await self.run(iter(Compute(lambda: reader(body))))

    async def run(self, operation: Operation[T]) -> T:
        """Returns the operation's result. Handlers in `errors` turn its typed errors into responses."""
        return await self._api.run_operation(operation, self._scope)


def requested_region(http: HttpRequest, settings: Settings) -> str:
    """The region of the header Penstock-Region, else QUEUE_REGION. Raises InvalidParameterValue."""
    given = http.headers.get(REGION_HEADER)
    if given is None:
        return settings.queue_region
    region = given.decode("latin-1")
    if not is_region(region) or not settings.serves(region):
        served = (
            f"one of QUEUE_REGIONS: {settings.queue_regions}"
            if settings.queue_regions
            else "such as us-east-1"
        )
        raise InvalidParameterValue(f"Penstock-Region: a region, {served}")
    return region


def authorize_actions(actions: Iterable[str], name: str | None, context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller may do all of this, with the queue of this name or (None) at all.

    The account's own keys may do everything here, and mend policies.
    """
    if context.caller.principal.is_root:
        return
    for action in actions:
        service, _, action_name = action.partition(":")
        if name is None:
            check_user(service, action_name, ANY, context)
        elif service == "sqs":
            yield from authorize_one(service, action_name, arn_of(name, context), context)
        else:
            check_user(service, action_name, arn_of(name, context), context)


def authorize_topic(actions: Iterable[str], name: str, context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller may do all of this with the topic of this name."""
    if context.caller.principal.is_root:  # as `authorize_actions`
        return
    arn = str(TopicArn(context.region, context.account_id, name))
    for action in actions:
        yield from authorize_one("sns", action.partition(":")[2], arn, context)


def is_json(request: Request) -> bool:
    """Whether the request says that its body is JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


class RestRoute(APIRoute):
    """A route below /v1. It checks the caller's access first: a refused caller learns nothing else about the request.

    A dependency would check too late: FastAPI parses the body as JSON before it resolves dependencies. Parsing takes
    up to 130 ms a MiB, so a body that FastAPI parses has a limit; `documents.read_messages` parses messages instead.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Adds the errors of the route to what the OpenAPI document says of it."""
        options["responses"] = {**route_responses(endpoint.__name__), **(options.get("responses") or {})}
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's own handler, called after QUEUE_ACCESS has admitted the caller."""
        handle = super().get_route_handler()

        async def admitted(request: Request) -> Response:
            runner = request.scope[RUNNER_KEY] = OperationRunner(request)
            await runner.admit(self.name)
            if self.body_field is not None:
                check_body(await request.body())
            response = await handle(request)
            count_answer(runner.context, len(response.body))
            return response

        return admitted


def check_body(body: bytes) -> None:
    """Raises RequestEntityTooLarge, and InvalidParameterValue for a body that is not JSON.

    FastAPI parses with Python's own module, which takes NaN and lone surrogates.
    """
    if len(body) > MAX_BODY_BYTES:
        raise RequestEntityTooLarge
    try:
        msgspec.json.decode(body or b"null")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidParameterValue(f"body: {error}") from error


async def run_rest_route(route: APIRoute, request: Request) -> Response:
    """Calls a REST route outside FastAPI; its function takes only the runner."""
    runner = OperationRunner(request)
    await runner.admit(route.name)
    response: Response = await route.endpoint(runner)
    return response


async def _runner(request: Request) -> OperationRunner:
    """The request's runner. A coroutine, since FastAPI would call a plain function in a thread."""
    runner: OperationRunner = request.scope[RUNNER_KEY]
    return runner


Runner = Annotated[OperationRunner, Depends(_runner)]


def json_response(value: object, status: int = 200) -> Response:
    """A response that msgspec encodes: the JSON text of messages goes into it unchanged."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")
