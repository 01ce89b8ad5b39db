"""Defines the scenario of the SDKs for Java, Rust, PHP and Ruby, each in a separate program, and checks the results.

A program's arguments are an address and a name. If the service verifies keys, PENSTOCK_KEY and PENSTOCK_SECRET contain
the program's key. The program prints its results as JSON:

NAME         a long poll that begins before its message is sent; a message with attributes, and a batch with one refused
             entry; a visibility change to 0; single deletes and a batch delete; one message remains
NAME.fifo    two groups, a duplicate, a group that is blocked while a message is in flight, and its redelivery in order;
             `a3` remains in flight
topic NAME   a filtered subscription of NAME-topic with raw delivery; Publish, PublishBatch

Sources: SQS developer guide ("Amazon SQS visibility timeout", "FIFO queue delivery logic", "Exactly-once processing in
Amazon SQS"), API reference (SendMessageBatch: BatchResultErrorEntry; DelaySeconds is at most 900), SNS developer guide
("Amazon SNS message filtering", "Amazon SNS raw message delivery").
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.clients.service_client import ROOT, Deployment, client, counts, sqs_client

_TEXT = "grüße, 世界 <&>"

FACTS: dict[str, Any] = {
    "awaited": "awaited",
    "failed": [["late", "InvalidParameterValue", True]],
    "received": ["grüße, 世界 <&>", "three", "two"],
    "attributes": {"Text": "String tëxt", "Number": "Number -1.50", "Bytes": "Binary 0080ff"},
    "again": ["two", "2"],
    "deleted": 2,
    "unknown": "QueueDoesNotExist",
    "fifo": {
        "duplicate": True,
        "rising": True,
        "groups": {"a": ["a1", "a2"], "b": ["b1"]},
        "blocked": 0,
        "again": ["a1", "a2", "a3"],
        "deleted": 3,
    },
    "topic": [[_TEXT, "large"]],
}
LEFT = {
    "Text": {"DataType": "String", "StringValue": "tëxt"},
    "Number": {"DataType": "Number", "StringValue": "-1.50"},
    "Bytes": {"DataType": "Binary", "BinaryValue": b"\x00\x80\xff"},
}


def printed(command: Sequence[str], **variables: str) -> Any:
    """Returns a program's output as JSON. The program must succeed."""
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def check_what_is_left(up: Deployment, name: str) -> None:
    """Checks, with another client, the state that a program's scenario has left on the server."""
    assert counts(up, name) == ["1", "0", "0"]
    assert counts(up, f"{name}.fifo") == ["0", "1", "0"]
    assert counts(up, f"{name}-topic") == ["0", "0", "0"]
    with sqs_client(up) as sqs, client("sns", up) as sns:
        url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
        (left,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"], WaitTimeSeconds=20)["Messages"]
        assert (left["Body"], left["MessageAttributes"]) == ("left", LEFT)
        (topic,) = [
            topic["TopicArn"] for topic in sns.list_topics()["Topics"] if topic["TopicArn"].endswith(f":{name}")
        ]
        (subscription,) = sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
        arn = subscription["SubscriptionArn"]
        attributes = sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]
        assert json.loads(attributes["FilterPolicy"]) == {"kind": ["large"]}
        assert attributes["Endpoint"].endswith(f":{name}-topic")


# --- toolchains ------------------------------------------------------------------------------------------------------
# Runs the SDK programs for Go, Java and Node.js that `make clients` installs.

GO_SOURCES = ROOT / "tests/support/clients/go"
GO_MODULES = ROOT / ".tools/clients/go"
GO_ENVIRONMENT = {
    "GOPATH": str(GO_MODULES),
    "GOMODCACHE": str(GO_MODULES / "pkg/mod"),
    "GOCACHE": str(GO_MODULES / "cache"),
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
    # Go must not change the checksums, and `make clean` must be able to remove the downloads.
    "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false",
}


def build_go_program(generation: str, versions: str, folder: Path) -> Path:
    """Builds the program for an SDK generation with the versions in a modules file."""
    assert shutil.which("go"), "`make clients` needs Go 1.26 or newer"
    program = folder / generation
    command = ["go", "build", f"-modfile={versions}", "-o", str(program), f"./{generation}"]
    done = subprocess.run(
        command, cwd=GO_SOURCES, env={**os.environ, **GO_ENVIRONMENT}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return program


JAVA_PROGRAMS = ROOT / ".tools/clients/java"


def java_command(program: str, main: str, *arguments: str) -> list[str]:
    """Returns the command that runs a Java program. TieredStopAtLevel skips expensive optimisations, because the
    program ends soon.
    """
    folder = JAVA_PROGRAMS / program
    assert folder.is_dir(), f"{folder} is missing: run `make clients`"
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}/lib/*:{folder}/classes", main, *arguments]


NODE_MODULES = ROOT / ".tools/clients/node"
NODE_SCRIPTS = ROOT / "tests/support/clients/node"


def run_node_script(script: str, *arguments: str) -> Any:
    """Returns a script's output as JSON. The script's first argument is the folder of the packages."""
    assert (NODE_MODULES / "node_modules").is_dir(), f"{NODE_MODULES} is missing: run `make clients`"
    done = subprocess.run(
        ["node", str(NODE_SCRIPTS / script), str(NODE_MODULES), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
