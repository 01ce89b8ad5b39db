"""Runs the SDKs for JavaScript, which verify MD5 digests, and their most popular consumers.

docs/guides/recipes.md lists the settings.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import boto3
import pytest

from tests.support.clients.sdk_scenario import run_node_script
from tests.support.clients.service_client import Deployment, client, counts, sqs_client
from tests.support.delivery.receiver import Receiver, running_receiver
from tests.support.programs.penstock_up import running
from tests.support.sns_signatures import verify
from tests.support.wait import wait_until

_LONG = "AWS.SimpleQueueService."
# Errors that the client raises. The value is the error's class in version 3, and the error's code in version 2.
ERRORS = {
    "unknownQueue": ("QueueDoesNotExist", f"{_LONG}NonExistentQueue"),
    "deletedQueue": ("QueueDoesNotExist", f"{_LONG}NonExistentQueue"),
    "deletedRecently": ("QueueDeletedRecently", f"{_LONG}QueueDeletedRecently"),
    "otherAttributes": ("QueueNameExists", "QueueAlreadyExists"),
    "attributeName": ("InvalidAttributeName", "InvalidAttributeName"),
    "attributeValue": ("InvalidAttributeValue", "InvalidAttributeValue"),
    "receiptHandle": ("ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid"),
    "characters": ("InvalidMessageContents", "InvalidMessageContents"),
    "purgedAgain": ("PurgeQueueInProgress", f"{_LONG}PurgeQueueInProgress"),
    "emptyBatch": ("EmptyBatchRequest", f"{_LONG}EmptyBatchRequest"),
    "elevenEntries": ("TooManyEntriesInBatchRequest", f"{_LONG}TooManyEntriesInBatchRequest"),
    "equalIds": ("BatchEntryIdsNotDistinct", f"{_LONG}BatchEntryIdsNotDistinct"),
    "idCharacters": ("InvalidBatchEntryId", f"{_LONG}InvalidBatchEntryId"),
    "longBatch": ("BatchRequestTooLong", f"{_LONG}BatchRequestTooLong"),
    "taskSource": ("ResourceNotFoundException", "ResourceNotFoundException"),
}
CLASSES = {what: of_version_3 for what, (of_version_3, _) in ERRORS.items()}
CODES = {what: of_version_2 for what, (_, of_version_2) in ERRORS.items()}
# The older model defines fewer errors.
CLASSES_OF_QUERY = CLASSES | {
    "deletedQueue": f"without a class: {_LONG}NonExistentQueue",
    "attributeValue": "without a class: InvalidAttributeValue",
}
SCENARIO = {
    "checksDigests": True,
    "standard": {
        "awaited": ["awaited"],
        "stored": ["rich", "plain"],
        "refused": [["late", "InvalidParameterValue", True]],
        "sent": [2, 1],
        "body": "grüße, 世界 <&>\r\n",
        "attributes": ["String.of mine", "tëxt", "-1.50", [0, 128, 255]],
        "trace": "Root=1-5759e988-bd862e3fe1be46a994272793",
        "again": ["plain", "2"],
        "deleted": ["rich", "again"],
        "kept": [["wrong", "ReceiptHandleIsInvalid", True]],
        "end": [0, 0],
    },
    "fifo": {
        "rising": True,
        "duplicate": [True, True],
        "a": ["a1", "a2"],
        "b": ["b1"],
        "blocked": [],
        "again": ["a1", "a2", "a3"],
    },
    "deadLetters": {"twice": [], "sameId": True, "from": "source", "sources": [True]},
    "queues": {
        "tags": {"kept": "as it is", "changed": "new", "empty": ""},
        "pages": [2, 1],
        "complete": True,
        "attributes": {"DelaySeconds": "7"},
    },
}


@pytest.mark.clients
@pytest.mark.parametrize(
    ("package", "errors"),
    [
        pytest.param("@aws-sdk/client-sqs", CLASSES, id="version 3"),
        pytest.param("client-sqs-query", CLASSES_OF_QUERY, id="version 3 of the Query protocol"),
        pytest.param("aws-sdk", CODES, id="version 2"),
        pytest.param("aws-sdk-query", CODES, id="version 2 of the Query protocol"),
    ],
)
def test_each_sdk_of_javascript_uses_queues(up: Deployment, package: str, errors: dict[str, str]) -> None:
    found = run_node_script("sdk.cjs", package, up.address)
    refused: dict[str, Any] = {"countsWhenPurged": [0, 0], **errors}
    if os.environ.get("PENSTOCK_DEPLOYMENT") == "lambda":
        # The load balancer refuses bodies over 1 MB with 413 (AWS: "Use Lambda functions as targets of an Application
        # Load Balancer"). Each SDK has a different name for the error of status 413.
        assert found["errors"].pop("longBatch") != refused.pop("longBatch")
    assert found == {**SCENARIO, "errors": refused}


@pytest.mark.clients
def test_sqs_consumer(up: Deployment) -> None:
    assert run_node_script("consumer.cjs", up.address) == {
        "standard": {
            "failed": 0,
            "sent": [3, 0],
            "received": [["grüße", "1"], ["three", "1"], ["two", "2"]],
            "text": "tëxt",
            "bytes": [0, 255],
            "left": [0, 0],
            "direct": ["direct", "2"],
            "end": [0, 0],
            "error": "QueueDoesNotExist",
        },
        "fifo": {"sent": [3, 0], "duplicate": True, "received": ["1", "2", "3"], "left": [0, 0]},
    }


@pytest.mark.clients
def test_nestjs_sqs(up: Deployment) -> None:
    """Tests handlers for messages and batches, a handler that fails once, and producers with attributes, a delay and
    groups."""
    assert run_node_script("nest.cjs", up.address) == {
        "standard": [["fails once", "1", None], ["fails once", "2", None], ["grüße", "1", "nest"], ["late", "1", None]],
        "fifo": [["a1", "a"], ["a2", "a"]],
        "failures": ["Unexpected message handler failure: the first attempt fails"],
        "size": 0,
    }
    assert counts(up, "nest") == counts(up, "nest.fifo") == ["0", "0", "0"]


@pytest.mark.clients
def test_squiss_receives_a_released_message_again(up: Deployment) -> None:
    """SQS redelivers a released message. Squiss sends 12 messages in two batches. The test also covers batch deletes
    and a FIFO queue's groups."""
    with sqs_client(up) as sqs:
        sqs.create_queue(QueueName="squiss.fifo", Attributes={"FifoQueue": "true"})
    alone = ["squiss", 7]
    assert run_node_script("squiss.cjs", up.address) == {
        "standard": {
            "sent": [12, 0],
            "batched": 12,
            "alone": [["grüße", "1", *alone], ["grüße", "2", *alone]],
            "bytes": 262144,
        },
        "fifo": [["a1", "a"], ["a2", "a"]],
    }
    assert counts(up, "squiss") == ["0", "0", "1"]
    assert counts(up, "squiss.fifo") == ["0", "0", "0"]


# --- sns validator ---------------------------------------------------------------------------------------------------
# Runs AWS's validator for SNS messages in JavaScript (sns-validator) on messages that the service sent to a queue.
#
# The validator requires https and, by default, an AWS host in the certificate's URL. SNS_CERT_HOST sets the host in the
# URL.
#
# The module also tests topics with boto3 and the SDK for JavaScript: queues, filters, FIFO, batches, and an endpoint
# that confirms its subscription.
#
# Sources: the SNS developer guide and API reference.

MESSAGES = 10_000
BATCH = 10
ALTERED = 8  # Each signature version has four messages, with and without a subject.
OF_AWS, OF_OURS = "sns.us-east-1.amazonaws.com", "queues.example.com"

# Characters that Publish accepts. The characters come from all Unicode planes, and include characters that JSON and the
# string to sign escape differently.
_SPECIAL = '\n\n\r\t "\\/<>&=%+{}\u0085\u2028\u2029\u00a0\ufeff\ufffd\U0001f600é\u0301'
_PLANES = ((0x20, 0x7E), (0xA0, 0x17F), (0x600, 0x6FF), (0x4E00, 0x9FFF), (0xE000, 0xF8FF), (0x1F300, 0x1FAFF))


def text(random: Random, length: int) -> str:
    ranges = random.choices(_PLANES, k=length)
    return "".join(
        random.choice(_SPECIAL) if random.random() < 0.2 else chr(random.randint(*plane)) for plane in ranges
    )


def subject(random: Random) -> str:
    """Returns a subject: at most 99 printable characters, without a space at either end."""
    letters = [character for character in text(random, random.randint(1, 60)) if character.isprintable()]
    return "".join(letters).strip() or "s"


def entries(random: Random) -> list[dict[str, Any]]:
    """Returns a batch in which every second entry has a subject, and every fifth an attribute."""
    made = []
    for number in range(BATCH):
        entry: dict[str, Any] = {"Id": str(number), "Message": text(random, random.randint(1, 200))}
        if number % 2:
            entry["Subject"] = subject(random)
        if number % 5 == 0:
            entry["MessageAttributes"] = {"a": {"DataType": "String", "StringValue": text(random, 5)}}
        made.append(entry)
    return made


def published(up: Deployment, number: int) -> Iterator[dict[str, str]]:
    """Publishes `number` random messages, half for each signature version. Yields the messages as a queue received
    them.
    """
    options = {"endpoint_url": up.address, "region_name": "us-east-1"}
    options |= {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
    sns, sqs = boto3.client("sns", **options), boto3.client("sqs", **options)
    random = Random(20260102)
    for version in ("1", "2"):
        queue = sqs.create_queue(QueueName=f"q{version}")["QueueUrl"]
        arn = f"arn:aws:sqs:us-east-1:000000000000:q{version}"
        topic = sns.create_topic(Name=f"t{version}", Attributes={"SignatureVersion": version})["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
        for _ in range(number // 2 // BATCH):
            batch = entries(random)
            response = sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=batch)
            sent = {done["MessageId"]: batch[int(done["Id"])] for done in response["Successful"]}
            assert len(sent) == BATCH
            while sent:
                got = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=20)["Messages"]
                for message in got:
                    envelope = json.loads(message["Body"])
                    entry = sent.pop(envelope["MessageId"])
                    assert (envelope["Message"], envelope.get("Subject")) == (entry["Message"], entry.get("Subject"))
                    yield envelope
                handles = [{"Id": str(n), "ReceiptHandle": message["ReceiptHandle"]} for n, message in enumerate(got)]
                sqs.delete_message_batch(QueueUrl=queue, Entries=handles)


def verdicts(up: Deployment, folder: Path, messages: list[dict[str, str]], altered: int, pattern: str = "") -> Any:
    """Returns the numbers of messages that the validator accepts, refuses (by reason), and accepts despite a changed
    bit."""
    file = folder / "messages"
    file.write_text("".join(json.dumps(message) + "\n" for message in messages))
    return run_node_script("validator.cjs", up.address, str(file), str(altered), pattern)


@pytest.mark.clients
def test_ten_thousand_messages_are_valid_and_none_that_was_changed(tmp_path: Path) -> None:
    with running("--ephemeral", SNS_CERT_HOST=OF_AWS) as up:
        messages = list(published(up, MESSAGES))
        half = MESSAGES // 2
        front = [*messages[: ALTERED // 2], *messages[half : half + ALTERED // 2]]
        found = verdicts(up, tmp_path, front + messages, ALTERED)
    assert {message["SignatureVersion"] for message in front} == {"1", "2"}
    assert found["valid"] == ALTERED + MESSAGES
    assert found["refused"] == {}
    bits = sum(
        len(message[name].encode()) * 8
        for message in front
        for name in ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
        if name in message
    )
    assert found["alterations"] == bits + ALTERED * 2048
    assert (found["accepted"], found["certificates"]) == (0, 1)


@pytest.mark.clients
def test_a_host_of_ones_own(tmp_path: Path) -> None:
    """The validator accepts the service's host with `hostPattern`, and refuses it without `hostPattern`."""
    with running("--ephemeral", SNS_CERT_HOST=OF_OURS) as up:
        messages = list(published(up, 2 * BATCH))
        told = verdicts(up, tmp_path, messages, 0, r"^queues\.example\.com$")
        untold = verdicts(up, tmp_path, messages, 0)
    assert (told["valid"], told["refused"]) == (2 * BATCH, {})
    assert untold["refused"] == {"The certificate is located on an invalid domain.": 2 * BATCH}
    assert (untold["valid"], untold["certificates"]) == (0, 0)


SEEN_BY_NODE = {
    "fanOut": {
        "all": ["small", "grüße\n世界"],
        "some": ["grüße\n世界", "large", ["kind", "size"]],
        "raw": [["small", "9"], ["grüße\n世界", "11"]],
        "batch": [["large"], [["long", "InvalidParameter", True]]],
        "policy": {"kind": ["large"], "size": [{"numeric": [">", 10]}]},
        "tags": [{"Key": "of", "Value": "node"}],
        "subscriptions": 3,
        "unsubscribed": 200,
        "left": 2,
    },
    "ordered": {"rising": True, "duplicate": True, "received": [["one", "a"], ["two", "a"]]},
    "endpoints": {
        "pending": "pending confirmation",
        "seen": [[kind, kind] for kind in ("SubscriptionConfirmation", "Notification", "UnsubscribeConfirmation")],
        "message": "hello",
    },
    "errors": {
        "unknown": ["NotFoundException", "NotFoundException", 404],
        "name": ["InvalidParameterException", "InvalidParameterException", 400],
        "policy": ["InvalidParameterException", "InvalidParameterException", 400],
        "emptyBatch": ["EmptyBatchRequestException", "EmptyBatchRequestException", 400],
    },
}


@pytest.fixture
def sns(up: Deployment) -> Iterator[Any]:
    with client("sns", up) as sns:
        yield sns


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        yield receiver


@pytest.mark.clients
def test_sdk_for_javascript(up: Deployment) -> None:
    assert run_node_script("sns.cjs", up.address) == SEEN_BY_NODE


def test_a_topic_feeds_a_queue_and_an_endpoint(up: Deployment, sns: Any, receiver: Receiver) -> None:
    topic = sns.create_topic(Name="boto3", Attributes={"SignatureVersion": "2"})["TopicArn"]
    with sqs_client(up) as sqs:
        url = sqs.create_queue(QueueName="boto3-topic")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = json.dumps({"store": [{"prefix": "example"}], "price": [{"numeric": [">=", 100]}]})
        sns.subscribe(
            TopicArn=topic,
            Protocol="sqs",
            Endpoint=arn,
            Attributes={"FilterPolicy": policy, "FilterPolicyScope": "MessageBody"},
        )
        pending = sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=receiver.url("/200"))
        assert pending["SubscriptionArn"] == "pending confirmation"
        wait_until(lambda: receiver.count("/200") == 1)
        confirmation = json.loads(receiver.requests[0].body)
        subscription = sns.confirm_subscription(TopicArn=topic, Token=confirmation["Token"])["SubscriptionArn"]
        bodies = [json.dumps({"store": "example.com", "price": price}) for price in (99, 100)]
        for body in bodies:
            sns.publish(TopicArn=topic, Message=body)
        wait_until(lambda: receiver.count("/200") == 3)
        (message,) = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        assert json.loads(message["Body"])["Message"] == bodies[1]
        posted = [json.loads(request.body) for request in receiver.requests]
        with urllib.request.urlopen(posted[0]["SigningCertURL"]) as response:
            certificate = response.read().decode()
        for each in posted:
            verify(each, certificate)
        assert sorted(each["Message"] for each in posted[1:]) == sorted(bodies)
        sns.unsubscribe(SubscriptionArn=subscription)
        wait_until(lambda: receiver.count("/200") == 4)
        kinds = [request.headers["x-amz-sns-message-type"] for request in receiver.requests]
        assert kinds == ["SubscriptionConfirmation", "Notification", "Notification", "UnsubscribeConfirmation"]
