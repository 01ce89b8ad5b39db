"""The worker is killed repeatedly during invocations: no message is lost, and groups keep their order."""

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
import pytest

from tests.support.database import Database
from tests.support.mappings.functions import running_functions
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import LONGEST_SECONDS, wait_until

KILLS = 5
SENDERS = 4


@dataclass(frozen=True)
class Size:
    """The numbers of messages and groups and the queue's visibility timeout in seconds."""

    messages: int
    groups: int
    timeout: int

    def body(self, n: int) -> str:
        """Returns the group of the n-th message and its number in the group."""
        return f"g{n % self.groups}-{n // self.groups}"

    def is_poison(self, body: str) -> bool:
        """Three per cent of the messages always fail."""
        group, number = body.removeprefix("g").split("-")
        return (int(number) * self.groups + int(group)) % 33 == 32


class Ledger:
    """Imitates the function, and records its invocations and handled messages. `waiting` counts the invocations that
    `pause` blocks.
    """

    def __init__(self, size: Size) -> None:
        self.handled: dict[str, list[int]] = defaultdict(list)
        self.came: Counter[str] = Counter()
        self.waiting: list[list[str]] = []
        self._size = size
        self._goes_on = True
        self._changed = threading.Condition()

    def __call__(self, event: Any) -> Any:
        failures: list[str] = []
        stopped: set[str] = set()
        bodies = [record["body"] for record in event["Records"]]
        with self._changed:
            for record in event["Records"]:
                group, number = record["body"].split("-")
                if self._size.is_poison(record["body"]) or group in stopped:
                    stopped.update([group] if ".fifo" in record["eventSourceARN"] else [])
                    failures.append(record["messageId"])
                else:
                    self.handled[group].append(int(number))
            self.came.update(bodies)
            self.waiting.append(bodies)
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: self._goes_on, LONGEST_SECONDS)
            self.waiting.remove(bodies)
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failures]}

    def until_came(self, messages: int) -> None:
        """Waits for this number of first or repeated deliveries."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.came.total() >= messages, LONGEST_SECONDS)

    def pause(self) -> list[str]:
        """Returns the messages of the invocations that wait for `go_on`."""
        with self._changed:
            self._goes_on = False
            assert self._changed.wait_for(lambda: bool(self.waiting), LONGEST_SECONDS)
            return [body for bodies in self.waiting for body in bodies]

    def go_on(self) -> None:
        with self._changed:
            self._goes_on = True
            self._changed.notify_all()


def kill(service: Service, ledger: Ledger, dsn: str) -> Counter[str]:
    """Returns the messages of the running invocations, each with its number of deliveries so far. These messages are
    never deleted.

    The kill ends the process's sessions, so other processes need not wait until its death is noticed.
    """
    held = ledger.pause()
    before = Counter({body: ledger.came[body] for body in held})
    service.process.kill()
    service.process.join()
    ledger.go_on()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("update queue.poller set alive_until = clock_timestamp()")
    return before


def prepare(service: Service, size: Size, fifo: bool) -> tuple[str, str]:
    """Returns the URLs of a mapped queue that holds all messages, and of its dead-letter queue."""
    sqs = service.sqs()
    suffix, kind = (".fifo", {"FifoQueue": "true", "ContentBasedDeduplication": "true"}) if fifo else ("", {})
    dead_url = sqs.create_queue(QueueName=f"dead{suffix}", Attributes=kind)["QueueUrl"]
    name = ["QueueArn"]
    dead = sqs.get_queue_attributes(QueueUrl=dead_url, AttributeNames=name)["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": dead, "maxReceiveCount": 4})
    attributes = {**kind, "VisibilityTimeout": str(size.timeout), "RedrivePolicy": policy}
    url = sqs.create_queue(QueueName=f"q{suffix}", Attributes=attributes)["QueueUrl"]
    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(partial(send, sqs, url, size, fifo), range(SENDERS)))
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=name)["Attributes"]["QueueArn"]
    service.client("lambda").create_event_source_mapping(
        EventSourceArn=arn, FunctionName="f", FunctionResponseTypes=["ReportBatchItemFailures"],
        ScalingConfig={"MaximumConcurrency": 8},
    )  # fmt: skip
    return url, dead_url


def send(sqs: Any, url: str, size: Size, fifo: bool, sender: int) -> None:
    """Returns the messages of every fourth group, in their order."""
    numbers = [n for n in range(size.messages) if n % size.groups % SENDERS == sender]
    for start in range(0, len(numbers), 10):
        entries = [
            {"Id": str(n), "MessageBody": size.body(n)}
            | ({"MessageGroupId": size.body(n).partition("-")[0]} if fifo else {})
            for n in numbers[start : start + 10]
        ]
        assert "Failed" not in sqs.send_message_batch(QueueUrl=url, Entries=entries)


def depth(sqs: Any, url: str) -> int:
    """Returns the number of messages in the queue, visible or not."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    return sum(
        int(n) for n in sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"].values()
    )


def until_empty(sqs: Any, url: str) -> None:
    """Waits while the number of messages in the queue falls."""
    while left := depth(sqs, url):
        wait_until(lambda left=left: depth(sqs, url) < left)  # type: ignore[misc]


def drained(sqs: Any, url: str) -> Iterator[str]:
    """Receives and deletes all messages of a queue and returns their bodies."""
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        yield from (message["Body"] for message in messages)
        entries = [{"Id": m["MessageId"], "ReceiptHandle": m["ReceiptHandle"]} for m in messages]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
@pytest.mark.parametrize(
    "size",
    [Size(600, 20, 1), pytest.param(Size(100_000, 1_000, 5), marks=pytest.mark.slow)],
    ids=["600", "100000"],
)
def test_every_message_is_handled_or_a_dead_letter(database: Database, size: Size, fifo: bool) -> None:
    """Five kills interrupt running invocations. Their messages were not deleted, so the worker delivers them again."""
    ledger, url, dead_url = Ledger(size), "", ""
    kills: list[Counter[str]] = []
    with running_functions(f=ledger) as functions:
        settings = {"QUEUE_LAMBDA_ENDPOINT": functions.url}
        for round_number in range(KILLS):
            with running_service(database.api_dsn, **settings) as service:
                if round_number == 0:
                    url, dead_url = prepare(service, size, fifo)
                ledger.until_came(round_number * size.messages // (KILLS + 1))
                kills.append(kill(service, ledger, database.dsn))
        with running_service(database.api_dsn, **settings) as service:
            sqs = service.sqs()
            until_empty(sqs, url)
            dead = set(drained(sqs, dead_url))
        assert functions.most_at_once <= 8
    everything = {size.body(n) for n in range(size.messages)}
    poison = set(filter(size.is_poison, everything))
    handled = {f"{group}-{number}" for group, numbers in ledger.handled.items() for number in numbers}
    assert handled | dead == everything
    assert poison <= dead
    assert all(kills)
    for held in kills:
        assert {body for body, count in held.items() if ledger.came[body] == count} <= dead
    if fifo:
        for numbers in ledger.handled.values():
            first = list(dict.fromkeys(numbers))
            assert first == sorted(first)
