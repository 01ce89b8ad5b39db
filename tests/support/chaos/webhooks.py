"""Endpoints that note in a ledger what they get: each message has to come at least once.

An event of a webhook is one message; an event of a mapping has several, some of which its target does not handle.
"""

from __future__ import annotations

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
"""How messages begin that the target of a mapping does not handle."""
FAILING_SHARE: Final = 0.02
"""Of invocations that fail as a whole, and of messages that fail now and then."""


class Endpoint:
    """`came`: how often each message came. `loses`: whether it answers and forgets, as a negative control;
    `lost`: how many it has forgotten.

    `first`: called for each message when it comes for the first time.
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
        """Status and body, once what came is noted."""
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
    """What a mapping posts its batches to."""

    def answer(self, text: str) -> tuple[int, bytes]:
        """Some invocations fail, some messages fail now and then, and those that begin with NEVER always."""
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
