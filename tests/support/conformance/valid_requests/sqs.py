"""Defines a valid request for each action of SQS, and the members of its response."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.conformance.requests import Members
from tests.support.conformance.sqs import Sqs

ATTRIBUTE = {"a": {"DataType": "String", "StringValue": "v"}, "b": {"DataType": "Binary", "BinaryValue": "AQI="}}
TRACE = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}
LONG = {"MessageAttributes": ATTRIBUTE, "MessageSystemAttributes": TRACE, "MessageGroupId": "g"}


class Good(NamedTuple):
    """`needs` creates the required resources and returns the request. `answered` lists the response's members, with
    `{}` for the keys of a map.
    """

    needs: Callable[[Sqs], Members]
    answered: tuple[str, ...] = ()


def queue(sqs: Sqs) -> Members:
    return {"QueueUrl": sqs.create()}


def new_queue(sqs: Sqs) -> Members:
    return {"QueueName": sqs.name(), "Attributes": {"DelaySeconds": "1"}, "tags": {"a": "b"}}


def queue_with(**more: Any) -> Callable[[Sqs], Members]:
    return lambda sqs: {"QueueUrl": sqs.create(), **more}


def tagged(sqs: Sqs) -> Members:
    url = sqs.create()
    sqs.client.tag_queue(QueueUrl=url, Tags={"team": "blue"})
    return {"QueueUrl": url}


def permitted(sqs: Sqs) -> Members:
    url = sqs.create()
    sqs.client.add_permission(QueueUrl=url, Label="l", AWSAccountIds=["111122223333"], Actions=["SendMessage"])
    return {"QueueUrl": url, "Label": "l"}


def message(_sqs: Sqs, number: int = 0) -> Members:
    return {"MessageBody": "ü<&>\r\n", "MessageDeduplicationId": str(number), **LONG}


def fifo_message(sqs: Sqs) -> Members:
    return {"QueueUrl": sqs.create_fifo(), **message(sqs)}


def fifo_batch(sqs: Sqs) -> Members:
    entries = [{"Id": str(number), **message(sqs, number)} for number in range(2)]
    return {
        "QueueUrl": sqs.create_fifo(),
        "Entries": [*entries, {"Id": "bad", **message(sqs, 2), "MessageBody": "\x01"}],
    }


def waiting(sqs: Sqs) -> Members:
    url = sqs.create()
    sqs.send(url, MessageAttributes={**ATTRIBUTE, "b": {"DataType": "Binary", "BinaryValue": b"\1\2"}})
    return {"QueueUrl": url, "AttributeNames": ["All"], "MessageAttributeNames": ["All"], "MaxNumberOfMessages": 10}


def received(sqs: Sqs) -> Members:
    url = sqs.create()
    sqs.send(url)
    return {"QueueUrl": url, "ReceiptHandle": sqs.receive_one(url)["ReceiptHandle"]}


def hidden(sqs: Sqs) -> Members:
    return {**received(sqs), "VisibilityTimeout": 60}


def batch_of(needs: Callable[[Sqs], Members]) -> Callable[[Sqs], Members]:
    """Returns a batch with a valid entry and an entry with an invalid handle."""

    def entries(sqs: Sqs) -> Members:
        entry = needs(sqs)
        url = entry.pop("QueueUrl")
        return {"QueueUrl": url, "Entries": [{"Id": "good", **entry}, {"Id": "bad", **entry, "ReceiptHandle": "x"}]}

    return entries


def two_queues(sqs: Sqs) -> Members:
    name = sqs.name()
    for suffix in "ab":
        sqs.client.create_queue(QueueName=f"{name}-{suffix}")
    return {"QueueNamePrefix": f"{name}-", "MaxResults": 1}


def sources(sqs: Sqs, number: int = 1) -> str:
    """Creates a dead-letter queue with the given number of source queues and a message. Returns its URL."""
    dead = sqs.create()
    policy = json.dumps({"deadLetterTargetArn": sqs.arn(dead), "maxReceiveCount": 1})
    for url in [sqs.create(RedrivePolicy=policy) for _ in range(number)]:
        sqs.send(url)
        for _ in range(2):
            sqs.poll(url, VisibilityTimeout=0)
    return dead


def dead_letters(sqs: Sqs) -> Members:
    return {"QueueUrl": sources(sqs, 2), "MaxResults": 1}


def startable(sqs: Sqs) -> Members:
    return {
        "SourceArn": sqs.arn(sources(sqs)),
        "DestinationArn": sqs.arn(sqs.create()),
        "MaxNumberOfMessagesPerSecond": 5,
    }


def started(sqs: Sqs) -> Members:
    task = startable(sqs)
    return {**task, "TaskHandle": sqs.client.start_message_move_task(**task)["TaskHandle"]}


def listed(sqs: Sqs) -> Members:
    return {"SourceArn": started(sqs)["SourceArn"]}


def cancellable(sqs: Sqs) -> Members:
    return {"TaskHandle": started(sqs)["TaskHandle"]}


FAILED = ("Failed", "Failed[].Id", "Failed[].SenderFault", "Failed[].Code", "Failed[].Message")
SENT = ("MD5OfMessageBody", "MD5OfMessageAttributes", "MD5OfMessageSystemAttributes", "MessageId", "SequenceNumber")
SUCCESSFUL = ("Successful", "Successful[].Id")
RECEIVED = ("MessageId", "ReceiptHandle", "MD5OfBody", "Body", "Attributes", "MD5OfMessageAttributes",
"MessageAttributes",
            "MessageAttributes{}.DataType", "MessageAttributes{}.StringValue",
            "MessageAttributes{}.BinaryValue")  # fmt: skip
TASK = ("TaskHandle", "Status", "SourceArn", "DestinationArn", "MaxNumberOfMessagesPerSecond", "StartedTimestamp",
        "ApproximateNumberOfMessagesMoved", "ApproximateNumberOfMessagesToMove")  # fmt: skip
GOOD: dict[str, Good] = {
    "AddPermission": Good(queue_with(Label="l", AWSAccountIds=["111122223333"], Actions=["SendMessage"])),
    "CancelMessageMoveTask": Good(cancellable, ("ApproximateNumberOfMessagesMoved",)),
    "ChangeMessageVisibility": Good(hidden),
    "ChangeMessageVisibilityBatch": Good(batch_of(hidden), (*SUCCESSFUL, *FAILED)),
    "CreateQueue": Good(new_queue, ("QueueUrl",)),
    "DeleteMessage": Good(received),
    "DeleteMessageBatch": Good(batch_of(received), (*SUCCESSFUL, *FAILED)),
    "DeleteQueue": Good(queue),
    "GetQueueAttributes": Good(queue_with(AttributeNames=["All"]), ("Attributes",)),
    "GetQueueUrl": Good(lambda sqs: {"QueueName": sqs.create().rpartition("/")[2]}, ("QueueUrl",)),
    "ListDeadLetterSourceQueues": Good(dead_letters, ("queueUrls", "NextToken")),
    "ListMessageMoveTasks": Good(listed, ("Results", *(f"Results[].{name}" for name in TASK))),
    "ListQueueTags": Good(tagged, ("Tags",)),
    "ListQueues": Good(two_queues, ("QueueUrls", "NextToken")),
    "PurgeQueue": Good(queue),
    "ReceiveMessage": Good(waiting, ("Messages", *(f"Messages[].{name}" for name in RECEIVED))),
    "RemovePermission": Good(permitted),
    "SendMessage": Good(fifo_message, SENT),
    "SendMessageBatch": Good(fifo_batch, (*SUCCESSFUL, *(f"Successful[].{name}" for name in SENT), *FAILED)),
    "SetQueueAttributes": Good(queue_with(Attributes={"DelaySeconds": "1"})),
    "StartMessageMoveTask": Good(startable, ("TaskHandle",)),
    "TagQueue": Good(queue_with(Tags={"a": "b"})),
    "UntagQueue": Good(lambda sqs: {**tagged(sqs), "TagKeys": ["team"]}),
}  # fmt: skip
