"""Measures how long other clients wait while the service decodes the longest bodies: 6 MiB of tiny JSON values.

python -m benchmarks.costs.long_bodies

One client sends messages of 100 bytes, one after the other; another one posts long bodies meanwhile. A row has the
times of the sends without long bodies and with them: the median, and the longest. They say something on a quiet host
only; `--programs` names the folder with `penstock` of another environment to compare.
"""

import argparse
import json
import threading
from collections.abc import Callable, Sequence
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Self
from urllib.parse import urlsplit

from benchmarks.load.fleet import Fleet
from benchmarks.penstock import Penstock
from benchmarks.report.rows import Row, text

MIB = 1_048_576
TINY = "[" + ",".join(["1"] * (MIB // 2 - 100)) + "]"
AWS_JSON = "application/x-amz-json-1.0"


def bodies() -> dict[str, tuple[str, dict[str, str], bytes]]:
    """By name: the path, headers and body of a request that takes the service long."""
    native = {"Content-Type": "application/json"}
    five_messages = "[" + ",".join([f'{{"message":{TINY}}}'] * 5) + "]"
    thousand = "[" + ",".join([f'{{"message":[{",".join(["1"] * 3_000)}]}}'] * 1_000) + "]"
    escaped = (
        '{"QueueUrl":"http://localhost/000000000000/bench","MessageBody":"' + "\\u0041" * 1_040_000 + '"}'
    )
    return {
        "REST: 5 messages of a MiB": ("/v1/queues/bench/messages", native, five_messages.encode()),
        "REST: 1,000 messages of 6 KB": ("/v1/queues/bench/messages", native, thousand.encode()),
        "REST: an event of a MiB": ("/v1/events/bench", native, f'{{"message":{{"a":{TINY}}}}}'.encode()),
        "SQS: a message of a MiB, escaped": (
            "/",
            {"Content-Type": AWS_JSON, "X-Amz-Target": "AmazonSQS.SendMessage"},
            escaped.encode(),
        ),
    }


def post(connection: HTTPConnection, path: str, headers: dict[str, str], body: bytes) -> float:
    """Seconds of a request. Raises RuntimeError unless it succeeds."""
    began = perf_counter()
    connection.request("POST", path, body, headers)
    answer = connection.getresponse()
    told = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{path}: {answer.status} {told[:200]!r}")
    return perf_counter() - began


class Sender:
    """A client that sends small messages until it is stopped. `seconds`: how long each took."""

    def __init__(self, connect: Callable[[], HTTPConnection]) -> None:
        self.seconds: list[float] = []
        self._connection = connect()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _send(self) -> None:
        message = {"QueueUrl": "http://localhost/000000000000/bench", "MessageBody": "x" * 100}
        body = json.dumps(message).encode()
        headers = {"Content-Type": AWS_JSON, "X-Amz-Target": "AmazonSQS.SendMessage"}
        while not self._stopped.is_set():
            self.seconds.append(post(self._connection, "/", headers, body))


def row_of(name: str, quiet: Sequence[float], busy: Sequence[float]) -> Row:
    return {
        "body": name,
        "quiet p50 ms": round(median(quiet) * 1000, 2),
        "quiet longest ms": round(max(quiet) * 1000, 1),
        "p50 ms": round(median(busy) * 1000, 2),
        "longest ms": round(max(busy) * 1000, 1),
    }


def measure(endpoint: str, times: int) -> list[Row]:
    """A row for each body, which is posted so many times."""
    address = urlsplit(endpoint)

    def connect() -> HTTPConnection:
        return HTTPConnection(str(address.hostname), address.port, timeout=60)

    rows: list[Row] = []
    long = connect()
    create = {"Content-Type": AWS_JSON, "X-Amz-Target": "AmazonSQS.CreateQueue"}
    post(long, "/", create, b'{"QueueName":"bench"}')
    for name, (path, headers, body) in bodies().items():
        post(long, path, headers, body)
        with Sender(connect) as quiet:
            threading.Event().wait(2)
        with Sender(connect) as busy:
            for _ in range(times):
                post(long, path, headers, body)
        rows.append(row_of(name, quiet.seconds, busy.seconds))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Prints a line for each body."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs.long_bodies", description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--programs", type=Path, default=None)
    options = parser.parse_args(argv)
    fleet = Fleet(1)
    penstock = Penstock(fleet, programs=options.programs)
    try:
        penstock.start()
        print(text(measure(penstock.endpoint, options.times)))
    finally:
        penstock.stop()
        fleet.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
