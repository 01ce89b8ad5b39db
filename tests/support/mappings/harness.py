"""Imitates AWS Lambda's Invoke on a separate HTTP server. Functions are Python callables.

Also runs a service, its clients, and the functions that its mappings invoke.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from tests.support.database import TestServer
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import wait_until

Event = dict[str, Any]
Function = Callable[[Event], Any]


class Throttle(Exception):  # noqa: N818 - named for the event
    """The function is throttled: status 429."""


class Refusal(Exception):  # noqa: N818 - named for the event
    """Lambda's error response to a refused invocation: status and error name."""

    def __init__(self, status: int, name: str) -> None:
        super().__init__(name)
        self.status = status


@dataclass
class Invocation:
    """An invocation. `name` is the function's name, or the path of a URL. Header names are in lower case."""

    name: str
    headers: dict[str, str]
    event: Event
    target: str
    body: bytes

    @property
    def is_event(self) -> bool:
        """Returns whether the invocation is asynchronous. The server runs the function, but does not report its
        result.
        """
        return self.headers.get("x-amz-invocation-type") == "Event"

    @property
    def bodies(self) -> list[str]:
        return [record["body"] for record in self.event["Records"]]


@dataclass
class Functions:
    """`functions` maps names to functions. `most_at_once` is the largest number of concurrent invocations.

    `authorize` raises Refusal for a call that must be refused. `timeouts` maps function names to responses of
    GetFunctionConfiguration. For names that `timeouts` lacks, the response is empty. `missing` lists functions that
    Lambda reports as missing.
    """

    url: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    invocations: list[Invocation] = field(default_factory=list)
    authorize: Callable[[Invocation], None] = lambda _: None
    timeouts: dict[str, int] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    most_at_once: int = 0
    under_way: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def wait(self, is_done: Callable[[], bool]) -> None:
        """Waits for a condition that an invocation can fulfil."""
        with self._changed:
            assert self._changed.wait_for(is_done, 30), [invocation.event for invocation in self.invocations]

    def seen(self) -> list[str]:
        """Returns the bodies of all messages in the order of invocations."""
        return [body for invocation in self.invocations for body in invocation.bodies]

    def response(self, invocation: Invocation) -> tuple[int, dict[str, str], bytes]:
        """Returns the status, headers and body."""
        with self._changed:
            self.invocations.append(invocation)
            self.under_way += 1
            self.most_at_once = max(self.most_at_once, self.under_way)
            self._changed.notify_all()
        try:
            self.authorize(invocation)
            response = self.functions[invocation.name](invocation.event)
        except Throttle:
            return 429, {}, b'{"Reason":"ReservedFunctionConcurrentInvocationLimitExceeded"}'
        except Refusal as refusal:
            return refusal.status, {"x-amzn-ErrorType": str(refusal)}, b"{}"
        except Exception as error:  # noqa: BLE001 - as Lambda answers for a function that raises
            if invocation.is_event:
                return 202, {}, b""
            return (200, {"X-Amz-Function-Error": "Unhandled"}, json.dumps({"errorMessage": str(error)}).encode())
        finally:
            with self._changed:
                self.under_way -= 1
                self._changed.notify_all()
        if invocation.is_event:
            return 202, {}, b""
        return 200, {}, response if isinstance(response, bytes) else json.dumps(response).encode()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


def _build_handler(state: Functions) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = unquote(urlsplit(self.path).path).removeprefix("/2015-03-31/functions/")
            seconds = state.timeouts.get(name.removesuffix("/configuration"))
            body = json.dumps({} if seconds is None else {"FunctionName": name, "Timeout": seconds}).encode()
            self.send_response(404 if seconds is None else 200)
            if name.removesuffix("/configuration") in state.missing:
                self.send_header("X-Amzn-ErrorType", "ResourceNotFoundException:http://internal.amazon.com/")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            path = unquote(urlsplit(self.path).path)
            name = path.removeprefix("/2015-03-31/functions/").removesuffix("/invocations")
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {key.lower(): value for key, value in self.headers.items()}
            status, more, body = state.response(Invocation(name, headers, json.loads(sent), self.path, sent))
            try:
                self.send_response(status)
                for key, value in more.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # The caller was killed.

        def log_message(self, *_: object) -> None:
            """Writes no log."""

    return Handler


@contextmanager
def running_functions(**functions: Function) -> Iterator[Functions]:
    state = Functions(functions=dict(functions))
    server = _Server(("127.0.0.1", 0), _build_handler(state))
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


_numbers = count(1)


class Harness:
    """Contains the service, its clients, and the functions that the service may invoke."""

    def __init__(self, service: Service, functions: Functions, dsn: str) -> None:
        self.service = service
        self.functions = functions
        self.dsn = dsn
        self.sqs = service.sqs()
        self.client = service.client("lambda")
        self._of_nothing = ""

    def queue(self, **attributes: str) -> tuple[str, str]:
        """Creates a queue. Returns the queue's URL and ARN."""
        suffix = ".fifo" if "FifoQueue" in attributes else ""
        name = f"q{next(_numbers)}{suffix}"
        url = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url, self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]

    def function(self, code: Function) -> str:
        name = f"f{next(_numbers)}"
        self.functions.functions[name] = code
        return name

    def map(self, arn: str, function: str, **options: Any) -> str:
        """Creates a mapping. Returns its UUID."""
        made = self.client.create_event_source_mapping(EventSourceArn=arn, FunctionName=function, **options)
        uuid: str = made["UUID"]
        return uuid

    def map_of_nothing(self) -> str:
        """Returns the same disabled mapping for each call."""
        if not self._of_nothing:
            self._of_nothing = self.map(self.queue()[1], self.function(lambda _: None), Enabled=False)
        return self._of_nothing

    def last_result(self, uuid: str) -> str:
        """Returns the result of the mapping's last batch. Only the REST API shows the result."""
        return str(httpx.get(f"{self.service.url}/v1/mappings/{uuid}").json()["last_result"])

    def get(self, uuid: str) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get_event_source_mapping(UUID=uuid)
        return found

    def invocations(self, function: str) -> list[Any]:
        return [invocation for invocation in self.functions.invocations if invocation.name == function]

    def seen(self, function: str) -> list[str]:
        """Returns the message bodies that a function received."""
        return [body for invocation in self.invocations(function) for body in invocation.bodies]

    def show_again(self, record: dict[str, Any]) -> None:
        """Makes a function's message visible immediately, instead of after its visibility timeout."""
        name = record["eventSourceARN"].split(":")[5]
        self.sqs.change_message_visibility(QueueUrl=name, ReceiptHandle=record["receiptHandle"], VisibilityTimeout=0)

    def until_empty(self, url: str) -> None:
        """Waits until the queue has no message, visible or not."""
        wait_until(lambda: self.depth(url) == 0)

    def depth(self, url: str) -> int:
        """Returns the number of visible and in-flight messages."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(int(value) for value in found.values())


@contextmanager
def running_harness(postgres: TestServer, **settings: str) -> Iterator[Harness]:
    """Runs a service with the given settings on a new database, and a server for its functions."""
    with (
        postgres.database() as database,
        running_functions() as functions,
        running_service(database.api_dsn, QUEUE_LAMBDA_ENDPOINT=functions.url, **settings) as service,
    ):
        yield Harness(service, functions, database.api_dsn)
