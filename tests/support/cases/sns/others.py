"""Lists cases of SNS: permissions, tags, mobile apps, text messages, the order of checks, and resources that are
deleted, disabled or exist already.
"""

from collections.abc import Iterator

from tests.support.cases.case import ABSENT, OK, OURS, RECORDED, Response, Source, report
from tests.support.cases.sns.members import (
    ACCOUNT,
    ARN,
    ENTRY,
    ID,
    INVALID,
    NO_RESOURCE,
    NO_SUBSCRIPTION,
    NO_TOPIC,
    TAG,
    Row,
    of,
    refused,
    spellings,
)

# --- others ----------------------------------------------------------------------------------------------------------


def rows() -> Iterator[Row]:
    for table in (
        _deleted,
        _disabled,
        _there,
        _permissions,
        _tags,
        _applications,
        _endpoints,
        _missing_applications,
        _sms,
        _orders,
    ):
        yield from table()


def _permissions() -> Iterator[Row]:
    scope = refused("Policy statement action out of service scope!")
    for action in ("SetSubscriptionAttributes", "x", "sns:Publish", ""):
        yield ("AddPermission", "ActionName.N", action or "empty", {"ActionName": [action]}, scope,
               report("aws/aws-cli", 3143))  # fmt: skip
    for action in ("publish", "PUBLISH"):
        yield "AddPermission", "ActionName.N", action, {"ActionName": [action]}, scope, OURS
    for account in ("x", "11112222333", "1111-2222-3333", ""):
        yield ("AddPermission", "AWSAccountId.N", account or "empty", {"AWSAccountId": [account]}, INVALID,
               of("AddPermission"))  # fmt: skip
    yield ("AddPermission", "", "several accounts and actions",
           {"AWSAccountId": ["111122223333", "444455556666"], "ActionName": ["Publish", "Subscribe"]}, OK,
           of("AddPermission"))  # fmt: skip
    yield ("AddPermission", "Label", "__default_statement_ID", {"Label": "__default_statement_ID"}, INVALID,
           of("AddPermission"))  # fmt: skip


def _tags() -> Iterator[Row]:
    for action in ("TagResource", "CreateTopic"):
        yield (action, "Tags", "a key twice", {"Tags": [TAG, TAG]}, refused("Duplicated keys are not allowed."),
               of(action))  # fmt: skip
        yield action, "Tags", "a key of AWS", {"Tags": [{"Key": "aws:a", "Value": "b"}]}, INVALID, of(action)
        yield (action, "Tags", "51", {"Tags": [{"Key": str(n), "Value": "v"} for n in range(51)]},
               Response("TagLimitExceeded", "Could not complete request: tag quota of per resource exceeded"),
               of(action))  # fmt: skip
        topic = {"ResourceArn": "<new-topic>"} if action == "TagResource" else {}
        yield (action, "Tags", "keys that differ in letter case", {**topic, "Tags": [TAG, {"Key": "A", "Value": "b"}]},
               OK, of(action))  # fmt: skip
        yield action, "Tags", "an empty value", {**topic, "Tags": [{"Key": "a", "Value": ""}]}, OK, of("Tag")
    yield "UntagResource", "TagKeys", "no such tag", {"TagKeys": ["none"]}, OK, of("UntagResource")


TOO_LONG = refused(
    "Attributes Reason: Invalid value for attribute: CustomUserData: must be at most 2048 bytes long in UTF-8 encoding"
)


def _applications() -> Iterator[Row]:
    create = of("CreatePlatformApplication")
    for platform in ("gcm", "Apns", "FCM", "x"):
        yield "CreatePlatformApplication", "Platform", platform, {"Platform": platform}, INVALID, create
    characters = "must contain only characters 'a'-'z', 'A'-'Z', '0'-'9', '_', '-', and '.'"
    for name in ("a b", "ä", "@name", "a/b", "a" * 257, ""):
        reason = "must be at most 256 characters long" if len(name) > 256 else characters
        response = refused(f"{name} Reason: {reason if name else 'cannot be empty'}")
        yield "CreatePlatformApplication", "Name", name[:5] or "empty", {"Name": name}, response, RECORDED
    alone = "Attributes Reason: Platform{} attribute provided without Platform{}"
    for only, missing in (("Principal", "Credential"), ("Credential", "Principal")):
        yield ("CreatePlatformApplication", "Attributes", f"Platform{only} alone, ADM",
               {"Platform": "ADM", "Attributes": {f"Platform{only}": "x"}}, refused(alone.format(only, missing)),
               RECORDED)  # fmt: skip
    for action, member in (
        ("SetPlatformApplicationAttributes", "PlatformApplicationArn"),
        ("SetEndpointAttributes", "EndpointArn"),
    ):
        yield (action, member, "no ARN, without Attributes", {member: "invalid-arn", "Attributes": ABSENT},
               refused(f"{member} Reason: An ARN must have at least 6 elements, not 1"), RECORDED)  # fmt: skip
    deleted = "<deleted-endpoint>"
    yield ("Subscribe", "Endpoint", "a deleted endpoint: the text", {"Protocol": "application", "Endpoint": deleted},
           refused(f"Endpoint Reason: Endpoint does not exist for endpoint arn{deleted}"), RECORDED)  # fmt: skip
    yield ("SetEndpointAttributes", "Attributes.CustomUserData", "2050 bytes of letters of two",
           {"Attributes": {"CustomUserData": "ä" * 1_025}}, TOO_LONG, RECORDED)  # fmt: skip
    for name in ("a.b_c-9", "a" * 256):
        yield "CreatePlatformApplication", "Name", name[:8], {"Name": name}, OK, create
    yield ("CreatePlatformApplication", "Attributes", "no credential", {"Attributes": {"Enabled": "true"}}, INVALID,
           create)  # fmt: skip
    for written in spellings("PlatformCredential"):
        yield ("CreatePlatformApplication", "Attributes.PlatformCredential", f"written {written}",
               {"Attributes": {written: "key"}}, INVALID, create)  # fmt: skip
    yield ("CreatePlatformApplication", "Attributes.PlatformPrincipal", "absent for ADM", {"Platform": "ADM"}, INVALID,
           create)  # fmt: skip


def _endpoints() -> Iterator[Row]:
    for name in ("x", "enabled", "Token"):
        yield ("SetPlatformApplicationAttributes", "Attributes", name, {"Attributes": {name: "x"}}, INVALID,
               of("SetPlatformApplicationAttributes"))  # fmt: skip
        if name != "Token":
            yield ("SetEndpointAttributes", "Attributes", name, {"Attributes": {name: "x"}}, INVALID,
                   of("SetEndpointAttributes"))  # fmt: skip
    for value in ("101", "-1", "x"):
        yield ("SetPlatformApplicationAttributes", "Attributes.SuccessFeedbackSampleRate", value,
               {"Attributes": {"SuccessFeedbackSampleRate": value}}, INVALID,
               of("SetPlatformApplicationAttributes"))  # fmt: skip
    for value in ("True", "FALSE"):
        yield ("SetEndpointAttributes", "Attributes.Enabled", value,
               {"EndpointArn": "<new-endpoint>", "Attributes": {"Enabled": value}}, OK, OURS)  # fmt: skip
    yield ("SetEndpointAttributes", "Attributes.Enabled", "yes", {"Attributes": {"Enabled": "yes"}}, INVALID,
           of("SetEndpointAttributes"))  # fmt: skip
    yield ("SetEndpointAttributes", "Attributes.Token", "empty", {"Attributes": {"Token": ""}}, INVALID,
           of("SetEndpointAttributes"))  # fmt: skip
    yield (
        "CreatePlatformEndpoint",
        "CustomUserData",
        "2049 bytes",
        {"CustomUserData": "x" * 2_049},
        TOO_LONG,
        RECORDED,
    )
    yield ("CreatePlatformEndpoint", "CustomUserData", "2048 bytes", {"CustomUserData": "x" * 2_048}, OK,
           of("CreatePlatformEndpoint"))  # fmt: skip


def _missing_applications() -> Iterator[Row]:
    application = f"arn:aws:sns:us-east-1:{ACCOUNT}:app/GCM/none"
    no_application = Response("NotFound", "PlatformApplication does not exist")
    for action in (
        "CreatePlatformEndpoint",
        "GetPlatformApplicationAttributes",
        "SetPlatformApplicationAttributes",
        "ListEndpointsByPlatformApplication",
    ):
        yield (action, "PlatformApplicationArn", "of no application", {"PlatformApplicationArn": application},
               no_application, of(action))  # fmt: skip
        yield (action, "PlatformApplicationArn", "of a topic", {"PlatformApplicationArn": "<topic>"}, INVALID,
               of(action))  # fmt: skip
        yield (action, "PlatformApplicationArn", "of an endpoint", {"PlatformApplicationArn": "<endpoint>"}, INVALID,
               of(action))  # fmt: skip
    yield ("DeletePlatformApplication", "PlatformApplicationArn", "of no application",
           {"PlatformApplicationArn": application}, OK, OURS)  # fmt: skip
    gone = {"EndpointArn": f"arn:aws:sns:us-east-1:{ACCOUNT}:endpoint/GCM/none/{ID}"}
    for action in ("GetEndpointAttributes", "SetEndpointAttributes"):
        yield (
            action,
            "EndpointArn",
            "of no endpoint",
            gone,
            Response("NotFound", "Endpoint does not exist"),
            of(action),
        )
        yield (action, "EndpointArn", "of an application", {"EndpointArn": "<application>"}, INVALID, of(action))
    yield "DeleteEndpoint", "EndpointArn", "of no endpoint", gone, OK, of("DeleteEndpoint")


def _sms() -> Iterator[Row]:
    for name in (*spellings("DefaultSMSType"), "InvalidAttribute", "DefaultSendID", ""):
        yield ("SetSMSAttributes", "attributes", name or "an empty name", {"attributes": {name: "Promotional"}},
               Response(INVALID.code, f"{name} is not a valid attribute") if name else INVALID, RECORDED)  # fmt: skip
    for name, values in {
        "DefaultSMSType": ("promotional", "TRANSACTIONAL", "x", ""),
        "MonthlySpendLimit": ("x", "-1", ""),
        "DeliveryStatusSuccessSamplingRate": ("101", "-1", "x"),
        "DefaultSenderID": ("123", "a b", "x" * 12, "ä"),
        "DeliveryStatusIAMRole": ("x",),
    }.items():
        for value in values:
            yield ("SetSMSAttributes", f"attributes.{name}", value or "empty", {"attributes": {name: value}},
                   Response(INVALID.code, f"{name} is invalid"), RECORDED)  # fmt: skip
    for name, value in (
        ("DefaultSenderID", "a" * 11),
        ("DeliveryStatusSuccessSamplingRate", "0"),
        ("MonthlySpendLimit", "1"),
    ):
        yield ("SetSMSAttributes", f"attributes.{name}", value, {"attributes": {name: value}}, OK,
               of("SetSMSAttributes"))  # fmt: skip
    yield "GetSMSAttributes", "attributes.N", "unknown", {"attributes": ["x"]}, OK, OURS
    for action in ("CheckIfPhoneNumberIsOptedOut", "OptInPhoneNumber"):
        for number in ("invalid", "15550100001", "+1555"):
            response = refused("PhoneNumber Reason: input incorrectly formatted")
            yield action, "phoneNumber", number, {"phoneNumber": number}, response, RECORDED


def _orders() -> Iterator[Row]:
    none = {"TopicArn": f"{ARN}none"}
    yield "Subscribe", "Endpoint", "bad, to no topic", {**none, "Endpoint": "x"}, NO_TOPIC, RECORDED
    yield "Subscribe", "Protocol", "bad, to no topic", {**none, "Protocol": "x"}, NO_TOPIC, OURS
    yield "Subscribe", "Attributes", "bad, to no topic", {**none, "Attributes": {"x": "y"}}, NO_TOPIC, OURS
    yield ("SetTopicAttributes", "AttributeName", "bad, of no topic", {**none, "AttributeName": "x"}, INVALID, OURS)
    yield "Publish", "Message", "empty, to no topic", {**none, "Message": ""}, INVALID, OURS
    yield "Publish", "Subject", "empty, to no topic", {**none, "Subject": ""}, INVALID, OURS
    yield "Publish", "Message", "empty, of a bad ARN", {"TopicArn": "x", "Message": ""}, INVALID, OURS
    yield ("Publish", "MessageAttributes", "bad, to no topic", {**none, "MessageAttributes": {"a": {"DataType": "x"}}},
           Response("ParameterValueInvalid"), OURS)  # fmt: skip
    yield ("PublishBatch", "PublishBatchRequestEntries", "empty, to no topic",
           {**none, "PublishBatchRequestEntries": []}, Response("EmptyBatchRequest"), OURS)  # fmt: skip
    yield "AddPermission", "ActionName", "bad, of no topic", {**none, "ActionName": ["x"]}, INVALID, OURS
    yield ("TagResource", "Tags", "a key twice, of no topic", {"ResourceArn": f"{ARN}none", "Tags": [TAG, TAG]},
           INVALID, OURS)  # fmt: skip
    yield ("SetSubscriptionAttributes", "AttributeName", "bad, of no subscription",
           {"SubscriptionArn": f"{ARN}none:{ID}", "AttributeName": "x"}, NO_SUBSCRIPTION, OURS)  # fmt: skip
    yield ("CreateTopic", "Name", "bad, with a bad attribute", {"Name": "a b", "Attributes": {"x": "y"}}, INVALID, OURS)


# --- states ----------------------------------------------------------------------------------------------------------

NO_APPLICATION = Response("NotFound", "PlatformApplication does not exist")
NO_ENDPOINT = Response("NotFound", "Endpoint does not exist")


def _deleted() -> Iterator[Row]:
    for action, more, response in (
        ("GetTopicAttributes", {}, NO_TOPIC), ("SetTopicAttributes", {}, NO_TOPIC), ("Publish", {}, NO_TOPIC),
        ("Subscribe", {}, NO_TOPIC), ("ListSubscriptionsByTopic", {}, NO_TOPIC), ("AddPermission", {}, NO_TOPIC),
        ("RemovePermission", {}, NO_TOPIC), ("DeleteTopic", {}, OK),
        ("PublishBatch", {"PublishBatchRequestEntries": [ENTRY]}, NO_TOPIC),
    ):  # fmt: skip
        yield (action, "TopicArn", "of a deleted topic", {"TopicArn": "<deleted-topic>", **more}, response, of(action))
    for action in ("TagResource", "UntagResource", "ListTagsForResource"):
        given = {"ResourceArn": "<deleted-topic>"}
        yield action, "ResourceArn", "of a deleted topic", given, NO_RESOURCE, of(action)
    for action in ("GetSubscriptionAttributes", "SetSubscriptionAttributes"):
        given = {"SubscriptionArn": "<deleted-subscription>"}
        yield action, "SubscriptionArn", "of a deleted subscription", given, NO_SUBSCRIPTION, of(action)
    given = {"SubscriptionArn": "<deleted-subscription>"}
    yield "Unsubscribe", "SubscriptionArn", "of a deleted subscription", given, OK, OURS
    for action in ("GetPlatformApplicationAttributes", "SetPlatformApplicationAttributes",
                   "ListEndpointsByPlatformApplication", "CreatePlatformEndpoint"):  # fmt: skip
        given = {"PlatformApplicationArn": "<deleted-application>"}
        yield action, "PlatformApplicationArn", "of a deleted application", given, NO_APPLICATION, of(action)
    for action in ("GetEndpointAttributes", "SetEndpointAttributes"):
        given = {"EndpointArn": "<deleted-endpoint>"}
        yield action, "EndpointArn", "of a deleted endpoint", given, NO_ENDPOINT, of(action)
    yield (
        "Publish", "TargetArn", "of a deleted endpoint", {"TopicArn": ABSENT, "TargetArn": "<deleted-endpoint>"},
        refused("TargetArn Reason: No endpoint found for the target arn specified"), of("Publish"),
    )  # fmt: skip


def _disabled() -> Iterator[Row]:
    for case, endpoint, code in (
        ("of a disabled endpoint", "<disabled-endpoint>", "EndpointDisabled"),
        ("of a disabled application", "<endpoint-of-a-disabled-application>", "PlatformApplicationDisabled"),
    ):
        given = {"TopicArn": ABSENT, "TargetArn": endpoint}
        yield "Publish", "TargetArn", case, given, Response(code), of("Publish")
        yield "Publish", "TargetArn", f"{case}, empty message", {**given, "Message": ""}, INVALID, OURS
    yield "Subscribe", "Endpoint", "a disabled endpoint", {
        "Protocol": "application", "Endpoint": "<disabled-endpoint>"}, OK, OURS  # fmt: skip


OTHERS = Source("tomodachi, transport/aws_sns_sqs.py", "https://github.com/kalaspuff/tomodachi")


def _there() -> Iterator[Row]:
    queue = {"Endpoint": "<subscribed-queue-arn>"}
    yield "Subscribe", "Endpoint", "subscribed already", queue, OK, of("Subscribe")
    for name, value in (("RawMessageDelivery", "true"), ("FilterPolicy", '{"a":["b"]}')):
        yield (
            "Subscribe", f"Attributes.{name}", "of a subscription that has none",
            {**queue, "Attributes": {name: value}},
            refused("Attributes Reason: Subscription already exists with different attributes"), OTHERS,
        )  # fmt: skip
    for attributes in (
        {"RawMessageDelivery": "false"},
        {"FilterPolicyScope": "MessageAttributes"},
        {"FilterPolicyScope": "MessageAttributes", "RawMessageDelivery": "False"},
        {"FilterPolicy": ""},
    ):
        given = {**queue, "Attributes": attributes}
        case = f"of a subscription that has the default: {attributes}"
        yield "Subscribe", "Attributes", case, given, OK, RECORDED
    given = {"Label": "<label>"}
    yield "AddPermission", "Label", "taken", given, INVALID, of("AddPermission")
    yield "RemovePermission", "Label", "of a permission", {"Label": "<new-label>"}, OK, of("RemovePermission")
    text = "Token Reason: Endpoint <tokened-endpoint> already exists with the same Token, but different attributes."
    given = {"Token": "a-token", "CustomUserData": "other"}
    yield "CreatePlatformEndpoint", "Token", "of an endpoint that has other data", given, refused(text), report(
        "evanshortiss/sns-mobile", 33)  # fmt: skip
    yield "CreateTopic", "Tags", "none, of a topic that has some", {"Name": "<topic-name>"}, OK, RECORDED
    yield "TagResource", "Tags", "as they are", {"Tags": [TAG]}, OK, of("TagResource")
