"""Runs async-aws, Symfony Messenger with its transport for SQS, and the SDK for Ruby, from Debian's packages.

docs/guides/recipes.md has the settings.
"""

from __future__ import annotations

import json
import shutil

import pytest

from tests.support.clients.sdk_scenario import FACTS, LEFT, check_what_is_left, printed
from tests.support.clients.service_client import ROOT, Deployment, counts, sqs_client

SCRIPTS = ROOT / "tests/support/clients"

pytestmark = pytest.mark.clients


def command(script: str, *arguments: str) -> list[str]:
    assert shutil.which("php"), "php is missing: see infra/local/install_debian_clients.sh"
    return ["php", str(SCRIPTS / script), *arguments]


def test_async_aws(up: Deployment) -> None:
    """Version 1 speaks Query. Version 1 has codes for errors of SQS, and no classes."""
    seen = printed(command("php/sdk.php", up.address, "php"))
    assert seen == {**FACTS, "unknown": "AWS.SimpleQueueService.NonExistentQueue"}
    check_what_is_left(up, "php")


def test_symfony_messenger(up: Deployment) -> None:
    """The transport creates its queues. A worker takes from both, and gives back messages that it has fetched and not
    handled."""
    assert printed(command("php/messenger.php", up.address)) == {
        "waiting": 2,
        "standard": ["grüße", "late", "three", "two"],
        "fifo": ["a1", "a2"],
    }
    assert counts(up, "messenger") == ["1", "0", "0"]
    assert counts(up, "messenger.fifo") == ["0", "0", "0"]


def test_ruby(up: Deployment) -> None:
    """Version 1 speaks Query, knows no FIFO queues, and sends a Host header without the port."""
    assert shutil.which("ruby"), "ruby is missing: see infra/local/install_debian_clients.sh"
    seen = printed(["ruby", str(SCRIPTS / "ruby/sdk.rb"), up.address, "ruby"])
    assert seen == {
        **{name: FACTS[name] for name in ("awaited", "failed", "received", "attributes")},
        "again": ["two", 2],
        "unknown": "AWS.SimpleQueueService.NonExistentQueue",
        "topic": {"body": "grüße, 世界 <&>", "subject": "of the topic", "topic": "ruby"},
    }
    assert counts(up, "ruby") == ["1", "0", "0"]
    assert counts(up, "ruby-topic") == ["0", "0", "0"]
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName="ruby")["QueueUrl"]
        (left,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"], WaitTimeSeconds=20)["Messages"]
        assert (left["Body"], left["MessageAttributes"]) == ("left", LEFT)
        url = sqs.get_queue_url(QueueName="ruby-topic")["QueueUrl"]
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]
    (statement,) = json.loads(attributes["Policy"])["Statement"]
    assert statement["Effect"] == "Allow"
