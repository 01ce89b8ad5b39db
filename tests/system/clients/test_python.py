"""Runs today's boto3, which speaks JSON, boto3 1.26, which speaks Query, aioboto3 for asyncio, and the command line
awscli."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.scenario import FIFO, STANDARD
from tests.support.clients.service_client import ROOT, Deployment
from tests.support.programs.penstock_up import Up


def facts(python: Path, module: str, up: Deployment) -> Any:
    """Returns the results of a client that runs in the environment of `python`."""
    assert python.exists(), f"{python} is missing: run `make clients`"
    command = [str(python), "-m", f"tests.support.clients.{module}", up.address]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


def test_awscli(up: Deployment) -> None:
    assert facts(Path(sys.executable), "awscli_client", up) == {"standard": STANDARD, "fifo": FIFO}


def test_the_command_that_is_printed_at_the_start_works(container: Up) -> None:
    command = container.lines[3].removeprefix("awscli ")
    variables = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, env=variables)
    assert json.loads(done.stdout) == {"QueueUrl": f"{container.address}/000000000000/hello"}


def installed(name: str) -> Path:
    return ROOT / ".tools/clients" / name / "bin/python"


def test_boto3(up: Deployment) -> None:
    seen = facts(Path(sys.executable), "boto3_client", up)
    assert seen == {"protocol": "json", "standard": STANDARD, "fifo": FIFO}


@pytest.mark.clients
def test_boto3_of_the_query_protocol(up: Deployment) -> None:
    seen = facts(installed("clients-old"), "boto3_client", up)
    assert seen == {"protocol": "query", "standard": STANDARD, "fifo": FIFO}


@pytest.mark.clients
def test_aioboto3(up: Deployment) -> None:
    seen = facts(installed("clients"), "aioboto3_client", up)
    assert seen == {"protocol": "json", "standard": STANDARD, "fifo": FIFO}
