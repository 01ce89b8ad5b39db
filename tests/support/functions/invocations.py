"""Invokes functions in tests without HTTP, in this process or in processes of awslambdaric."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from penstock.aws.codec import cbor
from tests.support.functions.server import ROOT, Functions, function_for
from tests.support.local_lambda.__main__ import serving
from tests.support.local_lambda.environment import RuntimeApi
from tests.support.local_lambda.events import Request, Response, event_of, response_of
from tests.support.local_lambda.fleet import Fleet
from tests.support.local_lambda.idle_network import HOST
from tests.support.local_lambda.template import Function, read_stack
from tests.support.programs.local_lambda import from_sources

QUEUE_URL = "http://sqs.internal/000000000000/orders"


def json_request(action: str, **members: Any) -> Request:
    headers = (
        ("Host", "sqs.internal"),
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", f"AmazonSQS.{action}"),
    )
    return Request(headers=headers, body=json.dumps(members).encode())


def cbor_request(action: str, members: Mapping[str, Any]) -> Request:
    """Returns a request for an action of event buses."""
    headers = (("Host", "queues.internal"), ("Smithy-Protocol", "rpc-v2-cbor"), ("Content-Type", "application/cbor"))
    return Request("POST", f"/service/AWSEventsV2/operation/{action}", "", headers, cbor.encode(dict(members)))


def query_request(action: str, **parameters: str) -> Request:
    headers = (("Host", "sqs.internal"), ("Content-Type", "application/x-www-form-urlencoded"))
    return Request(headers=headers, body=urlencode({"Action": action, **parameters}).encode())


def invoke(functions: Functions, request: Request, name: str | None = None) -> Response:
    """Returns the response of the function `name`, or of the function that a load balancer would choose."""
    chosen = name or function_for(request)
    return response_of(functions.invoke(chosen, event_of("http_api", request)))


def call(functions: Functions, action: str, **members: Any) -> Any:
    """Calls an action that must succeed. Returns the action's result, or None."""
    response = invoke(functions, json_request(action, **members))
    assert response.status == 200, response.body
    return json.loads(response.body) if response.body else None


def error_of(response: Response) -> tuple[int, str, str]:
    """Returns a JSON error's status, `__type` without namespace, and x-amzn-query-error."""
    kind = json.loads(response.body)["__type"].partition("#")[2]
    return response.status, kind, response.header("x-amzn-query-error")


PYTHON = ROOT / ".tools/lambda/bin/python"


def function(code: Path, name: str, seconds: float = 30, memory: int = 512, most: int | None = None) -> Function:
    """Returns the function `name` of function.py in the folder `code`, with the layer in that folder."""
    handler = f"function.{name}"
    return Function(name, handler, "python3.12", code, (code / "layer",), seconds, memory, most, {"VARIABLE": "given"})


@asynccontextmanager
async def running(*functions: Function, most: int = 4, recycle_after: int = 0) -> AsyncIterator[Fleet]:
    runtime_api = RuntimeApi()
    async with serving(runtime_api.app, 0) as port:
        known = {f.name: f for f in functions}
        fleet = Fleet(known, runtime_api, f"{HOST}:{port}", PYTHON, most, recycle_after)
        try:
            yield fleet
        finally:
            await fleet.close()


@asynccontextmanager
async def running_stack(
    folder: Path, parameters: Mapping[str, str], variables: Mapping[str, str], *names: str
) -> AsyncIterator[Fleet]:
    """Runs the given functions of template.yaml with the given parameters. `folder` must be an empty folder."""
    stack = read_stack(from_sources(folder), {"Access": "off", **parameters}, variables)
    async with running(*(stack.functions[name] for name in names)) as fleet:
        yield fleet
