"""An endpoint that notes every event that it gets, in a ledger: each has to come at least once."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.ledger import Ledger


class Endpoint:
    """`came`: how often each message came. `loses`: whether it answers and forgets, as a negative control."""

    def __init__(self, ledger: Ledger, port: int) -> None:
        self.came: Counter[str] = Counter()
        self.ledger = ledger
        self.loses: Callable[[], bool] = lambda: False
        self._lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                endpoint.note(json.dumps(json.loads(text)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{port}/"

    def note(self, body: str) -> None:
        if self.loses():
            return
        with self._lock:
            self.came[body] += 1
            if self.came[body] == 1:
                self.ledger.delivered([body], time.time(), 0)
                self.ledger.deleting([body])
                self.ledger.deleted([body])


@contextmanager
def running_endpoint(ledger: Ledger, port: int) -> Iterator[Endpoint]:
    endpoint = Endpoint(ledger, port)
    thread = threading.Thread(target=endpoint.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.server.shutdown()
        thread.join()
        endpoint.server.server_close()
