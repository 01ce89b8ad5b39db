"""Lists cases of SQS: messages, their attributes, FIFO, receives, batches, deleted and existing resources, and the
order of checks.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.support.cases.case import ABSENT, OK, OURS, RECORDED, Response, guide, report
from tests.support.cases.sns.members import spellings
from tests.support.cases.sqs.members import (
    EMPTY_BATCH,
    ENTRY,
    HANDLED,
    INVALID,
    LEGACY,
    NO_QUEUE,
    USUAL,
    Row,
    of,
    unknown,
)

# --- messages --------------------------------------------------------------------------------------------------------


def rows() -> Iterator[Row]:
    for table in (
        _messages,
        _message_attributes,
        _fifo,
        _receives,
        _batches,
        _entries,
        _deleted,
        _there,
        _texts,
        _orders,
    ):
        yield from table()


def _messages() -> Iterator[Row]:
    contents = Response("InvalidMessageContents")
    for case, body in (("a control character", "a\x01"), ("U+FFFE", "\ufffe"), ("NUL", "a\x00")):
        yield "SendMessage", "MessageBody", case, {"MessageBody": body}, contents, of("SendMessage")
    for case, body in (
        ("tab and line feed", "\t\n"),
        ("emoji", "😀"),
        ("1048576 bytes", "x" * 1_048_576),
        ("a space", " "),
    ):
        yield "SendMessage", "MessageBody", case, {"MessageBody": body}, OK, of("SendMessage")
    yield ("SendMessage", "MessageBody", "1048577 bytes", {"MessageBody": "x" * 1_048_577}, INVALID, of("SendMessage"))
    text = "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900."
    yield ("SendMessage", "DelaySeconds", "901: the text", {"DelaySeconds": 901},
           Response("InvalidParameterValue", text), OURS)  # fmt: skip
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1"}}
    yield ("SendMessage", "MessageSystemAttributes", "AWSTraceHeader", {"MessageSystemAttributes": trace}, OK,
           of("SendMessage"))  # fmt: skip
    for name, kind in (
        ("x", "String"),
        ("awstraceheader", "String"),
        ("SenderId", "String"),
        ("AWSTraceHeader", "Number"),
    ):
        value = {name: {"DataType": kind, "StringValue": "1"}}
        yield ("SendMessage", "MessageSystemAttributes", f"{name}, {kind}", {"MessageSystemAttributes": value}, INVALID,
               of("SendMessage"))  # fmt: skip


def _message_attributes() -> Iterator[Row]:
    many = {f"a{n}": {"DataType": "String", "StringValue": "x"} for n in range(11)}
    for case, attributes, response in (
        ("a text", {"a": {"DataType": "String", "StringValue": "x"}}, OK),
        ("a number", {"a": {"DataType": "Number", "StringValue": "-1.5e3"}}, OK),
        ("a custom type", {"a": {"DataType": "String.json", "StringValue": "{}"}}, OK),
        ("a name with dots", {"a.b-c_d": {"DataType": "String", "StringValue": "x"}}, OK),
        ("ten", dict(list(many.items())[:10]), OK),
        ("eleven", many, INVALID),
        ("no number", {"a": {"DataType": "Number", "StringValue": "x"}}, INVALID),
        ("an empty text", {"a": {"DataType": "String", "StringValue": ""}}, INVALID),
        ("no value", {"a": {"DataType": "String"}}, INVALID),
        ("an empty type", {"a": {"DataType": "", "StringValue": "x"}}, INVALID),
        ("a type in lower case", {"a": {"DataType": "string", "StringValue": "x"}}, INVALID),
        ("an unknown type", {"a": {"DataType": "Boolean", "StringValue": "true"}}, INVALID),
        ("an empty custom type", {"a": {"DataType": "String.", "StringValue": "x"}}, INVALID),
        ("a text for binary", {"a": {"DataType": "Binary", "StringValue": "x"}}, INVALID),
        ("an empty name", {"": {"DataType": "String", "StringValue": "x"}}, INVALID),
        ("a name of 257 characters", {"a" * 257: {"DataType": "String", "StringValue": "x"}}, INVALID),
        ("a name with a space", {"a b": {"DataType": "String", "StringValue": "x"}}, INVALID),
        ("a name that begins with a dot", {".a": {"DataType": "String", "StringValue": "x"}}, INVALID),
        ("a name that ends with a dot", {"a.": {"DataType": "String", "StringValue": "x"}}, INVALID),
        ("a name with two dots", {"a..b": {"DataType": "String", "StringValue": "x"}}, INVALID),
        *(
            (f"a name that begins with {name}", {f"{name}a": {"DataType": "String", "StringValue": "x"}}, INVALID)
            for name in ("AWS.", "aws.", "Aws.", "Amazon.", "AMAZON.")
        ),
    ):
        source = guide("sqs", "sqs-message-metadata", "Amazon SQS message metadata")
        yield "SendMessage", "MessageAttributes", case, {"MessageAttributes": attributes}, response, source
    value = {"a": {"DataType": "String", "StringValue": "a\x01"}}
    yield ("SendMessage", "MessageAttributes", "a control character", {"MessageAttributes": value}, INVALID, RECORDED)
    value = {"ä": {"DataType": "String", "StringValue": "x"}}
    yield ("SendMessage", "MessageAttributes", "a name outside ASCII", {"MessageAttributes": value}, OK, RECORDED)


def _fifo() -> Iterator[Row]:
    fifo = {"QueueUrl": "<fifo-queue>", "MessageGroupId": "g", "MessageDeduplicationId": "<name>"}
    yield "SendMessage", "", "to a FIFO queue", fifo, OK, of("SendMessage")
    yield ("SendMessage", "MessageGroupId", "absent, FIFO", {**fifo, "MessageGroupId": ABSENT},
           Response("MissingParameter", "The request must contain the parameter MessageGroupId."),
           report("Nextdoor/ndkale", 49))  # fmt: skip
    yield (
        "SendMessage",
        "MessageDeduplicationId",
        "absent, FIFO",
        {**fifo, "MessageDeduplicationId": ABSENT},
        Response(
            "InvalidParameterValue",
            "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided "
            "explicitly",
        ),
        report("http4k/http4k", 1336),
    )
    yield ("SendMessage", "MessageDeduplicationId", "absent, by content",
           {**fifo, "QueueUrl": "<content-queue>", "MessageDeduplicationId": ABSENT}, OK,
           of("SendMessage"))  # fmt: skip
    yield "SendMessage", "DelaySeconds", "1, FIFO", {**fifo, "DelaySeconds": 1}, INVALID, of("SendMessage")
    yield "SendMessage", "DelaySeconds", "0, FIFO", {**fifo, "DelaySeconds": 0}, OK, of("SendMessage")
    for member in ("MessageGroupId", "MessageDeduplicationId"):
        for case, value in (("129 characters", "x" * 129), ("with a space", "a b"), ("not ASCII", "ä"), ("empty", "")):
            yield ("SendMessage", member, f"{case}, FIFO", {**fifo, member: value}, INVALID,
                   of("SendMessage") if value else OURS)  # fmt: skip
        yield ("SendMessage", member, "128 characters, FIFO", {**fifo, member: "x" * 128}, OK, of("SendMessage"))
        yield ("SendMessage", member, "punctuation, FIFO", {**fifo, member: "!~#$%&'()*+,-./:;<=>?@[]^_`{|}"}, OK,
               of("SendMessage"))  # fmt: skip
    yield ("SendMessage", "MessageGroupId", "on a standard queue", {"MessageGroupId": "g"}, OK, of("SendMessage"))
    yield ("SendMessage", "MessageDeduplicationId", "on a standard queue", {"MessageDeduplicationId": "d"}, INVALID,
           of("SendMessage"))  # fmt: skip


def _receives() -> Iterator[Row]:
    for member in ("AttributeNames", "MessageSystemAttributeNames"):
        for name in (
            "All",
            "SenderId",
            "SentTimestamp",
            "ApproximateReceiveCount",
            "ApproximateFirstReceiveTimestamp",
            "SequenceNumber",
            "MessageDeduplicationId",
            "MessageGroupId",
            "AWSTraceHeader",
            "DeadLetterQueueSourceArn",
        ):
            yield "ReceiveMessage", f"{member}.N", name, {member: [name]}, OK, of("ReceiveMessage")
            for written in spellings(name)[:1]:
                yield ("ReceiveMessage", f"{member}.N", written, {member: [written]}, unknown(written),
                       of("ReceiveMessage"))  # fmt: skip
        yield "ReceiveMessage", f"{member}.N", "x", {member: ["x"]}, unknown("x"), of("ReceiveMessage")
    for name in ("All", ".*", "*", "a", "a.*", "x" * 300):
        yield ("ReceiveMessage", "MessageAttributeNames.N", name[:8], {"MessageAttributeNames": [name]}, OK,
               of("ReceiveMessage"))  # fmt: skip
    for case, value in (("129 characters", "x" * 129), ("with a space", "a b")):
        yield ("ReceiveMessage", "ReceiveRequestAttemptId", f"{case}, FIFO",
               {"QueueUrl": "<fifo-queue>", "ReceiveRequestAttemptId": value}, INVALID,
               of("ReceiveMessage"))  # fmt: skip
    yield ("ChangeMessageVisibility", "VisibilityTimeout", "43200, beyond twelve hours since the first receive",
           {"VisibilityTimeout": 43_200}, INVALID, of("ChangeMessageVisibility"))  # fmt: skip
    for action in ("DeleteMessage", "ChangeMessageVisibility"):
        for handle in ("x", "<queue-arn>", "AQEB" + "x" * 400):
            yield (action, "ReceiptHandle", handle[:12], {"ReceiptHandle": handle}, Response("ReceiptHandleIsInvalid"),
                   of(action))  # fmt: skip


def _batches() -> Iterator[Row]:
    texts: dict[str, tuple[str, dict[str, Any]]] = {
        "SendMessageBatch": ("SendMessageBatchRequestEntry", ENTRY),
        "DeleteMessageBatch": ("DeleteMessageBatchRequestEntry", HANDLED),
        "ChangeMessageVisibilityBatch": (
            "ChangeMessageVisibilityBatchRequestEntry",
            {**HANDLED, "VisibilityTimeout": 1},
        ),
    }
    for action, (name, entry) in texts.items():
        text = f"There should be at least one {name} in the request."
        yield (action, "Entries", "empty: the text", {"Entries": []}, Response(EMPTY_BATCH.code, text),
               report("aws/aws-sdk-php", 630))  # fmt: skip
        for number in (11, 15):
            entries = [
                {**entry, "Id": str(n), **({"ReceiptHandle": "<handle>"} if "ReceiptHandle" in entry else {})}
                for n in range(number)
            ]
            text = f"Maximum number of entries per request are 10. You have sent {number}."
            response = Response(f"{LEGACY}TooManyEntriesInBatchRequest", text)
            yield action, "Entries", str(number), {"Entries": entries}, response, report("vinyldns/vinyldns", 347)
        yield (action, "Entries", "two of one id", {"Entries": [entry, entry]},
               Response(f"{LEGACY}BatchEntryIdsNotDistinct"), of(action))  # fmt: skip
        for bad_id in ("", "a b", "a.b", "ä", "x" * 81):
            source = of(action) if bad_id else OURS
            yield (action, "Entries.N.Id", bad_id[:5] or "empty", {"Entries": [{**entry, "Id": bad_id}]},
                   Response(f"{LEGACY}InvalidBatchEntryId"), source)  # fmt: skip
        yield (action, "Entries.N.Id", "80 characters", {"Entries": [{**entry, "Id": "x" * 80}]}, OK, of(action))


def _entries() -> Iterator[Row]:
    long = [{**ENTRY, "Id": letter, "MessageBody": "x" * 600_000} for letter in "ab"]
    yield ("SendMessageBatch", "Entries", "1200000 bytes", {"Entries": long}, Response(f"{LEGACY}BatchRequestTooLong"),
           of("SendMessageBatch"))  # fmt: skip
    for case, entry in (
        ("an empty body", {"MessageBody": ""}),
        ("a delay of 901", {"DelaySeconds": 901}),
        ("a control character", {"MessageBody": "\x01"}),
    ):
        yield ("SendMessageBatch", "Entries", f"{case}: the entry fails", {"Entries": [{**ENTRY, **entry}]}, OK,
               of("SendMessageBatch"))  # fmt: skip
    fifo = {"QueueUrl": "<fifo-queue>", "Entries": [{**ENTRY, "MessageDeduplicationId": "d"}]}
    yield ("SendMessageBatch", "Entries.N.MessageGroupId", "absent, FIFO", fifo,
           Response("InvalidParameterValue", "The request must contain the parameter MessageGroupId."),
           report("Jimdo/sqs-dead-letter-handling", 10))  # fmt: skip


# --- states ----------------------------------------------------------------------------------------------------------


def _deleted() -> Iterator[Row]:
    for action, usual in USUAL.items():
        if "QueueUrl" in usual:
            yield (action, "QueueUrl", "of a deleted queue", {"QueueUrl": "<deleted-queue>"}, NO_QUEUE, of(action))
    yield ("GetQueueUrl", "QueueName", "of a deleted queue", {"QueueName": "<deleted-queue-name>"}, NO_QUEUE,
           of("GetQueueUrl"))  # fmt: skip
    recently = Response(
        f"{LEGACY}QueueDeletedRecently",
        "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
    )
    yield ("CreateQueue", "QueueName", "deleted just now", {"QueueName": "<deleted-queue-name>"}, recently,
           of("CreateQueue"))  # fmt: skip


def _there() -> Iterator[Row]:
    purged = Response(f"{LEGACY}PurgeQueueInProgress")
    yield ("PurgeQueue", "QueueUrl", "purged just now", {"QueueUrl": "<purged-queue>"}, purged, of("PurgeQueue"))
    yield "AddPermission", "Label", "taken", {"Label": "<label>"}, INVALID, of("AddPermission")
    yield "RemovePermission", "Label", "of a permission", {"Label": "<new-label>"}, OK, of("RemovePermission")


def _texts() -> Iterator[Row]:
    text = "Value {} for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided."
    for number in (0, 11, 1000, -1):
        response = Response("InvalidParameterValue", text.format(number))
        yield ("ReceiveMessage", "MaxNumberOfMessages", f"{number}: the text", {"MaxNumberOfMessages": number},
               response, report("aws/aws-sdk-java", 197))  # fmt: skip
    text = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
    response = Response("InvalidParameterValue", text)
    given = {"MessageBody": "x" * 1_048_577}
    yield (
        "SendMessage",
        "MessageBody",
        "1048577 bytes: the text",
        given,
        response,
        report("inferablehq/inferable", 306),
    )
    policy = json.dumps({"MaxReceiveCount": "4", "DeadLetterTargetArn": "<queue-arn>"}, separators=(",", ":"))
    text = f"Value {policy} for parameter RedrivePolicy is invalid. Reason: Redrive policy does not contain mandatory "
    response = Response("InvalidParameterValue", f"{text}attribute: maxReceiveCount.")
    given_policy = {"Attributes": {"RedrivePolicy": policy}}
    for action in ("CreateQueue", "SetQueueAttributes"):
        yield (action, "Attributes.RedrivePolicy", "names in capitals", given_policy, response,
               report("rubyonjets/jets", 101))  # fmt: skip


def _orders() -> Iterator[Row]:
    gone = {"QueueUrl": "<deleted-queue>"}
    yield ("SendMessage", "MessageBody", "empty, of a deleted queue", {**gone, "MessageBody": ""},
           Response("MissingParameter"), OURS)  # fmt: skip
    yield ("SendMessage", "DelaySeconds", "901, of a deleted queue", {**gone, "DelaySeconds": 901}, INVALID, OURS)
    yield ("SendMessageBatch", "Entries", "empty, of a deleted queue", {**gone, "Entries": []},
           Response(f"{LEGACY}EmptyBatchRequest"), OURS)  # fmt: skip
    yield ("ReceiveMessage", "MaxNumberOfMessages", "0, of a deleted queue", {**gone, "MaxNumberOfMessages": 0},
           INVALID, OURS)  # fmt: skip
    yield ("SetQueueAttributes", "Attributes", "unknown, of a deleted queue", {**gone, "Attributes": {"x": "1"}},
           Response("InvalidAttributeName"), OURS)  # fmt: skip
    yield ("GetQueueAttributes", "AttributeNames", "unknown, of a deleted queue", {**gone, "AttributeNames": ["x"]},
           Response("InvalidAttributeName"), OURS)  # fmt: skip
    yield "TagQueue", "Tags", "an empty key, of a deleted queue", {**gone, "Tags": {"": "x"}}, INVALID, OURS
    yield "AddPermission", "Actions", "unknown, of a deleted queue", {**gone, "Actions": ["x"]}, INVALID, OURS
    bad = {"QueueName": "a b", "Attributes": {"x": "1"}}
    yield "CreateQueue", "QueueName", "bad, with a bad attribute", bad, INVALID, OURS
