"""Receipt handles of FIFO queues. Sources: DeleteMessage, ChangeMessageVisibility (API reference).

ReceiveMessage: "if a consumer whose message processing time is longer than the visibility timeout tries to delete the
processed messages, the action fails with an error".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.conformance.sqs import Refusal, Sqs

EXPIRED = "The receipt handle has expired."


def queue(sqs: Sqs, *bodies: str) -> str:
    url = sqs.create_fifo(ContentBasedDeduplication="true")
    sqs.send_all(url, *bodies, MessageGroupId="g")
    return url


def delete(sqs: Sqs, url: str, handle: str) -> Refusal:
    return sqs.refusal("delete_message", QueueUrl=url, ReceiptHandle=handle)


def change(sqs: Sqs, url: str, handle: str) -> Refusal:
    return sqs.refusal("change_message_visibility", QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=60)


BOTH = pytest.mark.parametrize("use", [delete, change])
Use = Callable[[Sqs, str, str], Refusal]


def is_expired(refusal: Refusal, handle: str) -> bool:
    """InvalidParameterValue with the text of AWS (AWS SDK for Java, issue 2164)."""
    text = f"Value {handle} for parameter ReceiptHandle is invalid. Reason: {EXPIRED}"
    return (refusal.code, refusal.status, refusal.message) == ("InvalidParameterValue", 400, text)


@BOTH
def test_after_the_timeout(sqs: Sqs, use: Use) -> None:
    """Refused, on FIFO queues alone (celery/kombu issue 1391), and the message stays as it is: visible."""
    url = queue(sqs, "a")
    handle = sqs.one(url)["ReceiptHandle"]
    sqs.clock.advance(31)
    assert is_expired(use(sqs, url, handle), handle)
    assert sqs.counts(url) == (1, 0, 0)


@BOTH
def test_after_somebody_else_received_it(sqs: Sqs, use: Use) -> None:
    """The old handle is refused, and the new one good."""
    url = queue(sqs, "a")
    old = sqs.one(url)["ReceiptHandle"]
    sqs.clock.advance(31)
    new = sqs.one(url)
    assert is_expired(use(sqs, url, old), old)
    assert sqs.counts(url) == (0, 1, 0)
    sqs.delete(url, new)
    sqs.client.delete_message(
        QueueUrl=url, ReceiptHandle=old
    )  # a deleted message stays deleted: deleting again succeeds
    assert sqs.counts(url) == (0, 0, 0)


@BOTH
def test_received_with_a_timeout_of_zero(sqs: Sqs, use: Use) -> None:
    """Such a handle is expired at once (awsdocs/aws-doc-sdk-examples, issue 165)."""
    url = queue(sqs, "a")
    handle = sqs.one(url, VisibilityTimeout=0)["ReceiptHandle"]
    assert is_expired(use(sqs, url, handle), handle)


@BOTH
def test_after_the_timeout_was_ended(sqs: Sqs, use: Use) -> None:
    """ChangeMessageVisibility to 0: the message is visible, the handle over."""
    url = queue(sqs, "a")
    message = sqs.one(url)
    sqs.hide(url, message, 0)
    assert is_expired(use(sqs, url, message["ReceiptHandle"]), message["ReceiptHandle"])


def test_a_prolonged_timeout_keeps_the_handle_good(sqs: Sqs) -> None:
    url = queue(sqs, "a")
    message = sqs.one(url)
    for _ in range(3):
        sqs.clock.advance(25)
        sqs.hide(url, message, 30)
    sqs.delete(url, message)
    assert sqs.counts(url) == (0, 0, 0)


def test_entries_fail_one_by_one(sqs: Sqs) -> None:
    """In a batch the expired handle fails and the others work."""
    url = queue(sqs, "a", "b")
    first, second = sqs.receive(url, 2)
    sqs.hide(url, first, 0)
    handles: list[dict[str, Any]] = [
        {"Id": message["Body"], "ReceiptHandle": message["ReceiptHandle"]} for message in (first, second)
    ]
    hidden = [{**entry, "VisibilityTimeout": 60} for entry in handles]
    for answer in (
        sqs.client.change_message_visibility_batch(QueueUrl=url, Entries=hidden),
        sqs.client.delete_message_batch(QueueUrl=url, Entries=handles),
    ):
        assert [entry["Id"] for entry in answer["Successful"]] == ["b"]
        (failed,) = answer["Failed"]
        assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("a", "InvalidParameterValue", True)
        assert failed["Message"].endswith(EXPIRED)
    assert sqs.counts(url) == (1, 0, 0)


def test_deleting_twice(sqs: Sqs) -> None:
    """DeleteMessage is idempotent on FIFO queues too."""
    url = queue(sqs, "a")
    message = sqs.one(url)
    sqs.delete(url, message)
    sqs.delete(url, message)
    assert sqs.counts(url) == (0, 0, 0)


def test_changing_after_deletion(sqs: Sqs) -> None:
    """As on standard queues (recorded answer: mapbox/ecs-watchbot, issue 135)."""
    url = queue(sqs, "a")
    message = sqs.one(url)
    sqs.delete(url, message)
    refusal = change(sqs, url, message["ReceiptHandle"])
    assert refusal.code == "InvalidParameterValue"
    assert refusal.message.endswith(
        "Message does not exist or is not available for visibility timeout change."
    )
