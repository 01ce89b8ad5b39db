"""Defines the Dramatiq actors that the workers and the test's sender import."""

from __future__ import annotations

import os
from pathlib import Path

import dramatiq
from dramatiq.middleware import CurrentMessage
from dramatiq_sqs import SQSBroker

from tests.support.clients.task_results import note, notes
from tests.support.wait import wait_until

broker = SQSBroker(
    namespace=os.environ["NAMESPACE"],
    dead_letter=True,
    visibility_timeout=int(os.environ["VISIBILITY_SECONDS"]),
    tags={"of": "dramatiq"},
    endpoint_url=os.environ["ADDRESS"],
    region_name="us-east-1",
    aws_access_key_id="x",
    aws_secret_access_key="x",
)
broker.add_middleware(CurrentMessage())
dramatiq.set_broker(broker)

# The smallest delay of a message.
_RETRY_MS = 1000


class NotYetError(Exception):
    """The actor requests a retry."""


@dramatiq.actor  # type: ignore[untyped-decorator]
def add(a: int, b: int) -> None:
    note("add", a, b, a + b)


@dramatiq.actor(max_retries=2, min_backoff=_RETRY_MS, max_backoff=2 * _RETRY_MS)  # type: ignore[untyped-decorator]
def succeed_at_third(text: str) -> None:
    message = CurrentMessage.get_current_message()
    retries = message.options.get("retries", 0) if message else None
    note("attempt", text, retries)
    if retries != 2:
        raise NotYetError


@dramatiq.actor(max_retries=1, min_backoff=_RETRY_MS, max_backoff=_RETRY_MS)  # type: ignore[untyped-decorator]
def never_succeed(text: str) -> None:
    note("failure", text)
    raise NotYetError


@dramatiq.actor  # type: ignore[untyped-decorator]
def end_in_the_second_worker() -> None:
    """Never ends in the first worker, even after a redelivery to that worker."""
    note("start", os.getpid())
    wait_until(lambda: len({process for _, process in notes(Path(os.environ["RESULTS"]))}) == 2)
    note("end", os.getpid())
