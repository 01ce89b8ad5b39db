"""Defines the Celery tasks that the worker and the test import."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from celery import Celery

from tests.support.clients.task_results import note, notes
from tests.support.wait import wait_until

app = Celery(broker=os.environ["BROKER_URL"])
app.conf.update(
    broker_transport_options={
        "region": "us-east-1",
        "visibility_timeout": int(os.environ["VISIBILITY_SECONDS"]),
        "wait_time_seconds": 5,
        "polling_interval": 0.1,
    },
    task_acks_late=True,
    task_ignore_result=True,
)


@app.task  # type: ignore[untyped-decorator]
def add(a: int, b: int) -> None:
    note("add", a, b, a + b)


@app.task(bind=True, max_retries=2)  # type: ignore[untyped-decorator]
def succeed_at_third(self: Any, text: str) -> None:
    note("attempt", text, self.request.retries)
    if self.request.retries < 2:
        raise self.retry(countdown=0)


@app.task  # type: ignore[untyped-decorator]
def end_when_started_twice() -> None:
    """Ends after the redelivery, because the task takes longer than the visibility timeout."""
    note("start")
    wait_until(lambda: notes(Path(os.environ["RESULTS"])).count(["start"]) >= 2)
    note("end")
