"""Tests schedules of EventBridge Scheduler that invoke functions.

The sources are Target and RetryPolicy (EventBridge Scheduler API Reference); "Adding context attributes" and
"Configuring a schedule's dead-letter queue" (EventBridge Scheduler User Guide); and "Using Lambda with Amazon
EventBridge Scheduler" (AWS Lambda Developer Guide): it invokes a function asynchronously.
"""

import json
from datetime import UTC, datetime
from itertools import count
from typing import Any

import psycopg
import pytest
from botocore.exceptions import ClientError

from tests.support.mappings.functions import Refusal, Throttle
from tests.support.mappings.harness import Harness
from tests.support.wait import wait_until

ACCOUNT, REGION = "000000000000", "us-east-1"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/scheduler"
_numbers = count(1)


def ignore(_: Any) -> None:
    """Implements a function that succeeds."""


def schedule(harness: Harness, function: str, **target: Any) -> str:
    """Creates a schedule that fires once, at once. Returns its name."""
    name = f"s{next(_numbers)}"
    arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}"
    harness.service.client("scheduler").create_schedule(
        Name=name, ScheduleExpression=f"at({datetime.now(UTC):%Y-%m-%dT%H:%M:%S})", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": arn, "RoleArn": ROLE, **target},
    )  # fmt: skip
    return name


def make_due(harness: Harness) -> None:
    """Makes the next attempts of all waiting invocations due now."""
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
    assert (event["source"], event["detail-type"], event["account"]) == (
        "aws.scheduler",
        "Scheduled Event",
        ACCOUNT,
    )
    assert event["resources"] == [f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/{made}"]


def test_each_attempt_has_its_number_and_its_id(harness: Harness) -> None:
    def throttles(event: Any) -> None:
        if event["attempt"] != "3":
            raise Throttle

    name = harness.function(throttles)
    schedule(
        harness,
        name,
        Input='{"attempt": "<aws.scheduler.attempt-number>", "id": "<aws.scheduler.execution-id>"}',
    )

    def is_taken() -> bool:
        make_due(harness)
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
        harness,
        name,
        Input='{"n": 1}',
        DeadLetterConfig={"Arn": dead},
        RetryPolicy={"MaximumRetryAttempts": 1},
    )

    def is_tried_twice() -> bool:
        make_due(harness)
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
            "update queue.outgoing_delivery"
            " set subscription_policy = (subscription_policy::jsonb || '{\"Until\": 0}')::text"
            " where endpoint like %s", (f"%:{name}",),
        )  # fmt: skip
    make_due(harness)
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
