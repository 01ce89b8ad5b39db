"""Tests queues with Terraform. Terraform's provider reads every attribute six times, at intervals of five seconds,
before it accepts the value.

docs/guides/recipes.md lists the settings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.clients.service_client import Deployment, client, sqs_client
from tests.support.clients.terraform_cli import ACCOUNT, CHANGES, NO_CHANGES, Terraform, applied

pytestmark = pytest.mark.clients

# The expected values by queue and attribute. None means that the attribute is missing.
Attributes = dict[str, dict[str, str | None]]

KEYS = "SqsManagedSseEnabled", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds"
NUMBERS = (
    "DelaySeconds",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "VisibilityTimeout",
)
# The values in queues.tf under SQS's names. A plan cannot show all values: the provider ignores a changed reuse period
# if it assumes that SQS encrypts the queue.
FIRST: Attributes = {
    "every-number": dict(zip(NUMBERS, ("900", "1024", "1209600", "20", "0"), strict=True)),
    "apart.fifo": {"FifoQueue": "true", "ContentBasedDeduplication": "true"},
    "high-throughput.fifo": {"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"},
    "key": dict(zip(KEYS, ("false", "alias/mine", "86400"), strict=True)),
    "key-to-managed": {"SqsManagedSseEnabled": "false", "KmsMasterKeyId": "alias/aws/sqs"},
    "managed-to-key": {"SqsManagedSseEnabled": "true", "KmsMasterKeyId": None},
    "unencrypted": {"SqsManagedSseEnabled": "false", "KmsMasterKeyId": None},
}
CHANGED: Attributes = {
    "every-number": dict(zip(NUMBERS, ("0", "262144", "60", "0", "43200"), strict=True)),
    "apart.fifo": {"FifoQueue": "true", "ContentBasedDeduplication": "false"},
    "high-throughput.fifo": {"DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue"},
    "key": dict(zip(KEYS, ("false", "alias/aws/sqs", "60"), strict=True)),
    "key-to-managed": {"SqsManagedSseEnabled": "true", "KmsMasterKeyId": None},
    "managed-to-key": {"SqsManagedSseEnabled": "false", "KmsMasterKeyId": "alias/aws/sqs"},
    "unencrypted": {"SqsManagedSseEnabled": "true", "KmsMasterKeyId": None},
}
IMPORTED = {
    "aws_sqs_queue.work": "work",
    "aws_sqs_queue.apart": "apart.fifo",
    "aws_sqs_queue_redrive_policy.apart": "apart.fifo",
    "aws_sqs_queue_policy.apart": "apart.fifo",
    "aws_sqs_queue_redrive_allow_policy.apart_dead": "apart-dead.fifo",
}


def attributes(sqs: Any, expected: Attributes) -> Attributes:
    found: Attributes = {}
    for queue, names in expected.items():
        url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        every = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        found[queue] = {name: every.get(name) for name in names}
    return found


def tags(sqs: Any, queue: str) -> dict[str, str]:
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    return dict(sqs.list_queue_tags(QueueUrl=url).get("Tags", {}))


@pytest.fixture(scope="module")
def sqs(up: Deployment) -> Iterator[Any]:
    with sqs_client(up, ACCOUNT) as sqs:
        yield sqs


# Each fixture builds on the previous fixture, and takes up to two minutes.
@pytest.fixture(scope="module")
def made(up: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    return applied(up, tmp_path_factory.mktemp("terraform"), "queues.tf")


@pytest.fixture(scope="module")
def changed(made: Terraform) -> Terraform:
    """Makes every change that Terraform can make. One change replaces a queue under the same name.

    The provider retries for 60 seconds, until SQS allows the name again.
    """
    made.apply("-replace=aws_sqs_queue.plain", changed=True)
    return made


def test_created_resources_read_back_as_configured(made: Terraform, sqs: Any) -> None:
    assert made.plan() == NO_CHANGES
    assert attributes(sqs, FIRST) == FIRST
    assert tags(sqs, "every-number") == {"kept": "first", "gone": "grüße = + - : / @", "owner": "terraform"}


def test_changed_resources_read_back_as_configured(changed: Terraform, sqs: Any) -> None:
    assert changed.plan(changed=True) == NO_CHANGES
    assert changed.plan() == CHANGES  # A plan with the old files must find changes.
    assert attributes(sqs, CHANGED) == CHANGED
    assert tags(sqs, "every-number") == {"kept": "changed", "new": "", "owner": "terraform"}


def test_imported_resources_are_as_configured(changed: Terraform, sqs: Any) -> None:
    urls = {address: sqs.get_queue_url(QueueName=queue)["QueueUrl"] for address, queue in IMPORTED.items()}
    said = changed.import_again(urls, changed=True)
    assert "Resources: 5 imported, 0 added, 0 changed, 0 destroyed." in said
    assert changed.plan(changed=True) == NO_CHANGES


def test_nothing_is_left_when_all_is_destroyed(changed: Terraform, sqs: Any) -> None:
    changed.run("destroy", "-auto-approve", "-parallelism=30", changed=True)
    assert sqs.list_queues().get("QueueUrls", []) == []


# --- terraform topics ------------------------------------------------------------------------------------------------

TOPIC = f"arn:aws:sns:us-east-1:{ACCOUNT}:"


@pytest.fixture(scope="module")
def sns(up: Deployment) -> Iterator[Any]:
    with client("sns", up, ACCOUNT) as sns:
        yield sns


@pytest.fixture(scope="module")
def made_topics(up: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    return applied(up, tmp_path_factory.mktemp("topics"), "topics.tf")


@pytest.fixture(scope="module")
def changed_topics(made_topics: Terraform) -> Terraform:
    """Makes every change that Terraform can make."""
    made_topics.apply(changed=True)
    return made_topics


def subscriptions(sns: Any, topic: str) -> dict[str, dict[str, str]]:
    """Returns a topic's subscription attributes by the queue's name."""
    found = sns.list_subscriptions_by_topic(TopicArn=TOPIC + topic)["Subscriptions"]
    return {
        each["Endpoint"].rsplit(":", 1)[1]: sns.get_subscription_attributes(SubscriptionArn=each["SubscriptionArn"])[
            "Attributes"
        ]
        for each in found
    }


def test_created_topics_read_back_as_configured(made_topics: Terraform, sns: Any) -> None:
    assert made_topics.plan() == NO_CHANGES
    attributes = sns.get_topic_attributes(TopicArn=f"{TOPIC}orders")["Attributes"]
    assert (attributes["DisplayName"], attributes["SubscriptionsConfirmed"]) == ("Orders", "3")
    found = subscriptions(sns, "orders")
    assert json.loads(found["large"]["FilterPolicy"])["coupon"] == [{"exists": False}]
    assert found["body"]["FilterPolicyScope"] == "MessageBody"
    assert found["orders"]["RawMessageDelivery"] == "false"
    tags = sns.list_tags_for_resource(ResourceArn=f"{TOPIC}orders")["Tags"]
    assert {"Key": "gone", "Value": "grüße"} in tags


def test_changed_topics_read_back_as_configured(changed_topics: Terraform, sns: Any) -> None:
    assert changed_topics.plan(changed=True) == NO_CHANGES
    assert changed_topics.plan() == CHANGES  # A plan with the old files must find changes.
    attributes = sns.get_topic_attributes(TopicArn=f"{TOPIC}orders")["Attributes"]
    assert (attributes["DisplayName"], attributes["SignatureVersion"]) == ("All orders", "2")
    found = subscriptions(sns, "orders")
    assert json.loads(found["large"]["FilterPolicy"])["size"] == [{"numeric": [">=", 10, "<", 100]}]
    assert found["orders"]["RawMessageDelivery"] == "true"


def test_imported_topics_are_as_configured(changed_topics: Terraform) -> None:
    """The plan changes one subscription, because the provider does not read two arguments and sets them after an
    import."""
    ids = {
        "aws_sns_topic.orders": f"{TOPIC}orders",
        "aws_sns_topic.ordered": f"{TOPIC}ordered.fifo",
        "aws_sns_topic_policy.orders": f"{TOPIC}orders",
    }
    said = changed_topics.import_again(ids, changed=True)
    assert "Resources: 3 imported, 0 added, 0 changed, 0 destroyed." in said
    assert changed_topics.plan(changed=True) == NO_CHANGES


def test_no_topics_are_left_when_all_is_destroyed(changed_topics: Terraform, sns: Any) -> None:
    changed_topics.run("destroy", "-auto-approve", "-parallelism=30", changed=True)
    assert sns.list_topics()["Topics"] == []
    assert sns.list_subscriptions()["Subscriptions"] == []


# --- terraform schedules ---------------------------------------------------------------------------------------------

ARN = f"arn:aws:scheduler:us-east-1:{ACCOUNT}"
EVERYTHING = {"Name": "every.argument_1", "GroupName": "batch"}


@pytest.fixture(scope="module")
def scheduler(up: Deployment) -> Iterator[Any]:
    with client("scheduler", up, ACCOUNT) as scheduler:
        yield scheduler


@pytest.fixture(scope="module")
def made_schedules(up: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    return applied(up, tmp_path_factory.mktemp("schedules"), "schedules.tf")


@pytest.fixture(scope="module")
def changed_schedules(made_schedules: Terraform) -> Terraform:
    """Makes every change that Terraform can make."""
    made_schedules.apply(changed=True)
    return made_schedules


def schedule_tags(scheduler: Any, group: str) -> dict[str, str]:
    response = scheduler.list_tags_for_resource(ResourceArn=f"{ARN}:schedule-group/{group}")
    return {tag["Key"]: tag["Value"] for tag in response["Tags"]}


def test_created_schedules_read_back_as_configured(made_schedules: Terraform, scheduler: Any) -> None:
    assert made_schedules.plan() == NO_CHANGES
    found = scheduler.get_schedule(**EVERYTHING)
    assert (found["State"], found["Description"]) == ("DISABLED", "päckchen")
    assert found["ScheduleExpression"] == "cron(0/15 8-17 ? * MON-FRI *)"
    assert found["StartDate"] == datetime(2036, 1, 1, tzinfo=UTC)
    assert found["FlexibleTimeWindow"] == {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 1440}
    retries = {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0}
    assert found["Target"]["RetryPolicy"] == retries
    assert found["Target"]["SqsParameters"] == {"MessageGroupId": "first"}
    assert schedule_tags(scheduler, "batch") == {"kept": "first", "gone": "grüße", "owner": "terraform"}


def test_changed_schedules_read_back_as_configured(changed_schedules: Terraform, scheduler: Any) -> None:
    assert changed_schedules.plan(changed=True) == NO_CHANGES
    assert changed_schedules.plan() == CHANGES  # A plan with the old files must find changes.
    found = scheduler.get_schedule(**EVERYTHING)
    assert (found["State"], found["ScheduleExpressionTimezone"]) == ("ENABLED", "UTC")
    assert "Description" not in found
    assert found["EndDate"] == datetime(2039, 1, 1, tzinfo=UTC)
    assert found["Target"]["SqsParameters"] == {"MessageGroupId": "second"}
    assert scheduler.get_schedule(Name="minimal")["ScheduleExpression"] == "rate(8 hours)"
    assert schedule_tags(scheduler, "batch") == {"kept": "changed", "new": "1", "owner": "terraform"}


def test_imported_schedules_are_as_configured(changed_schedules: Terraform) -> None:
    ids = {
        "aws_scheduler_schedule.minimal": "default/minimal",
        "aws_scheduler_schedule.every_argument": "batch/every.argument_1",
        "aws_scheduler_schedule_group.batch": "batch",
    }
    said = changed_schedules.import_again(ids, changed=True)
    assert "Resources: 3 imported, 0 added, 0 changed, 0 destroyed." in said
    assert changed_schedules.plan(changed=True) == NO_CHANGES


def test_no_schedules_are_left_when_all_is_destroyed(changed_schedules: Terraform, scheduler: Any) -> None:
    changed_schedules.run("destroy", "-auto-approve", "-parallelism=30", changed=True)
    assert scheduler.list_schedules()["Schedules"] == []
    groups = scheduler.list_schedule_groups()["ScheduleGroups"]
    assert [group["Name"] for group in groups] == ["default"]
