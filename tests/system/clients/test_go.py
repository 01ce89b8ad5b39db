"""Runs both generations of the SDK for Go, each in today's protocol and in the protocol from before November 2023.

In tests/support/clients/go, go.mod has today's versions, which speak JSON, and query.mod older ones, which
speak Query. pubsub.mod has gocloud.dev, which needs Go 1.26.
The first build downloads them to .tools/clients/go. go.sum, query.sum and pubsub.sum have their digests.

docs/guides/recipes.md has the settings.
"""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.clients.scenario import FIFO, STANDARD, RefusedError, fifo, run_scenario, standard
from tests.support.clients.sdk_scenario import printed
from tests.support.clients.service_client import Deployment, client, counts, sqs_client
from tests.support.clients.toolchains import build_go_program


class Client:
    """A running program that gets calls and prints their answers, one in each line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin
        assert process.stdout
        self._input: IO[str] = process.stdin
        self._output: IO[str] = process.stdout

    def call(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Raises RefusedError with the code that the SDK gives the error."""
        action = "".join(part.capitalize() for part in method.split("_"))
        asked = json.dumps({"Action": action, "Input": arguments}, default=_base64)
        self._input.write(asked + "\n")
        self._input.flush()
        answer = json.loads(self._output.readline(), object_hook=_present)
        if "Code" in answer:
            raise RefusedError(answer["Code"])
        return dict(answer["Output"])

    def call_one_by_one(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Makes the calls one by one. Until 1.34.6 version 2 left a timeout of 0 out of batches (its issue 2250), and
        SQS refuses that."""
        if method != "change_message_visibility_batch":
            return self.call(method, arguments)
        for entry in arguments["Entries"]:
            change = {name: entry[name] for name in ("ReceiptHandle", "VisibilityTimeout")}
            self.call("change_message_visibility", {"QueueUrl": arguments["QueueUrl"], **change})
        return {}


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _present(value: dict[str, Any]) -> dict[str, Any]:
    """Removes members that were not in the answer. Go prints them as null, and bytes in base64."""
    present = {name: member for name, member in value.items() if member is not None}
    if "BinaryValue" in present:
        present["BinaryValue"] = base64.b64decode(present["BinaryValue"])
    return present


@pytest.mark.clients
@pytest.mark.parametrize("versions", ["go.mod", "query.mod"])
@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_sdk(up: Deployment, tmp_path: Path, generation: str, versions: str) -> None:
    name = f"go-{generation}-{Path(versions).stem}"
    with subprocess.Popen(
        [str(build_go_program(generation, versions, tmp_path)), up.address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        client = Client(process)
        call = client.call_one_by_one if (generation, versions) == ("v2", "query.mod") else client.call
        told = run_scenario(standard(name), call), run_scenario(fifo(f"{name}.fifo"), call)
    assert process.returncode == 0
    assert told == (STANDARD, FIFO)


@pytest.mark.clients
def test_pubsub(up: Deployment, tmp_path: Path) -> None:
    """gocloud.dev/pubsub over SQS and over SNS. The test's bodies are not UTF-8, so gocloud.dev encodes the bodies."""
    with client("sns", up) as sns, sqs_client(up) as sqs:
        direct, subscribed = (sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("go-pubsub", "go-subscribed"))
        topic = sns.create_topic(Name="go-pubsub")["TopicArn"]
        queue = "arn:aws:sqs:us-east-1:000000000000:go-subscribed"
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue)
    program = build_go_program("pubsub", "pubsub.mod", tmp_path)
    exchanged = {
        "first": base64.b64encode("grüße ".encode() + b"\xff 0").decode(),
        "messages": 25, "returned": True, "text": "x y",
    }  # fmt: skip
    assert printed([str(program), up.address, direct, subscribed, topic]) == {"sqs": exchanged, "sns": exchanged}
    assert counts(up, "go-pubsub") == counts(up, "go-subscribed") == ["0", "0", "0"]
