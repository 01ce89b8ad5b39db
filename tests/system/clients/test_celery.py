"""Runs a Celery worker whose broker is `sqs://`.

docs/guides/recipes.md has the settings.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.clients.service_client import ROOT, Deployment, counts, kill, worker
from tests.support.clients.task_results import notes
from tests.support.wait import wait_until

SEND = """
from tests.support.clients.celery_tasks import add, succeed_at_third
for n in range(5):
    add.apply_async((n, 10), queue={queue!r})
succeed_at_third.apply_async(("grüße",), queue={queue!r})
"""
SEND_ONE = """
from tests.support.clients.celery_tasks import end_when_started_twice
end_when_started_twice.apply_async(queue={queue!r})
"""


def environment(up: Deployment, results: Path, visibility_seconds: int) -> dict[str, str]:
    results.touch()
    return {
        **os.environ,
        "BROKER_URL": up.address.replace("http://", "sqs://x:x@"),
        "RESULTS": str(results),
        "VISIBILITY_SECONDS": str(visibility_seconds),
    }


def command(queue: str, *options: str) -> list[str]:
    celery = [sys.executable, "-m", "celery", "-A", "tests.support.clients.celery_tasks", "worker"]
    return [*celery, "-Q", queue, "--loglevel", "INFO", *options]


def send(code: str, queue: str, variables: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", code.format(queue=queue)], cwd=ROOT, env=variables, check=True)


@pytest.mark.parametrize("queue", ["celery", "celery.fifo"])
def test_every_task_is_done_once_and_retried_when_it_asks(up: Deployment, tmp_path: Path, queue: str) -> None:
    results = tmp_path / "results"
    variables = environment(up, results, 600)
    with worker(command(queue, "--pool", "solo"), variables, tmp_path / "log"):
        send(SEND, queue, variables)
        wait_until(lambda: len(notes(results)) >= 8)
        wait_until(lambda: counts(up, queue) == ["0", "0", "0"])
    assert sorted(notes(results), key=str) == [
        *(["add", n, 10, n + 10] for n in range(5)),
        *(["attempt", "grüße", retries] for retries in range(3)),
    ]


@pytest.mark.clients
def test_a_task_that_outlives_its_visibility_timeout_comes_again(up: Deployment, tmp_path: Path) -> None:
    queue, results = "celery-outlived", tmp_path / "results"
    variables = environment(up, results, 2)
    with worker(command(queue, "--pool", "threads", "--concurrency", "2"), variables, tmp_path / "log"):
        send(SEND_ONE, queue, variables)
        wait_until(lambda: notes(results).count(["end"]) >= 2)
        wait_until(lambda: counts(up, queue) == ["0", "0", "0"])
    assert notes(results)[:2] == [["start"], ["start"]]


@pytest.mark.clients
@pytest.mark.parametrize("queue", ["celery-killed", "celery-killed.fifo"])
def test_the_task_of_a_killed_worker_is_done_by_another(up: Deployment, tmp_path: Path, queue: str) -> None:
    results = tmp_path / "results"
    variables = environment(up, results, 2)
    with worker(command(queue, "--pool", "solo"), variables, tmp_path / "killed") as process:
        send(SEND_ONE, queue, variables)
        wait_until(lambda: notes(results) == [["start"]])
        kill(process)
    with worker(command(queue, "--pool", "solo"), variables, tmp_path / "log"):
        wait_until(lambda: notes(results)[:3] == [["start"], ["start"], ["end"]])
        wait_until(lambda: counts(up, queue) == ["0", "0", "0"])
