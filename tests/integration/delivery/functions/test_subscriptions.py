"""Tests functions that schedules of EventBridge Scheduler or subscriptions of topics invoke.

The sources for schedules are Target and RetryPolicy (EventBridge Scheduler API Reference), "Adding context attributes"
and "Configuring a schedule's dead-letter queue" (EventBridge Scheduler User Guide), and "Using Lambda with Amazon
EventBridge Scheduler" (AWS Lambda Developer Guide). The sources for subscriptions are "Invoking Lambda functions with
Amazon SNS notifications" (AWS Lambda Developer Guide), https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html, and
"Amazon SNS dead-letter queues" (SNS Developer Guide).
"""

import json
from datetime import UTC, datetime
from itertools import count
from typing import Any

import httpx
import psycopg
import pytest
from aws_lambda_powertools.utilities.data_classes import SNSEvent
from aws_lambda_powertools.utilities.parser.models import SnsModel
from botocore.exceptions import ClientError

from tests.support.mappings.harness import Harness, Refusal, Throttle
from tests.support.programs.penstock_service import running_service
from tests.support.sns_signatures import verify
from tests.support.wait import wait_until

ACCOUNT, REGION = "000000000000", "us-east-1"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/scheduler"
_numbers = count(1)


def ignore(_: Any) -> None: ...


def schedule(harness: Harness, function: str, **target: Any) -> str:
    """Creates a schedule that fires once and immediately. Returns its name."""
    name = f"s{next(_numbers)}"
    arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}"
    harness.service.client("scheduler").create_schedule(
        Name=name, ScheduleExpression=f"at({datetime.now(UTC):%Y-%m-%dT%H:%M:%S})", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": arn, "RoleArn": ROLE, **target},
    )  # fmt: skip
    return name


def set_due(harness: Harness) -> None:
    """Makes the next attempts of all waiting invocations due immediately."""
    with psycopg.connect(harness.dsn, autocommit=True) as db:
        db.execute("update queue.outgoing_delivery set due_at = clock_timestamp() where lease is null")
        db.execute("select queue.wake_deliveries()")


def test_the_input_is_the_event(harness: Harness) -> None:
    name = harness.function(ignore)
    attributes = {
        "arn": "<aws.scheduler.schedule-arn>",
        "time": "<aws.scheduler.scheduled-time>",
        "id": "<aws.scheduler.execution-id>",
        "attempt": "<aws.scheduler.attempt-number>",
    }
    made = schedule(harness, name, Input=json.dumps(attributes))
    harness.functions.wait(lambda: bool(harness.invocations(name)))
    (invocation,) = harness.invocations(name)
    assert invocation.headers["x-amz-invocation-type"] == "Event"
    event = invocation.event
    assert event["arn"] == f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/{made}"
    assert event["attempt"] == "1"
    assert event["time"].endswith("Z")
    assert event["id"]


def test_without_input_it_is_the_default_event(harness: Harness) -> None:
    name = harness.function(ignore)
    made = schedule(harness, name)
    harness.functions.wait(lambda: bool(harness.invocations(name)))
    event = harness.invocations(name)[0].event
    assert (event["source"], event["detail-type"], event["account"]) == ("aws.scheduler", "Scheduled Event", ACCOUNT)
    assert event["resources"] == [f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/{made}"]


def test_the_payload_of_a_universal_target_is_the_event(harness: Harness) -> None:
    """The source is "Using universal targets in EventBridge Scheduler" (User Guide)."""
    name = harness.function(ignore)
    payload = json.dumps({"attempt": "<aws.scheduler.attempt-number>", "text": 'ü "quoted"'})
    request = {"FunctionName": name, "InvocationType": "Event", "Payload": payload}
    schedule(harness, name, Arn="arn:aws:scheduler:::aws-sdk:lambda:invoke", Input=json.dumps(request))
    harness.functions.wait(lambda: bool(harness.invocations(name)))
    (invocation,) = harness.invocations(name)
    assert invocation.headers["x-amz-invocation-type"] == "Event"
    assert invocation.event == {"attempt": "1", "text": 'ü "quoted"'}


def test_each_attempt_has_its_number_and_its_id(harness: Harness) -> None:
    def throttles(event: Any) -> None:
        if event["attempt"] != "3":
            raise Throttle

    name = harness.function(throttles)
    schedule(harness, name, Input='{"attempt": "<aws.scheduler.attempt-number>", "id": "<aws.scheduler.execution-id>"}')

    def is_taken() -> bool:
        set_due(harness)
        return len(harness.invocations(name)) == 3

    wait_until(is_taken)
    events = [invocation.event for invocation in harness.invocations(name)]
    assert [event["attempt"] for event in events] == ["1", "2", "3"]
    assert len({event["id"] for event in events}) == 3


def test_used_up_retries_end_in_the_dead_letter_queue(harness: Harness) -> None:
    def is_gone(_: Any) -> None:
        raise Refusal(404, "ResourceNotFoundException")

    url, dead = harness.queue()
    name = harness.function(is_gone)
    made = schedule(
        harness, name, Input='{"n": 1}', DeadLetterConfig={"Arn": dead}, RetryPolicy={"MaximumRetryAttempts": 1}
    )

    def is_tried_twice() -> bool:
        set_due(harness)
        return len(harness.invocations(name)) == 2

    wait_until(is_tried_twice)
    (message,) = harness.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20, MessageAttributeNames=["All"])[
        "Messages"
    ]
    attributes = {key: value["StringValue"] for key, value in message["MessageAttributes"].items()}
    assert message["Body"] == '{"n": 1}'
    assert attributes.pop("SCHEDULED_TIME").endswith("Z")
    assert attributes.pop("EXECUTION_ID")
    assert attributes == {
        "ERROR_CODE": "ResourceNotFoundException",
        "ERROR_MESSAGE": "ResourceNotFoundException: Lambda has answered 404",
        "EXHAUSTED_RETRY_CONDITION": "MaximumRetryAttempts",
        "IS_PAYLOAD_TRUNCATED": "false",
        "RETRY_ATTEMPTS": "1",
        "SCHEDULE_ARN": f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/{made}",
        "TARGET_ARN": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}",
    }


def test_an_invocation_that_has_become_too_old(harness: Harness) -> None:
    def throttles(_: Any) -> None:
        raise Throttle

    url, dead = harness.queue()
    name = harness.function(throttles)
    schedule(harness, name, DeadLetterConfig={"Arn": dead}, RetryPolicy={"MaximumEventAgeInSeconds": 60})
    harness.functions.wait(lambda: bool(harness.invocations(name)))
    with psycopg.connect(harness.dsn, autocommit=True) as db:
        db.execute(
            "update queue.outgoing_delivery set retry_policy = retry_policy || '{\"Until\": 0}'"
            " where endpoint like %s", (f"%:{name}",),
        )  # fmt: skip
    set_due(harness)
    (message,) = harness.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20, MessageAttributeNames=["All"])[
        "Messages"
    ]
    attributes = {key: value["StringValue"] for key, value in message["MessageAttributes"].items()}
    assert attributes["EXHAUSTED_RETRY_CONDITION"] == "MaximumEventAgeInSeconds"
    assert attributes["ERROR_CODE"] == "TooManyRequestsException"


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ({"Arn": f"arn:aws:lambda:{REGION}:999999999999:function:f"}, "account and region"),
        ({"Arn": f"arn:aws:lambda:eu-west-1:{ACCOUNT}:function:f"}, "account and region"),
        ({"Input": "no JSON"}, "be JSON"),
        ({"SqsParameters": {"MessageGroupId": "g"}}, "be null"),
    ],
)
def test_an_invalid_target_is_refused(harness: Harness, target: dict[str, Any], text: str) -> None:
    with pytest.raises(ClientError, match=text) as refusal:
        schedule(harness, "f", **target)
    assert refusal.value.response["Error"]["Code"] == "ValidationException"


def test_lists_of_the_rest_api(harness: Harness) -> None:
    name = harness.function(ignore)
    made = schedule(harness, name)
    with harness.service.http() as http:
        found = http.get("/v1/schedules", params={"target_kind": "function"}).json()["schedules"]
    assert made in [schedule["name"] for schedule in found]


ACCOUNT, REGION = "000000000000", "us-east-1"


def arn_of(function: str) -> str:
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}"


def subscribed(harness: Harness, function: str, **attributes: str) -> tuple[str, str]:
    """Creates a topic and subscribes the function. Returns both ARNs."""
    sns = harness.service.client("sns")
    topic = sns.create_topic(Name=f"t{next(_numbers)}")["TopicArn"]
    made = sns.subscribe(TopicArn=topic, Protocol="lambda", Endpoint=arn_of(function), Attributes=attributes)
    return topic, made["SubscriptionArn"]


def redrive(arn: str) -> dict[str, str]:
    return {"RedrivePolicy": json.dumps({"deadLetterTargetArn": arn})}


def test_the_event_has_the_fields_of_the_documentation(harness: Harness) -> None:
    """The test compares the fields of the event, and the values that are constant, with the example on the AWS page."""
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
    """Powertools' data class and pydantic model parse the event, with and without a subject and attributes."""
    name = harness.function(ignore)
    topic, subscription = subscribed(harness, name)
    harness.service.client("sns").publish(TopicArn=topic, Message='{"id": 1}')
    harness.functions.wait(lambda: bool(harness.invocations(name)))
    event = harness.invocations(name)[0].event
    (parsed,) = SnsModel.model_validate(event).Records
    assert (parsed.EventSubscriptionArn, parsed.Sns.Message, parsed.Sns.Subject) == (subscription, '{"id": 1}', None)
    assert SNSEvent(event).sns_message == '{"id": 1}'
    assert (event["Records"][0]["Sns"]["Subject"], event["Records"][0]["Sns"]["MessageAttributes"]) == (None, {})


def test_a_process_that_invokes_no_functions_claims_no_invocations(harness: Harness) -> None:
    """A claim by a process that invokes no functions would delay the message."""
    name = harness.function(ignore)
    topic, _ = subscribed(harness, name)
    with running_service(harness.dsn) as other:
        for number in range(20):
            other.client("sns").publish(TopicArn=topic, Message=str(number))
        harness.functions.wait(lambda: len(harness.invocations(name)) == 20)


def test_filters_and_texts_of_its_own(harness: Harness) -> None:
    """FilterPolicy selects the messages, and a message with MessageStructure `json` contains a text for the protocol
    `lambda`."""
    name = harness.function(ignore)
    topic, _ = subscribed(harness, name, FilterPolicy='{"kind": ["order"]}')
    sns = harness.service.client("sns")
    for kind in ("bill", "order"):
        sns.publish(
            TopicArn=topic, Message=json.dumps({"default": "d", "lambda": kind}), MessageStructure="json",
            MessageAttributes={"kind": {"DataType": "String", "StringValue": kind}},
        )  # fmt: skip
    harness.functions.wait(lambda: bool(harness.invocations(name)))
    assert [invocation.event["Records"][0]["Sns"]["Message"] for invocation in harness.invocations(name)] == ["order"]


def test_a_throttled_function_is_tried_again(harness: Harness) -> None:
    """The service immediately retries three times ("Amazon SNS message delivery retries"). The log contains each
    attempt."""
    responses = iter([Throttle(), Refusal(500, "ServiceException")])

    def fails_twice(_: Any) -> None:
        for error in responses:
            raise error

    name = harness.function(fails_twice)
    topic, _ = subscribed(harness, name)
    sent = harness.service.client("sns").publish(TopicArn=topic, Message="m")["MessageId"]
    harness.functions.wait(lambda: len(harness.invocations(name)) == 3)
    query = "select outcome, status from queue.outgoing_delivery_attempt where message_id = %s order by attempt"
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
    """Only queues, URLs and Firehose support raw message delivery ("Amazon SNS raw message delivery")."""
    with pytest.raises(ClientError, match="does not support raw message delivery"):
        subscribed(harness, "f", RawMessageDelivery="true")
