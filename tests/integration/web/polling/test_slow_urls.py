"""URLs that take longer than the queue's visibility timeout. This is our extension: on AWS a function has a timeout."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from tests.support.mappings.functions import Refusal
from tests.support.wait import wait_until

from .conftest import World

HIDDEN_SECONDS = """select min(extract(epoch from m.visible_at - clock_timestamp()))
    from queue.live_message m join queue.queues q using (queue_id) where q.name = %s and m.state = 'in_flight'"""


def hidden_seconds(world: World, arn: str) -> float:
    """How long the messages of a queue stay invisible from now on."""
    with psycopg.connect(world.dsn) as db:
        row = db.execute(HIDDEN_SECONDS, (arn.split(":")[5],)).fetchone()
    return float(row[0]) if row is not None and row[0] is not None else 0.0


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_messages_stay_invisible_while_a_url_handles_them(world: World, fifo: bool) -> None:
    """Of the queue's one second nothing would be left when the URL answers."""
    goes_on = threading.Event()

    def waits(_: Any) -> None:
        assert goes_on.wait(60)

    url, arn = world.queue(VisibilityTimeout="1", **({"FifoQueue": "true"} if fifo else {}))
    path = f"/slow-{fifo}"
    world.functions.functions[path] = waits
    world.map(arn, world.functions.url + path)
    for body in ("a", "b"):
        members = {"MessageGroupId": "g", "MessageDeduplicationId": body} if fifo else {}
        world.sqs.send_message(QueueUrl=url, MessageBody=body, **members)
    world.functions.wait(lambda: bool(world.invocations(path)))
    wait_until(lambda: hidden_seconds(world, arn) > 20)
    goes_on.set()
    world.until_empty(url)
    assert sorted(world.seen(path)) == ["a", "b"]


def test_what_a_url_refuses_comes_again_after_the_queues_timeout(world: World) -> None:
    """Not after the time for which its messages were held."""
    began, goes_on = threading.Event(), threading.Event()

    def refuses_once(_: Any) -> None:
        if not began.is_set():
            began.set()
            assert goes_on.wait(60)
            raise Refusal(500, "error")

    url, arn = world.queue(VisibilityTimeout="2")
    world.functions.functions["/refuses"] = refuses_once
    world.map(arn, world.functions.url + "/refuses")
    world.sqs.send_message(QueueUrl=url, MessageBody="m")
    assert began.wait(30)
    wait_until(lambda: hidden_seconds(world, arn) > 20)
    goes_on.set()
    wait_until(lambda: hidden_seconds(world, arn) <= 2)
    world.until_empty(url)
    assert world.seen("/refuses") == ["m", "m"]
