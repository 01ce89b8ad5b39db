"""A Celery worker whose broker is `sqs://`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.clients.test_python import ROOT
from tests.up import Up
from tests.waiting import until

SEND = """
from tests.clients.celery_tasks import add, succeed_at_third
for queue in {queues}:
    for n in range(5):
        add.apply_async((n, 10), queue=queue)
    succeed_at_third.apply_async(("grüße",), queue=queue)
"""


@contextmanager
def worker(environment: dict[str, str], queues: list[str], log: Path) -> Iterator[None]:
    """A worker of one process; ended as an operator would, and it has to end well."""
    command = [sys.executable, "-m", "celery", "-A", "tests.clients.celery_tasks", "worker", "--pool", "solo"]
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "-Q", ",".join(queues), "--loglevel", "INFO"],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    assert process.returncode == 0, log.read_text()


def counts(up: Up, queue: str) -> list[str]:
    sqs: Any = boto3.client(
        "sqs",
        endpoint_url=up.address,
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
    )
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    sqs.close()
    return [attributes["ApproximateNumberOfMessages" + which] for which in ("", "NotVisible", "Delayed")]


@pytest.mark.parametrize("queue", ["celery", "celery.fifo"])
def test_every_task_is_done_once_and_retried_when_it_asks(up: Up, tmp_path: Path, queue: str) -> None:
    results, log = tmp_path / "results", tmp_path / "log"
    results.touch()
    environment = {
        **os.environ,
        "BROKER_URL": up.address.replace("http://", "sqs://x:x@"),
        "RESULTS": str(results),
    }
    with worker(environment, [queue], log):
        send = [sys.executable, "-c", SEND.format(queues=[queue])]
        subprocess.run(send, cwd=ROOT, env=environment, check=True)
        until(lambda: results.read_text().count("\n") >= 8)
        until(lambda: counts(up, queue) == ["0", "0", "0"])
    done = sorted(json.loads(line) for line in results.read_text().splitlines())
    assert done == [
        *(["add", n, 10, n + 10] for n in range(5)),
        *(["attempt", "grüße", retries] for retries in range(3)),
    ]
