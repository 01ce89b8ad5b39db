"""Runs a Dramatiq worker with dramatiq-sqs as its broker.

docs/guides/recipes.md has the settings.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.clients.service_client import ROOT, Deployment, counts, kill, sqs_client, worker
from tests.support.clients.task_results import notes
from tests.support.wait import wait_until

PYTHON = ROOT / ".tools/clients/clients/bin/python"
COMMAND = [str(PYTHON), "-m", "dramatiq", "tests.support.clients.dramatiq_actors", "--processes", "1", "--threads", "2"]
SEND = """
from tests.support.clients.dramatiq_actors import add, never_succeed, succeed_at_third
for n in range(5):
    add.send(n, 10)
succeed_at_third.send("grüße")
never_succeed.send("世界")
"""
SEND_ONE = "from tests.support.clients.dramatiq_actors import end_in_the_second_worker as actor; actor.send()"
NOTHING = ["0", "0", "0"]


def environment(up: Deployment, results: Path, namespace: str, visibility_seconds: int) -> dict[str, str]:
    assert PYTHON.exists(), f"{PYTHON} is missing: run `make clients`"
    results.touch()
    return {
        **os.environ,
        "ADDRESS": up.address,
        "NAMESPACE": namespace,
        "RESULTS": str(results),
        "VISIBILITY_SECONDS": str(visibility_seconds),
    }


def send(code: str, variables: dict[str, str]) -> None:
    subprocess.run([str(PYTHON), "-c", code], cwd=ROOT, env=variables, check=True)


def dead_letter(up: Deployment, queue: str) -> tuple[str, list[str], dict[str, str]]:
    """Returns actor and arguments of the only message of a dead-letter queue, and the queue's tags."""
    with sqs_client(up) as sqs:
        url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        (message,) = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        tags = sqs.list_queue_tags(QueueUrl=url)["Tags"]
    task = json.loads(base64.b64decode(message["Body"]))
    return task["actor_name"], task["args"], tags


@pytest.mark.clients
def test_actors_are_run_retried_after_a_delay_and_put_aside(up: Deployment, tmp_path: Path) -> None:
    results = tmp_path / "results"
    variables = environment(up, results, "dramatiq", 600)
    with worker(COMMAND, variables, tmp_path / "log"):
        send(SEND, variables)
        wait_until(lambda: len(notes(results)) >= 10)
        wait_until(lambda: counts(up, "dramatiq_default") == NOTHING)
    assert sorted(notes(results), key=str) == [
        *(["add", n, 10, n + 10] for n in range(5)),
        *(["attempt", "grüße", retries] for retries in range(3)),
        *[["failure", "世界"]] * 2,
    ]
    expected = "never_succeed", ["世界"], {"of": "dramatiq"}
    assert dead_letter(up, "dramatiq_default_dlq") == expected


@pytest.mark.clients
def test_the_actor_of_a_killed_worker_is_run_by_another(up: Deployment, tmp_path: Path) -> None:
    """The second worker has enough time on any machine, so its message does not come back during the run."""
    results = tmp_path / "results"
    variables = environment(up, results, "killed", 2)
    with worker(COMMAND, variables, tmp_path / "killed") as process:
        send(SEND_ONE, variables)
        wait_until(lambda: bool(notes(results)))
        kill(process)
    with worker(COMMAND, environment(up, results, "killed", 600), tmp_path / "log"):
        wait_until(lambda: notes(results)[-1][0] == "end")
        wait_until(lambda: counts(up, "killed_default") == NOTHING)
