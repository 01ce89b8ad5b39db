"""Tests of FIFO queues. Sources: Developer Guide, "FIFO delivery logic" and "Message group ID"; SendMessage
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html).

The last tests are about DeduplicationScope and FifoThroughputLimit.

Their sources: CreateQueue, SetQueueAttributes; Developer Guide, "High throughput for FIFO queues".
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.conformance.sqs import Sqs


def fifo(sqs: Sqs, **attributes: str) -> str:
    """Creates a queue that deduplicates by content, so that messages need no id."""
    return sqs.create_fifo(ContentBasedDeduplication="true", **attributes)


def bodies(messages: list[dict[str, Any]]) -> list[str]:
    return [message["Body"] for message in messages]


def test_order_in_a_group(sqs: Sqs) -> None:
    """One receive returns several messages of one group in the order of sending."""
    url = fifo(sqs)
    expected = [f"{number}" for number in range(12)]
    sqs.send_all(url, *expected, MessageGroupId="g")
    first = sqs.receive(url, 10)
    assert bodies(first) == expected[:10]
    assert sqs.poll(url) == []
    for message in first:
        sqs.delete(url, message)
    assert bodies(sqs.receive(url, 2)) == expected[10:]


def test_sequence_numbers(sqs: Sqs) -> None:
    """SequenceNumber of SendMessage is large, not consecutive, increases in a group, and has 20 digits."""
    url = fifo(sqs)
    sent = [sqs.send(url, str(n), MessageGroupId="g")["SequenceNumber"] for n in range(3)]
    assert sent == sorted(set(sent))
    assert all(re.fullmatch("[0-9]{20}", number) for number in sent)
    got = sqs.receive(url, 3, AttributeNames=["SequenceNumber"])
    assert [message["Attributes"]["SequenceNumber"] for message in got] == sent


def test_system_attributes(sqs: Sqs) -> None:
    """ReceiveMessage returns MessageGroupId, MessageDeduplicationId and SequenceNumber besides the other attributes."""
    url = sqs.create_fifo()
    sqs.send(url, MessageGroupId="g", MessageDeduplicationId="d")
    attributes = sqs.receive_one(url, AttributeNames=["All"])["Attributes"]
    assert (attributes["MessageGroupId"], attributes["MessageDeduplicationId"]) == ("g", "d")
    assert attributes.keys() == {
        "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
        "SequenceNumber", "MessageDeduplicationId", "MessageGroupId",
    }  # fmt: skip


def test_a_group_is_needed(sqs: Sqs) -> None:
    """SendMessage: FIFO queues require MessageGroupId; "the action fails" without it."""
    refusal = sqs.refusal("send_message", QueueUrl=fifo(sqs), MessageBody="x")
    assert (refusal.code, refusal.status) == ("MissingParameter", 400)
    assert "MessageGroupId" in refusal.message


LONGEST = "".join(chr(code) for code in range(33, 127)) + "x" * 34


def test_the_longest_ids(sqs: Sqs) -> None:
    """SendMessage: both ids have up to 128 alphanumeric characters and punctuation."""
    url = sqs.create_fifo()
    sqs.send(url, MessageGroupId=LONGEST, MessageDeduplicationId=LONGEST)
    attributes = sqs.receive_one(url, AttributeNames=["All"])["Attributes"]
    assert (attributes["MessageGroupId"], attributes["MessageDeduplicationId"]) == (LONGEST, LONGEST)


@pytest.mark.parametrize("bad", ["", "a b", "ä", "x" * 129, "a\n", "\x00"])
@pytest.mark.parametrize("parameter", ["MessageGroupId", "MessageDeduplicationId"])
def test_ids_that_cannot_be(sqs: Sqs, parameter: str, bad: str) -> None:
    parameters = {"MessageGroupId": "g", "MessageDeduplicationId": "d", parameter: bad}
    code = sqs.code("send_message", QueueUrl=sqs.create_fifo(), MessageBody="x", **parameters)
    assert code in ("InvalidParameterValue", "MissingParameter")


def test_a_delay_belongs_to_the_queue(sqs: Sqs) -> None:
    """SendMessage: "When you set FifoQueue, you can't set DelaySeconds per message"; 0 is allowed."""
    url = fifo(sqs, DelaySeconds="60")
    code = sqs.code("send_message", QueueUrl=url, MessageBody="x", MessageGroupId="g", DelaySeconds=1)
    assert code == "InvalidParameterValue"
    sqs.send(url, "first", MessageGroupId="g", DelaySeconds=0)
    assert (sqs.poll(url), sqs.counts(url)) == ([], (0, 0, 1))
    sqs.clock.advance(60)
    assert sqs.receive_one(url)["Body"] == "first"


def test_a_changed_delay_holds_for_what_is_in_the_queue(sqs: Sqs) -> None:
    """Developer Guide, "Delay queues": the setting of a FIFO queue also applies to messages not yet received."""
    url = fifo(sqs, DelaySeconds="60")
    sqs.send(url, "a", MessageGroupId="a")
    sqs.clock.advance(30)
    sqs.send(url, "b", MessageGroupId="b")
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "20"})
    assert (sqs.counts(url), sqs.receive_one(url)["Body"]) == ((1, 0, 1), "a")
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "900"})
    sqs.clock.advance(60)
    assert (sqs.counts(url), bodies(sqs.poll(url))) == ((1, 0, 1), ["a"])
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "0"})
    assert sqs.receive_one(url)["Body"] == "b"


BOTH = {"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}
NEITHER = {"DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue"}


def change(sqs: Sqs, url: str, **attributes: str) -> dict[str, str]:
    """Changes attributes and returns those that read back."""
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes=attributes)
    return sqs.attributes(url, *BOTH)


def test_on_and_off(sqs: Sqs) -> None:
    """The attribute is off by default. Each value of the attribute reads back as it was set, at creation and later."""
    url = sqs.create_fifo()
    assert sqs.attributes(url, *BOTH) == NEITHER
    assert change(sqs, url, **BOTH) == BOTH
    assert change(sqs, url, **NEITHER) == NEITHER
    assert sqs.attributes(sqs.create_fifo(**BOTH), *BOTH) == BOTH


def test_one_after_the_other(sqs: Sqs) -> None:
    """A client may set the scope alone, "and deduplication occurs as specified". The limit requires the scope."""
    url = sqs.create_fifo()
    assert change(sqs, url, DeduplicationScope="messageGroup") == {**NEITHER, "DeduplicationScope": "messageGroup"}
    assert change(sqs, url, FifoThroughputLimit="perMessageGroupId") == BOTH


LIMIT = {"FifoThroughputLimit": "perMessageGroupId"}
NOT_ALLOWED = "The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup."


@pytest.mark.parametrize("scope", [{}, {"DeduplicationScope": "queue"}], ids=["default", "queue"])
def test_the_limit_needs_the_scope(sqs: Sqs, scope: dict[str, str]) -> None:
    """ "The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup"."""
    attributes = {"FifoQueue": "true", **LIMIT, **scope}
    refusal = sqs.refusal("create_queue", QueueName=sqs.name(".fifo"), Attributes=attributes)
    assert (refusal.code, refusal.status) == ("InvalidAttributeValue", 400)
    assert refusal.message.endswith(NOT_ALLOWED)
    url = sqs.create_fifo(**scope)
    assert sqs.code("set_queue_attributes", QueueUrl=url, Attributes={**LIMIT, **scope}) == refusal.code
    assert sqs.attributes(url, *BOTH) == NEITHER


def test_the_scope_stays_as_long_as_the_limit_needs_it(sqs: Sqs) -> None:
    url = sqs.create_fifo(**BOTH)
    refusal = sqs.refusal("set_queue_attributes", QueueUrl=url, Attributes={"DeduplicationScope": "queue"})
    assert (refusal.code, refusal.message.endswith(NOT_ALLOWED)) == ("InvalidAttributeValue", True)
    assert sqs.attributes(url, *BOTH) == BOTH


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("value", ["", "Queue", "messagegroup", "perqueue", "true"])
def test_values_that_cannot_be(sqs: Sqs, name: str, value: str) -> None:
    code = sqs.code("set_queue_attributes", QueueUrl=sqs.create_fifo(), Attributes={name: value})
    assert code == "InvalidAttributeValue"


@pytest.mark.parametrize("name", [*BOTH, "ContentBasedDeduplication"])
def test_only_for_fifo_queues(sqs: Sqs, name: str) -> None:
    """The texts for attributes of FIFO queues are recorded answers."""
    value = {**BOTH, "ContentBasedDeduplication": "true"}[name]
    refusal = sqs.refusal("set_queue_attributes", QueueUrl=sqs.create(), Attributes={name: value})
    only_fifo = f"You can specify the {name} only when FifoQueue is set to true."
    assert (refusal.code, refusal.message) == ("InvalidAttributeName", only_fifo)
    refusal = sqs.refusal("create_queue", QueueName=sqs.name(), Attributes={name: value})
    unknown = "Unknown Attribute ContentBasedDeduplication."
    text = unknown if name == "ContentBasedDeduplication" else only_fifo
    assert (refusal.code, refusal.message) == ("InvalidAttributeName", text)


def test_a_changed_scope_holds_for_new_ids(sqs: Sqs) -> None:
    """An id that was used at the scope of the queue stays known there for five minutes (recorded at AWS)."""
    url = sqs.create_fifo()

    def send(group: str, deduplication_id: str = "d") -> str:
        sent = sqs.send(url, MessageGroupId=group, MessageDeduplicationId=deduplication_id)
        return str(sent["MessageId"])

    first = send("a")
    assert send("b") == first
    change(sqs, url, DeduplicationScope="messageGroup")
    assert send("b") == first
    assert send("a", "new") != send("b", "new")
    sqs.clock.advance(300)
    of_b = send("b")
    assert of_b != first
    assert send("b") == of_b
    assert sqs.counts(url) == (4, 0, 0)
