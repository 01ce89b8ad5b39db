"""Lists cases of SQS: queues, their names and attributes, permissions, tags and move tasks."""

import json
from collections.abc import Iterator

from tests.support.cases.case import OK, OURS, RECORDED, Response, guide, report
from tests.support.cases.sns.members import spellings
from tests.support.cases.sqs.members import ACCOUNT, INVALID, NO_QUEUE, UNKNOWN, USUAL, Row, of, unknown


def rows() -> Iterator[Row]:
    for table in (_queues, _names, _attributes, _fifo_attributes, _policies, _permissions, _tags, _moves):
        yield from table()


def _queues() -> Iterator[Row]:
    host = "https://sqs.us-east-1.amazonaws.com"
    for action, usual in USUAL.items():
        if "QueueUrl" not in usual:
            continue
        for case, url in (
            ("of no queue", f"{host}/{ACCOUNT}/none"),
            ("of another host", f"{host}/{ACCOUNT}/none"),
            ("in another letter case", f"{host}/{ACCOUNT}/CASE-1"),
            ("a path", f"/{ACCOUNT}/none"),
        ):
            yield action, "QueueUrl", case, {"QueueUrl": url}, NO_QUEUE, of(action)
        for case, url in (("no URL", "x y"), ("an ARN", "<queue-arn>"), ("without an account", f"{host}/none")):
            yield action, "QueueUrl", case, {"QueueUrl": url}, NO_QUEUE, RECORDED
    name = {"QueueName": "<queue-name>"}
    exists = Response("QueueAlreadyExists")
    yield "CreateQueue", "QueueName", "taken", name, OK, of("CreateQueue")
    yield ("CreateQueue", "Attributes", "of a queue that has others", {**name, "Attributes": {"DelaySeconds": "9"}},
           exists, of("CreateQueue"))  # fmt: skip
    yield ("CreateQueue", "Attributes", "of a queue that has the same", {**name, "Attributes": {"DelaySeconds": "0"}},
           OK, of("CreateQueue"))  # fmt: skip
    yield "GetQueueUrl", "QueueName", "of no queue", {"QueueName": "none"}, NO_QUEUE, of("GetQueueUrl")
    yield ("GetQueueUrl", "QueueName", "of a FIFO queue that does not exist", {"QueueName": "none.fifo"}, NO_QUEUE,
           of("GetQueueUrl"))  # fmt: skip
    for case, owner in (("of another account", "111122223333"), ("no account", "x")):
        yield "GetQueueUrl", "QueueOwnerAWSAccountId", case, {"QueueOwnerAWSAccountId": owner}, NO_QUEUE, OURS
    yield "ListQueues", "NextToken", "not ours", {"NextToken": "x", "MaxResults": 1}, INVALID, OURS
    yield "ListQueues", "QueueNamePrefix", "no prefix of a name", {"QueueNamePrefix": "a b"}, OK, OURS


STANDARD_NAME = Response(
    "InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
)
FIFO_NAME = Response(
    "InvalidParameterValue",
    "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with "
    ".fifo suffix and be 1 to 80 in length.",
)


def _names() -> Iterator[Row]:
    fifo = {"Attributes": {"FifoQueue": "true"}}
    for name in ("a b", "a.b", "ä", "a/b", "a" * 81, "a.fifo", "a.FIFO"):
        yield ("CreateQueue", "QueueName", name[:8], {"QueueName": name}, STANDARD_NAME,
               report("MassTransit/MassTransit", 1993))  # fmt: skip
    for name in ("a", "a b.fifo", "a.FIFO", "a" * 76 + ".fifo", ".fifo"):
        yield ("CreateQueue", "QueueName", f"{name[:8]} with FifoQueue", {"QueueName": name, **fifo}, FIFO_NAME,
               report("aws-samples/aws-marketplace-serverless-saas-integration", 29))  # fmt: skip
    for name in ("a" * 80, "A_b-9"):
        yield "CreateQueue", "QueueName", name[:8], {"QueueName": name}, OK, of("CreateQueue")


STANDARD = {
    "DelaySeconds": (("0", "900"), ("901", "-1", "x", "1.5", " 1", "")),
    "MaximumMessageSize": (("1024", "1048576"), ("1023", "1048577", "x")),
    "MessageRetentionPeriod": (("60", "1209600"), ("59", "1209601", "x")),
    "ReceiveMessageWaitTimeSeconds": (("0", "20"), ("21", "-1", "x")),
    "VisibilityTimeout": (("0", "43200"), ("43201", "-1", "x")),
    "KmsDataKeyReusePeriodSeconds": (("60", "86400"), ("59", "86401", "x")),
    "SqsManagedSseEnabled": (("true", "false", "True"), ("yes", "1")),
    "KmsMasterKeyId": (("alias/aws/sqs",), ()),
    "Policy": (("",), ("x", "[]")),
    "RedrivePolicy": (("",), ()),
    "RedriveAllowPolicy": (("",), ()),
}
FIFO = {
    "ContentBasedDeduplication": (("true", "false", "TRUE"), ("yes", "")),
    "DeduplicationScope": (("queue", "messageGroup"), ("Queue", "x")),
    "FifoThroughputLimit": (("perQueue",), ("perqueue", "x")),
}
READ_ONLY = (
    "QueueArn",
    "CreatedTimestamp",
    "LastModifiedTimestamp",
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible",
)
NULL_ARNS = report("hashicorp/terraform-provider-aws", 42453)
BAD_VALUE = report("hashicorp/terraform-provider-aws", 42209)


def bad(name: str) -> Response:
    return Response("InvalidAttributeValue", f"Invalid value for the parameter {name}.")


def _attributes() -> Iterator[Row]:
    for name, (good, wrong) in STANDARD.items():
        for value in good:
            given = {"Attributes": {name: value}}
            yield "CreateQueue", f"Attributes.{name}", value or "empty", given, OK, of("CreateQueue")
            yield ("SetQueueAttributes", f"Attributes.{name}", value or "empty", {"QueueUrl": "<new-queue>", **given},
                   OK, of("SetQueueAttributes"))  # fmt: skip
        for value in wrong:
            source = OURS if value == "" else BAD_VALUE
            for action in ("CreateQueue", "SetQueueAttributes"):
                yield (action, f"Attributes.{name}", value or "empty", {"Attributes": {name: value}}, bad(name), source)
    for name, (good, wrong) in FIFO.items():
        queue = {"QueueName": "<name>.fifo"}
        for value in good:
            yield ("CreateQueue", f"Attributes.{name}", value,
                   {**queue, "Attributes": {"FifoQueue": "true", name: value}}, OK, of("CreateQueue"))  # fmt: skip
        for value in wrong:
            yield ("CreateQueue", f"Attributes.{name}", value or "empty",
                   {**queue, "Attributes": {"FifoQueue": "true", name: value}}, bad(name),
                   OURS if value == "" else BAD_VALUE)  # fmt: skip
        only = Response("InvalidAttributeName", f"You can specify the {name} only when FifoQueue is set to true.")
        yield ("SetQueueAttributes", f"Attributes.{name}", "of a standard queue", {"Attributes": {name: good[0]}}, only,
               RECORDED)  # fmt: skip
    for name in (*STANDARD, *FIFO, "FifoQueue"):
        for written in spellings(name):
            for action in ("CreateQueue", "SetQueueAttributes"):
                yield (action, f"Attributes.{name}", f"written {written}", {"Attributes": {written: "1"}},
                       unknown(written), UNKNOWN)  # fmt: skip
            yield ("GetQueueAttributes", "AttributeNames.N", written, {"AttributeNames": [written]}, unknown(written),
                   of("GetQueueAttributes"))  # fmt: skip
    for name in (*READ_ONLY, "QueueName", "x"):
        for action in ("CreateQueue", "SetQueueAttributes"):
            yield action, f"Attributes.{name}", "written", {"Attributes": {name: "1"}}, unknown(name), UNKNOWN
    for name in (*STANDARD, *FIFO, *READ_ONLY, "All", "FifoQueue"):
        yield ("GetQueueAttributes", "AttributeNames.N", name, {"AttributeNames": [name]}, OK, of("GetQueueAttributes"))
    for name in ("x", "all", "ALL", "SenderId", ""):
        yield ("GetQueueAttributes", "AttributeNames.N", name or "empty", {"AttributeNames": [name]}, unknown(name),
               of("GetQueueAttributes"))  # fmt: skip


def _fifo_attributes() -> Iterator[Row]:
    crossplane = report("crossplane-contrib/provider-aws", 457)
    yield ("CreateQueue", "Attributes.FifoQueue", "false", {"Attributes": {"FifoQueue": "false"}}, unknown("FifoQueue"),
           crossplane)  # fmt: skip
    yield ("SetQueueAttributes", "Attributes.FifoQueue", "true", {"Attributes": {"FifoQueue": "true"}},
           unknown("FifoQueue"), RECORDED)  # fmt: skip
    modified = "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."
    for attributes, response in (
        ({"FifoQueue": "true"}, OK),
        ({"FifoQueue": "TRUE", "VisibilityTimeout": "30"}, OK),
        ({"FifoQueue": "false"}, Response("InvalidAttributeValue", modified)),
        ({"FifoQueue": "False", "VisibilityTimeout": "30"}, Response("InvalidAttributeValue", modified)),
        ({"FifoQueue": "x"}, bad("FifoQueue")),
    ):
        yield ("SetQueueAttributes", "Attributes.FifoQueue", f"of a FIFO queue: {json.dumps(attributes)}",
               {"QueueUrl": "<fifo-queue>", "Attributes": attributes}, response, RECORDED)  # fmt: skip
    for value in ("True", "TRUE"):
        yield ("CreateQueue", "Attributes.FifoQueue", value,
               {"QueueName": "<name>.fifo", "Attributes": {"FifoQueue": value}}, OK, RECORDED)  # fmt: skip
    both = {"KmsMasterKeyId": "alias/aws/sqs", "SqsManagedSseEnabled": "true"}
    yield ("CreateQueue", "Attributes", "a KMS key and SSE-SQS", {"Attributes": both}, Response("InvalidAttributeName"),
           RECORDED)  # fmt: skip
    limit = {"FifoQueue": "true", "FifoThroughputLimit": "perMessageGroupId"}
    yield ("CreateQueue", "Attributes.FifoThroughputLimit", "perMessageGroupId without its scope",
           {"QueueName": "<name>.fifo", "Attributes": limit}, Response("InvalidAttributeValue"),
           of("CreateQueue"))  # fmt: skip
    yield ("CreateQueue", "Attributes.FifoThroughputLimit", "perMessageGroupId with its scope",
           {"QueueName": "<name>.fifo", "Attributes": {**limit, "DeduplicationScope": "messageGroup"}}, OK,
           of("CreateQueue"))  # fmt: skip


def _policies() -> Iterator[Row]:
    target = f"arn:aws:sqs:us-east-1:{ACCOUNT}:none"
    for case, policy in {
        "no JSON": "x",
        "no object": "[]",
        "empty": "{}",
        "without maxReceiveCount": json.dumps({"deadLetterTargetArn": "<queue-arn>"}),
        "without a target": '{"maxReceiveCount":3}',
        "a count of 0": json.dumps({"deadLetterTargetArn": "<queue-arn>", "maxReceiveCount": 0}),
        "a count of 1001": json.dumps({"deadLetterTargetArn": "<queue-arn>", "maxReceiveCount": 1001}),
        "a target that is no ARN": json.dumps({"deadLetterTargetArn": "x", "maxReceiveCount": 3}),
        "a target of another type": json.dumps({"deadLetterTargetArn": "<fifo-queue-arn>", "maxReceiveCount": 3}),
        "a target that is not there": json.dumps({"deadLetterTargetArn": target, "maxReceiveCount": 3}),
        "a member too many": json.dumps({"deadLetterTargetArn": "<queue-arn>", "maxReceiveCount": 3, "x": 1}),
        "names in lower case": json.dumps({"deadlettertargetarn": "<queue-arn>", "maxreceivecount": 3}),
    }.items():
        for action in ("CreateQueue", "SetQueueAttributes"):
            yield (action, "Attributes.RedrivePolicy", case, {"Attributes": {"RedrivePolicy": policy}}, INVALID,
                   of(action))  # fmt: skip
    for count in ("3", 3, "1000"):
        policy = json.dumps({"deadLetterTargetArn": "<queue-arn>", "maxReceiveCount": count})
        yield ("CreateQueue", "Attributes.RedrivePolicy", f"a count of {count!r}",
               {"Attributes": {"RedrivePolicy": policy}}, OK, of("CreateQueue"))  # fmt: skip
    for case, policy in {
        "no JSON": "x",
        "empty": "{}",
        "an unknown permission": '{"redrivePermission":"x"}',
        "in lower case": '{"redrivePermission":"allowall"}',
        "byQueue without queues": '{"redrivePermission":"byQueue"}',
        "allowAll with queues": json.dumps({"redrivePermission": "allowAll", "sourceQueueArns": ["<queue-arn>"]}),
        "eleven queues": json.dumps(
            {"redrivePermission": "byQueue", "sourceQueueArns": [f"{target}{n}" for n in range(11)]}
        ),
    }.items():
        yield ("SetQueueAttributes", "Attributes.RedriveAllowPolicy", case,
               {"Attributes": {"RedriveAllowPolicy": policy}}, INVALID, of("SetQueueAttributes"))  # fmt: skip
    for case, policy in {
        "allowAll with null": '{"redrivePermission":"allowAll","sourceQueueArns":null}',
        "denyAll with null": '{"redrivePermission":"denyAll","sourceQueueArns":null}',
        "allowAll with an empty list": '{"redrivePermission":"allowAll","sourceQueueArns":[]}',
    }.items():
        for action, given in (("CreateQueue", {}), ("SetQueueAttributes", {"QueueUrl": "<new-queue>"})):
            yield (action, "Attributes.RedriveAllowPolicy", case,
                   {**given, "Attributes": {"RedriveAllowPolicy": policy}}, OK, NULL_ARNS)  # fmt: skip


def _permissions() -> Iterator[Row]:
    for label in ("a b", "ä", "x" * 81):
        yield "AddPermission", "Label", label[:5], {"Label": label}, INVALID, of("AddPermission")
    for action in ("x", "sendmessage", "SQS:SendMessage", "CreateQueue", ""):
        yield ("AddPermission", "Actions.N", action or "empty", {"Actions": [action]}, INVALID, of("AddPermission"))
    for action in ("*", "ReceiveMessage", "ChangeMessageVisibility", "GetQueueUrl"):
        yield "AddPermission", "Actions.N", action, {"Actions": [action]}, OK, of("AddPermission")
    for account in ("x", "11112222333", ""):
        yield ("AddPermission", "AWSAccountIds.N", account or "empty", {"AWSAccountIds": [account]}, INVALID,
               of("AddPermission"))  # fmt: skip


def _tags() -> Iterator[Row]:
    many = {str(n): "v" for n in range(51)}
    for action, member in (("TagQueue", "Tags"), ("CreateQueue", "tags")):
        for case, tags in (
            ("51", many),
            ("an empty key", {"": "v"}),
            ("a key of 129 characters", {"k" * 129: "v"}),
            ("a value of 257 characters", {"k": "v" * 257}),
        ):
            yield (action, member, case, {member: tags}, INVALID,
                   guide("sqs", "sqs-queue-tags", "Amazon SQS cost allocation tags"))  # fmt: skip
        new = {"QueueUrl": "<new-queue>"} if action == "TagQueue" else {}
        for case, tags in (("keys that differ in letter case", {"a": "1", "A": "2"}), ("an empty value", {"a": ""})):
            yield (action, member, case, {**new, member: tags}, OK,
                   guide("sqs", "sqs-queue-tags", "Amazon SQS cost allocation tags"))  # fmt: skip
    yield "UntagQueue", "TagKeys", "no such tag", {"TagKeys": ["none"]}, OK, of("UntagQueue")


def _moves() -> Iterator[Row]:
    missing = Response("ResourceNotFoundException")
    for action in ("StartMessageMoveTask", "ListMessageMoveTasks"):
        for case, arn in (
            ("of no queue", f"arn:aws:sqs:us-east-1:{ACCOUNT}:none"),
            ("no ARN", "x"),
            ("of another region", f"arn:aws:sqs:eu-west-1:{ACCOUNT}:none"),
        ):
            yield action, "SourceArn", case, {"SourceArn": arn}, missing, of(action)
    yield ("StartMessageMoveTask", "SourceArn", "of no dead-letter queue", {"SourceArn": "<new-queue-arn>"}, INVALID,
           OURS)  # fmt: skip
    yield ("StartMessageMoveTask", "DestinationArn", "of no queue",
           {"DestinationArn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:none"}, missing,
           of("StartMessageMoveTask"))  # fmt: skip
    yield ("ListMessageMoveTasks", "SourceArn", "of no dead-letter queue", {"SourceArn": "<new-queue-arn>"}, OK, OURS)
