"""Answers invocations as Lambda does ("Invoke", AWS Lambda API reference,
https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html), from a thread of the test."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from tests.support.http_endpoint import serving


class Invocation(NamedTuple):
    path: str
    kind: str
    payload: Any


class Answer(NamedTuple):
    """`error` is the value of X-Amz-Function-Error."""

    status: int = 202
    body: Any = None
    error: str | None = None


class FunctionEndpoint:
    """`answer` chooses the answer of an invocation, in a thread of the server. `url` is the value of
    QUEUE_LAMBDA_ENDPOINT."""

    def __init__(self) -> None:
        self.url = ""
        self.invocations: list[Invocation] = []
        self.answer: Callable[[Invocation], Answer] = lambda _: Answer()

    @property
    def payloads(self) -> list[Any]:
        return [invocation.payload for invocation in self.invocations]

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        text = request.rfile.read(int(request.headers["Content-Length"]))
        invocation = Invocation(request.path, request.headers["X-Amz-Invocation-Type"], json.loads(text))
        self.invocations.append(invocation)
        answer = self.answer(invocation)
        body = b"" if answer.body is None else json.dumps(answer.body).encode()
        request.send_response(answer.status)
        if answer.error is not None:
            request.send_header("X-Amz-Function-Error", answer.error)
        request.send_header("Content-Length", str(len(body)))
        with suppress(ConnectionError):  # the worker has died
            request.end_headers()
            request.wfile.write(body)


@contextmanager
def serve_functions() -> Iterator[FunctionEndpoint]:
    endpoint = FunctionEndpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            endpoint.handle(self)

        def log_message(self, *_: object) -> None: ...

    with serving(Handler) as endpoint.url:
        yield endpoint
