"""Provides a minimal client for the SQS and REST APIs, and the endpoints, queues, ledgers and counts that the actors
share.

The client keeps one connection, does not retry, and distinguishes a refusal from a missing response. If one service
does not respond, the client uses the other service, as a load balancer does.

An endpoint notes received messages in a ledger. Each message must arrive at least once. A webhook's event is one
message. A mapping's event contains several messages, and its target fails some of them.
"""

import http.client
import json
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from typing import Any, Final, TypeVar

from penstock.aws.codec import cbor
from tests.support.ledger import Ledger

# The longest request, even on a busy machine: QUEUE_REQUEST_TIMEOUT_SECONDS in servers.py, plus the wait of a long
# poll, plus the pause of a stopped process.
TIMEOUT_SECONDS = 60
SQS = {
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=x/20250101/us-east-1/sqs/aws4_request",
}
NATIVE = {"Content-Type": "application/json"}
EVENTS = {
    "Content-Type": "application/cbor",
    "Smithy-Protocol": "rpc-v2-cbor",
    "Authorization": "AWS4-HMAC-SHA256 Credential=x/20250101/us-east-1/events/aws4_request",
}


class NoResponseError(Exception):
    """The connection broke or the service responded with status 5xx. The call may have had an effect."""

    def __init__(self, status: int | None, retry_after: str | None = None) -> None:
        super().__init__(status, retry_after)
        self.status = status
        self.retry_after = retry_after


class RefusedError(Exception):
    """The service responded with status 4xx. The call had no effect."""


class HungError(Exception):
    """Neither the client nor the server sent data for a minute. The silence is a fault in the service."""


class Connection:
    """Serves one thread. `begun` is the start of the last call that received a response."""

    def __init__(self, ports: list[int], first: int = 0) -> None:
        self._ports = cycle(ports[first % len(ports) :] + ports[: first % len(ports)])
        self._http = self._next()
        self.begun = 0.0

    def _next(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", next(self._ports), timeout=TIMEOUT_SECONDS)

    def sqs(self, action: str, **request: Any) -> Any:
        """Calls an SQS action. Raises NoResponseError, RefusedError and HungError."""
        return self.request("POST", "/", request, {**SQS, "X-Amz-Target": f"AmazonSQS.{action}"})

    def events(self, action: str, **request: Any) -> Any:
        """Calls an action of event buses. Raises NoResponseError, RefusedError and HungError."""
        path = f"/service/AWSEventsV2/operation/{action}"
        return cbor.decode(self._exchange("POST", path, cbor.encode(request), EVENTS))

    def request(self, method: str, path: str, body: Any, headers: dict[str, str] = NATIVE) -> Any:
        """Sends one request and returns its response. Raises NoResponseError, RefusedError and HungError."""
        return json.loads(self._exchange(method, path, json.dumps(body).encode(), headers) or b"{}")

    def _exchange(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> bytes:
        begun = time.time()
        try:
            self._http.request(method, path, body, headers)
            response = self._http.getresponse()
            content = response.read()
        except TimeoutError:
            raise HungError(path, body) from None
        except (OSError, http.client.HTTPException) as error:
            self._http.close()
            self._http = self._next()
            raise NoResponseError(None) from error
        if response.status >= 500 or response.status == http.client.REQUEST_TIMEOUT:
            self._http.close()
            self._http = self._next()
            raise NoResponseError(response.status, response.headers["Retry-After"])
        if response.status >= 400:
            raise RefusedError(content.decode(errors="replace"))
        self.begun = begun
        return content

    def close(self) -> None:
        self._http.close()


NEVER: Final = "never-"
"""A mapping's target never handles messages that begin with NEVER."""
FAILING_SHARE: Final = 0.02
"""The share of invocations that fail as a whole, and the share of messages that fail temporarily."""


class Endpoint:
    """`came` counts the arrivals of each message. `loses` makes the endpoint respond without noting the message, as a
    negative control. `lost` counts the messages that the endpoint did not note.

    The endpoint calls `first` when a message arrives for the first time.
    """

    def __init__(self, ledger: Ledger, port: int) -> None:
        self.came: Counter[str] = Counter()
        self.lost = 0
        self.ledger = ledger
        self.loses: Callable[[], bool] = lambda: False
        self.first: Callable[[], object] = lambda: None
        self._lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, body = endpoint.response(text)
                self.send_response(status)
                if body:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Writes no log."""

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{port}/"

    def response(self, text: str) -> tuple[int, bytes]:
        """Notes the messages. Returns the status and body."""
        self.note(json.dumps(json.loads(text)))
        return 204, b""

    def note(self, body: str) -> None:
        if self.loses():
            self.lost += 1
            return
        with self._lock:
            self.came[body] += 1
            if self.came[body] == 1:
                self.ledger.delivered([body], time.time(), 0)
                self.ledger.deleting([body])
                self.ledger.deleted([body])
                self.first()


class Target(Endpoint):
    """Receives a mapping's batches."""

    def response(self, text: str) -> tuple[int, bytes]:
        """Fails some invocations, fails some messages temporarily, and always fails messages that begin with NEVER."""
        if random.random() < FAILING_SHARE:
            return 500, b"fails\n"
        failed = []
        for record in json.loads(text)["Records"]:
            if record["body"].startswith(NEVER) or random.random() < FAILING_SHARE:
                failed.append({"itemIdentifier": record["messageId"]})
            else:
                self.note(record["body"])
        return 200, json.dumps({"batchItemFailures": failed}).encode()


EndpointT = TypeVar("EndpointT", bound=Endpoint)


@contextmanager
def running(endpoint: EndpointT) -> Iterator[EndpointT]:
    thread = threading.Thread(target=endpoint.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.server.shutdown()
        thread.join()
        endpoint.server.server_close()


VISIBILITY_SECONDS: Final = 5
QUEUE_URL: Final = "http://127.0.0.1/000000000000/"
_QUEUES: Final = {
    "standard": {},
    "fifo.fifo": {"FifoQueue": "true"},
    "dead": {},
    "poison": {
        "VisibilityTimeout": "1",
        "RedrivePolicy": '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 2}',
    },
    "mapped-dead": {},
    "mapped": {
        "RedrivePolicy": '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:mapped-dead", '
        '"maxReceiveCount": 5}'
    },
    "events-a": {},
    "events-b": {},
    "bus": {},
    "bus.fifo": {"FifoQueue": "true", "ContentBasedDeduplication": "true"},
    "ticks": {},
}
_COUNTS: Final = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]


@dataclass
class Traffic:
    """Contains the state that the actors share. `calls` maps each kind of call to the start and end times of its last
    successful call.
    """

    ports: list[int]
    endpoint: Endpoint
    target: Target
    seed: int
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    calls: dict[str, deque[tuple[float, float]]] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    ticks: dict[str, set[str]] = field(default_factory=dict)
    """Maps an occurrence (the attribute `_schedule`) to the ids of its messages."""
    bus: str = ""
    """The ARN of the event bus. A subscriber delivers its events to the queue `bus`. A FIFO subscriber delivers them to
    `bus.fifo`, which has one message group, so consumers see the order of the deliveries."""
    rewound_ticks: list[tuple[float, float]] = field(default_factory=list)
    """Intervals in which occurrences may fire again, because the database was rewound."""
    lies: set[str] = field(default_factory=set)
    """The active negative controls."""
    stopped_sending: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def prepare(self) -> None:
        connection = Connection(self.ports)
        for name, attributes in _QUEUES.items():
            connection.sqs(
                "CreateQueue", QueueName=name, Attributes={"VisibilityTimeout": str(VISIBILITY_SECONDS), **attributes}
            )
            maximum = 2 if name == "poison" else None
            self.ledgers.setdefault(name, Ledger(maximum, stored_later=name.startswith("bus")))
        self.target.first = partial(self.count, "mapped deleted")
        for target in ({"queue_name": "events-a"}, {"queue_name": "events-b"}):
            connection.request("POST", "/v1/events/chaos.*/subscriptions", target)
        self._prepare_bus(connection)
        mapping = {"queue": "mapped", "function": self.target.url, "report_failures": True}
        if not connection.request("GET", "/v1/mappings", None)["mappings"]:
            connection.request("POST", "/v1/mappings", mapping)
        webhook = {"protocol": "http", "endpoint": self.endpoint.url}
        connection.request("POST", "/v1/events/chaos.*/subscriptions", webhook)
        connection.request(
            "PUT",
            "/v1/schedules/tick",
            {
                "name": "tick",
                "every": "1s",
                "catchup": True,
                "catchup_limit": 1_000,
                "target": {"queue": "ticks", "message": "tick"},
            },
        )
        connection.close()

    def _prepare_bus(self, connection: Connection) -> None:
        """Creates the bus and its subscribers, unless an earlier campaign has created them."""
        buses = connection.events("ListEventBuses")["EventBuses"]
        if buses:
            self.bus = buses[0]["EventBusArn"]
            return
        self.bus = connection.events("CreateEventBus", Name="chaos")["EventBusArn"]
        for queue, more in (("bus", {}), ("bus.fifo", {"SqsParameters": {"MessageGroupId": "all"}})):
            invoke = {
                "TargetArn": f"arn:aws:sqs:us-east-1:000000000000:{queue}",
                "RoleArn": "arn:aws:iam::000000000000:role/bus",
                **more,
            }
            kind = "FIFO" if more else "UNORDERED"
            connection.events(
                "CreateSubscriber", Name=queue, EventBusArn=self.bus, Type=kind, InvokeConfiguration=invoke
            )

    def rewound(self, moment: float, cut: float, until: float | None = None) -> None:
        """Notes that the database returned, at the time `cut`, to its state at `moment`. Messages from the time between
        `moment` and `cut` may be lost or redelivered. Before `until`, the restored database sent no response.
        """
        for ledger in self.ledgers.values():
            ledger.rewound(moment, cut, until)
        self.rewound_ticks.append((moment - 1, time.time() + 1))

    def count(self, what: str, number: int = 1) -> None:
        with self._lock:
            self.tally[what] += number

    def answered(self, kind: str, begun: float) -> None:
        with self._lock:
            self.calls.setdefault(kind, deque(maxlen=20_000)).append((begun, time.time()))

    def works_since(self, kind: str, since: float) -> float | None:
        """Returns the end time of the first successful call of the given kind that began after `since`."""
        with self._lock:
            return min((ended for begun, ended in self.calls.get(kind, ()) if begun >= since), default=None)

    def backlog(self, queue: str) -> int:
        return self.tally[f"{queue} sent"] - self.tally[f"{queue} deleted"]

    def is_drained(self) -> bool:
        """Returns whether all queues are empty and no webhook is in progress. Returns False if a response is missing.

        Reads a queue before its dead-letter queue, because a message may move between the two reads.
        """
        connection = Connection(self.ports)
        try:
            for name in reversed(_QUEUES):
                if name == "ticks":
                    continue
                response = connection.sqs("GetQueueAttributes", QueueUrl=QUEUE_URL + name, AttributeNames=_COUNTS)
                if any(response["Attributes"][count] != "0" for count in _COUNTS):
                    return False
            pending = connection.request("GET", "/v1/deliveries?state=pending", None)
        except NoResponseError:
            return False
        finally:
            connection.close()
        return not pending


def scheduled_for(fired: str) -> float:
    """Returns an occurrence's due time from the value of the message attribute `_schedule`."""
    return datetime.fromisoformat(json.loads(fired)["scheduled_for"]).timestamp()
