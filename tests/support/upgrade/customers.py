"""Runs boto3 clients that use queues and topics without a pause while the service below them is upgraded.

The clients have only the retries of every SDK. An error that reaches a client is a failure.

Also reads the SQL calls of a release's statements and the columns that the calls return. The module does
not run the calls.
"""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import boto3
import psycopg
from botocore.config import Config

from tests.support.ledger import Ledger
from tests.support.upgrade import release

VISIBILITY_SECONDS = 20
_BATCH = 5
_LARGEST_BACKLOG = 300
_MAX_SECONDS = 120
_CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 4}, read_timeout=40)
WANTED, OTHERS = {"kind": ["wanted"]}, {"kind": [{"anything-but": ["wanted"]}]}
QUEUES = ("standard", "orders.fifo", "wanted", "others")
COUNTS = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]

Actor = Callable[["Customers"], None]


@dataclass
class Customers:
    """Contains the state that the clients share. A client that sees another `generation` opens new connections."""

    address: str
    ledgers: dict[str, Ledger] = field(default_factory=lambda: {name: Ledger() for name in QUEUES})
    tally: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    generation: int = 0
    stopped_sending: threading.Event = field(default_factory=threading.Event)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def client(self, service: str) -> Any:
        client = boto3.client(
            service, endpoint_url=self.address, region_name="us-east-1", config=_CONFIG,
            aws_access_key_id="x", aws_secret_access_key="x",
        )  # fmt: skip
        client.meta.events.register(f"after-call.{service}", self._note_retries)
        return client

    def _note_retries(self, parsed: dict[str, Any], **_: Any) -> None:
        self.count("retries", parsed["ResponseMetadata"].get("RetryAttempts", 0))

    def count(self, what: str, number: int = 1) -> None:
        with self._changed:
            self.tally[what] += number
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[Counter[str]], bool]) -> None:
        with self._changed:
            while not (condition(self.tally) or self.errors):
                assert self._changed.wait(_MAX_SECONDS), f"no progress: {self.tally}"
        assert not self.errors, self.errors

    def progress(self, messages: int) -> None:
        """Waits until the clients have deleted the given number of further messages from each queue."""
        goals = {name: self.tally[name] + messages for name in QUEUES}
        self.wait_for(lambda tally: all(tally[name] >= goal for name, goal in goals.items()))

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Runs the clients. At the end, the producers stop, and the consumers empty the queues."""
        actors: list[Actor] = [produce, order, publish, *(partial(consume, name=name) for name in QUEUES)]
        threads = [threading.Thread(target=self._guarded, args=(actor,)) for actor in actors]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.stopped_sending.set()
            for thread in threads:
                thread.join()

    def _guarded(self, actor: Actor) -> None:
        try:
            actor(self)
        except Exception as error:  # noqa: BLE001 - every error is a finding
            self.errors.append(f"{actor}: {error!r}")
            self.stopped_sending.set()
            self.count("failed actors")

    def rounds(self, service: str) -> Iterator[tuple[int, Any]]:
        """Yields numbers and a client until sending stops. Waits while the consumers are far behind."""
        generation, client = -1, None
        for number in count():
            if self.stopped_sending.is_set():
                return
            if generation != self.generation:
                generation, client = self.generation, self.client(service)
            yield number, client
            self.wait_for(lambda tally: tally["sent"] - sum(tally[q] for q in QUEUES) < _LARGEST_BACKLOG)


def url(sqs: Any, name: str) -> str:
    return str(sqs.get_queue_url(QueueName=name)["QueueUrl"])


def set_up(customers: Customers) -> str:
    """Creates queues and a topic with two filter policies. Returns the topic's ARN."""
    sqs, sns = customers.client("sqs"), customers.client("sns")
    for name in QUEUES:
        attributes = {"VisibilityTimeout": str(VISIBILITY_SECONDS)}
        if name.endswith(".fifo"):
            attributes["FifoQueue"] = "true"
        sqs.create_queue(QueueName=name, Attributes=attributes)
    return str(sns.create_topic(Name="news")["TopicArn"])


def produce(customers: Customers) -> None:
    ledger = customers.ledgers["standard"]
    for number, sqs in customers.rounds("sqs"):
        bodies = [f"{number}-{n}" for n in range(_BATCH)]
        ledger.sending(bodies)
        entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
        response = sqs.send_message_batch(QueueUrl=url(sqs, "standard"), Entries=entries)
        assert len(response["Successful"]) == _BATCH, response
        ledger.sent(bodies, [None] * _BATCH)
        customers.count("sent", _BATCH)


def order(customers: Customers) -> None:
    """Sends messages in sequence to two groups of the FIFO queue."""
    ledger = customers.ledgers["orders.fifo"]
    for number, sqs in customers.rounds("sqs"):
        body, group = str(number), f"group-{number % 2}"
        ledger.sending([body], group)
        response = sqs.send_message(
            QueueUrl=url(sqs, "orders.fifo"), MessageBody=body, MessageGroupId=group, MessageDeduplicationId=body
        )
        ledger.sent([body], [int(response["SequenceNumber"])])
        customers.count("sent")


def publish(customers: Customers) -> None:
    """Publishes messages of two kinds to the topic. Each kind reaches one of the queues."""
    for number, sns in customers.rounds("sns"):
        body, kind = str(number), ("wanted", "others")[number % 2]
        customers.ledgers[kind].sending([body])
        attributes = {"kind": {"DataType": "String", "StringValue": kind}}
        topic = "arn:aws:sns:us-east-1:000000000000:news"
        sns.publish(TopicArn=topic, Message=body, MessageAttributes=attributes)
        customers.ledgers[kind].sent([body], [None])
        customers.count("sent")


def consume(customers: Customers, name: str) -> None:
    """Receives and deletes messages until sending has stopped and the queue is empty."""
    ledger, generation = customers.ledgers[name], customers.generation
    sqs = customers.client("sqs")
    while True:
        if generation != customers.generation:
            generation, sqs = customers.generation, customers.client("sqs")
        address = url(sqs, name)
        begun = time.time()
        response = sqs.receive_message(QueueUrl=address, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        messages = response.get("Messages", [])
        if not messages and customers.stopped_sending.is_set() and is_empty(sqs, address):
            return
        bodies = [message["Body"] for message in messages]
        ledger.delivered(bodies, begun, VISIBILITY_SECONDS)
        ledger.deleting(bodies)
        for message in messages:
            sqs.delete_message(QueueUrl=address, ReceiptHandle=message["ReceiptHandle"])
        ledger.deleted(bodies)
        customers.count(name, len(bodies))


def is_empty(sqs: Any, address: str) -> bool:
    """Returns whether the queue has no message, visible, in flight or delayed."""
    found = sqs.get_queue_attributes(QueueUrl=address, AttributeNames=COUNTS)["Attributes"]
    return all(value == "0" for value in found.values())


_LIST = """
import importlib, json, pkgutil, re, sys
from penstock.effects import Statement
from penstock.postgres import statements
names = [m.name for m in pkgutil.walk_packages(statements.__path__, f"{statements.__name__}.")]
modules = [importlib.import_module(name) for name in names]
every = {id(v): v for m in modules for v in vars(m).values() if isinstance(v, Statement)}.values()
calls = [re.sub("[$][0-9]+", "null", s.text) for s in every]
sys.stdout.write(json.dumps(calls))
"""


def called_by(folder: Path) -> list[str]:
    """Returns the SQL calls in an unpacked release's statements."""
    command = [sys.executable, "-c", _LIST]
    done = subprocess.run(command, env=release.environment_of(folder), capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def results(connection: psycopg.Connection[Any], calls: list[str]) -> Iterator[tuple[str, list[str] | None]]:
    """Returns each call and its columns, or None if the function or a column does not exist. Does not call the
    functions.
    """
    for call in calls:
        try:
            with connection.transaction():
                described = connection.execute(f"{call} where false".encode()).description or []
        except (psycopg.errors.UndefinedFunction, psycopg.errors.UndefinedColumn):
            yield call, None
        else:
            yield call, [f"{column.name} {type_name(connection, column.type_code)}" for column in described]


def type_name(connection: psycopg.Connection[Any], oid: int) -> str:
    row = connection.execute("select format_type(%s, null)", (oid,)).fetchone()
    assert row is not None
    return str(row[0])
