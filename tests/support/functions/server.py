"""Runs an HTTP server in front of the functions, so that SDK clients can call the functions.

    with FunctionServer(database.pooled_dsn) as deployment:
        client = boto3.client("sqs", endpoint_url=deployment.endpoint_url, …)

`event_form` selects API Gateway's or the load balancer's events. As in the load balancer's rules, X-Amz-Target selects
the action's function, and the gateway serves other requests. The server calls the functions in `functions/` in this
process. As on Lambda, an execution environment serves one request at a time. The server reuses idle environments, and
creates more up to a limit. The server refuses events and results that exceed AWS's limits.
`penstock.limits.response_limit` names the sources.
"""

import json
import os
import re
import socket
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from threading import BoundedSemaphore, Lock, Thread
from types import SimpleNamespace
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from penstock.actions import BY_ROUTE, BY_TARGET, MAPPING_ACTIONS
from penstock.aws.codec.protocol import find_rest_resource
from tests.support.local_lambda.events import Event, EventForm, Request, Response, event_of, response_of

ROOT = Path(__file__).resolve().parents[3]
FUNCTIONS = ROOT / "functions"

# AWS writes MB, which can mean 1,000,000 or 1,048,576 bytes. The server applies the smaller limit, so AWS accepts every
# request that this server accepts.
LAMBDA_BYTES = 6_000_000
LOAD_BALANCER_BYTES = 1_000_000

_numbers = count(1)


def file_name(action: str) -> str:
    """Converts SendMessage to send_message, and GetSMSAttributes to get_sms_attributes."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", action).lower()


def function_for(request: Request) -> str:
    """Returns the function for a request: `rest`, an action's function such as `sqs/send_message` (by X-Amz-Target, or
    by method and path), or `gateway`.
    """
    if request.path == "/v1" or request.path.startswith(("/v1/", "/console")):
        return "rest"
    kind, label = find_rest_resource(request.path) or ("", None)
    route = BY_ROUTE.get((request.method, kind, label is not None))
    route = None if route in MAPPING_ACTIONS else route  # Only the container serves the path.
    action = route or BY_TARGET.get(request.header("x-amz-target").encode())
    return f"{action.service}/{file_name(action.name)}" if action else "gateway"


def load_handler(name: str, variables: Mapping[str, str]) -> Any:
    """Returns the handler of functions/<name>.py in a new execution environment, which loads the file again."""
    spec = spec_from_file_location(f"function_{next(_numbers)}", FUNCTIONS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.handler.environment.variables = variables
    return module.handler


def writes_utf_8() -> bool:
    """Returns whether the runtime writes results in UTF-8 (Python 3.12 and later) instead of ASCII."""
    return os.environ.get("AWS_EXECUTION_ENV", "") > "AWS_Lambda_python3.11"


class TooLargeError(Exception):
    """An event or a result exceeds AWS's limit. `status` is the client's response."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


class Functions:
    """Runs functions in execution environments, up to `limit` at the same time. Reuses idle environments."""

    def __init__(self, dsn: str, variables: Mapping[str, str] | None = None, limit: int = 10) -> None:
        # Scheduled functions end as soon as no work is due.
        self._variables = {"DATABASE_URL": dsn, "QUEUE_LAMBDA_WORKER_SECONDS": "0", **(variables or {})}
        self._free = BoundedSemaphore(limit)
        self._lock = Lock()
        self._idle: dict[str, list[Any]] = defaultdict(list)
        self._all: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for handler in self._all:
            handler.environment.close()

    def invoke(self, name: str, event: Event) -> Event:
        """Invokes a function. Converts the event and the result to JSON and back, as Lambda does.

        Raises TooLargeError, and the handler's errors.
        """
        balanced = "elb" in (event.get("requestContext") or {})
        sent = json.dumps(event)
        if len(sent) > LAMBDA_BYTES:
            raise TooLargeError(413)
        lambda_context = SimpleNamespace(aws_request_id=f"00000000-0000-4000-8000-{next(_numbers):012x}")
        with self._environment(name) as handler:
            written = json.dumps(handler(json.loads(sent), lambda_context), ensure_ascii=not writes_utf_8()).encode()
        if balanced and len(written) > LOAD_BALANCER_BYTES:
            raise TooLargeError(502)
        if len(written) > LAMBDA_BYTES:
            raise TooLargeError(500)
        response: Event = json.loads(written)
        return response

    @contextmanager
    def _environment(self, name: str) -> Iterator[Any]:
        with self._free:
            handler = self._take(name)
            try:
                yield handler
            finally:
                with self._lock:
                    self._idle[name].append(handler)

    def _take(self, name: str) -> Any:
        with self._lock:
            if self._idle[name]:
                return self._idle[name].pop()
            handler = load_handler(name, self._variables)
            self._all.append(handler)
            return handler


class FunctionServer:
    """Serves the functions over HTTP. `variables` contains environment variables other than DATABASE_URL."""

    def __init__(
        self, dsn: str, event_form: EventForm = "http_api", variables: Mapping[str, str] | None = None
    ) -> None:
        self.event_form = event_form
        self.functions = Functions(dsn, variables)
        self._server = _Server(self)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def endpoint_url(self) -> str:
        """Returns the URL without a trailing slash."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()  # waits for the requests in progress
        self._thread.join()
        self.functions.__exit__()

    def response(self, request: Request) -> Response:
        event = event_of(self.event_form, request)
        if self.event_form.startswith("alb") and len(request.body) > LOAD_BALANCER_BYTES:
            return Response(413, [], b"")
        try:
            # An HTTP API chooses the function by the decoded path. All other event sources choose the function by the
            # path as the client sent it.
            path = unquote(request.path) if self.event_form == "http_api" else request.path
            return response_of(self.functions.invoke(function_for(replace(request, path=path)), event))
        except TooLargeError as error:
            return Response(error.status, [], b"")


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close joins only non-daemon threads.

    def __init__(self, deployment: FunctionServer) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.deployment = deployment
        self._connections: set[socket.socket] = set()
        self._lock = Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Stops reading from clients that keep their connections open."""
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):  # The client may have closed the connection.
                    connection.shutdown(socket.SHUT_RD)


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        address = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        forwarded = ("X-Forwarded-Proto", "http")  # API Gateway and load balancers add the header X-Forwarded-Proto.
        headers = (*self.headers.items(), forwarded)
        self._write(self.server.deployment.response(Request(self.command, address.path, address.query, headers, body)))

    do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815 - likewise

    def _write(self, response: Response) -> None:
        self.send_response_only(response.status)
        for name, value in response.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        self.wfile.write(response.body)
