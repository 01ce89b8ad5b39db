"""Parses the events from event source mappings and subscriptions with AWS's event types for Java and Go.

Java uses aws-lambda-java-events with the Lambda runtime's serializer (aws-lambda-java-serialization). Go uses the
package `events` from aws-lambda-go. The tests compare the parsed fields with the sent messages.

The programs are java/events and go/events in tests/support/clients. `make clients` fetches their libraries.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.sdk_scenario import build_go_program, java_command
from tests.support.clients.service_client import Deployment, client
from tests.support.clients.terraform_cli import ACCOUNT, CHANGES, NO_CHANGES, Terraform, applied
from tests.support.database import TestServer
from tests.support.mappings.harness import Harness, running_harness
from tests.support.programs.penstock_up import running

pytestmark = pytest.mark.clients

TEXT = "grüße, 世界"


def ignore(_: Any) -> None: ...


@pytest.fixture(scope="module")
def harness(postgres: TestServer) -> Iterator[Harness]:
    with running_harness(postgres) as harness:
        yield harness


def first_event(harness: Harness, name: str) -> dict[str, Any]:
    """Returns the first event that a function received."""
    harness.functions.wait(lambda: bool(harness.invocations(name)))
    event: dict[str, Any] = harness.invocations(name)[0].event
    return event


@pytest.fixture(scope="module")
def queue_event(harness: Harness) -> dict[str, Any]:
    """Returns the event that an event source mapping sent."""
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
    """Returns the event that a subscription sent."""
    sns, name = harness.service.client("sns"), harness.function(ignore)
    topic = sns.create_topic(Name="news")["TopicArn"]
    arn = f"arn:aws:lambda:us-east-1:000000000000:function:{name}"
    sns.subscribe(TopicArn=topic, Protocol="lambda", Endpoint=arn)
    attributes = {"n": {"DataType": "Number", "StringValue": "7"}}
    sns.publish(TopicArn=topic, Message=TEXT, Subject="s", MessageAttributes=attributes)
    return first_event(harness, name)


def seen(program: list[str], kind: str, event: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run([*program, kind], input=json.dumps(event).encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(params=["java", "go"], scope="module")
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    if request.param == "java":
        return java_command("events", "Events")
    folder: Path = tmp_path_factory.mktemp("go")
    return [str(build_go_program("events", "events.mod", folder))]


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


# --- terraform mappings ----------------------------------------------------------------------------------------------
# Terraform creates, reads, changes, imports and destroys event source mappings.


FUNCTION = f"arn:aws:lambda:us-east-1:{ACCOUNT}:function"


@pytest.fixture(scope="module")
def up() -> Iterator[Deployment]:
    """Runs a container, because functions do not poll in these tests. No server listens at the address of the
    container's functions.
    """
    with running("--ephemeral", QUEUE_LAMBDA_ENDPOINT="http://127.0.0.1:1") as up:
        yield up


@pytest.fixture(scope="module")
def functions(up: Deployment) -> Iterator[Any]:
    with client("lambda", up, ACCOUNT) as functions:
        yield functions


@pytest.fixture(scope="module")
def made(up: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    return applied(up, tmp_path_factory.mktemp("mappings"), "mappings.tf")


@pytest.fixture(scope="module")
def changed(made: Terraform) -> Terraform:
    """Makes every change that Terraform can make."""
    made.apply(changed=True)
    return made


def mapping(functions: Any, function: str) -> dict[str, Any]:
    (found,) = functions.list_event_source_mappings(FunctionName=function)["EventSourceMappings"]
    patterns = [json.loads(each["Pattern"]) for each in found.get("FilterCriteria", {}).get("Filters", ())]
    tags: dict[str, str] = functions.list_tags(Resource=found["EventSourceMappingArn"])["Tags"]
    return {**found, "patterns": patterns, "tags": tags}


def test_created_resources_read_back_as_configured(made: Terraform, functions: Any) -> None:
    assert made.plan() == NO_CHANGES
    found = mapping(functions, "handler")
    assert (found["State"], found["BatchSize"], found["MaximumBatchingWindowInSeconds"]) == ("Disabled", 100, 20)
    assert found["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert found["ScalingConfig"] == {"MaximumConcurrency": 2}
    assert found["patterns"] == [
        {"body": {"kind": ["order", {"prefix": "re"}]}},
        {"body": {"total": [{"numeric": [">", 100]}]}},
    ]
    assert found["tags"] == {"kept": "first", "gone": "grüße", "owner": "terraform"}
    assert mapping(functions, "minimal")["State"] == "Enabled"


def test_changed_resources_read_back_as_configured(changed: Terraform, functions: Any) -> None:
    assert changed.plan(changed=True) == NO_CHANGES
    assert changed.plan() == CHANGES  # A plan with the old files must find changes.
    found = mapping(functions, f"{FUNCTION}:other:live")
    assert (found["State"], found["BatchSize"], found["MaximumBatchingWindowInSeconds"]) == ("Enabled", 5, 0)
    assert (found["FunctionResponseTypes"], found["ScalingConfig"]) == ([], {"MaximumConcurrency": 1000})
    assert found["patterns"] == [{"body": {"kind": ["order"]}}]
    assert found["tags"] == {"kept": "changed", "new": "1", "owner": "terraform"}


def test_imported_resources_are_as_configured(changed: Terraform) -> None:
    ids = json.loads(changed.run("output", "-json", changed=True).stdout)["ids"]["value"]
    said = changed.import_again(
        {f"aws_lambda_event_source_mapping.{name}": uuid for name, uuid in ids.items()}, changed=True
    )
    assert "Resources: 2 imported, 0 added, 0 changed, 0 destroyed." in said
    assert changed.plan(changed=True) == NO_CHANGES


def test_nothing_is_left_when_all_is_destroyed(changed: Terraform, functions: Any) -> None:
    changed.run("destroy", "-auto-approve", "-parallelism=30", changed=True)
    assert functions.list_event_source_mappings()["EventSourceMappings"] == []
