"""Runs the workers in Node, Go and Java of examples/ (docs/guides/worker.md) until a signal ends them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.sdk_scenario import GO_ENVIRONMENT, JAVA_PROGRAMS, NODE_MODULES
from tests.support.clients.service_client import ROOT, Deployment, counts, sqs_client
from tests.support.clients.service_client import worker as running
from tests.support.wait import wait_until

pytestmark = pytest.mark.clients


def build(command: list[str], folder: Path, **variables: str) -> None:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def node(folder: Path) -> list[str]:
    (folder / "node_modules").symlink_to(NODE_MODULES / "node_modules")
    return ["node", str(folder / "worker.mjs")]


def go(folder: Path) -> list[str]:
    build(["go", "build", "-o", "worker", "."], folder, **GO_ENVIRONMENT)
    return [str(folder / "worker")]


def java(folder: Path) -> list[str]:
    path = f"{JAVA_PROGRAMS / 'sdk'}/lib/*"
    build(["javac", "-cp", path, "Worker.java"], folder)
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{path}:{folder}", "Worker"]


@pytest.mark.parametrize(
    ("language", "cause", "prepare"),
    [
        ("node", "Error: total is null", node),
        ("go", "total is null", go),
        ("java", "java.lang.IllegalArgumentException: total is null", java),
    ],
)
def test_a_worker(
    up: Deployment, tmp_path: Path, language: str, cause: str, prepare: Callable[[Path], list[str]]
) -> None:
    """The worker handles eleven messages. The twelfth fails, and becomes a dead letter with its cause."""
    shutil.copytree(ROOT / f"examples/worker_{language}", tmp_path, dirs_exist_ok=True)
    command = prepare(tmp_path)
    name, dead = f"worker-{language}", f"worker-{language}-dead"
    with sqs_client(up) as sqs:
        letters = sqs.create_queue(QueueName=dead)["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=letters, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})
        url = sqs.create_queue(QueueName=name, Attributes={"RedrivePolicy": policy})["QueueUrl"]
        for number in range(12):
            order = {"id": number, "total": None if number == 5 else 1}
            sqs.send_message(QueueUrl=url, MessageBody=json.dumps(order))
        variables = {**os.environ, "AWS_ENDPOINT_URL": up.address, "FIRST_PAUSE_SECONDS": "0"}
        with running([*command, url], variables, tmp_path / "log") as process:
            wait_until(lambda: counts(up, name) == ["0", "0", "0"] and counts(up, dead) == ["1", "0", "0"])
            process.send_signal(signal.SIGTERM)
            # Java's exit code names the signal.
            assert process.wait(60) == (143 if language == "java" else 0), (tmp_path / "log").read_text()
            process.returncode = 0
        (letter,) = sqs.receive_message(QueueUrl=letters, MessageAttributeNames=["All"], WaitTimeSeconds=5)["Messages"]
    assert json.loads(letter["Body"])["id"] == 5
    assert letter["MessageAttributes"]["PenstockError"]["StringValue"] == cause
