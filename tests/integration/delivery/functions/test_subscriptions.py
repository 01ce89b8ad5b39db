"""Tests subscriptions of functions.

The sources are "Invoking Lambda functions with Amazon SNS notifications" (AWS Lambda Developer Guide),
https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html, and "Amazon SNS dead-letter queues" (SNS Developer Guide).
"""

import json
from itertools import count
from typing import Any

import httpx
import psycopg
import pytest
from aws_lambda_powertools.utilities.data_classes import SNSEvent
from aws_lambda_powertools.utilities.parser.models import SnsModel
from botocore.exceptions import ClientError

from tests.support.mappings.functions import Refusal, Throttle
from tests.support.mappings.harness import Harness
from tests.support.sns_signatures import verify
from tests.support.wait import wait_until

ACCOUNT, REGION = "000000000000", "us-east-1"
_numbers = count(1)


def ignore(_: Any) -> None:
    """Implements a function that succeeds."""


def arn_of(function: str) -> str:
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}"


def subscribed(harness: Harness, function: str, **attributes: str) -> tuple[str, str]:
    """Creates a topic with a subscription of the function. Returns both ARNs."""
    sns = harness.service.client("sns")
    topic = sns.create_topic(Name=f"t{next(_numbers)}")["TopicArn"]
    made = sns.subscribe(TopicArn=topic, Protocol="lambda", Endpoint=arn_of(function), Attributes=attributes)
    return topic, made["SubscriptionArn"]


def redrive(arn: str) -> dict[str, str]:
    return {"RedrivePolicy": json.dumps({"deadLetterTargetArn": arn})}


def test_the_event_has_the_fields_of_the_documentation(harness: Harness) -> None:
    """The test compares each field of the page's example, and each value that is the same at all times."""
    name = harness.function(ignore)
    topic, subscription = subscribed(harness, name)
    assert subscription.startswith(f"{topic}:")  # the subscription needs no confirmation
    sent = harness.service.client("sns").publish(
        TopicArn=topic, Message="Hello from SNS!", Subject="TestInvoke",
        MessageAttributes={
            "Test": {"DataType": "String", "StringValue": "TestString"},
            "TestBinary": {"DataType": "Binary", "BinaryValue": b"TestBinary"},
        },
    )  # fmt: skip
    harness.functions.wait(lambda: bool(harness.invocations(name)))
    (invocation,) = harness.invocations(name)
    assert invocation.headers["x-amz-invocation-type"] == "Event"
    (record,) = invocation.event["Records"]
    message = record.pop("Sns")
    assert record == {"EventVersion": "1.0", "EventSubscriptionArn": subscription, "EventSource": "aws:sns"}
    envelope = {
        {"SigningCertUrl": "SigningCertURL", "UnsubscribeUrl": "UnsubscribeURL"}.get(key, key): value
        for key, value in message.items()
    }
    verify(envelope, httpx.get(message["SigningCertUrl"]).text)
    assert message.pop("UnsubscribeUrl").endswith(f"SubscriptionArn={subscription}")
    assert message.pop("SigningCertUrl").endswith(".pem")
    assert message.pop("Signature")
    assert message.pop("Timestamp").endswith("Z")
    assert message == {
        "Type": "Notification",
        "MessageId": sent["MessageId"],
        "TopicArn": topic,
        "Subject": "TestInvoke",
        "Message": "Hello from SNS!",
        "MessageAttributes": {
            "Test": {"Type": "String", "Value": "TestString"},
            "TestBinary": {"Type": "Binary", "Value": "VGVzdEJpbmFyeQ=="},
        },
        "SignatureVersion": "1",
    }


def test_powertools_reads_the_event(harness: Harness) -> None:
    """Powertools' data class and pydantic model accept the event, with and without a subject and attributes."""
    name = harness.function(ignore)
    topic, subscription = subscribed(harness, name)
    harness.service.client("sns").publish(TopicArn=topic, Message='{"id": 1}')
    harness.functions.wait(lambda: bool(harness.invocations(name)))
    event = harness.invocations(name)[0].event
    (parsed,) = SnsModel.model_validate(event).Records
    assert (parsed.EventSubscriptionArn, parsed.Sns.Message, parsed.Sns.Subject) == (
        subscription,
        '{"id": 1}',
        None,
    )
    assert SNSEvent(event).sns_message == '{"id": 1}'
    assert (event["Records"][0]["Sns"]["Subject"], event["Records"][0]["Sns"]["MessageAttributes"]) == (
        None,
        {},
    )


def test_filters_and_texts_of_its_own(harness: Harness) -> None:
    """FilterPolicy selects the messages, and MessageStructure json has a text for the protocol `lambda`."""
    name = harness.function(ignore)
    topic, _ = subscribed(harness, name, FilterPolicy='{"kind": ["order"]}')
    sns = harness.service.client("sns")
    for kind in ("bill", "order"):
        sns.publish(
            TopicArn=topic, Message=json.dumps({"default": "d", "lambda": kind}), MessageStructure="json",
            MessageAttributes={"kind": {"DataType": "String", "StringValue": kind}},
        )  # fmt: skip
    harness.functions.wait(lambda: bool(harness.invocations(name)))
    assert [invocation.event["Records"][0]["Sns"]["Message"] for invocation in harness.invocations(name)] == [
        "order"
    ]


def test_a_throttled_function_is_tried_again(harness: Harness) -> None:
    """The service retries at once, three times ("Amazon SNS message delivery retries"). The log contains each
    attempt.
    """
    answers = iter([Throttle(), Refusal(500, "ServiceException")])

    def fails_twice(_: Any) -> None:
        for error in answers:
            raise error

    name = harness.function(fails_twice)
    topic, _ = subscribed(harness, name)
    sent = harness.service.client("sns").publish(TopicArn=topic, Message="m")["MessageId"]
    harness.functions.wait(lambda: len(harness.invocations(name)) == 3)
    query = (
        "select outcome, status from queue.outgoing_delivery_attempt where message_id = %s order by attempt"
    )
    logged = [("retried", 429), ("retried", 500), ("delivered", 202)]
    with psycopg.connect(harness.dsn, autocommit=True) as db:
        wait_until(lambda: db.execute(query, (sent,)).fetchall() == logged)


def test_a_client_side_error_goes_to_the_dead_letter_queue(harness: Harness) -> None:
    def is_gone(_: Any) -> None:
        raise Refusal(404, "ResourceNotFoundException")

    url, arn = harness.queue()
    name = harness.function(is_gone)
    topic, _ = subscribed(harness, name, **redrive(arn))
    sent = harness.service.client("sns").publish(TopicArn=topic, Message="m")["MessageId"]
    (message,) = harness.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    envelope = json.loads(message["Body"])
    assert (envelope["Type"], envelope["MessageId"], envelope["Message"]) == ("Notification", sent, "m")
    assert len(harness.invocations(name)) == 1


@pytest.mark.parametrize(
    ("endpoint", "text"),
    [
        (f"arn:aws:lambda:{REGION}:999999999999:function:f", "belong to the account"),
        (f"arn:aws:lambda:eu-west-1:{ACCOUNT}:function:f", "must be in the region"),
        ("f", "Lambda endpoint ARN"),
    ],
)
def test_functions_that_may_not_be_invoked(harness: Harness, endpoint: str, text: str) -> None:
    sns = harness.service.client("sns")
    topic = sns.create_topic(Name="refused")["TopicArn"]
    with pytest.raises(ClientError, match=text) as refusal:
        sns.subscribe(TopicArn=topic, Protocol="lambda", Endpoint=endpoint)
    assert refusal.value.response["Error"]["Code"] == "InvalidParameter"


def test_raw_messages_are_refused(harness: Harness) -> None:
    """Raw message delivery is for queues, URLs and Firehose ("Amazon SNS raw message delivery")."""
    with pytest.raises(ClientError, match="does not support raw message delivery"):
        subscribed(harness, "f", RawMessageDelivery="true")
