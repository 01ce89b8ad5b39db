"""Runs endpoints that note in a ledger the messages that they get. Each message has to arrive at least once.

An event of a webhook is one message. An event of a mapping has several messages, and its target does not handle some of
them.
"""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, TypeVar

from tests.support.ledger import Ledger

NEVER: Final = "never-"
"""The target of a mapping does not handle messages that begin with this text."""
FAILING_SHARE: Final = 0.02
"""Set the share of invocations that fail as a whole, and the share of messages that fail at times."""


class Endpoint:
    """`came` counts how often each message came. `loses` says whether it answers and forgets, as a negative control.
    `lost` counts the forgotten messages.

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
                status, body = endpoint.answer(text)
                self.send_response(status)
                if body:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{port}/"

    def answer(self, text: str) -> tuple[int, bytes]:
        """Notes the messages, and then returns status and body."""
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
    """Receives the batches of a mapping."""

    def answer(self, text: str) -> tuple[int, bytes]:
        """Fails some invocations, some messages at times, and always the messages that begin with NEVER."""
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
    """Serves until the end of the block."""
    thread = threading.Thread(target=endpoint.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.server.shutdown()
        thread.join()
        endpoint.server.server_close()
