"""Derives cases of SNS from botocore's model. In each case, one member of an action is absent, null, empty, of a wrong
type, in another letter case, duplicated, or beyond the model's limits.

The response to an absent required member or a broken limit is ValidationError in AWS's format. AWS's SDKs do not use
JSON for SNS. Penstock therefore answers requests that only JSON can express (null, wrong types) by the rules of AWS
JSON.
"""

from collections.abc import Iterator
from typing import Any

from tests.support.cases.case import (
    ABSENT,
    MODELS,
    OK,
    OURS,
    RECORDED,
    Case,
    Member,
    Members,
    Response,
    Source,
    common_errors,
    members_of,
    problem,
    problems_of,
    reference,
    report,
    violations,
)

MODEL = MODELS["sns"]
COMMON = common_errors("sns")
ACCOUNT = "710000000001"
TAG = {"Key": "a", "Value": "b"}
ENTRY = {"Id": "a", "Message": "m"}
NUMBER = "+15550100001"

USUAL: dict[str, Members] = {
    "AddPermission": {
        "TopicArn": "<topic>",
        "Label": "<name>",
        "AWSAccountId": ["111122223333"],
        "ActionName": ["Publish"],
    },
    "CheckIfPhoneNumberIsOptedOut": {"phoneNumber": NUMBER},
    "ConfirmSubscription": {"TopicArn": "<topic>", "Token": "0" * 160},
    "CreatePlatformApplication": {"Name": "<name>", "Platform": "GCM", "Attributes": {"PlatformCredential": "key"}},
    "CreatePlatformEndpoint": {"PlatformApplicationArn": "<application>", "Token": "<name>"},
    "CreateSMSSandboxPhoneNumber": {"PhoneNumber": NUMBER},
    "CreateTopic": {"Name": "<name>"},
    "DeleteEndpoint": {"EndpointArn": "<new-endpoint>"},
    "DeletePlatformApplication": {"PlatformApplicationArn": "<new-application>"},
    "DeleteSMSSandboxPhoneNumber": {"PhoneNumber": "+15550100009"},
    "DeleteTopic": {"TopicArn": "<new-topic>"},
    "GetDataProtectionPolicy": {"ResourceArn": "<topic>"},
    "GetEndpointAttributes": {"EndpointArn": "<endpoint>"},
    "GetPlatformApplicationAttributes": {"PlatformApplicationArn": "<application>"},
    "GetSMSAttributes": {},
    "GetSMSSandboxAccountStatus": {},
    "GetSubscriptionAttributes": {"SubscriptionArn": "<subscription>"},
    "GetTopicAttributes": {"TopicArn": "<topic>"},
    "ListEndpointsByPlatformApplication": {"PlatformApplicationArn": "<application>"},
    "ListOriginationNumbers": {},
    "ListPhoneNumbersOptedOut": {},
    "ListPlatformApplications": {},
    "ListSMSSandboxPhoneNumbers": {},
    "ListSubscriptions": {},
    "ListSubscriptionsByTopic": {"TopicArn": "<topic>"},
    "ListTagsForResource": {"ResourceArn": "<topic>"},
    "ListTopics": {},
    "OptInPhoneNumber": {"phoneNumber": NUMBER},
    "Publish": {"TopicArn": "<topic>", "Message": "m"},
    "PublishBatch": {"TopicArn": "<topic>", "PublishBatchRequestEntries": [ENTRY]},
    "PutDataProtectionPolicy": {"ResourceArn": "<topic>", "DataProtectionPolicy": "{}"},
    "RemovePermission": {"TopicArn": "<topic>", "Label": "none"},
    "SetEndpointAttributes": {"EndpointArn": "<endpoint>", "Attributes": {"CustomUserData": "x"}},
    "SetPlatformApplicationAttributes": {
        "PlatformApplicationArn": "<application>",
        "Attributes": {"EventEndpointCreated": ""},
    },
    "SetSMSAttributes": {"attributes": {"DefaultSMSType": "Transactional"}},
    "SetSubscriptionAttributes": {
        "SubscriptionArn": "<subscription>",
        "AttributeName": "RawMessageDelivery",
        "AttributeValue": "true",
    },
    "SetTopicAttributes": {"TopicArn": "<topic>", "AttributeName": "DisplayName", "AttributeValue": "x"},
    "Subscribe": {"TopicArn": "<topic>", "Protocol": "sqs", "Endpoint": "<queue-arn>"},
    "TagResource": {"ResourceArn": "<topic>", "Tags": [TAG]},
    "Unsubscribe": {"SubscriptionArn": "<new-subscription>"},
    "UntagResource": {"ResourceArn": "<topic>", "TagKeys": ["a"]},
    "VerifySMSSandboxPhoneNumber": {"PhoneNumber": "+15550100009", "OneTimePassword": "123456"},
}

NOT_IN_SANDBOX = Response("ResourceNotFound")
USUALLY: dict[str, tuple[Response, Source]] = {
    "ConfirmSubscription": (Response("InvalidParameter"), reference("sns", "ConfirmSubscription")),
    "DeleteSMSSandboxPhoneNumber": (NOT_IN_SANDBOX, reference("sns", "DeleteSMSSandboxPhoneNumber")),
    "VerifySMSSandboxPhoneNumber": (NOT_IN_SANDBOX, reference("sns", "VerifySMSSandboxPhoneNumber")),
    "PutDataProtectionPolicy": (Response("AuthorizationError"), OURS),
}
"""The responses to usual requests that fail, by action."""

PUBLIC = ("ConfirmSubscription", "Unsubscribe")
"""Actions that need no signature, because subscribers call them with links."""

ITEMS: dict[str, Any] = {"Tags": [TAG]}
MOST_COMPARED = 600
"""The number of compared characters. AWS repeats long values in longer texts, but Penstock shortens the values."""
NO_ARN = "Invalid parameter: {} Reason: An ARN must have at least 6 elements, not 1"
ARNS: dict[str, Source] = {
    "TopicArn": report("aws-samples/amazon-rekognition-video-analyzer", 41),
    "SubscriptionArn": report("crossplane-contrib/provider-upjet-aws", 935),
    "PlatformApplicationArn": report("dreipol/django-scarface", 14),
    "EndpointArn": OURS,
    "ResourceArn": RECORDED,
}
"""ARN members, with the source of the response to a text without colons."""

TOPIC_NAME = report("awsdocs/aws-cloudformation-user-guide", 860)
SUBJECT = report("wellcomecollection/platform", 1107)
INVALID = Response("InvalidParameter")
EMPTY: dict[tuple[str, str], tuple[Response, Source]] = {
    ("CreateTopic", "Name"): (Response("InvalidParameter", "Invalid parameter: Topic Name"), TOPIC_NAME),
    ("CreateTopic", "DataProtectionPolicy"): (OK, OURS),
    ("Publish", "TopicArn"): (Response("InvalidParameter", NO_ARN.format("TopicArn")), RECORDED),
    ("Publish", "TargetArn"): (OK, OURS),
    ("Publish", "PhoneNumber"): (INVALID, OURS),
    ("Publish", "Subject"): (Response("InvalidParameter", "Invalid parameter: Subject"), SUBJECT),
    ("Publish", "MessageStructure"): (INVALID, OURS),
    ("Publish", "MessageGroupId"): (INVALID, OURS),
    ("Publish", "MessageDeduplicationId"): (INVALID, OURS),
    ("PublishBatch", "PublishBatchRequestEntries/0/Message"): (OK, OURS),
    ("PutDataProtectionPolicy", "DataProtectionPolicy"): (Response("AuthorizationError"), OURS),
    ("PublishBatch", "PublishBatchRequestEntries/0/Id"): (
        Response("InvalidBatchEntryId"),
        reference("sns", "PublishBatchRequestEntry"),
    ),
    ("PublishBatch", "PublishBatchRequestEntries"): (Response("EmptyBatchRequest"), reference("sns", "PublishBatch")),
    ("ConfirmSubscription", "AuthenticateOnUnsubscribe"): (INVALID, OURS),
    ("SetSMSAttributes", "attributes"): (OK, OURS),
    ("SetEndpointAttributes", "Attributes"): (OK, OURS),
    ("SetPlatformApplicationAttributes", "Attributes"): (OK, OURS),
    ("SetTopicAttributes", "AttributeValue"): (OK, reference("sns", "SetTopicAttributes")),
    ("SetSubscriptionAttributes", "AttributeValue"): (INVALID, OURS),
    ("TagResource", "Tags"): (OK, OURS),
    ("UntagResource", "TagKeys"): (OK, OURS),
    ("GetSMSAttributes", "attributes"): (OK, OURS),
}
"""The responses to an empty string, list or map, unless they follow from the model and the ARNs."""


def cases() -> Iterator[Case]:
    for action, usual in USUAL.items():
        response, source = USUALLY.get(action, (OK, reference("sns", action)))
        yield Case("sns", action, "", "as usual", {}, response, source)
        public = {"ConfirmSubscription": "ValidationError", "Unsubscribe": "InvalidParameter"}
        code = public.get(action, "MissingAuthenticationToken")
        yield Case(
            "sns",
            action,
            "",
            "unsigned, nothing given",
            dict.fromkeys(usual, ABSENT),
            Response(code),
            reference("sns", action) if action in PUBLIC else COMMON,
            only="query" if action in PUBLIC else "",
            unsigned=True,
        )
        yield Case("sns", action, "", "an unknown parameter", {"Unknown": "x"}, response, OURS)
        for member in members_of("sns", action):
            for case in _of_member(action, usual, member):
                first = member.path.split("/")[0]
                placed = (
                    {first: ITEMS[first], **case.given} if "/0/" in member.path and first not in usual else case.given
                )
                yield case._replace(given=placed)


def invalid(*problems: str) -> Response:
    text = violations(*problems)
    return Response("ValidationError", text if len(text) < MOST_COMPARED else None)


def _of_member(action: str, usual: Members, member: Member) -> Iterator[Case]:
    parameter = member.path.replace("/0/", ".N.").replace("/", ".")
    normally = USUALLY.get(action, (OK, OURS))[0]
    shown = None if member.path == "AWSAccountId" else member.shown
    missing = normally
    if member.required:
        missing = invalid(problem("null", shown, "not be null")) if shown else Response("ValidationError")

    def case(name: str, change: dict[str, Any], response: Response, source: Source, only: str = "") -> Case:
        return Case("sns", action, parameter, name, change, response, source, only)

    absent = {member.path: ABSENT}
    if member.required:
        yield case("absent", absent, _without(action, member, missing), COMMON)
    yield case("null", {member.path: None}, _without(action, member, missing), OURS, "json")
    if member.path in usual or not member.required:
        head, _, name = member.path.rpartition("/")
        other = name.swapcase()
        lowered = f"{head}/{other}" if head else other
        yield case(f"written {other}", {lowered: "x", **absent}, _without(action, member, missing), OURS)
    for value in _wrong_types(member):
        yield case(
            f"of a wrong type: {value!r}", {member.path: value}, Response("SerializationException"), OURS, "json"
        )
    if member.kind == "integer":
        yield case("no number", {member.path: "x"}, INVALID_NUMBER, OURS, "query")
    yield from (case(*arguments) for arguments in _values(action, member, normally))
    if member.kind == "string" and member.required and member.path in usual:
        found = _empty(action, member, normally)
        form = ((member.path, ""),)
        yield case("twice, the last one empty", {}, found[0], OURS, "query")._replace(form=form)


INVALID_NUMBER = Response("InvalidParameterValue")


def _without(action: str, member: Member, missing: Response) -> Response:
    """Returns the response to a request without the member. SNS requires some members that are optional in the
    model.
    """
    return NEEDED.get((action, member.path), missing)


NEEDED = {
    ("Publish", "TopicArn"): Response(
        "InvalidParameter", "Invalid parameter: TopicArn or TargetArn Reason: no value for required parameter"
    ),
    ("Unsubscribe", "SubscriptionArn"): Response(
        "InvalidParameter", "Invalid parameter: SubscriptionArn Reason: no value for required parameter"
    ),
    ("Subscribe", "Endpoint"): INVALID,
    ("SetSubscriptionAttributes", "AttributeValue"): INVALID,
}


def _wrong_types(member: Member) -> list[Any]:
    values: dict[str, list[Any]] = {
        "string": [1, True, [], {}],
        "integer": ["1", 1.5, True, []],
        "list": ["x", {}],
        "map": ["x", []],
        "boolean": ["true", 1],
        "structure": ["x"],
        "blob": [1],
    }
    return values[member.kind]


def _empty(action: str, member: Member, normally: Response) -> tuple[Response, Source]:
    known = EMPTY.get((action, member.path))
    if known is not None:
        return known
    if member.kind == "string" and problems_of(member, ""):
        return invalid(*problems_of(member, "")), COMMON
    name = member.path.rpartition("/")[2]
    if name in ARNS:
        return Response("InvalidParameter", NO_ARN.format(name) if ARNS[name] is not OURS else None), ARNS[name]
    if name in ("NextToken", "nextToken", "CustomUserData", "AuthenticateOnUnsubscribe", "Value"):
        return normally, OURS
    return (INVALID if member.required else normally), OURS


def _values(action: str, member: Member, normally: Response) -> Iterator[tuple[Any, ...]]:
    """Yields empty values, and values beyond the model's limits."""
    if member.kind in ("string", "list", "map") and (action, member.path) != ("Subscribe", "Endpoint"):
        response, source = _empty(action, member, normally)
        empty: Any = {"string": "", "list": [], "map": {}}[member.kind]
        if member.kind != "map" or (action, member.path) in EMPTY:
            yield "empty", {member.path: empty}, response, source, "json" if member.kind == "map" else ""
    most = member.trait("max")
    if member.kind == "string" and most is not None:
        for value in ("1" * (most + 1), "letters") if member.trait("pattern") else ("a" * (most + 1),):
            case = f"{len(value)} characters" if value != "letters" else value
            yield case, {member.path: value}, invalid(*problems_of(member, value)), COMMON
    if member.enum:
        yield "in lower case", {member.path: "en-us"}, invalid(*problems_of(member, "en-us")), COMMON
    if member.kind == "integer":
        for number in (member.trait("min") - 1, most + 1):
            yield str(number), {member.path: number}, invalid(*problems_of(member, number)), COMMON
        for number in (member.trait("min"), most):
            yield str(number), {member.path: number}, OK, MODEL


# --- rows ------------------------------------------------------------------------------------------------------------

ARN = f"arn:aws:sns:us-east-1:{ACCOUNT}:"
ID = "00000000-0000-4000-8000-000000000000"
NO_TOPIC = Response("NotFound", "Topic does not exist")
NO_RESOURCE = Response("ResourceNotFound", "Resource does not exist")
NO_SUBSCRIPTION = Response("NotFound", "Subscription does not exist")

Row = tuple[str, str, str, dict[str, Any], Response, Source]


def refused(text: str) -> Response:
    """Returns an InvalidParameter error with AWS's text."""
    return Response(INVALID.code, f"Invalid parameter: {text}")


def of(action: str) -> Source:
    return reference("sns", action)


def spellings(name: str) -> list[str]:
    """Returns the name in other letter cases."""
    forms = (name.lower(), name.upper(), name[:1].lower() + name[1:])
    return [form for form in dict.fromkeys(forms) if form != name]
