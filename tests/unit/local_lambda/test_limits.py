"""AWS's limits of front services and of deployments: just allowed, and just not.

"Quotas for configuring and running an HTTP API in API Gateway",
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
    payload size 10 MB; maximum integration timeout 30 seconds
"Use Lambda functions as targets of an Application Load Balancer",
https://docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html
    request body 1 MB, response JSON 1 MB; "Troubleshoot your Application Load Balancers" gives 413 and 502 for more
"Lambda quotas", https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    6 MB of a synchronous invocation each way; 250 MB of contents of a deployment package, including layers
"How do I troubleshoot issues for API Gateway endpoints that integrate with Lambda?",
https://repost.aws/knowledge-center/api-gateway-internal-server-error
    a throttled function may be an Internal server error
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request as HttpRequest

from tests.support.local_lambda.environment import process_variables
from tests.support.local_lambda.front import BALANCER, HTTP_API, FrontEnd, FrontKind
from tests.support.local_lambda.limits import (
    FunctionError,
    InvocationError,
    RequestTooLargeError,
    TooManyRequestsError,
)
from tests.support.local_lambda.template import read_stack
from tests.support.local_lambda.values import TemplateError

MB = 1024 * 1024
KINDS = {"http_api": HTTP_API, "balancer": BALANCER}
TEMPLATE = """
Resources:
  Core:
    Type: AWS::Serverless::LayerVersion
    Properties: {ContentUri: Core}
  Send:
    Type: AWS::Serverless::Function
    Properties:
      Handler: send.handler
      CodeUri: Send
      Runtime: python3.12
      Timeout: 30
      MemorySize: 512
      Layers: [{Ref: Core}]
      LOGGING
"""


def result(body: str) -> bytes:
    """What a function answers, as the JSON text that the runtime makes of it."""
    return json.dumps({"statusCode": 200, "body": body, "isBase64Encoded": False}).encode()


class Invoked:
    """A function that takes so many seconds and then has this result, or fails."""

    def __init__(self, outcome: bytes | InvocationError = b"", seconds: float = 0) -> None:
        self._outcome = outcome or result("")
        self._seconds = seconds
        self.events: list[Mapping[str, Any]] = []
        self.ended = 0

    async def __call__(self, name: str, event: Mapping[str, Any]) -> bytes:
        self.events.append(event)
        await asyncio.sleep(self._seconds)
        self.ended += 1
        if isinstance(self._outcome, InvocationError):
            raise self._outcome
        return self._outcome


async def status_of(kind: FrontKind, invoked: Invoked, body: bytes = b"") -> int:
    """The status for a request with this body."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "headers": [],
        "server": ("127.0.0.1", 80),
    }
    front = FrontEnd(kind, lambda _: "Send", invoked)
    return (await front.answer(HttpRequest(scope, receive))).status_code


@pytest.mark.parametrize(
    ("kind", "size", "status"),
    [
        ("http_api", 10 * MB, 200),
        ("http_api", 10 * MB + 1, 413),
        ("balancer", 1 * MB, 200),
        ("balancer", 1 * MB + 1, 413),
    ],
)
async def test_bodies_of_requests(kind: str, size: int, status: int) -> None:
    """Of the client's bytes, however they are written into the event."""
    invoked = Invoked()
    assert await status_of(KINDS[kind], invoked, bytes(size)) == status
    assert len(invoked.events) == (status == 200)


@pytest.mark.parametrize(
    ("kind", "size", "status"),
    [
        ("http_api", 6 * MB, 200),
        ("balancer", 1 * MB, 200),
        ("balancer", 1 * MB + 1, 502),
    ],
)
async def test_results(kind: str, size: int, status: int) -> None:
    """That a result of more than 6 MB is an error of the invocation is in system/local_lambda."""
    outcome = result("x" * (size - len(result(""))))
    assert len(outcome) == size
    assert await status_of(KINDS[kind], Invoked(outcome)) == status


@pytest.mark.parametrize(
    ("kind", "outcome", "status"),
    [
        ("http_api", FunctionError("x"), 500),
        ("http_api", TooManyRequestsError("x"), 500),
        ("http_api", RequestTooLargeError("x"), 413),
        ("balancer", FunctionError("x"), 502),
        ("balancer", TooManyRequestsError("x"), 502),
    ],
)
async def test_invocations_without_a_result(kind: str, outcome: InvocationError, status: int) -> None:
    assert await status_of(KINDS[kind], Invoked(outcome)) == status


@pytest.mark.parametrize(
    ("kind", "seconds", "status"),
    [("http_api", 29.9, 200), ("http_api", 30.1, 503), ("balancer", 899, 200)],
)
@pytest.mark.virtual_time
async def test_how_long_a_front_waits(kind: str, seconds: float, status: int) -> None:
    """The function goes on, as it does on Lambda."""
    invoked = Invoked(seconds=seconds)

    answer = await status_of(KINDS[kind], invoked)
    assert invoked.ended == (status == 200)
    await asyncio.sleep(1)
    assert invoked.ended == 1
    assert answer == status


@pytest.mark.parametrize(("more", "is_allowed"), [(0, True), (1, False)])
def test_code_and_layers_together(tmp_path: Path, more: int, is_allowed: bool) -> None:
    (tmp_path / "template.yaml").write_text(TEMPLATE.replace("LOGGING", ""))
    for name, size in (("Send/send.py", 50 * MB), ("Core/python/core.so", 200 * MB + more)):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        with file.open("wb") as sparse:
            sparse.truncate(size)
    if is_allowed:
        assert read_stack(tmp_path, {}, {}).functions["Send"].layers == (tmp_path / "Core",)
    else:
        with pytest.raises(TemplateError, match=r"Send and its layers have 262144001 bytes"):
            read_stack(tmp_path, {}, {})


@pytest.mark.parametrize(
    ("logging", "form", "level"),
    [
        ("", "Text", None),
        ("LoggingConfig: {LogFormat: JSON}", "JSON", None),
        ("LoggingConfig: {LogFormat: JSON, ApplicationLogLevel: INFO}", "JSON", "INFO"),
        ("LoggingConfig: {LogGroup: x}", "Text", None),
    ],
)
def test_the_format_of_logs_is_that_of_the_template(
    tmp_path: Path, logging: str, form: str, level: str | None
) -> None:
    """CloudFormation, "AWS::Lambda::Function LoggingConfig": Text unless the template says JSON. Functions are told."""
    (tmp_path / "template.yaml").write_text(TEMPLATE.replace("LOGGING", logging))
    variables = process_variables(read_stack(tmp_path, {}, {}).functions["Send"], "127.0.0.1:1/1")
    assert variables["AWS_LAMBDA_LOG_FORMAT"] == form
    assert variables.get("AWS_LAMBDA_LOG_LEVEL") == level
