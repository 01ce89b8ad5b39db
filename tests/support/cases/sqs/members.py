"""Derives cases of SQS from botocore's model. In each case, one member of an action is absent, null, empty, of a wrong
type, in another letter case, or duplicated.

The response to an absent required member is MissingParameter, and to a value of a wrong type SerializationException.
The model has no limits. The module defines only the limits of numbers. messages.py and queues.py define all other
limits.
"""

from collections.abc import Iterator
from typing import Any

from tests.support.cases.case import (
    ABSENT,
    AWS_JSON,
    OK,
    OURS,
    Case,
    Member,
    Members,
    Response,
    Source,
    common_errors,
    members_of,
    reference,
    report,
)

COMMON = common_errors("sqs")
LEGACY = "AWS.SimpleQueueService."
ENTRY = {"Id": "a", "MessageBody": "m"}
HANDLED = {"Id": "a", "ReceiptHandle": "<new-handle>"}
TIMED = {**HANDLED, "VisibilityTimeout": 30}
QUEUE = {"QueueUrl": "<queue>"}

USUAL: dict[str, Members] = {
    "AddPermission": {**QUEUE, "Label": "<name>", "AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"]},
    "CancelMessageMoveTask": {"TaskHandle": "x"},
    "ChangeMessageVisibility": {**QUEUE, "ReceiptHandle": "<new-handle>", "VisibilityTimeout": 30},
    "ChangeMessageVisibilityBatch": {**QUEUE, "Entries": [TIMED]},
    "CreateQueue": {"QueueName": "<name>"},
    "DeleteMessage": {**QUEUE, "ReceiptHandle": "<new-handle>"},
    "DeleteMessageBatch": {**QUEUE, "Entries": [HANDLED]},
    "DeleteQueue": {"QueueUrl": "<new-queue>"},
    "GetQueueAttributes": {**QUEUE, "AttributeNames": ["All"]},
    "GetQueueUrl": {"QueueName": "<queue-name>"},
    "ListDeadLetterSourceQueues": QUEUE,
    "ListMessageMoveTasks": {"SourceArn": "<dead-letters>"},
    "ListQueueTags": QUEUE,
    "ListQueues": {"QueueNamePrefix": "none"},
    "PurgeQueue": {"QueueUrl": "<new-queue>"},
    "ReceiveMessage": {**QUEUE, "WaitTimeSeconds": 0},
    "RemovePermission": {**QUEUE, "Label": "none"},
    "SendMessage": {**QUEUE, "MessageBody": "m"},
    "SendMessageBatch": {**QUEUE, "Entries": [ENTRY]},
    "SetQueueAttributes": {**QUEUE, "Attributes": {"VisibilityTimeout": "30"}},
    "StartMessageMoveTask": {"SourceArn": "<new-dead-letters>"},
    "TagQueue": {**QUEUE, "Tags": {"a": "b"}},
    "UntagQueue": {**QUEUE, "TagKeys": ["a"]},
}
USUALLY: dict[str, tuple[Response, Source]] = {
    "CancelMessageMoveTask": (Response("InvalidParameterValue"), OURS),
    "RemovePermission": (Response("InvalidParameterValue"), OURS),
}
NO_QUEUE = Response(f"{LEGACY}NonExistentQueue")
EMPTY_BATCH = Response(f"{LEGACY}EmptyBatchRequest")
INVALID = Response("InvalidParameterValue")
NO_BODY = Response("MissingParameter", "The request must contain the parameter MessageBody.")
NO_ATTRIBUTE = Response("MissingParameter", "The request must contain the parameter Attribute.Name.")
EMPTY: dict[tuple[str, str], Response] = {
    ("SendMessage", "MessageBody"): NO_BODY,
    ("CreateQueue", "QueueName"): INVALID,
    ("GetQueueUrl", "QueueName"): INVALID,
    ("SendMessageBatch", "Entries"): EMPTY_BATCH,
    ("DeleteMessageBatch", "Entries"): EMPTY_BATCH,
    ("ChangeMessageVisibilityBatch", "Entries"): EMPTY_BATCH,
    ("ListMessageMoveTasks", "SourceArn"): Response("ResourceNotFoundException"),
    ("StartMessageMoveTask", "SourceArn"): Response("ResourceNotFoundException"),
    ("UntagQueue", "TagKeys"): Response("MissingParameter"),
    ("SetQueueAttributes", "Attributes"): NO_ATTRIBUTE,
    ("TagQueue", "Tags"): OK,
    ("ListQueues", "NextToken"): INVALID,
    ("ListDeadLetterSourceQueues", "NextToken"): INVALID,
    ("AddPermission", "AWSAccountIds"): Response("MissingParameter"),
    ("AddPermission", "Actions"): Response("MissingParameter"),
    ("SendMessage", "MessageGroupId"): INVALID,
    ("SendMessage", "MessageDeduplicationId"): INVALID,
    ("ReceiveMessage", "ReceiveRequestAttemptId"): INVALID,
    ("ChangeMessageVisibility", "ReceiptHandle"): Response("ReceiptHandleIsInvalid"),
    ("DeleteMessage", "ReceiptHandle"): Response("ReceiptHandleIsInvalid"),
}
RANGES = {
    "DelaySeconds": (0, 900),
    "VisibilityTimeout": (0, 43_200),
    "MaxNumberOfMessages": (1, 10),
    "WaitTimeSeconds": (0, 20),
}
MOST = {"ListMessageMoveTasks": 10, "ListQueues": 1_000, "ListDeadLetterSourceQueues": 1_000}
ATTRIBUTE_NAME = report("pulumi/pulumi-aws", 5959)
WRONG_TYPE = report("amazon-archives/amazon-cognito-identity-js", 485)
IN_BATCHES = report("ali-essam/wtsqs", 7)


def cases() -> Iterator[Case]:
    for action, usual in USUAL.items():
        response, source = USUALLY.get(action, (OK, reference("sqs", action)))
        yield Case("sqs", action, "", "as usual", {}, response, source)
        yield Case(
            "sqs",
            action,
            "",
            "unsigned, nothing given",
            dict.fromkeys(usual, ABSENT),
            Response("MissingAuthenticationToken"),
            COMMON,
            unsigned=True,
        )
        yield Case("sqs", action, "", "an unknown parameter", {"Unknown": "x"}, response, OURS)
        for member in members_of("sqs", action):
            if "ListValues" not in member.path:
                yield from _of_member(action, usual, member)


def _of_member(action: str, usual: Members, member: Member) -> Iterator[Case]:
    parameter = member.path.replace("/0/", ".N.").replace("/", ".")
    normally = USUALLY.get(action, (OK, OURS))[0]
    missing = _missing(action, member) if member.required else normally

    def case(name: str, change: dict[str, Any], response: Response, source: Source, only: str = "") -> Case:
        return Case("sqs", action, parameter, name, change, response, source, only)

    absent = {member.path: ABSENT}
    if member.required:
        source = OURS if member.path == "Entries" else IN_BATCHES if "/0/Id" in member.path else COMMON
        yield case("absent", absent, missing, source, "json" if member.kind in ("list", "map") else "")
        if member.kind in ("list", "map"):
            response = EMPTY_BATCH if member.path == "Entries" else Response("MissingParameter")
            yield case("absent", absent, response, OURS, "query")
    yield case("null", {member.path: None}, missing, AWS_JSON, "json")
    if (member.path in usual or not member.required) and member.kind not in ("list", "map"):
        other = member.path[:1].lower() + member.path[1:] if "/" not in member.path else member.path.lower()
        yield case(
            f"written {other}", {other: "x", **absent} if "/" not in other else absent, missing, AWS_JSON, "json"
        )
    for value in _wrong_types(member):
        yield case(
            f"of a wrong type: {value!r}", {member.path: value}, Response("SerializationException"), WRONG_TYPE, "json"
        )
    if member.kind == "integer":
        yield from _numbers(action, member, case)
    if member.kind == "string" and "/0/" not in member.path:
        yield case("empty", {member.path: ""}, _empty(action, member, normally), OURS)
        if member.required:
            form = ((member.path, ""),)
            twice = case("twice, the last one empty", {}, _empty(action, member, normally), OURS, "query")
            yield twice._replace(form=form)
    if member.kind in ("list", "map") and (action, member.path) in EMPTY:
        empty: Any = [] if member.kind == "list" else {}
        sources = {"Entries": reference("sqs", action), "Attributes": ATTRIBUTE_NAME}
        yield case("empty", {member.path: empty}, EMPTY[action, member.path], sources.get(member.path, OURS), "json")


def _missing(action: str, member: Member) -> Response:
    if "/0/" in member.path:
        name = {
            "SendMessageBatch": "SendMessageBatchRequestEntry",
            "DeleteMessageBatch": "DeleteMessageBatchRequestEntry",
            "ChangeMessageVisibilityBatch": "ChangeMessageVisibilityBatchRequestEntry",
        }[action]
        return Response("MissingParameter", f"The request must contain the parameter {name}.1.{member.path[10:]}.")
    if member.kind in ("list", "map"):
        return Response("MissingParameter")
    return Response("MissingParameter", f"The request must contain the parameter {member.path}.")


def _wrong_types(member: Member) -> list[Any]:
    values: dict[str, list[Any]] = {
        "string": [1, True, [], {}],
        "integer": ["1", 1.5, True, []],
        "list": ["x", {}],
        "map": ["x", []],
        "blob": [1],
        "structure": ["x"],
    }
    return values[member.kind]


def _empty(action: str, member: Member, normally: Response) -> Response:
    if member.path == "QueueUrl":
        return NO_QUEUE
    if (action, member.path) in EMPTY:
        return EMPTY[action, member.path]
    return INVALID if member.required else normally


def _numbers(action: str, member: Member, case: Any) -> Iterator[Case]:
    name = member.path.rpartition("/")[2]
    least, most = RANGES.get(name, (1, MOST.get(action, 500)))
    if "/0/" in member.path:
        return  # The batch succeeds, although one of its entries fails.
    for number in (least - 1, most + 1, 2**40):
        only = "json" if number > 10**10 else ""
        yield case(
            str(number), {member.path: number}, INVALID, reference("sqs", action) if number < 2**40 else OURS, only
        )
    for number in (least, most):
        if (
            name != "WaitTimeSeconds"
            and (action, number) != ("ChangeMessageVisibility", most)
            and action != "StartMessageMoveTask"
        ):
            yield case(str(number), {member.path: number}, OK, reference("sqs", action))
    for text in ("x", "1.5"):
        yield case(f"no number: {text}", {member.path: text}, INVALID, OURS, "query")


# --- rows ------------------------------------------------------------------------------------------------------------

ACCOUNT = "710000000001"
UNKNOWN = report("CoorpAcademy/serverless-plugins", 225)

Row = tuple[str, str, str, dict[str, Any], Response, Source]


def of(action: str) -> Source:
    return reference("sqs", action)


def unknown(name: str) -> Response:
    """Returns an InvalidAttributeName error with AWS's text."""
    return Response("InvalidAttributeName", f"Unknown Attribute {name}.")
