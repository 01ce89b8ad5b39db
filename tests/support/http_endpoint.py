"""An HTTP endpoint with every method, from a thread of the test."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import MappingProxyType
from typing import Any, NamedTuple


class Received(NamedTuple):
    """A request. `headers` ignore the case of their names."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def payload(self) -> Any:
        return json.loads(self.body)


class Answer(NamedTuple):
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = MappingProxyType({})


class HttpEndpoint:
    """`answer` chooses the answer of a request, in a thread of the server."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[Received] = []
        self.answer: Callable[[Received], Answer] = lambda _: Answer()

    @property
    def payloads(self) -> list[Any]:
        return [request.payload for request in self.requests]

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        request = Received(handler.command, handler.path, handler.headers, body)  # type: ignore[arg-type]
        self.requests.append(request)
        answer = self.answer(request)
        handler.send_response(answer.status)
        for name, text in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
            handler.send_header(name, text)
        with suppress(ConnectionError):
            handler.end_headers()
            if request.method != "HEAD":
                handler.wfile.write(answer.body)


@contextmanager
def serve_http() -> Iterator[HttpEndpoint]:
    endpoint = HttpEndpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

    def respond(handler: BaseHTTPRequestHandler) -> None:  # becomes a method
        endpoint.handle(handler)

    for method in ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"):
        setattr(Handler, f"do_{method}", respond)

    with serving(Handler) as endpoint.url:
        yield endpoint


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serves requests in threads. Returns the URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
