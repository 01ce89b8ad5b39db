"""Runs programs for the JVM: the SDK for Java 2 (blocking, asynchronous, batching), JMS, temporary queues, Spring Cloud
AWS and Camel.

`make clients` fetches their libraries and compiles them to .tools/clients/java (tests/support/clients/java/install.sh).

docs/guides/recipes.md has the settings (spring, jms).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.clients.sdk_scenario import FACTS, check_what_is_left, printed
from tests.support.clients.service_client import Deployment, client, counts, sqs_client
from tests.support.clients.toolchains import java_command
from tests.support.wait import wait_until

pytestmark = pytest.mark.clients


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_sdk(up: Deployment, kind: str) -> None:
    name = f"java-{kind}"
    assert printed(java_command("sdk", "Sdk", up.address, name, kind)) == FACTS
    check_what_is_left(up, name)


def test_batch_manager(up: Deployment) -> None:
    """Sends 100 messages by SqsAsyncBatchManager. One of the messages stays in flight."""
    assert printed(java_command("sdk", "Sdk", up.address, "java-batch", "batch")) == {"sent": 100, "received": 100}
    assert counts(up, "java-batch") == ["0", "1", "0"]


def create(up: Deployment, *queues: str, **attributes: str) -> None:
    with sqs_client(up) as sqs:
        for queue in queues:
            fifo = {"FifoQueue": "true"} if queue.endswith(".fifo") else {}
            sqs.create_queue(QueueName=queue, Attributes={**fifo, **attributes})


def arn(queue: str) -> str:
    return f"arn:aws:sqs:us-east-1:000000000000:{queue}"


def subscribed_topic(up: Deployment, name: str, queue: str, **attributes: str) -> None:
    with client("sns", up) as sns:
        topic = sns.create_topic(Name=name)["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn(queue), Attributes=attributes)


def received(up: Deployment, queue: str) -> dict[str, Any]:
    """Returns the only message of a queue."""
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        names = {"AttributeNames": ["All"], "MessageAttributeNames": ["All"]}
        (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20, **names)["Messages"]
    return dict(message)


def test_temporary_queues(up: Deployment) -> None:
    """Twenty requests get their answers by virtual queues of temporary-queues-client, which share one real queue."""
    create(up, "java-requests")
    assert printed(java_command("temporary", "Temporary", up.address, queue_url(up, "java-requests"))) == {"right": 20}
    assert counts(up, "java-requests") == ["0", "0", "0"]


def queue_url(up: Deployment, queue: str) -> str:
    with sqs_client(up) as sqs:
        return str(sqs.get_queue_url(QueueName=queue)["QueueUrl"])


def test_jms(up: Deployment) -> None:
    """Tests a listener that fails once, bytes, recover(), and the messages that a closed session gives back."""
    create(up, "jms", "jms.fifo", VisibilityTimeout="600")
    text = ["grüße, 世界", "jms", 7, True]
    assert printed(java_command("jms", "Jms", up.address)) == {
        "exists": True,
        "listener": [["0080ff"], [*text, 1], [*text, 2]],
        "fifo": {"received": ["a1 a", "a2 a"]},
    }
    assert counts(up, "jms") == counts(up, "jms.fifo") == ["1", "0", "0"]
    left = received(up, "jms")
    assert (left["Body"], left["MessageAttributes"]) == (
        "left",
        {"JMS_SQSMessageType": {"DataType": "String", "StringValue": "text"}},
    )


def test_spring_cloud_aws(up: Deployment) -> None:
    """Tests templates and listeners. A refused message, with its visibility set to 0, comes again."""
    create(up, "spring", "spring.fifo", "spring-topic", "spring-left", VisibilityTimeout="600")
    subscribed_topic(up, "spring", "spring-topic")
    aws = "--spring.cloud.aws"
    options = [
        f"{aws}.endpoint={up.address}",
        f"{aws}.region.static=us-east-1",
        f"{aws}.credentials.access-key=x",
        f"{aws}.credentials.secret-key=x",
        f"{aws}.sqs.listener.poll-timeout=2s",
        "--spring.main.banner-mode=off",
        "--logging.level.root=off",
    ]
    assert printed(java_command("spring", "Spring", *options)) == {
        "seen": [
            ["grüße, 世界", 3, "spring", "1"],
            ["grüße, 世界", 3, "spring", "2"],
            ["one", 1, "batch", "1"],
            ["topic", 4, "of the topic"],
            ["two", 2, "batch", "1"],
        ],
        "template": "received",
        "fifo": [["a1", "a"], ["a2", "a"]],
    }
    for queue in ("spring", "spring.fifo", "spring-topic"):
        assert counts(up, queue) == ["0", "0", "0"]
    left = received(up, "spring-left")
    assert left["Body"] == "left"
    assert left["MessageAttributes"]["JavaType"]["StringValue"] == "java.lang.String"


def test_camel(up: Deployment) -> None:
    """Tests routes from queues to queues. A message that a route refused once goes to the dead-letter queue."""
    create(up, "camel-dead")
    redrive = json.dumps({"deadLetterTargetArn": arn("camel-dead"), "maxReceiveCount": 1})
    create(up, "camel", RedrivePolicy=redrive, VisibilityTimeout="5")
    create(up, "camel-topic")
    create(up, "camel.fifo", ContentBasedDeduplication="true")
    subscribed_topic(up, "camel", "camel-topic", RawMessageDelivery="true")
    assert printed(java_command("camel", "CamelRoutes", up.address)) == {
        "seen": ["grüße of camel", "of the topic", "refused", "three", "two"],
        "fifo": ["a1", "a2"],
    }
    assert counts(up, "camel-done") == ["3", "0", "0"]
    assert counts(up, "camel.fifo") == counts(up, "camel-topic") == ["0", "0", "0"]
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName="camel")["QueueUrl"]
        wait_until(
            lambda: "Messages" not in sqs.receive_message(QueueUrl=url) and counts(up, "camel-dead") == ["1", "0", "0"]
        )
    assert received(up, "camel-dead")["Body"] == "refused"
