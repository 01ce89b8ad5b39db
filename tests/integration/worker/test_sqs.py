"""Tests workers over boto3."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSRequest
from botocore.exceptions import ClientError

from penstock_worker import Message, heartbeat, worker
from penstock_worker.settings import Settings
from penstock_worker.sqs import SqsQueue, encode_header
from tests.support.sql.calls import Connection
from tests.support.wait import wait_until
from tests.support.workers import Start, in_flight


def create(sqs: Any, name: str, **attributes: str) -> str:
    return str(sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])


def is_empty(sqs: Any, url: str) -> bool:
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return {attributes[f"ApproximateNumberOfMessages{which}"] for which in ("", "NotVisible")} == {"0"}


def test_messages_are_handled_and_deleted(sqs: Any, start: Start) -> None:
    url = create(sqs, "handled")
    attributes = {
        "kind": {"DataType": "String", "StringValue": "large"},
        "code": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
    }
    for number in range(12):
        sqs.send_message(QueueUrl=url, MessageBody=json.dumps({"order": number}), MessageAttributes=attributes)
    handled: list[Message] = []

    @worker("handled", client=sqs, concurrency=4, wait_seconds=0)
    def handle(message: Message) -> None:
        handled.append(message)

    start(handle)
    wait_until(lambda: len(handled) == 12 and is_empty(sqs, url))
    assert sorted(message.json()["order"] for message in handled) == list(range(12))
    assert handled[0].attributes == {"kind": "large", "code": b"\x00\xff"}
    assert handled[0].receive_count == 1


def test_asynchronous_handlers_run_at_the_same_time(sqs: Any, start: Start) -> None:
    url = create(sqs, "asynchronous")
    for number in range(3):
        sqs.send_message(QueueUrl=url, MessageBody=str(number))
    together = asyncio.Barrier(3)

    @worker(url, client=sqs, concurrency=3, wait_seconds=0)
    async def handle(message: Message) -> None:
        await together.wait()

    start(handle)
    wait_until(lambda: is_empty(sqs, url))


def test_a_failed_message_returns_after_its_pause(sqs: Any, start: Start, db: Connection) -> None:
    url = create(sqs, "paused")
    sqs.send_message(QueueUrl=url, MessageBody="m")
    seen: list[int] = []

    def backoff(count: int) -> float:
        return 0 if count == 1 else 900

    @worker("paused", client=sqs, wait_seconds=0, backoff=backoff)
    def handle(message: Message) -> None:
        seen.append(message.receive_count)
        raise LookupError("größer")

    start(handle)
    wait_until(lambda: [count for count, at in in_flight(db, "paused") if at > (time.time() + 600) * 1_000] == [2])
    assert seen == [1, 2]
    causes = db.execute("select error from queue.failure where error like 'LookupError%'").fetchall()
    assert causes == [("LookupError: größer",)] * 2


def test_a_group_of_a_fifo_queue_stays_in_order(sqs: Any, start: Start) -> None:
    """The second message fails at its first attempt, and the third waits for it."""
    url = create(sqs, "ordered.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    for number in range(5):
        sqs.send_message(QueueUrl=url, MessageBody=str(number), MessageGroupId="a")
    attempts: list[str] = []

    @worker("ordered.fifo", client=sqs, concurrency=10, wait_seconds=0, backoff=lambda _: 0)
    def handle(message: Message) -> None:
        attempts.append(message.body)
        if attempts == ["0", "1"]:
            raise ValueError

    start(handle)
    wait_until(lambda: is_empty(sqs, url))
    assert attempts == ["0", "1", "1", "2", "3", "4"]


def test_a_running_message_stays_invisible(
    sqs: Any, start: Start, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "BEATS", 300)
    url = create(sqs, "long")
    sqs.send_message(QueueUrl=url, MessageBody="m")
    running, finish = threading.Event(), threading.Event()

    @worker("long", client=sqs, visibility_timeout=30, wait_seconds=0)
    def handle(message: Message) -> None:
        running.set()
        finish.wait()

    start(handle)
    running.wait()
    [(_, first)] = in_flight(db, "long")
    wait_until(lambda: [at for _, at in in_flight(db, "long") if at > first])
    finish.set()
    wait_until(lambda: is_empty(sqs, url))


def test_a_queue_that_does_not_exist_is_an_error_at_the_start(sqs: Any) -> None:
    @worker("missing", client=sqs)
    def handle(message: Message) -> None: ...

    with pytest.raises(ClientError, match="NonExistentQueue"):
        handle.run()


def test_a_signal_ends_the_worker_after_the_running_message(sqs: Any) -> None:
    url = create(sqs, "signalled")
    for number in range(2):
        sqs.send_message(QueueUrl=url, MessageBody=str(number))
    handled: list[str] = []

    @worker("signalled", client=sqs, wait_seconds=0)
    def handle(message: Message) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        wait_until(handle._stopping.is_set)
        handled.append(message.body)

    before = signal.getsignal(signal.SIGTERM)
    handle.run()
    assert signal.getsignal(signal.SIGTERM) is before
    assert len(handled) == 1
    assert len(sqs.receive_message(QueueUrl=url)["Messages"]) == 1


def test_the_cause_is_in_a_signed_header(start: Start) -> None:
    """A client whose requests end before they are sent. Other calls have no such header."""
    sqs = boto3.client("sqs", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    sent: list[AWSRequest] = []

    class StoppedError(Exception):
        pass

    def capture(request: AWSRequest, **_: object) -> None:
        sent.append(request)
        raise StoppedError

    sqs.meta.events.register("before-send.sqs", capture)
    queue = SqsQueue("https://sqs.us-east-1.amazonaws.com/1/q", print, Settings(), sqs)
    message = Message("m", "", receipt_handle="h")
    with pytest.raises(StoppedError):
        queue.fail(message, "ValueError: größer\nals 1", 40)
    with pytest.raises(StoppedError):
        queue.release([message])
    queue.close()
    with pytest.raises(StoppedError):
        sqs.change_message_visibility(QueueUrl="https://x/1/q", ReceiptHandle="h", VisibilityTimeout=0)
    failed, *others = sent
    assert failed.headers["X-Penstock-Error"] == b"ValueError%3A%20gr%C3%B6%C3%9Fer%0Aals%201"
    assert b"x-penstock-error" in failed.headers["Authorization"]
    assert json.loads(failed.body)["VisibilityTimeout"] == 40
    assert [other.headers.get("X-Penstock-Error") for other in others] == [None, None]
    sqs.close()


def test_a_cause_of_any_characters_fits_in_a_header() -> None:
    assert encode_header("a\r\nb ü") == "a%0D%0Ab%20%C3%BC"
