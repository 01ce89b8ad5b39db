"""Tests the function DeliverEvents of an installation without containers, from a publication by an SDK to the receive.

Source: "EventBridge custom event bus" (Amazon EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html). `docs/operate/lambda_limits.md` says how
long the function polls.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from penstock.lambda_runtime import scheduled
from penstock.settings import Settings
from penstock.workers.events import EventDeliverer
from tests.support.conformance.sdk_clients import ACCOUNT, build_client
from tests.support.database import Database
from tests.support.events import store_destination
from tests.support.functions.server import FunctionServer
from tests.support.http_endpoint import serve_http

pytestmark = pytest.mark.emptied
SCHEDULED = {"version": "0", "source": "aws.scheduler"}
NONE = {"sequenced": 0, "delivered": 0, "failed": 0, "dropped": 0, "unjudged": 0}


@dataclass
class Installation:
    """Functions, and boto3's clients of SQS and event buses."""

    functions: FunctionServer
    sqs: Any
    events: Any

    def connect(self) -> tuple[str, str]:
        """Creates a bus whose only subscriber is a new queue. Returns the bus's ARN and the queue's URL."""
        url = self.sqs.create_queue(QueueName="orders")["QueueUrl"]
        arn = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        bus = self.events.create_event_bus(Name="shop")["EventBusArn"]
        invoke = {"TargetArn": arn, "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/bus"}
        self.events.create_subscriber(Name="all", EventBusArn=bus, InvokeConfiguration=invoke)
        return bus, url

    def publish(self, bus: str, *numbers: int) -> None:
        entries = [
            {"Source": "shop", "DetailType": "order", "Detail": json.dumps({"number": number})} for number in numbers
        ]
        assert self.events.put_events(EventBusArn=bus, Entries=entries)["FailedEntryCount"] == 0

    def deliver(self) -> dict[str, Any]:
        return self.functions.functions.invoke("deliver_events", SCHEDULED)

    def receive(self, url: str) -> list[int]:
        """Receives until the queue is empty. Returns the numbers of the events in ascending order."""
        found: list[int] = []
        while messages := self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
            found += [json.loads(message["Body"])["detail"]["number"] for message in messages]
        return sorted(found)


def start(database: Database, **variables: str) -> FunctionServer:
    return FunctionServer(database.pooled_dsn, "http_api", variables)


def build_installation(functions: FunctionServer) -> Installation:
    sqs, events = (
        build_client(protocol, functions.endpoint_url, service=service)[0]
        for protocol, service in (("json", "sqs"), ("cbor", "eventbridgev2"))
    )
    return Installation(functions, sqs, events)


@pytest.fixture
def installation(database: Database) -> Iterator[Installation]:
    """Yields an installation whose scheduled functions end when no work is due."""
    with start(database) as functions:
        yield build_installation(functions)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Replaces the clock of scheduled functions. Their pauses take no time. Each pause calls the next function of the
    list, if the list has one."""
    now = [0.0]
    acts: list[Callable[[], None]] = []

    def sleep(seconds: float) -> None:
        now[0] += seconds
        if acts:
            acts.pop(0)()

    monkeypatch.setattr(scheduled, "monotonic", lambda: now[0])
    monkeypatch.setattr(scheduled, "sleep", sleep)
    return acts


def test_the_function_delivers_what_an_sdk_published(installation: Installation) -> None:
    bus, url = installation.connect()
    installation.publish(bus, 1, 2)
    assert installation.receive(url) == []
    assert installation.deliver() == {**NONE, "sequenced": 2, "delivered": 2}
    assert installation.receive(url) == [1, 2]
    assert installation.deliver() == NONE


def test_an_invocation_delivers_until_the_next_one(database: Database, pauses: list[Callable[[], None]]) -> None:
    with start(database, QUEUE_LAMBDA_WORKER_SECONDS="5") as functions:
        installation = build_installation(functions)
        bus, url = installation.connect()
        received: list[list[int]] = []
        pauses.extend([
            lambda: installation.publish(bus, 1),
            lambda: received.append(installation.receive(url)),
            lambda: installation.publish(bus, 2),
        ])  # fmt: skip
        assert installation.deliver()["delivered"] == 2
        assert received == [[1]]
        assert installation.receive(url) == [2]


def test_without_a_bus_an_invocation_ends_at_once(database: Database, pauses: list[Callable[[], None]]) -> None:
    """The next invocation finds the new bus."""
    with start(database, QUEUE_LAMBDA_WORKER_SECONDS="5") as functions:
        installation = build_installation(functions)
        pauses.append(lambda: pytest.fail("the function waits for events although no bus exists"))
        assert installation.deliver() == NONE
        pauses.clear()
        bus, url = installation.connect()
        pauses.append(lambda: installation.publish(bus, 1))
        assert installation.deliver()["delivered"] == 1
        assert installation.receive(url) == [1]


def test_a_container_and_the_function_deliver_each_event_once(database: Database, installation: Installation) -> None:
    bus, url = installation.connect()
    settings = Settings.read({})
    container = EventDeliverer(uuid4())
    with (
        ThreadPoolExecutor(2) as threads,
        psycopg.connect(database.api_dsn, autocommit=True) as connection,
    ):
        delivered = 0
        for start in range(0, 40, 5):
            installation.publish(bus, *range(start, start + 5))
            function = threads.submit(installation.deliver)
            run = threads.submit(container.run_once, settings, connection)
            delivered += function.result()["delivered"] + run.result()["delivered"]
    delivered += installation.deliver()["delivered"]
    assert delivered == 40
    assert installation.receive(url) == list(range(40))


def test_the_function_sends_to_an_api_destination(database: Database) -> None:
    key = b64encode(b"k" * 32).decode()
    with (
        serve_http() as endpoint,
        start(database, QUEUE_ENCRYPTION_KEY=key, WEBHOOK_ALLOW_CIDRS="127.0.0.0/8") as functions,
    ):
        _, target = store_destination(database, ACCOUNT, "crm", endpoint.url, key)
        installation = build_installation(functions)
        bus = installation.events.create_event_bus(Name="shop")["EventBusArn"]
        invoke = {"TargetArn": target, "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/bus"}
        installation.events.create_subscriber(Name="all", EventBusArn=bus, InvokeConfiguration=invoke)
        installation.publish(bus, 1, 2)
        assert installation.deliver() == {**NONE, "sequenced": 2, "delivered": 2}
        (request,) = endpoint.requests
        assert request.headers["x-key"] == "k1"
        assert [event["detail"]["number"] for event in request.payload] == [1, 2]
