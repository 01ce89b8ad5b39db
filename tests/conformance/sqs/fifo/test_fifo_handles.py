"""Tests receipt handles of FIFO queues. The sources are DeleteMessage and ChangeMessageVisibility (API reference).

ReceiveMessage: "if a consumer whose message processing time is longer than the visibility timeout tries to delete the
processed messages, the action fails with an error".

The second part tests dead-letter queues of FIFO queues. The sources are the Developer Guide, "Using dead-letter queues
in Amazon SQS", "Setting-up dead-letter queue retention" and "Learn how to configure a dead-letter queue redrive"
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.conformance.sqs import Refusal, Sqs, other_deployment

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
    """Asserts InvalidParameterValue with AWS's text (AWS SDK for Java, issue 2164)."""
    text = f"Value {handle} for parameter ReceiptHandle is invalid. Reason: {EXPIRED}"
    return (refusal.code, refusal.status, refusal.message) == ("InvalidParameterValue", 400, text)


@BOTH
def test_after_the_timeout(sqs: Sqs, use: Use) -> None:
    """Only FIFO queues refuse an expired handle (celery/kombu issue 1391), and the message stays visible."""
    url = queue(sqs, "a")
    handle = sqs.receive_one(url)["ReceiptHandle"]
    sqs.clock.advance(31)
    assert is_expired(use(sqs, url, handle), handle)
    assert sqs.counts(url) == (1, 0, 0)


@BOTH
def test_after_somebody_else_received_it(sqs: Sqs, use: Use) -> None:
    """The queue refuses the old handle and accepts the new handle."""
    url = queue(sqs, "a")
    old = sqs.receive_one(url)["ReceiptHandle"]
    sqs.clock.advance(31)
    new = sqs.receive_one(url)
    assert is_expired(use(sqs, url, old), old)
    assert sqs.counts(url) == (0, 1, 0)
    sqs.delete(url, new)
    # A deleted message stays deleted, and deleting it again succeeds.
    sqs.client.delete_message(QueueUrl=url, ReceiptHandle=old)
    assert sqs.counts(url) == (0, 0, 0)


@BOTH
def test_received_with_a_timeout_of_zero(sqs: Sqs, use: Use) -> None:
    """A handle from a receive with a timeout of 0 expires immediately (awsdocs/aws-doc-sdk-examples, issue 165)."""
    url = queue(sqs, "a")
    handle = sqs.receive_one(url, VisibilityTimeout=0)["ReceiptHandle"]
    assert is_expired(use(sqs, url, handle), handle)


@BOTH
def test_after_the_timeout_was_ended(sqs: Sqs, use: Use) -> None:
    """After ChangeMessageVisibility with 0, the message is visible and the handle has expired."""
    url = queue(sqs, "a")
    message = sqs.receive_one(url)
    sqs.hide(url, message, 0)
    assert is_expired(use(sqs, url, message["ReceiptHandle"]), message["ReceiptHandle"])


def test_a_prolonged_timeout_keeps_the_handle_good(sqs: Sqs) -> None:
    url = queue(sqs, "a")
    message = sqs.receive_one(url)
    for _ in range(3):
        sqs.hide(url, message, 60)
        sqs.clock.advance(40)
    sqs.delete(url, message)
    assert sqs.counts(url) == (0, 0, 0)


def test_entries_fail_one_by_one(sqs: Sqs) -> None:
    """In a batch, the entry with the expired handle fails, and the other entries succeed."""
    url = queue(sqs, "a", "b")
    first, second = sqs.receive(url, 2)
    sqs.hide(url, first, 0)
    handles: list[dict[str, Any]] = [
        {"Id": message["Body"], "ReceiptHandle": message["ReceiptHandle"]} for message in (first, second)
    ]
    hidden = [{**entry, "VisibilityTimeout": 60} for entry in handles]
    for response in (
        sqs.client.change_message_visibility_batch(QueueUrl=url, Entries=hidden),
        sqs.client.delete_message_batch(QueueUrl=url, Entries=handles),
    ):
        assert [entry["Id"] for entry in response["Successful"]] == ["b"]
        (failed,) = response["Failed"]
        assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("a", "InvalidParameterValue", True)
        assert failed["Message"].endswith(EXPIRED)
    assert sqs.counts(url) == (1, 0, 0)


def test_deleting_twice(sqs: Sqs) -> None:
    """DeleteMessage is also idempotent on FIFO queues."""
    url = queue(sqs, "a")
    message = sqs.receive_one(url)
    sqs.delete(url, message)
    sqs.delete(url, message)
    assert sqs.counts(url) == (0, 0, 0)


def test_changing_after_deletion(sqs: Sqs) -> None:
    """Standard queues give the same response (recorded response: mapbox/ecs-watchbot, issue 135)."""
    url = queue(sqs, "a")
    message = sqs.receive_one(url)
    sqs.delete(url, message)
    refusal = change(sqs, url, message["ReceiptHandle"])
    assert refusal.code == "InvalidParameterValue"
    assert refusal.message.endswith("Message does not exist or is not available for visibility timeout change.")


def pair(sqs: Sqs, maximum: int = 1, **attributes: str) -> tuple[str, str]:
    """Creates a queue and its dead-letter queue, and returns both URLs."""
    dead = sqs.create_fifo()
    policy = json.dumps({"deadLetterTargetArn": sqs.arn(dead), "maxReceiveCount": maximum})
    return sqs.create_fifo(RedrivePolicy=policy, **attributes), dead


def send(sqs: Sqs, url: str, body: str, group: str = "g", key: str | None = None) -> dict[str, Any]:
    return sqs.send(url, body, MessageGroupId=group, MessageDeduplicationId=key or body)


def bury(sqs: Sqs, url: str, number: int) -> None:
    """Receives `number` messages once and moves them to the dead-letter queue."""
    assert len(sqs.poll(url, number, VisibilityTimeout=0)) == number
    sqs.poll(url)


def attributes(message: dict[str, Any]) -> dict[str, str]:
    return dict(message["Attributes"])


def test_the_message_stays_itself(sqs: Sqs) -> None:
    """The group continues with the next message. The moved message keeps its MessageId, body and group id."""
    url, dead = pair(sqs)
    sent = send(sqs, url, "poison")
    send(sqs, url, "next")
    sqs.hide(url, sqs.receive_one(url), 0)
    assert sqs.receive_one(url)["Body"] == "next"
    moved = sqs.receive_one(dead, AttributeNames=["All"])
    assert (moved["MessageId"], moved["Body"]) == (sent["MessageId"], "poison")
    assert attributes(moved)["MessageGroupId"] == "g"
    assert attributes(moved)["DeadLetterQueueSourceArn"] == sqs.arn(url)


def test_the_message_id_becomes_the_deduplication_id(sqs: Sqs) -> None:
    """ "The original message's deduplication ID will be replaced with the original message's ID"."""
    url, dead = pair(sqs)
    sent = send(sqs, url, "poison", key="mine")
    bury(sqs, url, 1)
    moved = sqs.receive_one(dead, AttributeNames=["MessageDeduplicationId"])
    assert attributes(moved) == {"MessageDeduplicationId": sent["MessageId"]}


def test_messages_that_share_a_deduplication_id_all_arrive(sqs: Sqs) -> None:
    """ "The DLQ deduplication will not prevent storing of two independent messages that happen to share" a
    deduplication id.
    """
    url, dead = pair(sqs, DeduplicationScope="messageGroup")
    for group in ("a", "b"):
        send(sqs, url, f"of {group}", group, "same")
    send(sqs, dead, "sent there", "a", "same")
    bury(sqs, url, 2)
    assert sorted(message["Body"] for message in sqs.receive(dead, 3)) == ["of a", "of b", "sent there"]


def test_the_time_starts_anew(sqs: Sqs) -> None:
    """ "For FIFO queues, the enqueue timestamp resets when the message is moved"."""
    url, dead = pair(sqs)
    send(sqs, url, "poison")
    before = attributes(sqs.receive_one(url, VisibilityTimeout=0, AttributeNames=["SentTimestamp"]))
    sqs.clock.advance(60)
    sqs.poll(url)
    after = attributes(sqs.receive_one(dead, AttributeNames=["SentTimestamp"]))
    assert int(after["SentTimestamp"]) > int(before["SentTimestamp"])


def test_the_order_of_a_group_stays(sqs: Sqs) -> None:
    """The dead-letter queue keeps the group id and assigns rising sequence numbers."""
    url, dead = pair(sqs)
    for body in ("1", "2", "3"):
        send(sqs, url, body)
    bury(sqs, url, 3)
    moved = sqs.receive(dead, 3, AttributeNames=["SequenceNumber"])
    assert [message["Body"] for message in moved] == ["1", "2", "3"]
    numbers = [attributes(message)["SequenceNumber"] for message in moved]
    assert numbers == sorted(set(numbers))
    assert sqs.poll(dead) == []


def test_only_the_poisoned_message_moves(sqs: Sqs) -> None:
    """maxReceiveCount applies to each message separately. The other messages of the group stay in the queue, and
    receives return them in order."""
    url, dead = pair(sqs, 2)
    for body in ("1", "2", "3"):
        send(sqs, url, body)
    assert len(sqs.poll(url, 1, VisibilityTimeout=0)) == 1
    assert len(sqs.poll(url, 2, VisibilityTimeout=0)) == 2
    assert [message["Body"] for message in sqs.poll(url)] == ["2", "3"]
    assert sqs.receive_one(dead)["Body"] == "1"


def test_a_message_in_flight_holds_up_those_that_follow(sqs: Sqs) -> None:
    """A message with too many receives moves in order, after an earlier message in flight."""
    url, dead = pair(sqs)
    for body in ("1", "2"):
        send(sqs, url, body)
    first, second = sqs.receive(url, 2)
    sqs.hide(url, second, 0)
    assert (sqs.poll(url), sqs.counts(dead)) == ([], (0, 0, 0))
    sqs.delete(url, first)
    assert (sqs.poll(url), sqs.counts(dead)) == ([], (1, 0, 0))


def test_a_redriven_message_is_a_new_one_of_its_group(sqs: Sqs) -> None:
    """ "All redriven messages are considered new messages with a new messageID". The guide does not mention the
    deduplication id: Penstock keeps the id that the message had in the dead-letter queue, but does not deduplicate by
    it (Penstock's choice).
    """
    url, dead = pair(sqs)
    sent = send(sqs, url, "poison", "g", "mine")
    bury(sqs, url, 1)
    sqs.client.start_message_move_task(SourceArn=sqs.arn(dead))
    assert sqs.clock.move(sqs.arn(dead)) == 1
    again = sqs.receive_one(url, AttributeNames=["All"])
    found = attributes(again)
    assert again["MessageId"] != sent["MessageId"]
    assert (found["MessageGroupId"], found["MessageDeduplicationId"]) == ("g", sent["MessageId"])
    assert (found["ApproximateReceiveCount"], found["SequenceNumber"] > sent["SequenceNumber"]) == ("1", True)
    assert "DeadLetterQueueSourceArn" not in found


# --- receive attempts ------------------------------------------------------------------------------------------------
# Tests ReceiveRequestAttemptId. Source: ReceiveMessage, API reference. The docstrings of some tests mention Penstock's
# choices.
#
# A client can retry a receive "only for 5 minutes", "if none of the messages have been modified (deleted or had their
# visibility changes)". SQS returns "the same messages and receipt handles" and "resets the visibility timeout".

ATTEMPT: dict[str, Any] = {"ReceiveRequestAttemptId": "attempt-1"}


def queue_with_messages(sqs: Sqs, *bodies: str, group: str | None = None) -> str:
    """Creates a queue with these messages, which all have separate groups unless `group` is given."""
    url = sqs.create_fifo(ContentBasedDeduplication="true", VisibilityTimeout="60")
    for body in bodies:
        sqs.send(url, body, MessageGroupId=group or f"group of {body}".replace(" ", "-"))
    return url


def handles(messages: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(message["MessageId"], message["Body"], message["ReceiptHandle"]) for message in messages]


def test_the_same_messages_again(sqs: Sqs) -> None:
    """A retry returns equal handles, attributes and receive counts. A receive with another attempt id returns other
    messages.
    """
    url = queue_with_messages(sqs, "a", "b", "c", "d")
    first = sqs.poll(url, 3, AttributeNames=["All"], **ATTEMPT)
    assert len(first) == 3
    assert sqs.poll(url, 3, AttributeNames=["All"], **ATTEMPT) == first
    assert {message["Attributes"]["ApproximateReceiveCount"] for message in first} == {"1"}
    (other,) = sqs.poll(url, 3, ReceiveRequestAttemptId="attempt-2")
    assert other["MessageId"] not in {message["MessageId"] for message in first}
    assert sqs.poll(url) == []


def test_the_set_is_the_same_whatever_is_asked(sqs: Sqs) -> None:
    """ "Retrieve the same set of messages": the retry returns neither more nor fewer messages."""
    url = queue_with_messages(sqs, "a", "b", "c")
    first = handles(sqs.poll(url, 2, **ATTEMPT))
    assert handles(sqs.poll(url, 1, **ATTEMPT)) == first
    assert handles(sqs.poll(url, 10, **ATTEMPT)) == first


def test_a_group_comes_again_in_order(sqs: Sqs) -> None:
    url = queue_with_messages(sqs, "1", "2", "3", group="g")
    first = handles(sqs.poll(url, 2, **ATTEMPT))
    assert [body for _, body, _ in first] == ["1", "2"]
    assert handles(sqs.poll(url, 2, **ATTEMPT)) == first
    assert sqs.poll(url) == []  # the group is still blocked


def test_the_timeout_starts_anew(sqs: Sqs) -> None:
    """ "If a retry occurs within the deduplication interval, it resets the visibility timeout"."""
    url = queue_with_messages(sqs, "a")
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
    url = queue_with_messages(sqs, "a", "b")
    sqs.poll(url, **ATTEMPT)
    one, two = sqs.poll(url, **ATTEMPT)
    sqs.hide(url, one, 0)
    sqs.delete(url, two)
    assert sqs.counts(url) == (1, 0, 0)


def test_the_other_deployment_knows_it(sqs: Sqs) -> None:
    """The retry can reach another process, because the container and the functions form one service."""
    url = queue_with_messages(sqs, "a", "b")
    first = handles(sqs.poll(url, **ATTEMPT))
    assert handles(other_deployment(sqs).poll(url, **ATTEMPT)) == first


def over(sqs: Sqs, url: str) -> None:
    """The queue refuses the retry with a text that was recorded at AWS (amazon-sqs-java-messaging-lib, issues 101 and
    213).
    """
    refusal = sqs.refusal("receive_message", QueueUrl=url, **ATTEMPT)
    assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
    assert refusal.message == (
        "Value attempt-1 for parameter ReceiveRequestAttemptId is invalid. Reason: The receiveRequestAttemptId is "
        "not valid anymore since the receive call is not retryable."
    )


def test_not_after_one_was_deleted(sqs: Sqs) -> None:
    url = queue_with_messages(sqs, "a", "b")
    first = sqs.poll(url, **ATTEMPT)
    sqs.delete(url, first[0])
    over(sqs, url)
    assert sqs.counts(url) == (0, 1, 0)


@pytest.mark.parametrize("seconds", [0, 60, 600])
def test_not_after_a_timeout_was_changed(sqs: Sqs, seconds: int) -> None:
    url = queue_with_messages(sqs, "a", "b")
    first = sqs.poll(url, **ATTEMPT)
    sqs.hide(url, first[1], seconds)
    over(sqs, url)


def test_not_after_somebody_else_received_one(sqs: Sqs) -> None:
    url = queue_with_messages(sqs, "a", "b")
    sqs.poll(url, **ATTEMPT)
    sqs.clock.advance(60)
    assert len(sqs.poll(url, 1)) == 1
    over(sqs, url)


def test_not_after_a_purge(sqs: Sqs) -> None:
    url = queue_with_messages(sqs, "a")
    sqs.poll(url, **ATTEMPT)
    sqs.client.purge_queue(QueueUrl=url)
    over(sqs, url)


def test_after_the_timeout_it_is_a_new_receive(sqs: Sqs) -> None:
    """After the visibility timeout, the retry is a new receive with new handles, because AWS says "During a visibility
    timeout" (Penstock's reading).
    """
    url = queue_with_messages(sqs, "a")
    (first,) = sqs.poll(url, **ATTEMPT)
    sqs.clock.advance(60)
    (second,) = sqs.poll(url, AttributeNames=["ApproximateReceiveCount"], **ATTEMPT)
    assert second["MessageId"] == first["MessageId"]
    assert second["ReceiptHandle"] != first["ReceiptHandle"]
    assert second["Attributes"]["ApproximateReceiveCount"] == "2"
    assert handles(sqs.poll(url, **ATTEMPT)) == handles([second])


def test_five_minutes_from_the_receive(sqs: Sqs) -> None:
    """ "Only for 5 minutes after a ReceiveMessage action": retries do not extend this time (Penstock's reading)."""
    url = queue_with_messages(sqs, "a", "b")
    first = handles(sqs.poll(url, 1, VisibilityTimeout=3600, **ATTEMPT))
    sqs.clock.advance(240)
    assert handles(sqs.poll(url, 1, VisibilityTimeout=3600, **ATTEMPT)) == first
    sqs.clock.advance(60)
    ((_, body, _),) = handles(sqs.poll(url, 1, **ATTEMPT))
    assert body == "b"
    assert sqs.poll(url, 1, ReceiveRequestAttemptId="attempt-2") == []


def test_an_empty_receive_can_be_repeated(sqs: Sqs) -> None:
    """An empty receive has no messages to repeat, so a retry reads the queue."""
    url = queue_with_messages(sqs)
    assert sqs.poll(url, **ATTEMPT) == []
    sqs.send(url, "a", MessageGroupId="g")
    assert len(sqs.poll(url, **ATTEMPT)) == 1


def test_with_a_long_poll(sqs: Sqs) -> None:
    url = queue_with_messages(sqs)
    first = sqs.while_waiting(url, lambda: sqs.send(url, "a", MessageGroupId="g"), WaitTimeSeconds=20, **ATTEMPT)
    assert [message["Body"] for message in first] == ["a"]
    assert handles(sqs.poll(url, WaitTimeSeconds=20, **ATTEMPT)) == handles(first)


def test_queues_do_not_share_their_ids(sqs: Sqs) -> None:
    one, other = queue_with_messages(sqs, "a"), queue_with_messages(sqs, "b")
    assert [m["Body"] for m in sqs.poll(one, **ATTEMPT)] == ["a"]
    assert [m["Body"] for m in sqs.poll(other, **ATTEMPT)] == ["b"]


def test_a_dead_letter_is_not_repeated(sqs: Sqs) -> None:
    """A move to the dead-letter queue modifies the message."""
    dead = sqs.create_fifo()
    policy = f'{{"deadLetterTargetArn":"{sqs.arn(dead)}","maxReceiveCount":1}}'
    url = queue_with_messages(sqs, "a")
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": policy})
    sqs.poll(url, **ATTEMPT)
    sqs.clock.advance(60)
    assert (sqs.poll(url), sqs.counts(dead)) == ([], (1, 0, 0))
    over(sqs, url)


def test_a_standard_queue_ignores_it(sqs: Sqs) -> None:
    """ "This parameter applies only to FIFO queues", but AWS does not return an error (spring-cloud-aws, issue 529)."""
    url = sqs.create()
    sqs.send_all(url, "a", "b")
    assert len(sqs.receive(url, 2, **ATTEMPT)) == 2
    assert sqs.poll(url, **ATTEMPT) == []


LONGEST = "".join(chr(code) for code in range(33, 127)) + "x" * 34


def test_the_longest_id(sqs: Sqs) -> None:
    """The attempt id has up to 128 alphanumeric characters and punctuation."""
    url = queue_with_messages(sqs, "a")
    first = handles(sqs.poll(url, ReceiveRequestAttemptId=LONGEST))
    assert handles(sqs.poll(url, ReceiveRequestAttemptId=LONGEST)) == first


@pytest.mark.parametrize("bad", ["", "a b", "ä", "x" * 129, "\x00"])
def test_ids_that_cannot_be(sqs: Sqs, bad: str) -> None:
    url = queue_with_messages(sqs, "a")
    code = sqs.code("receive_message", QueueUrl=url, ReceiveRequestAttemptId=bad)
    assert (code, sqs.counts(url)) == ("InvalidParameterValue", (1, 0, 0))
