"""Runs the function of infra/migrate in a process of awslambdaric, and imitates Lambda's Invoke."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.functions.invocations import running
from tests.support.functions.server import ROOT
from tests.support.local_lambda.__main__ import serving
from tests.support.local_lambda.fleet import Fleet
from tests.support.local_lambda.idle_network import HOST
from tests.support.local_lambda.limits import FunctionError, TooManyRequestsError
from tests.support.local_lambda.template import Function, read_stack
from tests.support.programs.local_lambda import from_sources

NAME = "Migrate"


def migrate_function(folder: Path, **variables: str) -> Function:
    """Returns the function of infra/migrate/template.yaml, built like `sam build`. `folder` must be an empty folder."""
    from_sources(folder)
    (folder / "template.yaml").unlink()
    text = (ROOT / "infra/migrate/template.yaml").read_text()
    (folder / "template.yaml").write_text(text.replace("../../", ""))
    (folder / "sql").symlink_to(ROOT / "sql")
    stack = read_stack(folder, {}, variables)
    assert (stack.routes, stack.schedules) == ((), ())
    return stack.functions[NAME]


@asynccontextmanager
async def invokable(function: Function) -> AsyncIterator[tuple[Fleet, str]]:
    """Yields the fleet, and an endpoint whose Invoke accepts any name for the function.

    The status is 200 even if the function fails. X-Amz-Function-Error names the error ("Invoke", Lambda API Reference).
    """
    async with running(function) as fleet:

        async def invoke(request: Request) -> Response:
            try:
                result = await fleet.invoke(NAME, json.loads(await request.body() or b"{}"))
            except TooManyRequestsError as error:
                headers = {"x-amzn-errortype": "TooManyRequestsException"}
                return Response(json.dumps({"message": str(error)}), 429, headers)
            except FunctionError as error:
                return Response(str(error), headers={"X-Amz-Function-Error": "Unhandled"})
            return Response(result)

        route = Route("/2015-03-31/functions/{name}/invocations", invoke, methods=["POST"])
        async with serving(Starlette(routes=[route]), 0) as port:
            yield fleet, f"http://{HOST}:{port}"


async def error_of(fleet: Fleet, event: dict[str, Any]) -> dict[str, Any]:
    """Returns `errorType` and `errorMessage` of an invocation that must fail."""
    try:
        result = await fleet.invoke(NAME, event)
    except FunctionError as error:
        found: dict[str, Any] = json.loads(str(error))
        return {name: found[name] for name in ("errorType", "errorMessage")}
    raise AssertionError(result)
