"""Runs boto3 with JSON, boto3 1.26 with Query, aioboto3 for asyncio, the command line awscli, and django-anymail's
webhook."""

from __future__ import annotations

import ast
import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    SqsFifoPartialProcessor,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from tests.support.clients.event_bus_scenario import EVENT_BUS, run_event_bus
from tests.support.clients.scenario import FIFO, STANDARD
from tests.support.clients.service_client import ROOT, Deployment, client, counts
from tests.support.programs.penstock_up import Up
from tests.support.wait import wait_until


def facts(python: Path, module: str, up: Deployment) -> Any:
    """Returns the results of a client that runs in the environment of `python`."""
    assert python.exists(), f"{python} is missing: run `make clients`"
    command = [str(python), "-m", f"tests.support.clients.{module}", up.address]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


def test_awscli_uses_queues(up: Deployment) -> None:
    assert facts(Path(sys.executable), "awscli_client", up) == {"standard": STANDARD, "fifo": FIFO}


def test_the_command_that_is_printed_at_the_start_works(container: Up) -> None:
    command = container.lines[3].removeprefix("awscli ")
    variables = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, env=variables)
    assert json.loads(done.stdout) == {"QueueUrl": f"{container.address}/000000000000/hello"}


def installed(name: str) -> Path:
    return ROOT / ".tools/clients" / name / "bin/python"


def test_boto3_uses_queues(up: Deployment) -> None:
    seen = facts(Path(sys.executable), "boto3_client", up)
    assert seen == {"protocol": "json", "standard": STANDARD, "fifo": FIFO}


def test_boto3_uses_event_buses(up: Deployment) -> None:
    assert run_event_bus(up, "boto3-events") == EVENT_BUS


@pytest.mark.clients
def test_boto3_of_the_query_protocol(up: Deployment) -> None:
    seen = facts(installed("clients-old"), "boto3_client", up)
    assert seen == {"protocol": "query", "standard": STANDARD, "fifo": FIFO}


@pytest.mark.clients
def test_aioboto3_uses_queues(up: Deployment) -> None:
    seen = facts(installed("clients"), "aioboto3_client", up)
    assert seen == {"protocol": "json", "standard": STANDARD, "fifo": FIFO}


@pytest.mark.clients
def test_anymail_confirms_its_subscription(container: Up) -> None:
    """django-anymail's webhook for Amazon SES requires a user and a password, and confirms the subscription by
    itself."""
    python = ROOT / ".tools/clients/clients/bin/python"
    assert python.exists(), f"{python} is missing: run `make clients`"
    command = [str(python), "-m", "tests.support.clients.anymail_webhook", container.address]
    keys = {**os.environ, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    at = "2026-11-28T00:00:00.000Z"
    bounce = {"bounceType": "Permanent", "bounceSubType": "General", "timestamp": at, "feedbackId": "f",
              "bouncedRecipients": [{"emailAddress": "to@example.com"}]}  # fmt: skip
    mail = {"messageId": "m1", "timestamp": at, "source": "a@example.com", "destination": ["to@example.com"]}
    with (
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=keys) as webhook,
        client("sns", container) as sns,
    ):
        try:
            assert webhook.stdout is not None
            server = f"127.0.0.1:{int(webhook.stdout.readline())}"
            url = f"http://max:geh%2Fheim@{server}/anymail/amazon_ses/tracking/"
            topic = sns.create_topic(Name="mails")["TopicArn"]
            made = sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url, ReturnSubscriptionArn=True)
            arn = made["SubscriptionArn"]

            def attributes() -> dict[str, str]:
                return dict(sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"])

            wait_until(lambda: attributes()["PendingConfirmation"] == "false")
            assert attributes()["Endpoint"] == url.replace("geh%2Fheim", "****")
            notification = {"notificationType": "Bounce", "mail": mail, "bounce": bounce}
            sns.publish(TopicArn=topic, Message=json.dumps(notification))
            assert json.loads(webhook.stdout.readline()) == ["bounced", "to@example.com", "m1"]
        finally:
            webhook.terminate()


# --- powertools ------------------------------------------------------------------------------------------------------
# Tests batch processing in Powertools for AWS Lambda with received messages in the format of Lambda's poller.
#
# The poller deletes messages that the function does not report as failed. The other messages stay until their
# visibility timeout ends, which is 0 s in these tests. Events have the format in the Lambda developer guide, "Using
# Lambda with Amazon SQS".

# A receive may return only some of the messages, so the tests poll more than once.
_POLLS = 20


class Poller:
    """Imitates Lambda's event source mapping for one queue, with ReportBatchItemFailures."""

    def __init__(self, sqs: Any, name: str, **attributes: str) -> None:
        self._sqs = sqs
        attributes["VisibilityTimeout"] = "600"
        self.url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        found = sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["QueueArn"])
        self._arn = found["Attributes"]["QueueArn"]

    def poll(self, processor: Any, handle: Any) -> None:
        """Receives once, invokes the function, deletes the successful messages and makes the others visible."""
        response = self._sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, AttributeNames=["All"], MessageAttributeNames=["All"]
        )
        messages = response.get("Messages", [])
        if not messages:
            return
        event = {"Records": [self._record(message) for message in messages]}
        result = process_partial_response(event, record_handler=handle, processor=processor)
        failed = {failure["itemIdentifier"] for failure in result["batchItemFailures"]}
        self._finish([message for message in messages if message["MessageId"] not in failed])
        self._give_back([message for message in messages if message["MessageId"] in failed])

    def _record(self, message: dict[str, Any]) -> dict[str, Any]:
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": message["Attributes"],
            "messageAttributes": {
                name: {
                    "dataType": value["DataType"],
                    "stringValue": value.get("StringValue"),
                    "binaryValue": base64.b64encode(value.get("BinaryValue", b"")).decode(),
                    "stringListValues": [],
                    "binaryListValues": [],
                }
                for name, value in message.get("MessageAttributes", {}).items()
            },
            "md5OfBody": message["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": self._arn,
            "awsRegion": self._arn.split(":")[3],
        }

    def _finish(self, messages: list[dict[str, Any]]) -> None:
        entries = [{"Id": m["MessageId"], "ReceiptHandle": m["ReceiptHandle"]} for m in messages]
        if entries:
            assert "Failed" not in self._sqs.delete_message_batch(QueueUrl=self.url, Entries=entries)

    def _give_back(self, messages: list[dict[str, Any]]) -> None:
        entries = [
            {"Id": m["MessageId"], "ReceiptHandle": m["ReceiptHandle"], "VisibilityTimeout": 0} for m in messages
        ]
        if entries:
            response = self._sqs.change_message_visibility_batch(QueueUrl=self.url, Entries=entries)
            assert "Failed" not in response


def test_records_that_failed_come_back_and_the_others_do_not(up: Deployment, sqs: Any) -> None:
    poller = Poller(sqs, "powertools")
    entries = [
        {
            "Id": str(n),
            "MessageBody": f'{{"n": {n}}}',
            "MessageAttributes": {
                "half": {"DataType": "Number", "StringValue": str(n / 2)},
                "bytes": {"DataType": "Binary", "BinaryValue": bytes([n, 255])},
            },
        }
        for n in range(10)
    ]
    sqs.send_message_batch(QueueUrl=poller.url, Entries=entries)
    handled: list[tuple[int, str, str, bytes]] = []

    def handle(record: SQSRecord) -> None:
        n, attempt = record.json_body["n"], record.attributes.approximate_receive_count
        if n in (2, 5) and attempt == "1":
            raise ValueError(n)
        half, data = record.message_attributes["half"], record.message_attributes["bytes"]
        assert half
        assert data
        handled.append((n, attempt, half.string_value or "", base64.b64decode(data.binary_value or "")))

    # The function fails only if every message in the batch failed. SQS then redelivers the whole batch.
    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
    for _ in range(_POLLS):
        poller.poll(processor, handle)
    assert sorted(handled) == [(n, "2" if n in (2, 5) else "1", str(n / 2), bytes([n, 255])) for n in range(10)]
    assert counts(up, "powertools") == ["0", "0", "0"]


@pytest.mark.parametrize("skip_group", [False, True])
def test_the_order_of_a_fifo_group_outlives_a_failure(up: Deployment, sqs: Any, skip_group: bool) -> None:
    queue = f"powertools-{skip_group}.fifo"
    poller = Poller(sqs, queue, FifoQueue="true", ContentBasedDeduplication="true")
    for body in ("a1", "b1", "a2", "b2", "a3"):
        sqs.send_message(QueueUrl=poller.url, MessageBody=body, MessageGroupId=body[0])
    handled: list[str] = []

    def handle(record: SQSRecord) -> None:
        if record.body == "a2" and record.attributes.approximate_receive_count == "1":
            raise ValueError(record.body)
        assert record.attributes.message_group_id == record.body[0]
        handled.append(record.body)

    processor = SqsFifoPartialProcessor(skip_group_on_error=skip_group)
    processor.raise_on_entire_batch_failure = False
    for _ in range(_POLLS):
        poller.poll(processor, handle)
    assert [body for body in handled if body[0] == "a"] == ["a1", "a2", "a3"]
    assert [body for body in handled if body[0] == "b"] == ["b1", "b2"]
    assert counts(up, queue) == ["0", "0", "0"]


# --- schedules -------------------------------------------------------------------------------------------------------
# Tests schedules with boto3 from end to end. The EventBridge Scheduler User Guide describes the messages of a schedule.
#
# The schedules fire soon after their creation. A schedule fires even if its time passes before its creation.

ROLE = "arn:aws:iam::000000000000:role/scheduler"
SOON = timedelta(seconds=2)


@pytest.fixture
def scheduler(up: Deployment) -> Iterator[Any]:
    with client("scheduler", up) as scheduler:
        yield scheduler


def arrived(sqs: Any, url: str) -> dict[str, Any]:
    """Waits for the only message that arrives in a queue, and returns the message."""
    found: list[dict[str, Any]] = []

    def came() -> bool:
        found.extend(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20).get("Messages", []))
        return len(found) == 1

    wait_until(came)
    return found[0]


def once(scheduler: Any, name: str, target: dict[str, Any], **more: Any) -> datetime:
    """Returns a schedule that fires soon, and its time."""
    at = (datetime.now(UTC) + SOON).replace(microsecond=0)
    scheduler.create_schedule(
        Name=name,
        ScheduleExpression=f"at({at:%Y-%m-%dT%H:%M:%S})",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"RoleArn": ROLE, **target},
        **more,
    )
    return at


def test_a_schedule_fires_into_a_queue(sqs: Any, scheduler: Any) -> None:
    """The schedule fires once, with its context attributes. The service then deletes the schedule, because
    ActionAfterCompletion is DELETE.
    """
    url = sqs.create_queue(QueueName="fired")["QueueUrl"]
    text = '{"for": "<aws.scheduler.scheduled-time>", "by": "<aws.scheduler.schedule-arn>"}'
    queue = "arn:aws:sqs:us-east-1:000000000000:fired"
    at = once(scheduler, "soon", {"Arn": queue, "Input": text}, ActionAfterCompletion="DELETE")
    message = arrived(sqs, url)
    assert json.loads(message["Body"]) == {
        "for": f"{at:%Y-%m-%dT%H:%M:%SZ}",
        "by": "arn:aws:scheduler:us-east-1:000000000000:schedule/default/soon",
    }
    wait_until(lambda: scheduler.list_schedules(NamePrefix="soon")["Schedules"] == [])


def test_a_schedule_publishes_to_a_topic(up: Deployment, sqs: Any, scheduler: Any) -> None:
    """The topic's subscribers receive a notification. The completed schedule still exists."""
    with client("sns", up) as sns:
        topic = sns.create_topic(Name="scheduled-news")["TopicArn"]
        url = sqs.create_queue(QueueName="subscribed")["QueueUrl"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint="arn:aws:sqs:us-east-1:000000000000:subscribed")
        once(scheduler, "news", {"Arn": topic, "Input": "grüße"})
    notification = json.loads(arrived(sqs, url)["Body"])
    assert (notification["Type"], notification["TopicArn"], notification["Message"]) == (
        "Notification", topic, "grüße",
    )  # fmt: skip
    assert scheduler.get_schedule(Name="news")["State"] == "ENABLED"


def test_a_message_that_cannot_be_sent_goes_to_the_dead_letter_queue(sqs: Any, scheduler: Any) -> None:
    """Without retries, the scheduler sends the message to the dead-letter queue immediately ("Configuring a dead-letter
    queue").
    """
    url = sqs.create_queue(QueueName="not-sent")["QueueUrl"]
    target = {
        "Arn": "arn:aws:sqs:us-east-1:000000000000:nowhere",
        "Input": "lost",
        "DeadLetterConfig": {"Arn": "arn:aws:sqs:us-east-1:000000000000:not-sent"},
        "RetryPolicy": {"MaximumRetryAttempts": 0},
    }
    once(scheduler, "lost", target)
    assert arrived(sqs, url)["Body"] == "lost"


def test_a_schedule_of_the_rest_api_fires(up: Deployment, sqs: Any) -> None:
    url = sqs.create_queue(QueueName="rest-fired")["QueueUrl"]
    at = (datetime.now(UTC) + SOON).replace(microsecond=0)
    schedule = {
        "name": "rest-soon",
        "fire_at": at.isoformat(),
        "target": {"queue": "rest-fired", "message": {"b": 1.10, "a": 2}, "headers": {"trace": "t"}},
    }
    httpx.post(f"{up.address}/v1/schedules", json=schedule, timeout=30).raise_for_status()
    message = httpx.get(f"{up.address}/v1/queues/rest-fired/messages?wait=20", timeout=30).json()[0]
    assert message["message"] == {"b": 1.10, "a": 2}
    told = {"name": "rest-soon", "scheduled_for": f"{at:%Y-%m-%dT%H:%M:%SZ}", "out_of_band": False}
    assert message["headers"] == {"trace": "t", "_schedule": told}
    wait_until(lambda: httpx.get(f"{up.address}/v1/schedules/rest-soon", timeout=30).status_code == 404)
    assert url
