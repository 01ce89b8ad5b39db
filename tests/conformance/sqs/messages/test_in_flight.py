"""The limit of messages in flight, lowered. Sources: Developer Guide, "standard queue quotas", "FIFO queue quotas"."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.conformance.sqs import Sqs

LIMITED = {"QUEUE_IN_FLIGHT_LIMIT": "3"}
# A recorded answer: pressureNET-server, issue 74.
TEXT = (
    "Too many messages have been received without being deleted. "
    "Please delete your received messages or let them timeout before receiving more."
)


@pytest.fixture
def limited(sqs: Sqs) -> Sqs:
    """A deployment behind which a queue has at most three messages in flight."""
    return sqs.with_settings(LIMITED)


def full(sqs: Sqs, group: str | None = None) -> tuple[str, list[dict[str, str]]]:
    """A queue with as much in flight as may be, and one message more."""
    url = sqs.create_fifo(ContentBasedDeduplication="true") if group else sqs.create()
    for number in range(4):
        sqs.send(url, str(number), **({"MessageGroupId": f"{group}{number}"} if group else {}))
    return url, sqs.receive(url, 3)


def test_a_short_poll_is_refused(limited: Sqs) -> None:
    """OverLimit, 403, "if you reach this quota while using short polling"."""
    url, _ = full(limited)
    refusal = limited.refusal("receive_message", QueueUrl=url)
    assert (refusal.code, refusal.status, refusal.fault) == ("OverLimit", 403, "Sender")
    assert refusal.message == TEXT
    assert limited.counts(url) == (1, 3, 0)


def test_a_long_poll_gets_nothing(limited: Sqs) -> None:
    """ "If you use long polling, Amazon SQS returns no error messages": by the request, and by the queue."""
    url, _ = full(limited)
    assert limited.poll(url, WaitTimeSeconds=1) == []
    limited.client.set_queue_attributes(QueueUrl=url, Attributes={"ReceiveMessageWaitTimeSeconds": "1"})
    assert limited.poll(url) == []
    assert limited.code("receive_message", QueueUrl=url, WaitTimeSeconds=0) == "OverLimit"


@pytest.mark.parametrize("more", [{}, {"WaitTimeSeconds": 1}, {"ReceiveRequestAttemptId": "a"}])
def test_a_fifo_queue_gives_no_error(limited: Sqs, more: dict[str, Any]) -> None:
    """ "If this limit is reached, Amazon SQS does not return an error": there are no messages."""
    url, _ = full(limited, "g")
    assert limited.poll(url, **more) == []
    assert limited.counts(url) == (1, 3, 0)


@pytest.mark.parametrize("group", [None, "g"], ids=["standard", "fifo"])
def test_a_deleted_message_makes_room(limited: Sqs, group: str | None) -> None:
    url, (first, *_) = full(limited, group)
    limited.delete(url, first)
    assert len(limited.receive(url, 1)) == 1
    assert limited.counts(url) == (0, 3, 0)


@pytest.mark.parametrize("group", [None, "g"], ids=["standard", "fifo"])
def test_a_long_poll_ends_when_there_is_room(limited: Sqs, group: str | None) -> None:
    """It reads the queue once more, within its wait, and gets what was left: any message of a standard queue."""
    url, received = full(limited, group)
    (left,) = {"0", "1", "2", "3"} - {message["Body"] for message in received}
    sign = "queue.receive_(messages|answer)"
    messages = limited.while_waiting(
        url, lambda: limited.delete(url, received[0]), sign=sign, WaitTimeSeconds=20
    )
    assert [message["Body"] for message in messages] == [left]


def test_a_timeout_makes_room(limited: Sqs) -> None:
    url, _ = full(limited)
    limited.clock.advance(31)
    assert len(limited.receive(url, 3)) == 3


def test_no_limit(sqs: Sqs) -> None:
    """The setting 0, our choice."""
    unlimited = sqs.with_settings({"QUEUE_IN_FLIGHT_LIMIT": "0"})
    url, _ = full(unlimited)
    assert len(unlimited.receive(url, 1)) == 1
