"""Tests schedules with boto3 from end to end. The messages of a schedule arrive, as the EventBridge Scheduler User
Guide says.

The schedules have a near time. A schedule fires even if that time passes before it is created.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.clients.service_client import Deployment, client
from tests.support.wait import wait_until

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
    """The schedule fires once, with its context attributes. The schedule is then deleted, as ActionAfterCompletion
    says.
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
    """The topic's subscribers get a notification. The schedule stays and is completed."""
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
    """Without retries, the message goes to the dead-letter queue at once ("Configuring a dead-letter queue")."""
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
    """A client such as curl can create the schedule."""
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
