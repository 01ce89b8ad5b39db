"""Tests the worker with a real service, which the fixtures of penstock-queue start. Setup: pip install penstock-queue
pytest.
"""

from typing import Any

import pytest
import worker


def test_a_handled_order_is_deleted(sqs: Any, sqs_queue: str) -> None:
    sqs.send_message(QueueUrl=sqs_queue, MessageBody="order 1")
    assert worker.work(sqs, sqs_queue, wait_seconds=0) == 1
    assert worker.work(sqs, sqs_queue, wait_seconds=0) == 0


def test_a_failed_order_stays(sqs: Any, sqs_queue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(body: str) -> None:
        raise ValueError(body)

    monkeypatch.setattr(worker, "handle", fail)
    sqs.send_message(QueueUrl=sqs_queue, MessageBody="order 1")
    assert worker.work(sqs, sqs_queue, wait_seconds=0) == 0
    counts = sqs.get_queue_attributes(QueueUrl=sqs_queue, AttributeNames=["All"])["Attributes"]
    assert counts["ApproximateNumberOfMessagesNotVisible"] == "1"
