"""How a native route runs its operation."""

from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast

import msgspec
from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute

from penstock.context import Context
from penstock.effects import Effect, Operation
from penstock.environment import Environment
from penstock.errors import RequestEntityTooLarge
from penstock.http import HttpRequest

T = TypeVar("T")

CALL = "penstock.call"
LONGEST_BODY_BYTES = 262_144  # the attributes of a queue have at most 100 KB, 1,000 receipts 64


@dataclass(frozen=True, slots=True)
class Native:
    """What every route of an application shares."""

    environment: Environment
    run_operation: Callable[[Operation, MutableMapping[str, Any]], Awaitable[Any]]


class NativeCall:
    """One request: its context, and the way to run operations for it."""

    def __init__(self, request: Request) -> None:
        self._native: Native = request.app.state.native
        self._scope = request.scope
        settings = self._native.environment.settings
        http = HttpRequest(
            request.method,
            request.url.path,
            request.scope["query_string"],
            dict(request.scope["headers"]),
            b"",
        )
        request_id = self._native.environment.request_ids()
        self.context = Context(
            settings.queue_account_id, settings.queue_region, request_id, self._native.environment, http
        )

    async def admit(self) -> None:
        """Raises what QUEUE_ACCESS refuses this caller with; else the context's account is the caller's."""
        access = self.context.environment.access
        if access is not None:
            await self.run(access.check_native_request(self.context))

    async def run(self, operation: Generator[Effect, Any, T]) -> T:
        """The operation's result; its typed errors become answers in `errors`."""
        result: T = await self._native.run_operation(operation, self._scope)
        return result


class NativeRoute(APIRoute):
    """A route below /v1: admits the caller first. Nobody who is refused learns what is wrong with the request.

    A dependency would come too late: FastAPI reads the body as JSON before it looks at any. It takes up to 130 ms a
    MiB for that, so a body that it reads has a limit; messages are read without it (`documents.read_messages`).
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's own, behind the rule of QUEUE_ACCESS."""
        handle = super().get_route_handler()

        async def admitted(request: Request) -> Response:
            call = request.scope[CALL] = NativeCall(request)
            await call.admit()
            if self.body_field is not None and len(await request.body()) > LONGEST_BODY_BYTES:
                raise RequestEntityTooLarge
            return await handle(request)

        return admitted


async def answered(route: APIRoute, request: Request) -> Response:
    """The answer of a native route that takes the request and its call, and nothing else of FastAPI's."""
    call = NativeCall(request)
    await call.admit()
    response: Response = await route.endpoint(request, call)
    return response


async def _call(request: Request) -> NativeCall:
    """Not a plain function: FastAPI would call that in a thread."""
    call: NativeCall = request.scope[CALL]
    return call


Call = Annotated[NativeCall, Depends(_call)]


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON schema of a type of msgspec's for the OpenAPI document, whole: a reference would lead nowhere in it."""
    (schema,), named = msgspec.json.schema_components((kind,), ref_template="{name}")
    return cast("dict[str, Any]", _inlined(schema, named))


def _inlined(schema: Any, named: Mapping[str, Any]) -> Any:
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inlined(named[schema["$ref"]], named)
        return {name: _inlined(value, named) for name, value in schema.items()}
    return [_inlined(one, named) for one in schema] if isinstance(schema, list) else schema


def body_of_type(kind: Any) -> dict[str, Any]:
    """The request body of a route that reads it itself, for `openapi_extra`."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema_of(kind)}}}}


def json_response(value: Any, status: int = 200) -> Response:
    """Encoded by msgspec: messages are put in as the JSON that they are."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")
