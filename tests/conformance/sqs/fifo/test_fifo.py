"""Tests of FIFO queues. The sources are the Developer Guide, "FIFO delivery logic" and "Message group ID", and
SendMessage
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html).

The last tests cover DeduplicationScope and FifoThroughputLimit.

The sources for these attributes are CreateQueue, SetQueueAttributes, and the Developer Guide, "High throughput for FIFO
queues".
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.conformance.sqs import Sqs


def fifo(sqs: Sqs, **attributes: str) -> str:
    """Creates a queue that deduplicates by content, so its messages need no deduplication id."""
    return sqs.create_fifo(ContentBasedDeduplication="true", **attributes)


def bodies(messages: list[dict[str, Any]]) -> list[str]:
    return [message["Body"] for message in messages]


def test_order_in_a_group(sqs: Sqs) -> None:
    """One receive returns several messages of one group in the order in which they were sent."""
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
    """SequenceNumber (SendMessage) has 20 digits and increases within a group, but is not consecutive."""
    url = fifo(sqs)
    sent = [sqs.send(url, str(n), MessageGroupId="g")["SequenceNumber"] for n in range(3)]
    assert sent == sorted(set(sent))
    assert all(re.fullmatch("[0-9]{20}", number) for number in sent)
    got = sqs.receive(url, 3, AttributeNames=["SequenceNumber"])
    assert [message["Attributes"]["SequenceNumber"] for message in got] == sent


def test_system_attributes(sqs: Sqs) -> None:
    """ReceiveMessage returns MessageGroupId, MessageDeduplicationId and SequenceNumber in addition to the other
    attributes.
    """
    url = sqs.create_fifo()
    sqs.send(url, MessageGroupId="g", MessageDeduplicationId="d")
    attributes = sqs.receive_one(url, AttributeNames=["All"])["Attributes"]
    assert (attributes["MessageGroupId"], attributes["MessageDeduplicationId"]) == ("g", "d")
    assert attributes.keys() == {
        "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
        "SequenceNumber", "MessageDeduplicationId", "MessageGroupId",
    }  # fmt: skip


def test_a_group_is_needed(sqs: Sqs) -> None:
    """SendMessage: FIFO queues require MessageGroupId, and without it "the action fails"."""
    refusal = sqs.refusal("send_message", QueueUrl=fifo(sqs), MessageBody="x")
    assert (refusal.code, refusal.status) == ("MissingParameter", 400)
    assert "MessageGroupId" in refusal.message


LONGEST = "".join(chr(code) for code in range(33, 127)) + "x" * 34


def test_the_longest_ids(sqs: Sqs) -> None:
    """MessageGroupId and MessageDeduplicationId have up to 128 alphanumeric characters and punctuation
    (SendMessage)."""
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
    """A change of a FIFO queue's delay also applies to messages already in the queue ("Delay queues", Developer
    Guide).
    """
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
    """Changes attributes and returns the stored values."""
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes=attributes)
    return sqs.attributes(url, *BOTH)


def test_on_and_off(sqs: Sqs) -> None:
    """The attribute is off by default. GetQueueAttributes returns each value as it was set, at creation or later."""
    url = sqs.create_fifo()
    assert sqs.attributes(url, *BOTH) == NEITHER
    assert change(sqs, url, **BOTH) == BOTH
    assert change(sqs, url, **NEITHER) == NEITHER
    assert sqs.attributes(sqs.create_fifo(**BOTH), *BOTH) == BOTH


def test_one_after_the_other(sqs: Sqs) -> None:
    """A client can set the scope alone, "and deduplication occurs as specified". FifoThroughputLimit requires
    DeduplicationScope."""
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
    """The texts about FIFO queues' attributes were recorded at AWS."""
    value = {**BOTH, "ContentBasedDeduplication": "true"}[name]
    refusal = sqs.refusal("set_queue_attributes", QueueUrl=sqs.create(), Attributes={name: value})
    only_fifo = f"You can specify the {name} only when FifoQueue is set to true."
    assert (refusal.code, refusal.message) == ("InvalidAttributeName", only_fifo)
    refusal = sqs.refusal("create_queue", QueueName=sqs.name(), Attributes={name: value})
    unknown = "Unknown Attribute ContentBasedDeduplication."
    text = unknown if name == "ContentBasedDeduplication" else only_fifo
    assert (refusal.code, refusal.message) == ("InvalidAttributeName", text)


def test_a_changed_scope_holds_for_new_ids(sqs: Sqs) -> None:
    """The scope changes from queue to messageGroup. The queue knows ids from before the change for five minutes
    (recorded at AWS).
    """
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


# --- deduplication ---------------------------------------------------------------------------------------------------
# Tests the deduplication of FIFO queues. The sources are SendMessage and the Developer Guide, "Message deduplication
# ID" (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-
# property.html).

FIVE_MINUTES = 300


def send(sqs: Sqs, url: str, body: str, deduplication_id: str | None = "d", group: str = "g") -> Any:
    more = {} if deduplication_id is None else {"MessageDeduplicationId": deduplication_id}
    return sqs.send(url, body, MessageGroupId=group, **more)


def test_the_same_id_within_five_minutes(sqs: Sqs) -> None:
    """SendMessage accepts the duplicate, but does not deliver it. Both sends receive equal responses."""
    url = sqs.create_fifo()
    first = send(sqs, url, "first")
    second = send(sqs, url, "second")
    same = ("MessageId", "SequenceNumber")
    assert [second[name] for name in same] == [first[name] for name in same]
    assert second["MD5OfMessageBody"] != first["MD5OfMessageBody"]
    assert ([m["Body"] for m in sqs.receive(url, 1)], sqs.poll(url)) == (["first"], [])


def test_the_same_id_after_five_minutes(sqs: Sqs) -> None:
    """The deduplication interval is five minutes from the first send (SendMessage)."""
    url = sqs.create_fifo()
    first = send(sqs, url, "first")
    sqs.clock.advance(FIVE_MINUTES - 60)
    assert send(sqs, url, "second")["MessageId"] == first["MessageId"]
    sqs.clock.advance(60)
    assert send(sqs, url, "third")["MessageId"] != first["MessageId"]
    assert sqs.counts(url) == (2, 0, 0)


@pytest.mark.parametrize("scope", ["queue", "messageGroup"])
def test_deduplication_survives_deletion(sqs: Sqs, scope: str) -> None:
    """Developer Guide: SQS tracks the deduplication id "even after the message is received and deleted"."""
    url = sqs.create_fifo(DeduplicationScope=scope)
    first = send(sqs, url, "first")
    sqs.delete(url, sqs.receive_one(url))
    sqs.until_cleaned(url)
    assert send(sqs, url, "second")["MessageId"] == first["MessageId"]
    assert (sqs.poll(url), sqs.counts(url)) == ([], (0, 0, 0))
    sqs.clock.advance(FIVE_MINUTES)
    assert send(sqs, url, "third")["MessageId"] != first["MessageId"]


@pytest.mark.parametrize("scope", ["queue", "messageGroup"])
def test_a_purge_forgets_what_was_sent(sqs: Sqs, scope: str) -> None:
    """After PurgeQueue, a client can send the same id again immediately (recorded at AWS)."""
    url = sqs.create_fifo(DeduplicationScope=scope)
    first = send(sqs, url, "first")
    sqs.client.purge_queue(QueueUrl=url)
    second = send(sqs, url, "second")
    assert second["MessageId"] != first["MessageId"]
    assert send(sqs, url, "third")["MessageId"] == second["MessageId"]
    assert [message["Body"] for message in sqs.receive(url, 1)] == ["second"]


def test_while_the_message_is_in_flight(sqs: Sqs) -> None:
    url = sqs.create_fifo()
    first = send(sqs, url, "first")
    message = sqs.receive_one(url)
    assert send(sqs, url, "second")["MessageId"] == first["MessageId"]
    sqs.delete(url, message)
    assert sqs.poll(url) == []


def test_by_content(sqs: Sqs) -> None:
    """ContentBasedDeduplication uses SHA-256 of the body and ignores the attributes."""
    url = sqs.create_fifo(ContentBasedDeduplication="true")
    first = send(sqs, url, "same", None)
    note = {"note": {"DataType": "String", "StringValue": "x"}}
    again = sqs.send(url, "same", MessageGroupId="g", MessageAttributes=note)
    other = send(sqs, url, "other", None)
    assert again["MessageId"] == first["MessageId"] != other["MessageId"]
    assert sqs.counts(url) == (2, 0, 0)
    got = sqs.receive(url, 1, AttributeNames=["MessageDeduplicationId"])
    digest = "0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5"  # by: printf same | sha256sum
    assert got[0]["Attributes"]["MessageDeduplicationId"] == digest


def test_an_explicit_id_wins_over_content(sqs: Sqs) -> None:
    """SendMessage: "the MessageDeduplicationId overrides the generated one"."""
    url = sqs.create_fifo(ContentBasedDeduplication="true")
    assert send(sqs, url, "same", "1")["MessageId"] != send(sqs, url, "same", "2")["MessageId"]
    assert sqs.counts(url) == (2, 0, 0)


def test_an_explicit_id_that_is_the_digest_of_content(sqs: Sqs) -> None:
    """SetQueueAttributes: a MessageDeduplicationId "that is the same as the one generated" makes a duplicate."""
    url = sqs.create_fifo(ContentBasedDeduplication="true")
    digest = "0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5"  # by: printf same | sha256sum
    first = send(sqs, url, "same", None)
    assert send(sqs, url, "other", digest)["MessageId"] == first["MessageId"]
    assert sqs.counts(url) == (1, 0, 0)


def test_by_content_from_now_on(sqs: Sqs) -> None:
    """A client can switch ContentBasedDeduplication on and off."""
    url = sqs.create_fifo()
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"ContentBasedDeduplication": "true"})
    first = send(sqs, url, "same", None)
    assert send(sqs, url, "same", None)["MessageId"] == first["MessageId"]
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"ContentBasedDeduplication": "false"})
    code = sqs.code("send_message", QueueUrl=url, MessageBody="same", MessageGroupId="g")
    assert code == "InvalidParameterValue"


def test_the_digest_is_of_utf_8(sqs: Sqs) -> None:
    url = sqs.create_fifo(ContentBasedDeduplication="true")
    send(sqs, url, "é€😀", None)
    attributes = sqs.receive_one(url, AttributeNames=["MessageDeduplicationId"])["Attributes"]
    # The digest is the output of: printf 'é€😀' | sha256sum
    digest = "df9226927fd572c1ee66eec85de1bb139497614899f36e4e90474cb71f6ef9d0"
    assert attributes == {"MessageDeduplicationId": digest}


def test_by_content_in_each_group(sqs: Sqs) -> None:
    """At the scope messageGroup, the same content in two groups makes two messages."""
    url = sqs.create_fifo(ContentBasedDeduplication="true", DeduplicationScope="messageGroup")
    ids = {send(sqs, url, "same", None, group)["MessageId"] for group in ("a", "b", "a", "b")}
    assert (len(ids), sqs.counts(url)) == (2, (2, 0, 0))


def test_neither_content_nor_id(sqs: Sqs) -> None:
    """SendMessage: without MessageDeduplicationId and ContentBasedDeduplication "the action fails with an error"."""
    refusal = sqs.refusal("send_message", QueueUrl=sqs.create_fifo(), MessageBody="x", MessageGroupId="g")
    assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)


@pytest.mark.parametrize(("scope", "stored"), [("queue", 1), ("messageGroup", 2)])
def test_the_scope(sqs: Sqs, scope: str, stored: int) -> None:
    """The scope is the message group or the queue (CreateQueue, DeduplicationScope)."""
    url = sqs.create_fifo(DeduplicationScope=scope)
    send(sqs, url, "first", "d", "group-1")
    send(sqs, url, "second", "d", "group-2")
    assert sqs.counts(url) == (stored, 0, 0)


def test_within_one_batch(sqs: Sqs) -> None:
    """Two entries with the same deduplication id both succeed, and the queue stores one message."""
    url = sqs.create_fifo()
    entry = {"MessageGroupId": "g", "MessageDeduplicationId": "d"}
    entries = [{"Id": name, "MessageBody": name, **entry} for name in ("first", "second")]
    response = sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    results = {result["Id"]: result["MessageId"] for result in response["Successful"]}
    assert results["first"] == results["second"]
    assert [message["Body"] for message in sqs.receive(url, 1)] == ["first"]
    assert sqs.counts(url) == (0, 1, 0)


def test_queues_do_not_share_their_ids(sqs: Sqs) -> None:
    first, second = sqs.create_fifo(), sqs.create_fifo()
    assert send(sqs, first, "x")["MessageId"] != send(sqs, second, "x")["MessageId"]
    assert (sqs.counts(first)[0], sqs.counts(second)[0]) == (1, 1)
