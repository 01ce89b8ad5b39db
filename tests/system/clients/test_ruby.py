"""Version 1 of the SDK for Ruby, as Debian has it: the Query protocol, and a Host header without the port."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.support.clients.sdk_story import FACTS, LEFT, printed
from tests.support.clients.service_client import ROOT, Deployment, counts, sqs_client

SCRIPT = ROOT / "tests/support/clients/ruby/sdk.rb"


@pytest.mark.clients
def test_sdk(up: Deployment) -> None:
    assert shutil.which("ruby"), "ruby is missing: see requirements/clients-debian.txt"
    seen = printed(["ruby", str(SCRIPT), up.address, "ruby"])
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
        (left,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"], WaitTimeSeconds=20)[
            "Messages"
        ]
        assert (left["Body"], left["MessageAttributes"]) == ("left", LEFT)
        url = sqs.get_queue_url(QueueName="ruby-topic")["QueueUrl"]
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]
    (statement,) = json.loads(attributes["Policy"])["Statement"]
    assert statement["Effect"] == "Allow"
