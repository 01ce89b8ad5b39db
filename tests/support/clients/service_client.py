"""Calls the service for the tests, and runs the workers of client frameworks."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import boto3

from tests.support.wait import MAX_SECONDS

ROOT = Path(__file__).parents[3]


class Deployment(Protocol):
    """Describes an installation that has an address, such as tests.support.programs.penstock_up.Up."""

    @property
    def address(self) -> str: ...


@contextmanager
def client(service: str, up: Deployment, account: str = "x") -> Iterator[Any]:
    """Yields a boto3 client. An access key id of 12 digits is the account. With any other id the account is
    000000000000.
    """
    client: Any = boto3.client(
        service, endpoint_url=up.address, region_name="us-east-1", aws_access_key_id=account, aws_secret_access_key="x"
    )
    try:
        yield client
    finally:
        client.close()


def sqs_client(up: Deployment, account: str = "x") -> AbstractContextManager[Any]:
    return client("sqs", up, account)


def counts(up: Deployment, queue: str) -> list[str]:
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return [attributes["ApproximateNumberOfMessages" + which] for which in ("", "NotVisible", "Delayed")]


@contextmanager
def worker(command: Sequence[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a framework's worker and ends it with a signal. The worker must exit with code 0 unless the test has killed
    the worker.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        process.wait(MAX_SECONDS)
    assert process.returncode in (0, -signal.SIGKILL), log.read_text()


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kills a worker and its children."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(MAX_SECONDS)
