"""URLs that take longer than the queue's visibility timeout. This is our extension: on AWS a function has a timeout."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from tests.support.mappings.functions import Refusal
from tests.support.mappings.harness import Harness
from tests.support.wait import wait_until

HIDDEN_SECONDS = """select min(extract(epoch from m.visible_at - clock_timestamp()))
    from queue.live_message m join queue.queues q using (queue_id) where q.name = %s and m.state = 'in_flight'"""


def hidden_seconds(harness: Harness, arn: str) -> float:
    """How long the messages of a queue stay invisible from now on."""
    with psycopg.connect(harness.dsn) as db:
        row = db.execute(HIDDEN_SECONDS, (arn.split(":")[5],)).fetchone()
    return float(row[0]) if row is not None and row[0] is not None else 0.0


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_messages_stay_invisible_while_a_url_handles_them(harness: Harness, fifo: bool) -> None:
    """Of the queue's one second nothing would be left when the URL answers."""
    goes_on = threading.Event()

    def waits(_: Any) -> None:
        assert goes_on.wait(60)

    url, arn = harness.queue(VisibilityTimeout="1", **({"FifoQueue": "true"} if fifo else {}))
    path = f"/slow-{fifo}"
    harness.functions.functions[path] = waits
    harness.map(arn, harness.functions.url + path)
    for body in ("a", "b"):
        members = {"MessageGroupId": "g", "MessageDeduplicationId": body} if fifo else {}
        harness.sqs.send_message(QueueUrl=url, MessageBody=body, **members)
    harness.functions.wait(lambda: bool(harness.invocations(path)))
    wait_until(lambda: hidden_seconds(harness, arn) > 20)
    goes_on.set()
    harness.until_empty(url)
    assert sorted(harness.seen(path)) == ["a", "b"]


def test_what_a_url_refuses_comes_again_after_the_queues_timeout(harness: Harness) -> None:
    """Not after the time for which its messages were held."""
    began, goes_on = threading.Event(), threading.Event()

    def refuses_once(_: Any) -> None:
        if not began.is_set():
            began.set()
            assert goes_on.wait(60)
            raise Refusal(500, "error")

    url, arn = harness.queue(VisibilityTimeout="2")
    harness.functions.functions["/refuses"] = refuses_once
    harness.map(arn, harness.functions.url + "/refuses")
    harness.sqs.send_message(QueueUrl=url, MessageBody="m")
    assert began.wait(30)
    wait_until(lambda: hidden_seconds(harness, arn) > 20)
    goes_on.set()
    wait_until(lambda: hidden_seconds(harness, arn) <= 2)
    harness.until_empty(url)
    assert harness.seen("/refuses") == ["m", "m"]
