"""Tests topics and subscriptions with Terraform: creates, reads, changes, imports and destroys them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clients.service_client import Deployment, client
from tests.support.clients.terraform_cli import ACCOUNT, CHANGES, NO_CHANGES, Terraform, applied

pytestmark = pytest.mark.clients

TOPIC = f"arn:aws:sns:us-east-1:{ACCOUNT}:"


@pytest.fixture(scope="module")
def sns(up: Deployment) -> Iterator[Any]:
    with client("sns", up, ACCOUNT) as sns:
        yield sns


@pytest.fixture(scope="module")
def made(up: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    """Creates everything in topics.tf."""
    return applied(up, tmp_path_factory.mktemp("topics"), "topics.tf")


def subscriptions(sns: Any, topic: str) -> dict[str, dict[str, str]]:
    """Returns attributes of a topic's subscriptions by the name of the queue."""
    found = sns.list_subscriptions_by_topic(TopicArn=TOPIC + topic)["Subscriptions"]
    return {
        each["Endpoint"].rsplit(":", 1)[1]: sns.get_subscription_attributes(SubscriptionArn=each["SubscriptionArn"])[
            "Attributes"
        ]
        for each in found
    }


def test_created_resources_read_back_as_configured(made: Terraform, sns: Any) -> None:
    assert made.plan() == NO_CHANGES
    attributes = sns.get_topic_attributes(TopicArn=f"{TOPIC}orders")["Attributes"]
    assert (attributes["DisplayName"], attributes["SubscriptionsConfirmed"]) == ("Orders", "3")
    found = subscriptions(sns, "orders")
    assert json.loads(found["large"]["FilterPolicy"])["coupon"] == [{"exists": False}]
    assert found["body"]["FilterPolicyScope"] == "MessageBody"
    assert found["orders"]["RawMessageDelivery"] == "false"
    tags = sns.list_tags_for_resource(ResourceArn=f"{TOPIC}orders")["Tags"]
    assert {"Key": "gone", "Value": "grüße"} in tags


def test_changed_resources_read_back_as_configured(changed: Terraform, sns: Any) -> None:
    assert changed.plan(changed=True) == NO_CHANGES
    assert changed.plan() == CHANGES  # An empty plan is then significant.
    attributes = sns.get_topic_attributes(TopicArn=f"{TOPIC}orders")["Attributes"]
    assert (attributes["DisplayName"], attributes["SignatureVersion"]) == ("All orders", "2")
    found = subscriptions(sns, "orders")
    assert json.loads(found["large"]["FilterPolicy"])["size"] == [{"numeric": [">=", 10, "<", 100]}]
    assert found["orders"]["RawMessageDelivery"] == "true"


def test_imported_resources_are_as_configured(changed: Terraform) -> None:
    """A subscription differs, because the provider does not read two arguments back, and sets these arguments after
    an import.
    """
    ids = {
        "aws_sns_topic.orders": f"{TOPIC}orders",
        "aws_sns_topic.ordered": f"{TOPIC}ordered.fifo",
        "aws_sns_topic_policy.orders": f"{TOPIC}orders",
    }
    said = changed.import_again(ids, changed=True)
    assert "Resources: 3 imported, 0 added, 0 changed, 0 destroyed." in said
    assert changed.plan(changed=True) == NO_CHANGES


def test_nothing_is_left_when_all_is_destroyed(changed: Terraform, sns: Any) -> None:
    changed.run("destroy", "-auto-approve", "-parallelism=30", changed=True)
    assert sns.list_topics()["Topics"] == []
    assert sns.list_subscriptions()["Subscriptions"] == []
