"""Tests ReceiveRequestAttemptId. Source: ReceiveMessage, API reference. A docstring says where the test shows our
choice.

A client can repeat a receive "only for 5 minutes", "if none of the messages have been modified (deleted or had their
visibility changes)". SQS returns "the same messages and receipt handles" and "resets the visibility timeout".
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.conformance.sqs import Sqs, other_deployment

ATTEMPT: dict[str, Any] = {"ReceiveRequestAttemptId": "attempt-1"}


def queue(sqs: Sqs, *bodies: str, group: str | None = None) -> str:
    """Creates a queue with these messages, each in a different group unless `group` is given."""
    url = sqs.create_fifo(ContentBasedDeduplication="true", VisibilityTimeout="60")
    for body in bodies:
        sqs.send(url, body, MessageGroupId=group or f"group of {body}".replace(" ", "-"))
    return url


def handles(messages: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(message["MessageId"], message["Body"], message["ReceiptHandle"]) for message in messages]


def test_the_same_messages_again(sqs: Sqs) -> None:
    """A retry returns the same handles, attributes and receive counts. Another id gets other messages."""
    url = queue(sqs, "a", "b", "c", "d")
    first = sqs.poll(url, 3, AttributeNames=["All"], **ATTEMPT)
    assert len(first) == 3
    assert sqs.poll(url, 3, AttributeNames=["All"], **ATTEMPT) == first
    assert {message["Attributes"]["ApproximateReceiveCount"] for message in first} == {"1"}
    (other,) = sqs.poll(url, 3, ReceiveRequestAttemptId="attempt-2")
    assert other["MessageId"] not in {message["MessageId"] for message in first}
    assert sqs.poll(url) == []


def test_the_set_is_the_same_whatever_is_asked(sqs: Sqs) -> None:
    """ "Retrieve the same set of messages": the retry returns neither more nor fewer."""
    url = queue(sqs, "a", "b", "c")
    first = handles(sqs.poll(url, 2, **ATTEMPT))
    assert handles(sqs.poll(url, 1, **ATTEMPT)) == first
    assert handles(sqs.poll(url, 10, **ATTEMPT)) == first


def test_a_group_comes_again_in_order(sqs: Sqs) -> None:
    url = queue(sqs, "1", "2", "3", group="g")
    first = handles(sqs.poll(url, 2, **ATTEMPT))
    assert [body for _, body, _ in first] == ["1", "2"]
    assert handles(sqs.poll(url, 2, **ATTEMPT)) == first
    assert sqs.poll(url) == []  # the group is still blocked


def test_the_timeout_starts_anew(sqs: Sqs) -> None:
    """ "If a retry occurs within the deduplication interval, it resets the visibility timeout"."""
    url = queue(sqs, "a")
    first = handles(sqs.poll(url, **ATTEMPT))
    sqs.clock.advance(35)
    assert handles(sqs.poll(url, **ATTEMPT)) == first
    sqs.clock.advance(35)
    assert sqs.poll(url) == []
    assert handles(sqs.poll(url, VisibilityTimeout=300, **ATTEMPT)) == first
    sqs.clock.advance(190)
    assert sqs.poll(url) == []
    sqs.clock.advance(110)
    assert len(sqs.poll(url)) == 1


def test_the_handles_work(sqs: Sqs) -> None:
    url = queue(sqs, "a", "b")
    sqs.poll(url, **ATTEMPT)
    one, two = sqs.poll(url, **ATTEMPT)
    sqs.hide(url, one, 0)
    sqs.delete(url, two)
    assert sqs.counts(url) == (1, 0, 0)


def test_the_other_door_knows_it(sqs: Sqs) -> None:
    """The retry may reach another process, because container and functions are one service."""
    url = queue(sqs, "a", "b")
    first = handles(sqs.poll(url, **ATTEMPT))
    assert handles(other_deployment(sqs).poll(url, **ATTEMPT)) == first


def over(sqs: Sqs, url: str) -> None:
    """The queue refuses the retry, with a recorded text (amazon-sqs-java-messaging-lib, issues 101 and 213)."""
    refusal = sqs.refusal("receive_message", QueueUrl=url, **ATTEMPT)
    assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
    assert refusal.message == (
        "Value attempt-1 for parameter ReceiveRequestAttemptId is invalid. Reason: The receiveRequestAttemptId is "
        "not valid anymore since the receive call is not retryable."
    )


def test_not_after_one_was_deleted(sqs: Sqs) -> None:
    url = queue(sqs, "a", "b")
    first = sqs.poll(url, **ATTEMPT)
    sqs.delete(url, first[0])
    over(sqs, url)
    assert sqs.counts(url) == (0, 1, 0)


@pytest.mark.parametrize("seconds", [0, 60, 600])
def test_not_after_a_timeout_was_changed(sqs: Sqs, seconds: int) -> None:
    url = queue(sqs, "a", "b")
    first = sqs.poll(url, **ATTEMPT)
    sqs.hide(url, first[1], seconds)
    over(sqs, url)


def test_not_after_somebody_else_received_one(sqs: Sqs) -> None:
    url = queue(sqs, "a", "b")
    sqs.poll(url, **ATTEMPT)
    sqs.clock.advance(60)
    assert len(sqs.poll(url, 1)) == 1
    over(sqs, url)


def test_not_after_a_purge(sqs: Sqs) -> None:
    url = queue(sqs, "a")
    sqs.poll(url, **ATTEMPT)
    sqs.client.purge_queue(QueueUrl=url)
    over(sqs, url)


def test_after_the_timeout_it_is_a_new_receive(sqs: Sqs) -> None:
    """ "During a visibility timeout": later, the retry is a new receive with new handles (our reading)."""
    url = queue(sqs, "a")
    (first,) = sqs.poll(url, **ATTEMPT)
    sqs.clock.advance(60)
    (second,) = sqs.poll(url, AttributeNames=["ApproximateReceiveCount"], **ATTEMPT)
    assert second["MessageId"] == first["MessageId"]
    assert second["ReceiptHandle"] != first["ReceiptHandle"]
    assert second["Attributes"]["ApproximateReceiveCount"] == "2"
    assert handles(sqs.poll(url, **ATTEMPT)) == handles([second])


def test_five_minutes_from_the_receive(sqs: Sqs) -> None:
    """ "Only for 5 minutes after a ReceiveMessage action"; retries do not extend this time (our reading)."""
    url = queue(sqs, "a", "b")
    first = handles(sqs.poll(url, 1, VisibilityTimeout=3600, **ATTEMPT))
    sqs.clock.advance(240)
    assert handles(sqs.poll(url, 1, VisibilityTimeout=3600, **ATTEMPT)) == first
    sqs.clock.advance(60)
    ((_, body, _),) = handles(sqs.poll(url, 1, **ATTEMPT))
    assert body == "b"
    assert sqs.poll(url, 1, ReceiveRequestAttemptId="attempt-2") == []


def test_an_empty_receive_can_be_repeated(sqs: Sqs) -> None:
    """An empty receive has no messages to return again, so the retry reads the queue."""
    url = queue(sqs)
    assert sqs.poll(url, **ATTEMPT) == []
    sqs.send(url, "a", MessageGroupId="g")
    assert len(sqs.poll(url, **ATTEMPT)) == 1


def test_with_a_long_poll(sqs: Sqs) -> None:
    url = queue(sqs)
    first = sqs.while_waiting(url, lambda: sqs.send(url, "a", MessageGroupId="g"), WaitTimeSeconds=20, **ATTEMPT)
    assert [message["Body"] for message in first] == ["a"]
    assert handles(sqs.poll(url, WaitTimeSeconds=20, **ATTEMPT)) == handles(first)


def test_queues_do_not_share_their_ids(sqs: Sqs) -> None:
    one, other = queue(sqs, "a"), queue(sqs, "b")
    assert [m["Body"] for m in sqs.poll(one, **ATTEMPT)] == ["a"]
    assert [m["Body"] for m in sqs.poll(other, **ATTEMPT)] == ["b"]


def test_a_dead_letter_is_not_repeated(sqs: Sqs) -> None:
    """A move to the dead-letter queue modifies the message."""
    dead = sqs.create_fifo()
    policy = f'{{"deadLetterTargetArn":"{sqs.arn(dead)}","maxReceiveCount":1}}'
    url = queue(sqs, "a")
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": policy})
    sqs.poll(url, **ATTEMPT)
    sqs.clock.advance(60)
    assert (sqs.poll(url), sqs.counts(dead)) == ([], (1, 0, 0))
    over(sqs, url)


def test_a_standard_queue_ignores_it(sqs: Sqs) -> None:
    """ "This parameter applies only to FIFO queues": AWS returns no error (spring-cloud-aws, issue 529)."""
    url = sqs.create()
    sqs.send_all(url, "a", "b")
    assert len(sqs.receive(url, 2, **ATTEMPT)) == 2
    assert sqs.poll(url, **ATTEMPT) == []


LONGEST = "".join(chr(code) for code in range(33, 127)) + "x" * 34


def test_the_longest_id(sqs: Sqs) -> None:
    """The id has up to 128 alphanumeric characters and punctuation."""
    url = queue(sqs, "a")
    first = handles(sqs.poll(url, ReceiveRequestAttemptId=LONGEST))
    assert handles(sqs.poll(url, ReceiveRequestAttemptId=LONGEST)) == first


@pytest.mark.parametrize("bad", ["", "a b", "ä", "x" * 129, "\x00"])
def test_ids_that_cannot_be(sqs: Sqs, bad: str) -> None:
    url = queue(sqs, "a")
    code = sqs.code("receive_message", QueueUrl=url, ReceiveRequestAttemptId=bad)
    assert (code, sqs.counts(url)) == ("InvalidParameterValue", (1, 0, 0))
