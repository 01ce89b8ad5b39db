"""Implements the Lambda Runtime API, from which processes of awslambdaric get invocations and to which they post the
results.

The source is the Lambda Developer Guide, "Using the Lambda runtime API for custom runtimes". Each environment has a
separate path prefix, its number.
"""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .environment import REGION, ExecutionEnvironment, Invocation
from .limits import INVOCATION_BYTES, FunctionError, ResultTooLargeError

VERSION = "2018-06-01"
ACCEPTED, TOO_LARGE = 202, 413


class RuntimeApi:
    """The Runtime API of all environments. `environments` maps numbers to the environments whose processes may
    request work.
    """

    def __init__(self) -> None:
        self.environments: dict[int, ExecutionEnvironment] = {}
        prefix = f"/{{number:int}}/{VERSION}/runtime"
        self.app = Starlette(
            routes=[
                Route(f"{prefix}/invocation/next", self.next),
                Route(f"{prefix}/invocation/{{request_id}}/response", self.response, methods=["POST"]),
                Route(f"{prefix}/invocation/{{request_id}}/error", self.error, methods=["POST"]),
                Route(f"{prefix}/init/error", self.init_error, methods=["POST"]),
            ]
        )

    async def next(self, request: Request) -> Response:
        """Waits for an invocation and returns it to the process."""
        environment = self._environment(request)
        invocation = await environment.next()
        name = environment.function.name
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Deadline-Ms": str(invocation.deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": f"arn:aws:lambda:{REGION}:000000000000:function:{name}",
        }
        return Response(invocation.event, media_type="application/json", headers=headers)

    async def response(self, request: Request) -> Response:
        """Takes the result of an invocation. The Runtime API ignores a late result, and refuses a result that is too
        large.
        """
        invocation = self._invocation(request)
        body = await request.body()
        if len(body) > INVOCATION_BYTES:
            text = f"the result has {len(body)} bytes, more than {INVOCATION_BYTES}"
            if invocation is not None:
                invocation.answer.set_exception(ResultTooLargeError(f"Function.ResponseSizeTooLarge: {text}"))
            return Response(text, status_code=TOO_LARGE)
        if invocation is not None:
            invocation.answer.set_result(body)
        return Response(status_code=ACCEPTED)

    async def error(self, request: Request) -> Response:
        """Takes the error that the handler raised."""
        invocation = self._invocation(request)
        body = await request.body()
        if invocation is not None:
            invocation.answer.set_exception(FunctionError(body.decode()))
        return Response(status_code=ACCEPTED)

    async def init_error(self, request: Request) -> Response:
        """Takes the error of a handler that could not be loaded. The function's process ends by itself."""
        environment = self._environment(request)
        body = await request.body()
        if environment.current is not None and not environment.current.answer.done():
            environment.current.answer.set_exception(FunctionError(body.decode()))
        return Response(status_code=ACCEPTED)

    def _environment(self, request: Request) -> ExecutionEnvironment:
        return self.environments[request.path_params["number"]]

    def _invocation(self, request: Request) -> Invocation | None:
        current = self._environment(request).current
        if (
            current is None
            or current.request_id != request.path_params["request_id"]
            or current.answer.done()
        ):
            return None
        return current
