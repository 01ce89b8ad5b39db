"""Defines the calls of every SQS client, and the results that the client must receive.

A scenario is a generator, which yields calls with boto3's names and receives their responses. Clients of every kind
(blocking, asyncio, command line) can therefore run the same scenario. The expected facts come from the SQS Developer
Guide. The module imports only the standard library, because environments with old clients also run the module.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator
from typing import Any

Call = tuple[str, dict[str, Any]]
Facts = dict[str, Any]
Scenario = Generator[Call, dict[str, Any], Facts]

# The timeout exceeds the longest test, so a message becomes visible only if the scenario makes it visible.
_VISIBILITY_SECONDS = 600
_TEXT = "grüße, 世界 <&>"


class RefusedError(Exception):
    """The service responded with an error."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def run_scenario(scenario: Scenario, call: Callable[[str, dict[str, Any]], dict[str, Any]]) -> Facts:
    """Makes a scenario's calls in sequence and returns its facts. `call` may raise RefusedError."""
    try:
        method, arguments = next(scenario)
        while True:
            try:
                response = call(method, arguments)
            except RefusedError as refused:
                method, arguments = scenario.throw(refused)
            else:
                method, arguments = scenario.send(response)
    except StopIteration as end:
        return dict(end.value)


STANDARD: Facts = {
    "counts when sent": (3, 0),
    "received": sorted([_TEXT, "two", "three"]),
    "body digests hold": True,
    "attributes": {"Text": "tëxt", "Number": "3.14", "Bytes": b"bytes"},
    "counts when received": (0, 3),
    "received after a change of visibility": [("two", "2")],
    "batch deletes that failed": 0,
    "counts when deleted": (0, 0),
    "received when deleted": [],
    "a deleted queue is": "AWS.SimpleQueueService.NonExistentQueue",
}

FIFO: Facts = {
    "a duplicate has the id of the first": True,
    "sequence numbers rise": True,
    "counts when sent": (3, 0),
    "received by group": {"a": ["a1", "a2"], "b": ["b1"]},
    "counts when received": (0, 3),
    "received while the group is in flight": [],
    "received after a change of visibility": ["a1", "a2", "a3"],
    "counts when deleted": (0, 0),
}


def standard(name: str) -> Scenario:
    """Uses a standard queue. The scenario's facts must equal STANDARD."""
    attributes = {"VisibilityTimeout": str(_VISIBILITY_SECONDS)}
    url = (yield "create_queue", {"QueueName": name, "Attributes": attributes})["QueueUrl"]
    yield "send_message", {"QueueUrl": url, "MessageBody": _TEXT, "MessageAttributes": _message_attributes()}
    entries = [{"Id": body, "MessageBody": body} for body in ("two", "three")]
    yield "send_message_batch", {"QueueUrl": url, "Entries": entries}
    facts: Facts = {"counts when sent": (yield from _counts(url))}
    messages = {message["Body"]: message for message in (yield from _receive(url, 3))}
    facts["received"] = sorted(messages)
    facts["body digests hold"] = all(_md5(body) == m["MD5OfBody"] for body, m in messages.items())
    facts["attributes"] = _values(messages[_TEXT]["MessageAttributes"])
    facts["counts when received"] = yield from _counts(url)
    change = {"ReceiptHandle": messages["two"]["ReceiptHandle"], "VisibilityTimeout": 0}
    yield "change_message_visibility", {"QueueUrl": url, **change}
    again = yield from _receive(url, 1)
    facts["received after a change of visibility"] = [
        (message["Body"], message["Attributes"]["ApproximateReceiveCount"]) for message in again
    ]
    yield "delete_message", {"QueueUrl": url, "ReceiptHandle": messages[_TEXT]["ReceiptHandle"]}
    facts["batch deletes that failed"] = yield from _delete(url, [*again, messages["three"]])
    facts["counts when deleted"] = yield from _counts(url)
    facts["received when deleted"] = (yield "receive_message", {"QueueUrl": url}).get("Messages", [])
    facts["a deleted queue is"] = yield from _drop(url, name)
    return facts


def fifo(name: str) -> Scenario:
    """Uses a FIFO queue, so `name` must end in .fifo. The scenario's facts must equal FIFO."""
    attributes = {"FifoQueue": "true", "VisibilityTimeout": str(_VISIBILITY_SECONDS)}
    url = (yield "create_queue", {"QueueName": name, "Attributes": attributes})["QueueUrl"]
    first = yield _fifo_send(url, "a", "a1")
    second = yield _fifo_send(url, "a", "a2")
    yield _fifo_send(url, "b", "b1")
    duplicate = yield _fifo_send(url, "a", "a1")
    facts: Facts = {
        "a duplicate has the id of the first": duplicate["MessageId"] == first["MessageId"],
        "sequence numbers rise": int(first["SequenceNumber"]) < int(second["SequenceNumber"]),
        "counts when sent": (yield from _counts(url)),
    }
    messages = yield from _receive(url, 3)
    groups = {group: [m for m in messages if _group(m) == group] for group in ("a", "b")}
    facts["received by group"] = {group: [m["Body"] for m in among] for group, among in groups.items()}
    facts["counts when received"] = yield from _counts(url)
    yield _fifo_send(url, "a", "a3")
    while_in_flight = yield "receive_message", {"QueueUrl": url, "MaxNumberOfMessages": 10}
    facts["received while the group is in flight"] = while_in_flight.get("Messages", [])
    entries = [{"Id": m["Body"], "ReceiptHandle": m["ReceiptHandle"], "VisibilityTimeout": 0} for m in groups["a"]]
    yield "change_message_visibility_batch", {"QueueUrl": url, "Entries": entries}
    again = yield from _receive(url, 3)
    facts["received after a change of visibility"] = [m["Body"] for m in again]
    yield from _delete(url, [*again, *groups["b"]])
    facts["counts when deleted"] = yield from _counts(url)
    yield "delete_queue", {"QueueUrl": url}
    return facts


def _message_attributes() -> dict[str, Any]:
    return {
        "Text": {"DataType": "String", "StringValue": "tëxt"},
        "Number": {"DataType": "Number", "StringValue": "3.14"},
        "Bytes": {"DataType": "Binary", "BinaryValue": b"bytes"},
    }


def _values(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value["BinaryValue"] if value["DataType"] == "Binary" else value["StringValue"]
        for name, value in attributes.items()
    }


def _counts(url: str) -> Generator[Call, dict[str, Any], tuple[int, int]]:
    """Returns the numbers of visible messages and of messages in flight."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    response = yield "get_queue_attributes", {"QueueUrl": url, "AttributeNames": names}
    waiting, in_flight = (int(response["Attributes"][name]) for name in names)
    return waiting, in_flight


def _receive(url: str, count: int) -> Generator[Call, dict[str, Any], list[dict[str, Any]]]:
    """Receives `count` messages with several calls, because a receive may return only some of the messages."""
    messages: list[dict[str, Any]] = []
    for _ in range(count):
        if len(messages) < count:
            options = {"MaxNumberOfMessages": 10, "WaitTimeSeconds": 5}
            names = {"AttributeNames": ["All"], "MessageAttributeNames": ["All"]}
            response = yield "receive_message", {"QueueUrl": url, **options, **names}
            messages += response.get("Messages", [])
    return messages


def _delete(url: str, messages: list[dict[str, Any]]) -> Generator[Call, dict[str, Any], int]:
    """Deletes messages in one batch. Returns the number of failed entries."""
    entries = [{"Id": m["Body"], "ReceiptHandle": m["ReceiptHandle"]} for m in messages]
    response = yield "delete_message_batch", {"QueueUrl": url, "Entries": entries}
    return len(response.get("Failed", []))


def _drop(url: str, name: str) -> Generator[Call, dict[str, Any], str]:
    """Deletes the queue. Returns the error code of a later GetQueueUrl."""
    yield "delete_queue", {"QueueUrl": url}
    try:
        yield "get_queue_url", {"QueueName": name}
    except RefusedError as refused:
        return refused.code
    return "still there"


def _fifo_send(url: str, group: str, body: str) -> Call:
    options = {"MessageGroupId": group, "MessageDeduplicationId": body}
    return "send_message", {"QueueUrl": url, "MessageBody": body, **options}


def _group(message: dict[str, Any]) -> str:
    return str(message["Attributes"]["MessageGroupId"])


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
