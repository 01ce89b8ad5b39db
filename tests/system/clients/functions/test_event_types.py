"""Events of mappings and of subscriptions, as the event types of AWS for Java and Go read them.

aws-lambda-java-events by the serializer of Lambda's runtime for Java (aws-lambda-java-serialization), and the package
events of aws-lambda-go. What handlers see is compared with the messages sent.

In tests/support/clients, java/events and go/events have the programs; `make clients` fetches their libraries.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.database import TestServer
from tests.support.mappings.harness import Harness, running_harness
from tests.system.clients.test_go import built
from tests.system.clients.test_jvm import command

pytestmark = pytest.mark.clients

TEXT = "grüße, 世界"


def ignore(_: Any) -> None:
    """A function that succeeds."""


@pytest.fixture(scope="module")
def harness(postgres: TestServer) -> Iterator[Harness]:
    with running_harness(postgres) as harness:
        yield harness


def first_event(harness: Harness, name: str) -> dict[str, Any]:
    """What a function gets first."""
    harness.functions.wait(lambda: bool(harness.invocations(name)))
    event: dict[str, Any] = harness.invocations(name)[0].event
    return event


@pytest.fixture(scope="module")
def queue_event(harness: Harness) -> dict[str, Any]:
    """The event of a mapping."""
    url, arn = harness.queue()
    name = harness.function(ignore)
    harness.map(arn, name)
    attributes = {
        "n": {"DataType": "Number", "StringValue": "7"},
        "b": {"DataType": "Binary", "BinaryValue": b"\x00\x01"},
    }
    harness.sqs.send_message(QueueUrl=url, MessageBody=TEXT, MessageAttributes=attributes)
    return first_event(harness, name)


@pytest.fixture(scope="module")
def topic_event(harness: Harness) -> dict[str, Any]:
    """The event of a subscription."""
    sns, name = harness.service.client("sns"), harness.function(ignore)
    topic = sns.create_topic(Name="news")["TopicArn"]
    arn = f"arn:aws:lambda:us-east-1:000000000000:function:{name}"
    sns.subscribe(TopicArn=topic, Protocol="lambda", Endpoint=arn)
    attributes = {"n": {"DataType": "Number", "StringValue": "7"}}
    sns.publish(TopicArn=topic, Message=TEXT, Subject="s", MessageAttributes=attributes)
    return first_event(harness, name)


def seen(program: list[str], kind: str, event: dict[str, Any]) -> dict[str, Any]:
    """What the program prints."""
    done = subprocess.run(
        [*program, kind], input=json.dumps(event).encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(params=["java", "go"], scope="module")
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    if request.param == "java":
        return command("events", "Events")
    folder: Path = tmp_path_factory.mktemp("go")
    return [str(built("events", "events.mod", folder))]


def test_the_event_of_a_mapping(program: list[str], queue_event: dict[str, Any]) -> None:
    (record,) = queue_event["Records"]
    assert seen(program, "sqs", queue_event) == {
        "id": record["messageId"],
        "body": TEXT,
        "receives": "1",
        "number": "7 Number",
        "bytes": 2,
        "source": f"aws:sqs {record['eventSourceARN']} us-east-1",
    }


def test_the_event_of_a_subscription(program: list[str], topic_event: dict[str, Any]) -> None:
    (record,) = topic_event["Records"]
    assert seen(program, "sns", topic_event) == {
        "id": record["Sns"]["MessageId"],
        "body": TEXT,
        "subject": "s",
        "number": "7",
        "year": int(record["Sns"]["Timestamp"][:4]),
        "urls": True,
        "source": f"aws:sns 1.0 {record['EventSubscriptionArn']}",
    }
