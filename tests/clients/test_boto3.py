"""boto3 of today speaks JSON, boto3 1.26 speaks Query; aioboto3 is what asyncio applications use."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clients.story import FIFO, STANDARD
from tests.up import Up

ROOT = Path(__file__).parents[2]


def facts(python: Path, module: str, up: Up) -> Any:
    """What a client saw that runs in the environment of `python`."""
    assert python.exists(), f"{python} is missing: run `make clients`"
    command = [python, "-m", f"tests.clients.{module}", up.address]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


def installed(name: str) -> Path:
    return ROOT / ".tools/clients" / name / "bin/python"


def test_boto3(up: Up) -> None:
    seen = facts(Path(sys.executable), "boto3_client", up)
    assert seen == {"protocol": "json", "standard": STANDARD, "fifo": FIFO}


@pytest.mark.clients
def test_boto3_of_the_query_protocol(up: Up) -> None:
    seen = facts(installed("old"), "boto3_client", up)
    assert seen == {"protocol": "query", "standard": STANDARD, "fifo": FIFO}


@pytest.mark.clients
def test_aioboto3(up: Up) -> None:
    seen = facts(installed("async"), "aioboto3_client", up)
    assert seen == {"protocol": "json", "standard": STANDARD, "fifo": FIFO}
