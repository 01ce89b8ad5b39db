"""Generates requests of every action with one invalid member. The service must refuse each request as a whole, and must
not change the database.
"""

from base64 import b64encode
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, NamedTuple

from tests.support.forged_receipt_handles import made_up_text
from tests.support.hostile import values
from tests.support.hostile.values import ANYTHING, HUGE, NOT_A_BODY, NOT_A_NAME, NOT_AN_ACCOUNT, NOT_AN_ID

Members = dict[str, Any]


class Target(NamedTuple):
    """Names the resources to attack: a standard and a FIFO queue, a receipt handle of the standard queue, a standard
    and a FIFO topic, and the queue's subscription to the standard topic.
    """

    url: str
    fifo_url: str
    arn: str
    handle: str
    topic: str
    fifo_topic: str
    subscription: str


class Poison(NamedTuple):
    """Defines an action, its valid members, and the values of its invalid member. Without a member name, several
    members are invalid together.
    """

    action: str
    good: Callable[[Target], Members]
    member: str
    bad: Callable[[Random], Any]
    service: str = "sqs"

    def members(self, rng: Random, target: Target) -> Members:
        bad = self.bad(rng)
        return {**self.good(target), **({self.member: bad} if self.member else bad)}


def _text(invalid: values.Invalid = ANYTHING) -> Callable[[Random], Any]:
    return lambda rng: values.text(rng, invalid)


def _range(low: int, high: int) -> Callable[[Random], Any]:
    return lambda rng: values.out_of(rng, low, high)


def _queue(target: Target) -> Members:
    return {"QueueUrl": target.url}


def _no_queue(_target: Target) -> Members:
    return {}


def _message(target: Target) -> Members:
    return {"QueueUrl": target.url, "MessageBody": "x"}


def _fifo_message(target: Target) -> Members:
    return {"QueueUrl": target.fifo_url, "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "d"}


def _received(target: Target) -> Members:
    return {"QueueUrl": target.url, "ReceiptHandle": target.handle}


def _permission(target: Target) -> Members:
    return {"QueueUrl": target.url, "Label": "l", "AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"]}


def _source(target: Target) -> Members:
    return {"SourceArn": target.arn}


def _entries(**more: Any) -> Callable[[Random], Any]:
    return lambda rng: [{"Id": entry_id, **more} for entry_id in values.entry_ids(rng)]


def _queue_url(rng: Random) -> str:
    """Returns any text, or the URL of a queue that does not exist."""
    name = values.text(rng, ANYTHING)
    return rng.choice((name, f"http://host/000000000000/{name}x", f"{name}/000000000000/never-made", f"//{name}"))


def _forged(rng: Random) -> str:
    return rng.choice((made_up_text(rng, [], []), values.text(rng, ANYTHING)))


def _task_handle(rng: Random) -> str:
    """Returns base64 of JSON that is not a task. Some of the returned JSON is deeply nested."""
    task = '{"taskId":"00000000-0000-4000-8000-000000000000","sourceArn":"arn:aws:sqs:us-east-1:000000000000:q"}'
    text = rng.choice(
        (
            "",
            "[]",
            "1",
            task,
            task.replace("0000-4", "x"),
            '{"taskId":1}',
            task[:-1],
            values.text(rng, ANYTHING),
            '{"a":' + "[" * rng.randint(1, 1_200),
            '{"a":' * rng.randint(1, 1_200),
        )
    )
    return b64encode(text.encode()).decode()


def _long_batch(rng: Random) -> list[Members]:
    return [{"Id": str(n), "MessageBody": "x" * 150_000} for n in range(rng.randint(8, 10))]


ON_A_QUEUE = (
    "DeleteQueue", "GetQueueAttributes", "SetQueueAttributes", "PurgeQueue", "SendMessage", "SendMessageBatch",
    "ReceiveMessage", "DeleteMessage", "DeleteMessageBatch", "ChangeMessageVisibility",
    "ChangeMessageVisibilityBatch",
    "TagQueue", "UntagQueue", "ListQueueTags", "AddPermission", "RemovePermission", "ListDeadLetterSourceQueues",
)  # fmt: skip
REST: dict[str, Members] = {
    "SetQueueAttributes": {"Attributes": {"DelaySeconds": "1"}}, "SendMessage": {"MessageBody": "x"},
    "SendMessageBatch": {"Entries": [{"Id": "a", "MessageBody": "x"}]}, "DeleteMessage": {"ReceiptHandle": "x"},
    "DeleteMessageBatch": {"Entries": [{"Id": "a", "ReceiptHandle": "x"}]},
    "ChangeMessageVisibility": {"ReceiptHandle": "x", "VisibilityTimeout": 1},
    "ChangeMessageVisibilityBatch": {"Entries": [{"Id": "a", "ReceiptHandle": "x", "VisibilityTimeout": 1}]},
    "TagQueue": {"Tags": {"a": "b"}}, "UntagQueue": {"TagKeys": ["a"]}, "RemovePermission": {"Label": "l"},
    "AddPermission": {"Label": "l", "AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"]},
}  # fmt: skip


def _rest(action: str, _target: Target) -> Members:
    return REST.get(action, {})


POISONS: tuple[Poison, ...] = (
    *(Poison(action, partial(_rest, action), "QueueUrl", _queue_url) for action in ON_A_QUEUE),
    Poison("CreateQueue", _no_queue, "QueueName", _text(NOT_A_NAME)),
    Poison("CreateQueue", lambda _: {"QueueName": "never-made"}, "Attributes", values.attribute),
    Poison("CreateQueue", lambda _: {"QueueName": "never-made"}, "tags", values.tags),
    Poison("GetQueueUrl", _no_queue, "QueueName", _text()),
    Poison("GetQueueUrl", lambda _: {"QueueName": "never-made"}, "QueueOwnerAWSAccountId", _text(NOT_AN_ACCOUNT)),
    Poison("ListQueues", _no_queue, "MaxResults", _range(1, 1_000)),
    Poison("ListQueues", lambda _: {"MaxResults": 1}, "NextToken", _text(lambda token: token != "")),
    Poison("SetQueueAttributes", _queue, "Attributes", values.attribute),
    Poison("SetQueueAttributes", _queue, "Attributes", values.attribute),
    Poison("GetQueueAttributes", _queue, "AttributeNames", lambda rng: [values.text(rng, lambda name: name != "")]),
    Poison("SendMessage", _queue, "MessageBody", _text(NOT_A_BODY)),
    Poison("SendMessage", _queue, "MessageBody", _text(NOT_A_BODY)),
    Poison("SendMessage", _message, "DelaySeconds", _range(0, 900)),
    Poison("SendMessage", _message, "MessageAttributes", values.message_attributes),
    Poison("SendMessage", _message, "MessageAttributes", values.message_attributes),
    Poison("SendMessage", _message, "MessageGroupId", _text(NOT_AN_ID)),
    Poison("SendMessage", _message, "MessageDeduplicationId", _text()),
    Poison("SendMessage", _fifo_message, "MessageGroupId", _text(NOT_AN_ID)),
    Poison("SendMessage", _fifo_message, "MessageDeduplicationId", _text(NOT_AN_ID)),
    Poison("SendMessage", _fifo_message, "DelaySeconds", _range(0, 0)),
    Poison("SendMessage", _message, "MessageSystemAttributes", lambda rng: {
        values.text(rng, lambda name: name != "AWSTraceHeader"): {"DataType": "String", "StringValue": "x"}}),
    Poison("SendMessage", _message, "MessageSystemAttributes", lambda rng: {
        "AWSTraceHeader": {"DataType": rng.choice(("Number", "", "x")), "StringValue": "1"}}),
    Poison("SendMessageBatch", _queue, "Entries", _entries(MessageBody="x")),
    Poison("SendMessageBatch", _queue, "Entries", _long_batch),
    Poison("ReceiveMessage", _queue, "MaxNumberOfMessages", _range(1, 10)),
    Poison("ReceiveMessage", _queue, "VisibilityTimeout", _range(0, 43_200)),
    Poison("ReceiveMessage", _queue, "WaitTimeSeconds", _range(0, 20)),
    Poison("ReceiveMessage", _queue, "AttributeNames", lambda rng: [values.text(rng, lambda name: name != "")]),
    Poison("ReceiveMessage", _queue, "ReceiveRequestAttemptId", _text(NOT_AN_ID)),
    Poison("DeleteMessage", _queue, "ReceiptHandle", _forged),
    Poison("DeleteMessageBatch", _queue, "Entries", _entries(ReceiptHandle="x")),
    Poison("ChangeMessageVisibility", lambda target: {"VisibilityTimeout": 1, **_queue(target)}, "ReceiptHandle",
    _forged),
    Poison("ChangeMessageVisibility", _received, "VisibilityTimeout", _range(0, 43_200)),
    Poison("ChangeMessageVisibilityBatch", _queue, "Entries", _entries(ReceiptHandle="x", VisibilityTimeout=1)),
    Poison("TagQueue", _queue, "Tags", values.tags),
    Poison("AddPermission", _permission, "Label", _text(NOT_A_NAME)),
    Poison("AddPermission", _permission, "AWSAccountIds", lambda rng: [values.text(rng, NOT_AN_ACCOUNT)]),
    Poison("AddPermission", _permission, "Actions", lambda rng: [values.text(rng, lambda name: name != "*")]),
    Poison("RemovePermission", _queue, "Label", _text()),
    Poison("ListDeadLetterSourceQueues", _queue, "MaxResults", _range(1, 1_000)),
    Poison("ListDeadLetterSourceQueues", lambda target: {"MaxResults": 1, **_queue(target)}, "NextToken",
           _text(lambda token: token != "")),
    Poison("StartMessageMoveTask", _no_queue, "SourceArn", _text()),
    Poison("StartMessageMoveTask", _source, "DestinationArn", _text(lambda arn: arn != "")),
    Poison("StartMessageMoveTask", _source, "MaxNumberOfMessagesPerSecond", _range(1, 500)),
    Poison("ListMessageMoveTasks", _no_queue, "SourceArn", _text()),
    Poison("ListMessageMoveTasks", _source, "MaxResults", lambda rng: rng.choice(HUGE)),
    Poison("CancelMessageMoveTask", _no_queue, "TaskHandle", _text()),
    Poison("CancelMessageMoveTask", _no_queue, "TaskHandle", _task_handle),
    Poison("SendMessage", _message, "MessageSystemAttributes", lambda rng: {
        "AWSTraceHeader": {"DataType": "String", "StringValue": "x" * rng.randint(10_000, 200_000)}}),
)  # fmt: skip
