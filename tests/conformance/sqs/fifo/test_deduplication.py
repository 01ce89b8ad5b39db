"""Tests the deduplication of FIFO queues. Sources: SendMessage; Developer Guide, "Message deduplication ID"
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html).
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.conformance.sqs import Sqs

FIVE_MINUTES = 300


def send(sqs: Sqs, url: str, body: str, deduplication_id: str | None = "d", group: str = "g") -> Any:
    more = {} if deduplication_id is None else {"MessageDeduplicationId": deduplication_id}
    return sqs.send(url, body, MessageGroupId=group, **more)


def test_the_same_id_within_five_minutes(sqs: Sqs) -> None:
    """SendMessage accepts the duplicate, but does not deliver it. The answer equals that of the first message."""
    url = sqs.create_fifo()
    first = send(sqs, url, "first")
    second = send(sqs, url, "second")
    same = ("MessageId", "SequenceNumber")
    assert [second[name] for name in same] == [first[name] for name in same]
    assert second["MD5OfMessageBody"] != first["MD5OfMessageBody"]
    assert ([m["Body"] for m in sqs.receive(url, 1)], sqs.poll(url)) == (["first"], [])


def test_the_same_id_after_five_minutes(sqs: Sqs) -> None:
    """SendMessage: the deduplication interval is five minutes from the first send."""
    url = sqs.create_fifo()
    first = send(sqs, url, "first")
    sqs.clock.advance(FIVE_MINUTES - 60)
    assert send(sqs, url, "second")["MessageId"] == first["MessageId"]
    sqs.clock.advance(60)
    assert send(sqs, url, "third")["MessageId"] != first["MessageId"]
    assert sqs.counts(url) == (2, 0, 0)


@pytest.mark.parametrize("scope", ["queue", "messageGroup"])
def test_deduplication_survives_deletion(sqs: Sqs, scope: str) -> None:
    """Developer Guide: SQS tracks the id "even after the message is received and deleted"."""
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
    """After PurgeQueue, a client can send the same id again at once (recorded at AWS)."""
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
    """With the scope of groups, the same content in two groups makes two messages."""
    url = sqs.create_fifo(ContentBasedDeduplication="true", DeduplicationScope="messageGroup")
    ids = {send(sqs, url, "same", None, group)["MessageId"] for group in ("a", "b", "a", "b")}
    assert (len(ids), sqs.counts(url)) == (2, (2, 0, 0))


def test_neither_content_nor_id(sqs: Sqs) -> None:
    """SendMessage: without MessageDeduplicationId and ContentBasedDeduplication "the action fails with an error"."""
    refusal = sqs.refusal("send_message", QueueUrl=sqs.create_fifo(), MessageBody="x", MessageGroupId="g")
    assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)


@pytest.mark.parametrize(("scope", "stored"), [("queue", 1), ("messageGroup", 2)])
def test_the_scope(sqs: Sqs, scope: str, stored: int) -> None:
    """CreateQueue, DeduplicationScope: the scope is the message group or the queue."""
    url = sqs.create_fifo(DeduplicationScope=scope)
    send(sqs, url, "first", "d", "group-1")
    send(sqs, url, "second", "d", "group-2")
    assert sqs.counts(url) == (stored, 0, 0)


def test_within_one_batch(sqs: Sqs) -> None:
    """Two entries with one id both succeed, and the queue stores one message."""
    url = sqs.create_fifo()
    entry = {"MessageGroupId": "g", "MessageDeduplicationId": "d"}
    entries = [{"Id": name, "MessageBody": name, **entry} for name in ("first", "second")]
    answer = sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    results = {result["Id"]: result["MessageId"] for result in answer["Successful"]}
    assert results["first"] == results["second"]
    assert [message["Body"] for message in sqs.receive(url, 1)] == ["first"]
    assert sqs.counts(url) == (0, 1, 0)


def test_queues_do_not_share_their_ids(sqs: Sqs) -> None:
    first, second = sqs.create_fifo(), sqs.create_fifo()
    assert send(sqs, first, "x")["MessageId"] != send(sqs, second, "x")["MessageId"]
    assert (sqs.counts(first)[0], sqs.counts(second)[0]) == (1, 1)
