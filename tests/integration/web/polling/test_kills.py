"""The worker dies again and again in the middle of invocations: no message is lost, and groups keep their order."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.database import Database
from tests.support.mappings.functions import Functions, running_functions
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import wait_until

KILLS = 5
MESSAGES = 600
GROUPS = 20


def is_poison(body: str) -> bool:
    """Three per cent of the messages always fail."""
    group, number = body.removeprefix("g").split("-")
    return (int(number) * GROUPS + int(group)) % 33 == 32


class Ledger:
    """The function, and what it has handled."""

    def __init__(self) -> None:
        self.handled: dict[str, list[int]] = defaultdict(list)
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.service: Service | None = None
        self._lock = threading.Lock()

    def __call__(self, event: Any) -> Any:
        failures: list[str] = []
        stopped: set[str] = set()
        for record in event["Records"]:
            group, number = record["body"].split("-")
            with self._lock:
                if is_poison(record["body"]) or group in stopped:
                    stopped.update([group] if ".fifo" in record["eventSourceARN"] else [])
                    failures.append(record["messageId"])
                else:
                    self.handled[group].append(int(number))
        assert self.goes_on.wait(60)
        return {"batchItemFailures": [{"itemIdentifier": one} for one in failures]}


def kill(service: Service, functions: Functions, ledger: Ledger, dsn: str) -> None:
    """While an invocation is under way. Other processes need not wait until the dead one is known to be dead."""
    seen = len(functions.invocations)
    ledger.goes_on.clear()
    functions.wait(lambda: len(functions.invocations) > seen and functions.under_way > 0)
    assert functions.under_way > 0
    service.process.kill()
    service.process.join()
    ledger.goes_on.set()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("update queue.poller set alive_until = clock_timestamp()")


def prepare(service: Service, fifo: bool) -> tuple[str, str]:
    """URLs of a queue and its dead-letter queue, with all messages, mapped."""
    sqs = service.sqs()
    suffix, kind = (".fifo", {"FifoQueue": "true", "ContentBasedDeduplication": "true"}) if fifo else ("", {})
    dead_url = sqs.create_queue(QueueName=f"dead{suffix}", Attributes=kind)["QueueUrl"]
    name = ["QueueArn"]
    dead = sqs.get_queue_attributes(QueueUrl=dead_url, AttributeNames=name)["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": dead, "maxReceiveCount": 4})
    attributes = {**kind, "VisibilityTimeout": "1", "RedrivePolicy": policy}
    url = sqs.create_queue(QueueName=f"q{suffix}", Attributes=attributes)["QueueUrl"]
    for start in range(0, MESSAGES, 10):
        entries = [
            {"Id": str(n), "MessageBody": f"g{n % GROUPS}-{n // GROUPS}"}
            | ({"MessageGroupId": f"g{n % GROUPS}"} if fifo else {})
            for n in range(start, start + 10)
        ]
        assert "Failed" not in sqs.send_message_batch(QueueUrl=url, Entries=entries)
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=name)["Attributes"]["QueueArn"]
    service.client("lambda").create_event_source_mapping(
        EventSourceArn=arn, FunctionName="f", FunctionResponseTypes=["ReportBatchItemFailures"],
        ScalingConfig={"MaximumConcurrency": 8},
    )  # fmt: skip
    return url, dead_url


def depth(sqs: Any, url: str) -> int:
    """Messages of the queue, visible or not."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    return sum(
        int(n) for n in sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"].values()
    )


def drained(sqs: Any, url: str) -> Iterator[str]:
    """The bodies of all messages of a queue, which are deleted."""
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in messages:
            yield message["Body"]
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_every_message_is_handled_or_a_dead_letter(database: Database, fifo: bool) -> None:
    ledger, url, dead_url = Ledger(), "", ""
    with running_functions(f=ledger) as functions:
        settings = {"QUEUE_LAMBDA_ENDPOINT": functions.url}
        for round_number in range(KILLS):
            with running_service(database.api_dsn, **settings) as service:
                if round_number == 0:
                    url, dead_url = prepare(service, fifo)
                kill(service, functions, ledger, database.dsn)
        with running_service(database.api_dsn, **settings) as service:
            sqs = service.sqs()
            wait_until(lambda: depth(sqs, url) == 0)
            dead = set(drained(sqs, dead_url))
    everything = {f"g{n % GROUPS}-{n // GROUPS}" for n in range(MESSAGES)}
    poison = set(filter(is_poison, everything))
    handled = {f"{group}-{number}" for group, numbers in ledger.handled.items() for number in numbers}
    assert handled | dead == everything
    assert poison <= dead
    if fifo:
        for numbers in ledger.handled.values():
            first = list(dict.fromkeys(numbers))
            assert first == sorted(first)
