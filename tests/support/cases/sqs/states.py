"""Lists cases of SQS: deleted and existing resources, AWS's texts of numbers and policies, and the order of checks."""

import json
from collections.abc import Iterator

from tests.support.cases.case import OK, OURS, Answer, report
from tests.support.cases.sqs.members import INVALID, LEGACY, NO_QUEUE, USUAL
from tests.support.cases.sqs.rows import Row, of


def rows() -> Iterator[Row]:
    for table in (_deleted, _there, _texts, _orders):
        yield from table()


def _deleted() -> Iterator[Row]:
    for action, usual in USUAL.items():
        if "QueueUrl" in usual:
            yield (action, "QueueUrl", "of a deleted queue", {"QueueUrl": "<deleted-queue>"}, NO_QUEUE, of(action))
    yield (
        "GetQueueUrl",
        "QueueName",
        "of a deleted queue",
        {"QueueName": "<deleted-queue-name>"},
        NO_QUEUE,
        of("GetQueueUrl"),
    )
    recently = Answer(
        f"{LEGACY}QueueDeletedRecently",
        "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
    )
    yield (
        "CreateQueue",
        "QueueName",
        "deleted just now",
        {"QueueName": "<deleted-queue-name>"},
        recently,
        of("CreateQueue"),
    )


def _there() -> Iterator[Row]:
    purged = Answer(f"{LEGACY}PurgeQueueInProgress")
    yield ("PurgeQueue", "QueueUrl", "purged just now", {"QueueUrl": "<purged-queue>"}, purged, of("PurgeQueue"))
    yield "AddPermission", "Label", "taken", {"Label": "<label>"}, INVALID, of("AddPermission")
    yield "RemovePermission", "Label", "of a permission", {"Label": "<new-label>"}, OK, of("RemovePermission")


def _texts() -> Iterator[Row]:
    text = "Value {} for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided."
    for number in (0, 11, 1000, -1):
        answer = Answer("InvalidParameterValue", text.format(number))
        yield (
            "ReceiveMessage",
            "MaxNumberOfMessages",
            f"{number}: the text",
            {"MaxNumberOfMessages": number},
            answer,
            report("aws/aws-sdk-java", 197),
        )
    text = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
    answer = Answer("InvalidParameterValue", text)
    given = {"MessageBody": "x" * 1_048_577}
    yield ("SendMessage", "MessageBody", "1048577 bytes: the text", given, answer, report("inferablehq/inferable", 306))
    policy = json.dumps({"MaxReceiveCount": "4", "DeadLetterTargetArn": "<queue-arn>"}, separators=(",", ":"))
    text = f"Value {policy} for parameter RedrivePolicy is invalid. Reason: Redrive policy does not contain mandatory "
    answer = Answer("InvalidParameterValue", f"{text}attribute: maxReceiveCount.")
    given_policy = {"Attributes": {"RedrivePolicy": policy}}
    for action in ("CreateQueue", "SetQueueAttributes"):
        yield (
            action,
            "Attributes.RedrivePolicy",
            "names in capitals",
            given_policy,
            answer,
            report("rubyonjets/jets", 101),
        )


def _orders() -> Iterator[Row]:
    gone = {"QueueUrl": "<deleted-queue>"}
    yield (
        "SendMessage",
        "MessageBody",
        "empty, of a deleted queue",
        {**gone, "MessageBody": ""},
        Answer("MissingParameter"),
        OURS,
    )
    yield ("SendMessage", "DelaySeconds", "901, of a deleted queue", {**gone, "DelaySeconds": 901}, INVALID, OURS)
    yield (
        "SendMessageBatch",
        "Entries",
        "empty, of a deleted queue",
        {**gone, "Entries": []},
        Answer(f"{LEGACY}EmptyBatchRequest"),
        OURS,
    )
    yield (
        "ReceiveMessage",
        "MaxNumberOfMessages",
        "0, of a deleted queue",
        {**gone, "MaxNumberOfMessages": 0},
        INVALID,
        OURS,
    )
    yield (
        "SetQueueAttributes",
        "Attributes",
        "unknown, of a deleted queue",
        {**gone, "Attributes": {"x": "1"}},
        Answer("InvalidAttributeName"),
        OURS,
    )
    yield (
        "GetQueueAttributes",
        "AttributeNames",
        "unknown, of a deleted queue",
        {**gone, "AttributeNames": ["x"]},
        Answer("InvalidAttributeName"),
        OURS,
    )
    yield "TagQueue", "Tags", "an empty key, of a deleted queue", {**gone, "Tags": {"": "x"}}, INVALID, OURS
    yield "AddPermission", "Actions", "unknown, of a deleted queue", {**gone, "Actions": ["x"]}, INVALID, OURS
    bad = {"QueueName": "a b", "Attributes": {"x": "1"}}
    yield "CreateQueue", "QueueName", "bad, with a bad attribute", bad, INVALID, OURS
