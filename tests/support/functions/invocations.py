"""Invocations written short, for tests that need no HTTP."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from tests.support.functions.server import Functions, function_for
from tests.support.local_lambda.events import Request, Response, event_of, response_of

QUEUE_URL = "http://sqs.internal/000000000000/orders"


def json_request(action: str, **members: Any) -> Request:
    """A request of the JSON protocol."""
    headers = (
        ("Host", "sqs.internal"),
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", f"AmazonSQS.{action}"),
    )
    return Request(headers=headers, body=json.dumps(members).encode())


def query_request(action: str, **parameters: str) -> Request:
    """A request of the Query protocol."""
    headers = (("Host", "sqs.internal"), ("Content-Type", "application/x-www-form-urlencoded"))
    return Request(headers=headers, body=urlencode({"Action": action, **parameters}).encode())


def invoke(functions: Functions, request: Request, name: str | None = None) -> Response:
    """The answer of the function `name`, or of the one that a load balancer would choose."""
    chosen = name or function_for(request)
    return response_of(functions.invoke(chosen, event_of("http_api", request)))


def call(functions: Functions, action: str, **members: Any) -> Any:
    """The result of an action that must succeed; None when it has none."""
    response = invoke(functions, json_request(action, **members))
    assert response.status == 200, response.body
    return json.loads(response.body) if response.body else None


def error_of(response: Response) -> tuple[int, str, str]:
    """Status, `__type` without its namespace and `x-amzn-query-error` of a JSON error."""
    kind = json.loads(response.body)["__type"].partition("#")[2]
    return response.status, kind, response.header("x-amzn-query-error")
