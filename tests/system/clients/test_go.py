"""The SDKs for Go of Debian, which speak the Query protocol. Terraform's provider has the one that speaks JSON.

Debian's packages golang-go, golang-github-aws-aws-sdk-go-dev and golang-github-aws-aws-sdk-go-v2-dev; GOPATH names
another place of the sources.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.clients.scenario import FIFO, STANDARD, RefusedError, fifo, run_scenario, standard
from tests.support.clients.service_client import ROOT, Deployment

GOPATH = Path(os.environ.get("GOPATH", "/usr/share/gocode"))


def built(version: str, package: str, folder: Path) -> Path:
    """The program of a version of the SDK."""
    assert shutil.which("go"), "`make clients` needs Go, as Debian's golang-go"
    assert (GOPATH / "src/github.com/aws" / package).is_dir(), (
        f"the Go package {package} is not below {GOPATH}"
    )
    environment = {**os.environ, "GO111MODULE": "off", "GOPATH": str(GOPATH), "GOFLAGS": ""}
    program = folder / version
    command = ["go", "build", "-o", str(program), f"./tests/support/clients/go/{version}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


class Client:
    """A running program: it is given calls and prints their answers, one a line."""

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
        """Version 2 of that time leaves a timeout of 0 out of batches (its issue 2250), and SQS refuses that."""
        if method != "change_message_visibility_batch":
            return self.call(method, arguments)
        for entry in arguments["Entries"]:
            change = {name: entry[name] for name in ("ReceiptHandle", "VisibilityTimeout")}
            self.call("change_message_visibility", {"QueueUrl": arguments["QueueUrl"], **change})
        return {}


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _present(value: dict[str, Any]) -> dict[str, Any]:
    """Go prints members that were not in the answer as null, and bytes in base64."""
    present = {name: member for name, member in value.items() if member is not None}
    if "BinaryValue" in present:
        present["BinaryValue"] = base64.b64decode(present["BinaryValue"])
    return present


@pytest.mark.clients
@pytest.mark.parametrize(("version", "package"), [("v1", "aws-sdk-go"), ("v2", "aws-sdk-go-v2")])
def test_sdk(up: Deployment, tmp_path: Path, version: str, package: str) -> None:
    with subprocess.Popen(
        [str(built(version, package, tmp_path)), up.address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        client = Client(process)
        call = client.call_one_by_one if version == "v2" else client.call
        told = run_scenario(standard(f"go-{version}"), call), run_scenario(fifo(f"go-{version}.fifo"), call)
    assert process.returncode == 0
    assert told == (STANDARD, FIFO)
