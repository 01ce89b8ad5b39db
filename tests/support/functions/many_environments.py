"""Runs Lambda execution environments against PgBouncer. Each environment keeps one connection and makes one call at a
time.

    python -m tests.support.functions.many_environments URL ARN COUNT

The program reads commands from standard input and writes responses to standard output:

    run N      makes N requests in all
    go, stop   starts and stops endless requests
    end        writes the outcomes of all requests, and exits

Each environment is the handler of functions/gateway.py with separate settings, connection, receipts and thread. After a
failed request, the environment waits for PAUSE_SECONDS and makes the next request, as an SDK does.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any

from penstock.lambda_runtime.environment import ExecutionEnvironment
from penstock.lambda_runtime.handler import Handler
from penstock.postgres.psycopg_connection import connect
from tests.support.functions.invocations import json_request
from tests.support.ledger import Ledger
from tests.support.local_lambda.events import event_of
from tests.support.sql.server_crash import HIDDEN_SECONDS, drain

PAUSE_SECONDS = 0.1
# Functions log each failure to standard output, as Lambda requires. This program therefore writes its responses to a
# copy of the original standard output.
QUIET = {"LOG_LEVEL": "error"}


class FailedError(Exception):
    """The function responded with status 503. The call may have taken effect."""


@dataclass
class Seen:
    """Records the outcomes of the requests. The times come from `time.time`."""

    ledger: Ledger = field(default_factory=Ledger)
    successes: list[float] = field(default_factory=list)
    failures: list[float] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)


class Turns:
    """Limits the number of further requests. None means no limit."""

    def __init__(self) -> None:
        self._left: int | None = 0
        self._lock = threading.Lock()

    def set(self, number: int | None) -> None:
        with self._lock:
            self._left = number

    def take(self) -> bool:
        with self._lock:
            if self._left is None:
                return True
            self._left -= 1
            return self._left >= 0


class Environment:
    """Runs requests until `turns` allows no further request."""

    def __init__(self, url: str, arn: str, number: int, seen: Seen, turns: Turns) -> None:
        self._handler = Handler(None, None, ExecutionEnvironment({"DATABASE_URL": url, **QUIET}))
        self._queue = f"http://sqs.internal/000000000000/{arn.rpartition(':')[2]}"
        self._seen = seen
        self._turns = turns
        self._bodies = (f"{number}-{serial}" for serial in count())
        self._steps = self._work()

    def run(self) -> None:
        while self._turns.take():
            try:
                next(self._steps)
            except FailedError:
                self._steps = self._work()
                time.sleep(PAUSE_SECONDS)

    def close(self) -> None:
        self._handler.environment.close()

    def _work(self) -> Iterator[None]:
        """Sends, receives and deletes messages, with one request in each step."""
        ledger = self._seen.ledger
        while True:
            body = next(self._bodies)
            ledger.sending([body])
            self._call("SendMessage", MessageBody=body)
            ledger.sent([body], [None])
            yield
            begun = time.time()
            received = self._call("ReceiveMessage", MaxNumberOfMessages=10, VisibilityTimeout=HIDDEN_SECONDS)
            messages = received.get("Messages", [])
            ledger.delivered([message["Body"] for message in messages], begun, HIDDEN_SECONDS)
            yield
            for message in messages:
                ledger.deleting([message["Body"]])
                self._call("DeleteMessage", ReceiptHandle=message["ReceiptHandle"])
                ledger.deleted([message["Body"]])
                yield

    def _call(self, action: str, **members: Any) -> dict[str, Any]:
        event = event_of("http_api", json_request(action, QueueUrl=self._queue, **members))
        response = self._handler(event, None)
        if response["statusCode"] == 200:
            self._seen.successes.append(time.time())
            return dict(json.loads(response["body"] or "{}"))
        self._seen.failures.append(time.time())
        if response["statusCode"] != 503:
            self._seen.unexpected.append(f"{action}: {response}")
        raise FailedError


def main(url: str, arn: str, number: int) -> None:
    seen, turns = Seen(), Turns()
    environments = [Environment(url, arn, n, seen, turns) for n in range(number)]
    with ThreadPoolExecutor(number) as threads:
        for line in sys.stdin:
            command, *arguments = line.split()
            if command == "end":
                break
            turns.set(int(arguments[0]) if arguments else None)
            running = [threads.submit(environment.run) for environment in environments]
            if command == "go":
                sys.stdin.readline()
                turns.set(0)
            for each in running:
                each.result()
            report({"made": len(seen.successes) + len(seen.failures), "failed": len(seen.failures)})
    for environment in environments:
        environment.close()
    with connect(url) as connection:
        drain(connection, arn, seen.ledger)
    findings = seen.ledger.findings()
    report(
        {
            "successes": sorted(seen.successes),
            "failures": sorted(seen.failures),
            "unexpected": seen.unexpected[:10],
            "findings": asdict(findings),
            "violations": findings.violations,
        }
    )


def report(what: dict[str, Any]) -> None:
    _answers.write(json.dumps(what) + "\n")
    _answers.flush()


if __name__ == "__main__":
    # Functions write metrics for CloudWatch to standard output.
    _answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
