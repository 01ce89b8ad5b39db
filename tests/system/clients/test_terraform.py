"""Tests queues with Terraform. Terraform's provider reads every attribute six times, five seconds apart, before it
accepts the value.

docs/guides/recipes.md has the settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clients.service_client import Deployment, sqs_client
from tests.support.clients.terraform_cli import ACCOUNT, CHANGES, NO_CHANGES, Terraform, applied

pytestmark = pytest.mark.clients

# Maps queues to attributes to values. None means that the attribute is missing.
Attributes = dict[str, dict[str, str | None]]

KEYS = "SqsManagedSseEnabled", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds"
NUMBERS = (
    "DelaySeconds",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "VisibilityTimeout",
)
# The values of queues.tf in the names of SQS. A plan cannot show all values, because the provider drops a change of
# the reuse period if it believes that SQS encrypts the queue.
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
    """Returns the named attributes of the named queues."""
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


# Each stage builds on the previous one, and takes up to two minutes.
@pytest.fixture(scope="module")
def made(up: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    """Creates everything in queues.tf."""
    return applied(up, tmp_path_factory.mktemp("terraform"), "queues.tf")


@pytest.fixture(scope="module")
def changed(made: Terraform) -> Terraform:
    """Makes every possible change. A queue is replaced under its name.

    The provider retries until SQS allows the name again, 60 seconds later.
    """
    made.apply("-replace=aws_sqs_queue.plain", changed=True)
    return made


def test_created_resources_read_back_as_configured(made: Terraform, sqs: Any) -> None:
    assert made.plan() == NO_CHANGES
    assert attributes(sqs, FIRST) == FIRST
    assert tags(sqs, "every-number") == {"kept": "first", "gone": "grüße = + - : / @", "owner": "terraform"}


def test_changed_resources_read_back_as_configured(changed: Terraform, sqs: Any) -> None:
    assert changed.plan(changed=True) == NO_CHANGES
    assert changed.plan() == CHANGES  # An empty plan is then significant.
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
