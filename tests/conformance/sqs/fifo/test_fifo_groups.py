"""Tests the order of messages in groups. A receive returns a group's messages only up to the first invisible message.

The sources are ReceiveMessage and the Developer Guide, "FIFO queue delivery logic" and "Exactly-once processing"
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html).
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.conformance.sqs import Sqs

Message = dict[str, Any]


def queue(sqs: Sqs, **groups: str) -> str:
    """Creates a queue with a message for each letter: `a="123"` sends the messages a1, a2 and a3 of group a in this
    order.
    """
    url = sqs.create_fifo(ContentBasedDeduplication="true", VisibilityTimeout="30")
    for group, letters in groups.items():
        for letter in letters:
            sqs.send(url, group + letter, MessageGroupId=group)
    return url


def bodies(messages: list[Message]) -> list[str]:
    return [message["Body"] for message in messages]


def of_group(group: str, messages: list[Message]) -> list[str]:
    return [body for body in bodies(messages) if body.startswith(group)]


# --- timeouts --------------------------------------------------------------------------------------------------------
def test_after_the_timeout_the_first_comes_first(sqs: Sqs) -> None:
    """Receives return messages whose visibility timeout ended before later messages of the group."""
    url = queue(sqs, a="12")
    assert bodies(sqs.receive(url, 1)) == ["a1"]
    sqs.clock.advance(31)
    assert bodies(sqs.receive(url, 2)) == ["a1", "a2"]


def test_a_batch_that_timed_out_comes_again_in_order(sqs: Sqs) -> None:
    """The order stays the same over several visibility timeouts, regardless of how receives divide the batch."""
    url = queue(sqs, a="1234")
    assert bodies(sqs.poll(url, 3)) == ["a1", "a2", "a3"]
    sqs.clock.advance(31)
    assert bodies(sqs.poll(url, 2)) == ["a1", "a2"]
    assert sqs.poll(url) == []
    sqs.clock.advance(31)
    assert bodies(sqs.poll(url)) == ["a1", "a2", "a3", "a4"]


def test_a_timeout_that_ends_first_waits_for_an_earlier_one(sqs: Sqs) -> None:
    """Message a2 becomes visible before a1, but must not overtake a1."""
    url = queue(sqs, a="123")
    first, _ = sqs.receive(url, 2)
    sqs.hide(url, first, 100)
    sqs.clock.advance(31)
    assert sqs.poll(url) == []
    sqs.clock.advance(70)
    assert bodies(sqs.poll(url)) == ["a1", "a2", "a3"]


def test_one_group_times_out_and_another_does_not(sqs: Sqs) -> None:
    url = queue(sqs, a="12", b="12")
    for message in sqs.poll(url, 4):
        if message["Body"] == "b1":
            sqs.hide(url, message, 600)
    sqs.clock.advance(31)
    assert bodies(sqs.poll(url)) == ["a1", "a2"]


# --- changed timeouts ------------------------------------------------------------------------------------------------
def test_nothing_passes_the_first_invisible_message(sqs: Sqs) -> None:
    url = queue(sqs, a="123")
    first, second, third = sqs.receive(url, 3)
    sqs.hide(url, first, 0)
    sqs.hide(url, third, 0)
    assert bodies(sqs.poll(url)) == ["a1"]
    sqs.delete(url, second)
    assert sqs.poll(url) == []


def test_shown_in_any_order_they_come_in_theirs(sqs: Sqs) -> None:
    """ChangeMessageVisibility sets 0, starting with the last message."""
    url = queue(sqs, a="123")
    for message in reversed(sqs.receive(url, 3)):
        sqs.hide(url, message, 0)
    assert bodies(sqs.poll(url)) == ["a1", "a2", "a3"]


def test_a_prolonged_timeout_blocks_the_group_for_as_long(sqs: Sqs) -> None:
    url = queue(sqs, a="12", b="1")
    (first,) = sqs.poll(url, 1)
    sqs.hide(url, first, 300)
    assert bodies(sqs.poll(url)) == ["b1"]
    sqs.clock.advance(240)
    assert of_group("a", sqs.poll(url)) == []
    sqs.clock.advance(60)
    assert of_group("a", sqs.poll(url)) == ["a1", "a2"]


# --- deletes ---------------------------------------------------------------------------------------------------------
def test_a_group_is_blocked_until_its_messages_are_deleted(sqs: Sqs) -> None:
    """While a message of a group is in flight, receives return messages only from other groups."""
    url = queue(sqs, a="12", b="1")
    (first,) = sqs.receive(url, 1)
    assert first["Body"] == "a1"
    assert bodies(sqs.receive(url, 1)) == ["b1"]
    assert sqs.poll(url) == []
    sqs.delete(url, first)
    assert bodies(sqs.poll(url)) == ["a2"]


@pytest.mark.parametrize("deleted", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)], ids=str)
def test_the_rest_of_a_batch_blocks_the_group(sqs: Sqs, deleted: tuple[int, ...]) -> None:
    """The group is blocked until the undeleted messages are visible again, and receives return these messages first."""
    url = queue(sqs, a="1234")
    batch = sqs.receive(url, 3)
    for index in deleted:
        sqs.delete(url, batch[index])
    left = [message["Body"] for index, message in enumerate(batch) if index not in deleted]
    assert sqs.poll(url) == []
    sqs.clock.advance(31)
    assert bodies(sqs.poll(url)) == [*left, "a4"]


def test_the_group_goes_on_when_the_whole_batch_is_deleted(sqs: Sqs) -> None:
    url = queue(sqs, a="1234")
    for message in sqs.receive(url, 3):
        assert sqs.poll(url) == []
        sqs.delete(url, message)
    assert bodies(sqs.poll(url)) == ["a4"]


def test_a_deleted_first_message_does_not_free_the_second(sqs: Sqs) -> None:
    """One message is deleted, one is visible, and one is in flight. A receive returns only messages that precede the
    message in flight.
    """
    url = queue(sqs, a="1234")
    first, second, _ = sqs.receive(url, 3)
    sqs.delete(url, first)
    sqs.hide(url, second, 0)
    assert bodies(sqs.poll(url)) == ["a2"]
    assert sqs.poll(url) == []


# --- several groups --------------------------------------------------------------------------------------------------
def test_a_receive_takes_several_groups(sqs: Sqs) -> None:
    """A batch can contain several groups, each in order, and then blocks all of these groups."""
    url = sqs.create_fifo(ContentBasedDeduplication="true")
    for number in range(4):
        for group in "abc":
            sqs.send(url, f"{group}{number}", MessageGroupId=group)
    got = sqs.receive(url, 9)
    assert {body[0] for body in bodies(got)} == set("abc")
    for group in "abc":
        assert of_group(group, got) == [f"{group}{n}" for n in range(len(of_group(group, got)))]
    assert sqs.poll(url) == []
    for message in got:
        if message["Body"][0] == "b":
            sqs.delete(url, message)
    rest = bodies(sqs.poll(url))
    assert rest == [f"b{n}" for n in range(len(of_group("b", got)), 4)]


def test_as_many_of_one_group_as_possible(sqs: Sqs) -> None:
    """SQS "tries to return as many messages with the same group ID as possible", and fills the batch from other
    groups.
    """
    url = queue(sqs, a="1234", b="1234")
    assert bodies(sqs.poll(url, 3)) == ["a1", "a2", "a3"]
    assert bodies(sqs.poll(url, 10)) == ["b1", "b2", "b3", "b4"]
    url = queue(sqs, a="12", b="1234")
    assert bodies(sqs.poll(url, 4)) == ["a1", "a2", "b1", "b2"]


def test_groups_of_one_name_in_two_queues(sqs: Sqs) -> None:
    one, other = queue(sqs, a="12"), queue(sqs, a="12")
    assert bodies(sqs.poll(one, 1)) == ["a1"]
    assert bodies(sqs.poll(other, 1)) == ["a1"]


def test_a_group_that_was_empty_comes_back(sqs: Sqs) -> None:
    """A group is empty after its messages are deleted. The next message is then the first message of the group."""
    url = queue(sqs, a="1")
    sqs.delete(url, sqs.receive_one(url))
    sqs.until_cleaned(url)
    sqs.send(url, "a2", MessageGroupId="a")
    assert bodies(sqs.poll(url)) == ["a2"]


# --- sequence numbers ------------------------------------------------------------------------------------------------
def test_sequence_numbers_rise_through_everything(sqs: Sqs) -> None:
    """SendMessage, SequenceNumber: "continues to increase for a particular MessageGroupId", also after deletions."""
    url = queue(sqs)
    numbers: list[str] = []
    for number in range(4):
        entries = [{"Id": name, "MessageBody": f"{number}-{name}", "MessageGroupId": "g"} for name in ("x", "y")]
        response = sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
        sent = {result["Id"]: result["SequenceNumber"] for result in response["Successful"]}
        numbers += [sent["x"], sent["y"]]
        for message in sqs.receive(url, 2):
            sqs.delete(url, message)
    assert numbers == sorted(set(numbers))


def test_the_order_is_that_of_the_sequence_numbers(sqs: Sqs) -> None:
    """The queue stores a batch in the order of its entries."""
    url = queue(sqs)
    entries = [{"Id": str(n), "MessageBody": str(n), "MessageGroupId": "g"} for n in range(10)]
    sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    got = sqs.receive(url, 10, AttributeNames=["SequenceNumber"])
    assert bodies(got) == [str(n) for n in range(10)]
    numbers = [message["Attributes"]["SequenceNumber"] for message in got]
    assert numbers == sorted(set(numbers))


# --- retention: no worker cleans the queue in these tests ------------------------------------------------------------
@pytest.mark.parametrize("state", ["in flight", "hidden", "delayed"])
def test_a_message_past_its_retention_blocks_no_group(sqs: Sqs, state: str) -> None:
    """The first message is invisible for longer than its retention period. A younger message of the same group
    follows."""
    url = sqs.create_fifo(
        ContentBasedDeduplication="true",
        VisibilityTimeout="1200",
        MessageRetentionPeriod="600",
        DelaySeconds="900" if state == "delayed" else "0",
    )
    sqs.send(url, "old", MessageGroupId="g")
    for old in sqs.receive(url) if state != "delayed" else []:
        if state == "hidden":
            sqs.hide(url, old, 1200)
    sqs.clock.advance(300)
    sqs.send(url, "young", MessageGroupId="g")
    assert sqs.poll(url) == []
    sqs.clock.advance(301)
    if state == "delayed":
        sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "0"})
    assert bodies(sqs.receive(url)) == ["young"]
    assert (sqs.poll(url), sqs.counts(url)) == ([], (0, 1, 0))
