"""Lists cases of SNS: deleted, disabled and existing resources."""

from collections.abc import Iterator

from tests.support.cases.case import ABSENT, OK, OURS, RECORDED, Answer, Source, report
from tests.support.cases.sns.members import ENTRY, INVALID, TAG
from tests.support.cases.sns.rows import NO_RESOURCE, NO_SUBSCRIPTION, NO_TOPIC, Row, of, refused

NO_APPLICATION = Answer("NotFound", "PlatformApplication does not exist")
NO_ENDPOINT = Answer("NotFound", "Endpoint does not exist")


def rows() -> Iterator[Row]:
    for table in (_deleted, _disabled, _there):
        yield from table()


def _deleted() -> Iterator[Row]:
    for action, more, answer in (
        ("GetTopicAttributes", {}, NO_TOPIC), ("SetTopicAttributes", {}, NO_TOPIC), ("Publish", {}, NO_TOPIC),
        ("Subscribe", {}, NO_TOPIC), ("ListSubscriptionsByTopic", {}, NO_TOPIC), ("AddPermission", {}, NO_TOPIC),
        ("RemovePermission", {}, NO_TOPIC), ("DeleteTopic", {}, OK),
        ("PublishBatch", {"PublishBatchRequestEntries": [ENTRY]}, NO_TOPIC),
    ):  # fmt: skip
        yield (action, "TopicArn", "of a deleted topic", {"TopicArn": "<deleted-topic>", **more}, answer, of(action))
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
        yield "Publish", "TargetArn", case, given, Answer(code), of("Publish")
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
