"""Tests StartMessageMoveTask, ListMessageMoveTasks and CancelMessageMoveTask.

The sources are the API reference and the Developer Guide, "Configure a dead-letter queue redrive" and "Troubleshoot
dead-letter queue and DLQ redrive issues".
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from contextlib import ExitStack, closing
from typing import Any

import pytest

from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import Deployments
from tests.support.conformance.sqs import Sqs
from tests.support.database import Database
from tests.support.functions.server import Functions
from tests.support.wait import wait_until

ATTRIBUTES = {"kind": {"DataType": "String", "StringValue": "order"}}
BOTH = pytest.mark.parametrize("suffix", ["", ".fifo"])


def create(sqs: Sqs, suffix: str, **attributes: str) -> str:
    return sqs.create_fifo(**attributes) if suffix else sqs.create(**attributes)


def dead_queue(sqs: Sqs, suffix: str, sources: int = 1) -> tuple[str, ...]:
    """Creates a dead-letter queue and its source queues."""
    dead = create(sqs, suffix)
    policy = json.dumps({"deadLetterTargetArn": sqs.arn(dead), "maxReceiveCount": 1})
    return dead, *(create(sqs, suffix, RedrivePolicy=policy) for _ in range(sources))


def send(sqs: Sqs, url: str, *bodies: str) -> None:
    for body in bodies:
        more = {"MessageGroupId": "g", "MessageDeduplicationId": body} if url.endswith(".fifo") else {}
        sqs.send(url, body, MessageAttributes=ATTRIBUTES, **more)


def poison(sqs: Sqs, url: str, *bodies: str) -> None:
    """Sends messages and moves them to the dead-letter queue."""
    send(sqs, url, *bodies)
    sqs.receive(url, len(bodies), VisibilityTimeout=0)
    while sum(sqs.counts(url)):
        assert sqs.poll(url) == []


def start(sqs: Sqs, source: str, **more: Any) -> str:
    return str(sqs.client.start_message_move_task(SourceArn=sqs.arn(source), **more)["TaskHandle"])


def listed(sqs: Sqs, source: str, **more: Any) -> list[dict[str, Any]]:
    """Returns the tasks that ListMessageMoveTasks lists. The Query protocol's flattened XML has no element for an empty
    list."""
    return list(sqs.client.list_message_move_tasks(SourceArn=sqs.arn(source), **more).get("Results", []))


def cancel(sqs: Sqs, handle: str) -> int:
    response = sqs.client.cancel_message_move_task(TaskHandle=handle)
    return int(response["ApproximateNumberOfMessagesMoved"])


# --- moving ----------------------------------------------------------------------------------------------------------
@BOTH
def test_messages_return_to_the_queues_they_came_from(sqs: Sqs, suffix: str) -> None:
    dead, one, two = dead_queue(sqs, suffix, 2)
    poison(sqs, one, "1", "2")
    poison(sqs, two, "3")
    start(sqs, dead)
    assert sqs.clock.move(sqs.arn(dead)) == 3
    assert sqs.counts(dead) == (0, 0, 0)
    names = ["All"]
    returned = sqs.receive(one, 2, AttributeNames=names, MessageAttributeNames=names)
    assert sorted(message["Body"] for message in returned) == ["1", "2"]
    for message in returned:
        assert message["MessageAttributes"] == ATTRIBUTES
        assert message["Attributes"]["ApproximateReceiveCount"] == "1"
        assert "DeadLetterQueueSourceArn" not in message["Attributes"]
    assert sqs.receive_one(two)["Body"] == "3"


@BOTH
def test_messages_move_to_the_destination(sqs: Sqs, suffix: str) -> None:
    """The task also moves messages that a client sent directly to the dead-letter queue."""
    dead, url = dead_queue(sqs, suffix)
    other = create(sqs, suffix)
    poison(sqs, url, "poison")
    send(sqs, dead, "direct")
    start(sqs, dead, DestinationArn=sqs.arn(other))
    assert sqs.clock.move(sqs.arn(dead)) == 2
    assert sorted(message["Body"] for message in sqs.receive(other, 2)) == ["direct", "poison"]
    (task,) = listed(sqs, dead)
    assert (task["Status"], task["DestinationArn"]) == ("COMPLETED", sqs.arn(other))


def test_redriven_messages_are_new_messages(sqs: Sqs) -> None:
    """The task resets the retention period, and assigns a new messageID and enqueueTime (Developer Guide)."""
    dead, url = dead_queue(sqs, "")
    poison(sqs, url, "m")
    sqs.clock.advance(1000)
    old = sqs.receive_one(dead, VisibilityTimeout=0, AttributeNames=["SentTimestamp"])
    start(sqs, dead)
    sqs.clock.move(sqs.arn(dead))
    new = sqs.receive_one(url, AttributeNames=["SentTimestamp"])
    assert new["MessageId"] != old["MessageId"]
    assert int(new["Attributes"]["SentTimestamp"]) >= int(old["Attributes"]["SentTimestamp"]) + 1_000_000


def test_messages_in_flight_are_not_moved(sqs: Sqs) -> None:
    dead, url = dead_queue(sqs, "")
    poison(sqs, url, "1", "2")
    held = sqs.receive_one(dead)
    start(sqs, dead)
    assert sqs.clock.move(sqs.arn(dead)) == 1
    assert listed(sqs, dead)[0]["Status"] == "COMPLETED"
    assert (sqs.counts(dead), sqs.counts(url)) == ((0, 1, 0), (1, 0, 0))
    sqs.delete(dead, held)
    assert sqs.counts(dead) == (0, 0, 0)


def test_the_rate_is_kept(sqs: Sqs) -> None:
    """A run moves at most the messages of one second, and later runs move the other messages."""
    dead, url = dead_queue(sqs, "")
    poison(sqs, url, *"abcde")
    began = sqs.clock.now()
    start(sqs, dead, MaxNumberOfMessagesPerSecond=1)
    sqs.clock.advance(1)
    moved = sqs.clock.move(sqs.arn(dead))
    assert 1 <= moved <= 2 + (sqs.clock.now() - began).total_seconds()
    assert listed(sqs, dead)[0]["Status"] == ("RUNNING" if moved < 5 else "COMPLETED")
    for _ in range(4):
        sqs.clock.advance(100)
        sqs.clock.move(sqs.arn(dead))
    assert listed(sqs, dead)[0]["Status"] == "COMPLETED"
    assert sqs.counts(url) == (5, 0, 0)


@pytest.mark.parametrize("deployment", ["container", "lambda"])
def test_the_worker_of_each_deployment_moves(database: Database, deployment: str) -> None:
    """The worker runs in the container and in a scheduled function, on a database with real time."""
    with ExitStack() as stack, closing(Clock(database.dsn)) as clock:
        sqs = Sqs(Deployments(database, stack), clock, deployment, "json", settings={"QUEUE_MOVE_INTERVAL_MS": "20"})
        dead, url = dead_queue(sqs, "")
        poison(sqs, url, "1", "2")
        start(sqs, dead)
        if deployment == "lambda":
            functions = stack.enter_context(Functions(database.pooled_dsn))
            assert functions.invoke("move", {"source": "aws.scheduler"})["messages"] == 2
        wait_until(lambda: listed(sqs, dead)[0]["Status"] == "COMPLETED")
        assert (sqs.counts(dead), sqs.counts(url)) == ((0, 0, 0), (2, 0, 0))


# --- failing ---------------------------------------------------------------------------------------------------------
def test_a_message_sent_to_the_dead_letter_queue_has_no_queue_to_return_to(sqs: Sqs) -> None:
    dead, _ = dead_queue(sqs, "")
    send(sqs, dead, "direct")
    start(sqs, dead)
    assert sqs.clock.move(sqs.arn(dead)) == 0
    (task,) = listed(sqs, dead)
    assert (task["Status"], task["FailureReason"]) == ("FAILED", "CouldNotDetermineMessageSource")
    assert sqs.counts(dead) == (1, 0, 0)


def test_a_source_that_was_deleted_fails_the_task(sqs: Sqs) -> None:
    dead, url, _ = dead_queue(sqs, "", 2)
    poison(sqs, url, "m")
    sqs.client.delete_queue(QueueUrl=url)
    start(sqs, dead)
    assert sqs.clock.move(sqs.arn(dead)) == 0
    (task,) = listed(sqs, dead)
    assert (task["Status"], task["FailureReason"]) == ("FAILED", "AWS.SimpleQueueService.NonExistentQueue")
    assert sqs.counts(dead) == (1, 0, 0)


# --- tasks -----------------------------------------------------------------------------------------------------------
def test_a_listed_task_has_these_members(sqs: Sqs) -> None:
    """A running task has a handle. The response lacks the members that the request omitted. Times are in milliseconds
    since 1970.
    """
    dead, url = dead_queue(sqs, "")
    assert listed(sqs, dead) == []
    poison(sqs, url, "1", "2")
    before = sqs.clock.now().timestamp()
    handle = start(sqs, dead, MaxNumberOfMessagesPerSecond=500)
    (task,) = listed(sqs, dead)
    assert before * 1000 - 1 <= task.pop("StartedTimestamp") <= sqs.clock.now().timestamp() * 1000 + 1
    assert task == {
        "TaskHandle": handle,
        "Status": "RUNNING",
        "SourceArn": sqs.arn(dead),
        "MaxNumberOfMessagesPerSecond": 500,
        "ApproximateNumberOfMessagesMoved": 0,
        "ApproximateNumberOfMessagesToMove": 2,
    }
    sqs.clock.advance(10)
    sqs.clock.move(sqs.arn(dead))
    (task,) = listed(sqs, dead)
    assert (task["Status"], task["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 2)
    assert not {"TaskHandle", "FailureReason", "DestinationArn"} & task.keys()


def test_the_handle_names_task_and_source(sqs: Sqs) -> None:
    """Clients treat the handle as opaque. Penstock's handle is base64 of JSON, as AWS's handle is."""
    dead, _ = dead_queue(sqs, "")
    content = json.loads(b64decode(start(sqs, dead)))
    assert content.keys() == {"taskId", "sourceArn"}
    assert content["sourceArn"] == sqs.arn(dead)


def test_the_last_tasks_are_listed_newest_first(sqs: Sqs) -> None:
    dead, _ = dead_queue(sqs, "")
    handles = []
    for _ in range(11):
        handles.append(start(sqs, dead))
        cancel(sqs, handles[-1])
    assert len(listed(sqs, dead)) == 1
    assert len(listed(sqs, dead, MaxResults=3)) == 3
    tasks = listed(sqs, dead, MaxResults=10)
    times = [task["StartedTimestamp"] for task in tasks]
    assert len(tasks) == 10
    assert times == sorted(times, reverse=True)
    assert {task["Status"] for task in tasks} == {"CANCELLED"}


def test_one_task_of_a_queue_runs_at_a_time(sqs: Sqs) -> None:
    dead, _ = dead_queue(sqs, "")
    other, _ = dead_queue(sqs, "")
    start(sqs, dead)
    start(sqs, other)
    refusal = sqs.refusal("start_message_move_task", SourceArn=sqs.arn(dead))
    assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
    assert "Only one active task is allowed" in refusal.message
    sqs.clock.move(sqs.arn(dead))
    start(sqs, dead)


def test_a_cancelled_task_keeps_what_it_moved(sqs: Sqs) -> None:
    dead, url = dead_queue(sqs, "")
    poison(sqs, url, *"abcdefghijklmnopqrstuvwxyz")
    handle = start(sqs, dead, MaxNumberOfMessagesPerSecond=1)
    sqs.clock.advance(100)
    moved = sqs.clock.move(sqs.arn(dead))
    assert 1 <= moved < 26
    assert cancel(sqs, handle) == moved
    sqs.clock.advance(100)
    assert sqs.clock.move(sqs.arn(dead)) == 0
    (task,) = listed(sqs, dead)
    assert (task["Status"], task["ApproximateNumberOfMessagesMoved"]) == ("CANCELLED", moved)
    assert (sqs.counts(dead), sqs.counts(url)) == ((26 - moved, 0, 0), (moved, 0, 0))
    refusal = sqs.refusal("cancel_message_move_task", TaskHandle=handle)
    assert (refusal.code, refusal.status) == ("ResourceNotFoundException", 404)


# --- refusals --------------------------------------------------------------------------------------------------------
def test_the_source_must_be_a_dead_letter_queue(sqs: Sqs) -> None:
    _, url = dead_queue(sqs, "")
    refusal = sqs.refusal("start_message_move_task", SourceArn=sqs.arn(url))
    assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
    assert refusal.message == "Source queue must be configured as a Dead Letter Queue."


@pytest.mark.parametrize("arn", ["nothing", "arn:aws:sqs:us-east-1:000000000000:none", "arn:aws:sqs:{other}"])
def test_queues_that_do_not_exist(sqs: Sqs, arn: str) -> None:
    dead, _ = dead_queue(sqs, "")
    source = sqs.arn(dead)
    other = source.replace(sqs.region, "eu-west-9").removeprefix("arn:aws:sqs:")
    arn = arn.format(other=other)
    for method, parameter, more in (
        ("start_message_move_task", "SourceArn", {}),
        ("start_message_move_task", "DestinationArn", {"SourceArn": source}),
        ("list_message_move_tasks", "SourceArn", {}),
    ):
        refusal = sqs.refusal(method, **{parameter: arn, **more})
        assert (refusal.code, refusal.status) == ("ResourceNotFoundException", 404)
        assert refusal.type in ("ResourceNotFoundException", None)
        assert parameter in refusal.message


def test_the_destination_is_another_queue_of_the_same_type(sqs: Sqs) -> None:
    dead, _ = dead_queue(sqs, "")
    for destination in (dead, sqs.create_fifo()):
        parameters = {"SourceArn": sqs.arn(dead), "DestinationArn": sqs.arn(destination)}
        assert sqs.code("start_message_move_task", **parameters) == "InvalidParameterValue"


def test_numbers_out_of_range(sqs: Sqs) -> None:
    dead, _ = dead_queue(sqs, "")
    arn = sqs.arn(dead)
    for rate in (0, 501):
        more: dict[str, Any] = {"SourceArn": arn, "MaxNumberOfMessagesPerSecond": rate}
        assert sqs.code("start_message_move_task", **more) == "InvalidParameterValue"
    for most in (0, 11):
        more = {"SourceArn": arn, "MaxResults": most}
        assert sqs.code("list_message_move_tasks", **more) == "InvalidParameterValue"
    start(sqs, dead, MaxNumberOfMessagesPerSecond=500)


def test_handles_that_are_none(sqs: Sqs) -> None:
    dead, _ = dead_queue(sqs, "")
    arn = sqs.arn(dead)
    unknown = {"taskId": "00000000-0000-4000-8000-000000000000", "sourceArn": arn}
    deep = (b'{"a":' + b"[" * depth for depth in (100, 600, 1_100, 100_000))
    for content in (b"{}", b"[]", b"\xff", json.dumps({**unknown, "taskId": "x"}).encode(), *deep):
        handle = b64encode(content).decode()
        assert sqs.code("cancel_message_move_task", TaskHandle=handle) == "InvalidParameterValue"
    for text in ("nonsense", "\u00e9"):
        assert sqs.code("cancel_message_move_task", TaskHandle=text) == "InvalidParameterValue"
    for strange in (unknown, {**unknown, "sourceArn": arn + "-none"}, {**unknown, "sourceArn": "\0"}):
        handle = b64encode(json.dumps(strange).encode()).decode()
        assert sqs.code("cancel_message_move_task", TaskHandle=handle) == "ResourceNotFoundException"
