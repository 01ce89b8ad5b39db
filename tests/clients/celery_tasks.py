"""Tasks of the Celery test, imported by the worker's process and by the test."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from celery import Celery

# Nothing but the broker's address says that it is not AWS.
app = Celery(broker=os.environ["BROKER_URL"])
app.conf.update(
    broker_transport_options={
        "region": "us-east-1",
        "visibility_timeout": 600,
        "wait_time_seconds": 5,
        "polling_interval": 0.1,
    },
    task_acks_late=True,
    task_ignore_result=True,
)


def note(*what: object) -> None:
    """Add a line to the file that the test reads."""
    with Path(os.environ["RESULTS"]).open("a") as file:
        file.write(json.dumps(what) + "\n")


@app.task  # type: ignore[untyped-decorator]
def add(a: int, b: int) -> None:
    note("add", a, b, a + b)


@app.task(bind=True, max_retries=2)  # type: ignore[untyped-decorator]
def succeed_at_third(self: Any, text: str) -> None:
    note("attempt", text, self.request.retries)
    if self.request.retries < 2:
        raise self.retry(countdown=0)
