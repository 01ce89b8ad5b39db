"""Tests SendMessageBatch, DeleteMessageBatch and ChangeMessageVisibilityBatch. Source: their API reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.conformance.requests import md5_of_attributes, md5_of_body
from tests.support.conformance.sqs import Sqs

pytestmark = pytest.mark.cbor("container")

MIB = 1_048_576
PREFIX = "AWS.SimpleQueueService."
HALF = "x" * (MIB // 2)
TEXT = {"name": {"DataType": "String", "StringValue": "ä"}}
BINARY = {"name": {"DataType": "Binary", "BinaryValue": b"four"}}
EMPTY = {"name": {"DataType": "String", "StringValue": ""}}
Entry = dict[str, Any]


def send_entry(entry_id: str) -> Entry:
    return {"Id": entry_id, "MessageBody": f"body {entry_id}"}


def delete_entry(entry_id: str) -> Entry:
    return {"Id": entry_id, "ReceiptHandle": "x"}


def hide_entry(entry_id: str) -> Entry:
    return {"Id": entry_id, "ReceiptHandle": "x", "VisibilityTimeout": 0}


BATCHES = pytest.mark.parametrize(
    ("method", "entry"),
    [
        ("send_message_batch", send_entry),
        ("delete_message_batch", delete_entry),
        ("change_message_visibility_batch", hide_entry),
    ],
    ids=["send", "delete", "change"],
)


def ids(entries: list[Entry]) -> list[str]:
    return [entry["Id"] for entry in entries]


@BATCHES
def test_no_entries(sqs: Sqs, method: str, entry: Callable[[str], Entry]) -> None:
    assert sqs.code(method, QueueUrl=sqs.create(), Entries=[]) == PREFIX + "EmptyBatchRequest"


@BATCHES
def test_eleven_entries(sqs: Sqs, method: str, entry: Callable[[str], Entry]) -> None:
    entries = [entry(str(number)) for number in range(11)]
    code = sqs.code(method, QueueUrl=sqs.create(), Entries=entries)
    assert code == PREFIX + "TooManyEntriesInBatchRequest"


@BATCHES
def test_the_same_id_twice(sqs: Sqs, method: str, entry: Callable[[str], Entry]) -> None:
    code = sqs.code(method, QueueUrl=sqs.create(), Entries=[entry("a"), entry("b"), entry("a")])
    assert code == PREFIX + "BatchEntryIdsNotDistinct"


@BATCHES
@pytest.mark.parametrize("bad", ["", "a b", "a.b", "ä", "x" * 81, "a\n"])
def test_ids_that_cannot_be(sqs: Sqs, method: str, entry: Callable[[str], Entry], bad: str) -> None:
    """An entry's Id has up to 80 alphanumeric characters, hyphens and underscores."""
    code = sqs.code(method, QueueUrl=sqs.create(), Entries=[entry("good"), entry(bad)])
    assert code == PREFIX + "InvalidBatchEntryId"


@BATCHES
def test_a_queue_that_does_not_exist(sqs: Sqs, method: str, entry: Callable[[str], Entry]) -> None:
    code = sqs.code(method, QueueUrl=f"{sqs.create()}-none", Entries=[entry("a")])
    assert code == PREFIX + "NonExistentQueue"


def test_send_ten(sqs: Sqs) -> None:
    """SendMessageBatch takes up to ten messages. Each result contains the entry's Id, the MessageId and the digests."""
    url = sqs.create()
    attributes = {"kind": {"DataType": "String", "StringValue": "x"}}
    entries = [{**send_entry(f"{n}_-A" + "x" * 76), "MessageAttributes": attributes} for n in range(10)]
    response = sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    assert "Failed" not in response
    assert ids(response["Successful"]) == ids(entries)
    for entry, result in zip(entries, response["Successful"], strict=True):
        assert result["MD5OfMessageBody"] == md5_of_body(str(entry["MessageBody"]))
        assert result["MD5OfMessageAttributes"] == md5_of_attributes(attributes)
    got = {message["MessageId"]: message["Body"] for message in sqs.receive(url, 10)}
    assert [got[result["MessageId"]] for result in response["Successful"]] == [e["MessageBody"] for e in entries]


def test_entries_fail_one_by_one(sqs: Sqs) -> None:
    """SendMessageBatch: "The result of sending each message is reported individually in the response"."""
    url = sqs.create(MaximumMessageSize="1024")
    entries = [
        send_entry("good"),
        {**send_entry("character"), "MessageBody": "a\x01b"},
        {**send_entry("delay"), "DelaySeconds": 901},
        {**send_entry("size"), "MessageBody": "x" * 1025},
        {**send_entry("attribute"), "MessageAttributes": {"a": {"DataType": "Text", "StringValue": "x"}}},
        {**send_entry("deduplication"), "MessageDeduplicationId": "d"},
        {**send_entry("delayed"), "DelaySeconds": 900},
    ]
    response = sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    failed = {entry["Id"]: entry for entry in response["Failed"]}
    assert sorted(ids(response["Successful"])) == ["delayed", "good"]
    assert {name: entry["Code"] for name, entry in failed.items()} == {
        "character": "InvalidMessageContents",
        "delay": "InvalidParameterValue",
        "size": "InvalidParameterValue",
        "attribute": "InvalidParameterValue",
        "deduplication": "InvalidParameterValue",
    }
    assert all(entry["SenderFault"] is True and entry["Message"] for entry in failed.values())
    assert sqs.counts(url) == (1, 0, 1)


def test_every_entry_fails(sqs: Sqs) -> None:
    """The request itself succeeds: "you should check for batch errors even when the call returns 200"."""
    url = sqs.create()
    entries = [{**send_entry(name), "MessageBody": "\x01"} for name in ("a", "b")]
    response = sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    assert (ids(response["Failed"]), "Successful" in response) == (["a", "b"], False)
    assert sqs.counts(url) == (0, 0, 0)


def test_no_good_entry_for_no_queue(sqs: Sqs) -> None:
    """QueueDoesNotExist applies to the whole SendMessageBatch request, even if every entry is invalid."""
    entries = [{**send_entry("a"), "MessageBody": "\x01"}]
    code = sqs.code("send_message_batch", QueueUrl=f"{sqs.create()}-none", Entries=entries)
    assert code == PREFIX + "NonExistentQueue"


def test_one_mebibyte_in_total(sqs: Sqs) -> None:
    """The sum of the messages' lengths is at most 1 MiB, 1,048,576 bytes (SendMessageBatch)."""
    url = sqs.create()
    entries = [{**send_entry("a"), "MessageBody": HALF}, {**send_entry("b"), "MessageBody": HALF}]
    assert ids(sqs.client.send_message_batch(QueueUrl=url, Entries=entries)["Successful"]) == ["a", "b"]
    entries[1]["MessageBody"] = f"{HALF}x"
    code = sqs.code("send_message_batch", QueueUrl=url, Entries=entries)
    assert code == PREFIX + "BatchRequestTooLong"
    assert sqs.counts(url) == (2, 0, 0)


@pytest.mark.parametrize(
    ("first", "second", "size"),
    [
        ({"MessageBody": "hello"}, {"MessageBody": "x" * (MIB + 100)}, MIB + 105),
        ({"MessageBody": f"{HALF}x"}, {"MessageBody": HALF}, MIB + 1),
        ({"MessageBody": f"{HALF}ä"}, {"MessageBody": HALF + "€" * 100}, MIB + 302),
        ({"MessageBody": "ä" * (MIB // 4)}, {"MessageBody": "€" * (MIB // 4)}, MIB // 4 * 5),
        ({"MessageBody": HALF}, {"MessageBody": HALF, "MessageAttributes": TEXT}, MIB + 12),
        ({"MessageBody": f"{HALF}x"}, {"MessageBody": HALF, "MessageAttributes": BINARY}, MIB + 15),
        ({"MessageBody": f"{HALF}x", "MessageAttributes": EMPTY}, {"MessageBody": HALF}, MIB + 11),
        ({"MessageBody": HALF}, {"MessageBody": f"{HALF}\x01"}, MIB + 1),
        ({"MessageBody": HALF}, {"MessageBody": f"{HALF[:-1]}ä", "DelaySeconds": 901}, MIB + 1),
    ],
)  # fmt: skip
def test_the_error_has_the_exact_size(sqs: Sqs, first: dict[str, Any], second: dict[str, Any], size: int) -> None:
    """The sum includes the body and the attributes' names, types and values of every entry, even of invalid entries
    ("Amazon SQS message quotas", SQS Developer Guide:
    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html).
    """
    url = sqs.create()
    entries = [{**send_entry("a"), **first}, {**send_entry("b"), **second}]
    refusal = sqs.refusal("send_message_batch", QueueUrl=url, Entries=entries)
    assert refusal.code == PREFIX + "BatchRequestTooLong"
    assert refusal.message == f"Batch requests cannot be longer than 1048576 bytes. You have sent {size} bytes."


def test_an_entry_that_is_longer_than_the_queue_allows(sqs: Sqs) -> None:
    """Only this entry fails. The text of the error differs from the text of SendMessage (both recorded at AWS)."""
    url = sqs.create(MaximumMessageSize="1024")
    text = "One or more parameters {}. Reason: Message must be shorter than 1024 bytes."
    entries = [{"Id": "long", "MessageBody": "x" * 1_025}, {"Id": "short", "MessageBody": "x" * 1_024}]
    response = sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    assert [entry["Id"] for entry in response["Successful"]] == ["short"]
    (failed,) = response["Failed"]
    assert (failed["Code"], failed["Message"]) == ("InvalidParameterValue", text.format("cannot be validated"))
    alone = sqs.refusal("send_message", QueueUrl=url, MessageBody="x" * 1_025)
    assert (alone.code, alone.message) == ("InvalidParameterValue", text.format("are invalid"))


def test_a_fifo_batch_keeps_its_order(sqs: Sqs) -> None:
    """In SendMessageBatch to a FIFO queue, sequence numbers rise in the order of the entries."""
    url = sqs.create_fifo()
    entries = [{**send_entry(str(n)), "MessageGroupId": "g", "MessageDeduplicationId": str(n)} for n in range(10)]
    response = sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    numbers = {entry["Id"]: entry["SequenceNumber"] for entry in response["Successful"]}
    assert sorted(numbers, key=lambda entry_id: numbers[entry_id]) == ids(entries)
    assert [message["Body"] for message in sqs.receive(url, 10)] == [e["MessageBody"] for e in entries]


GOOD = {"MessageGroupId": "g", "MessageDeduplicationId": "good"}
NO_DEDUPLICATION = (
    "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
)


def test_fifo_entries_fail_one_by_one(sqs: Sqs) -> None:
    """Messages to a FIFO queue cannot have a delay (SendMessage)."""
    url = sqs.create_fifo()
    entries = [{**send_entry("good"), **GOOD}, {**send_entry("delay"), **GOOD, "DelaySeconds": 1}]
    response = sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    assert ids(response["Successful"]) == ["good"]
    assert {entry["Id"]: entry["Code"] for entry in response["Failed"]} == {"delay": "InvalidParameterValue"}


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ({"MessageDeduplicationId": "x"}, "The request must contain the parameter MessageGroupId."),
        ({"MessageGroupId": "g"}, NO_DEDUPLICATION),
    ],
)
@pytest.mark.parametrize("others", [[], [{**send_entry("good"), **GOOD}]])
def test_fifo_entries_that_fail_them_all(
    sqs: Sqs, others: list[dict[str, Any]], bad: dict[str, str], text: str
) -> None:
    """A missing group or deduplication id fails the whole batch (recorded at AWS)."""
    url = sqs.create_fifo()
    refusal = sqs.refusal("send_message_batch", QueueUrl=url, Entries=[*others, {**send_entry("bad"), **bad}])
    assert (refusal.code, refusal.status, refusal.message) == ("InvalidParameterValue", 400, text)
    assert sqs.counts(url) == (0, 0, 0)


def test_a_fifo_batch_with_and_without_ids(sqs: Sqs) -> None:
    """A queue with content-based deduplication accepts entries with and without a deduplication id."""
    url = sqs.create_fifo(ContentBasedDeduplication="true")
    entries = [{**send_entry("given"), **GOOD}, {**send_entry("derived"), "MessageGroupId": "g"}]
    response = sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    assert ids(response["Successful"]) == ["given", "derived"]


def test_delete_some(sqs: Sqs) -> None:
    """DeleteMessageBatch reports the result of each entry. Two entries with the same handle succeed, because deleting
    is idempotent."""
    url, other = sqs.create(), sqs.create()
    sqs.send_all(url, "a", "b", "c")
    sqs.send(other)
    first, second, _ = sqs.receive(url, 3)
    foreign = sqs.receive_one(other)
    handles = {
        "first": first["ReceiptHandle"],
        "second": second["ReceiptHandle"],
        "again": first["ReceiptHandle"],
        "forged": "x" * 60,
        "foreign": foreign["ReceiptHandle"],
    }
    entries = [{"Id": name, "ReceiptHandle": handle} for name, handle in handles.items()]
    response = sqs.client.delete_message_batch(QueueUrl=url, Entries=entries)
    assert sorted(ids(response["Successful"])) == ["again", "first", "second"]
    codes = {entry["Id"]: (entry["Code"], entry["SenderFault"]) for entry in response["Failed"]}
    assert codes == dict.fromkeys(("forged", "foreign"), ("ReceiptHandleIsInvalid", True))
    assert (sqs.counts(url), sqs.counts(other)) == ((0, 1, 0), (0, 1, 0))


def test_change_some(sqs: Sqs) -> None:
    """ChangeMessageVisibilityBatch reports the result of each entry. The text for a deleted message was recorded at
    AWS."""
    url = sqs.create()
    sqs.send_all(url, "visible", "deleted", "hidden", "too long")
    found = {message["Body"]: message for message in sqs.receive(url, 4)}
    sqs.delete(url, found["deleted"])
    seconds = {"visible": 0, "deleted": 0, "hidden": 600, "too long": 43_201}
    entries = [
        {"Id": body.replace(" ", "-"), "ReceiptHandle": found[body]["ReceiptHandle"], "VisibilityTimeout": s}
        for body, s in seconds.items()
    ]
    entries.append({"Id": "forged", "ReceiptHandle": "forged", "VisibilityTimeout": 0})
    response = sqs.client.change_message_visibility_batch(QueueUrl=url, Entries=entries)
    assert sorted(ids(response["Successful"])) == ["hidden", "visible"]
    assert {entry["Id"]: entry["Code"] for entry in response["Failed"]} == {
        "deleted": "ReceiptHandleIsInvalid",
        "too-long": "InvalidParameterValue",
        "forged": "ReceiptHandleIsInvalid",
    }
    (deleted,) = (entry for entry in response["Failed"] if entry["Id"] == "deleted")
    assert deleted["Message"] == "Message does not exist or is not available for visibility timeout change"
    assert deleted["SenderFault"] is True
    assert sqs.receive_one(url)["Body"] == "visible"
    sqs.clock.advance(31)
    assert {message["Body"] for message in sqs.receive(url, 2)} == {"visible", "too long"}


def test_change_without_a_timeout(sqs: Sqs) -> None:
    """The text comes from issue 2250 of aws-sdk-go-v2, which omitted a timeout of 0 from requests."""
    url = sqs.create()
    sqs.send_all(url, "a", "b")
    first, second = sqs.receive(url, 2)
    entries = [
        {"Id": "good", "ReceiptHandle": first["ReceiptHandle"], "VisibilityTimeout": 600},
        {"Id": "none", "ReceiptHandle": second["ReceiptHandle"]},
    ]
    response = sqs.client.change_message_visibility_batch(QueueUrl=url, Entries=entries)
    assert ids(response["Successful"]) == ["good"]
    name = "ChangeMessageVisibilityBatchRequestEntry.2.VisibilityTimeout"
    assert response["Failed"] == [
        {
            "Id": "none",
            "SenderFault": True,
            "Code": "MissingParameter",
            "Message": f"The request must contain the parameter {name}.",
        }
    ]
