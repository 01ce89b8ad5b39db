"""Lists cases of SNS: ARNs, topics and their attributes."""

import json
from collections.abc import Iterator

from tests.support.cases.case import OK, OURS, RECORDED, Response, Source, guide, report
from tests.support.cases.sns.members import (
    ACCOUNT,
    ARN,
    ID,
    INVALID,
    NO_ARN,
    NO_RESOURCE,
    NO_SUBSCRIPTION,
    NO_TOPIC,
    TOPIC_NAME,
    Row,
    of,
    refused,
    spellings,
)


def rows() -> Iterator[Row]:
    for table in (_arns, _topics, _topic_attributes, _topic_values):
        yield from table()


ON_TOPICS = {
    "AddPermission": NO_TOPIC,
    "GetDataProtectionPolicy": NO_TOPIC,
    "GetTopicAttributes": NO_TOPIC,
    "ListSubscriptionsByTopic": NO_TOPIC,
    "ListTagsForResource": NO_RESOURCE,
    "Publish": NO_TOPIC,
    "PublishBatch": NO_TOPIC,
    "PutDataProtectionPolicy": NO_TOPIC,
    "RemovePermission": NO_TOPIC,
    "SetTopicAttributes": NO_TOPIC,
    "Subscribe": NO_TOPIC,
    "TagResource": NO_RESOURCE,
    "UntagResource": NO_RESOURCE,
    "DeleteTopic": OK,
}
OTHER_REGION = report("sysdiglabs/terraform-aws-secure-for-cloud", 105)
BAD_TOPICS = {
    "no ARN": "x",
    "an ARN of three parts": "a:b:c",
    "of a queue": "<queue-arn>",
    "of a subscription": "<subscription>",
    "of a topic with a space": f"{ARN}a b",
    "of a topic without a name": ARN,
    "in capitals": "ARN:AWS:SNS:US-EAST-1:1:A",
}


def _arns() -> Iterator[Row]:
    for action, missing in ON_TOPICS.items():
        member = "ResourceArn" if "Resource" in action or "DataProtection" in action else "TopicArn"
        yield action, member, "of no topic", {member: f"{ARN}none"}, missing, of(action)
        yield action, member, "in another letter case", {member: f"{ARN}CASE-1"}, missing, OURS
        elsewhere = f"arn:aws:sns:eu-west-1:{ACCOUNT}:none"
        yield action, member, "of another region", {member: elsewhere}, INVALID, OTHER_REGION
        for case, text in BAD_TOPICS.items():
            yield action, member, case, {member: text}, INVALID, of(action)
    yield ("GetTopicAttributes", "TopicArn", "an ARN of three parts: the text", {"TopicArn": "a:b:c"},
           refused("TopicArn Reason: An ARN must have at least 6 elements, not 3"),
           report("aws/aws-sam-cli-app-templates", 36))  # fmt: skip
    for action, missing in (
        ("GetSubscriptionAttributes", NO_SUBSCRIPTION),
        ("SetSubscriptionAttributes", NO_SUBSCRIPTION),
        ("Unsubscribe", OK),
    ):
        source = OURS if action == "Unsubscribe" else of(action)
        yield (action, "SubscriptionArn", "of no subscription", {"SubscriptionArn": f"{ARN}none:{ID}"}, missing, source)
        for word in ("PendingConfirmation", "pending confirmation", "Deleted"):
            yield (action, "SubscriptionArn", word, {"SubscriptionArn": word},
                   Response("InvalidParameter", NO_ARN.format("SubscriptionArn")),
                   report("crossplane-contrib/provider-upjet-aws", 935))  # fmt: skip
        yield action, "SubscriptionArn", "of a topic", {"SubscriptionArn": "<topic>"}, INVALID, of(action)
    yield ("Unsubscribe", "SubscriptionArn", "of one that is pending", {"SubscriptionArn": "<https-subscription>"},
           refused("SubscriptionArn Reason: Cannot unsubscribe a subscription that is pending confirmation"),
           PENDING)  # fmt: skip
    for action in (
        "ListTopics",
        "ListSubscriptions",
        "ListPlatformApplications",
        "ListSMSSandboxPhoneNumbers",
        "ListOriginationNumbers",
    ):
        yield action, "NextToken", "not ours", {"NextToken": "x"}, INVALID, of(action)
    yield ("ListPhoneNumbersOptedOut", "nextToken", "not ours", {"nextToken": "x"}, INVALID,
           of("ListPhoneNumbersOptedOut"))  # fmt: skip


PENDING = Source(
    "terraform-provider-aws, topic_subscription.go",
    "https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/sns/topic_subscription.go",
)


def _topics() -> Iterator[Row]:
    bad = refused("Topic Name")
    for name in ("a b", "a.b", "ä", "a/b", "a.fifo", "a.FIFO", ".fifo", "a" * 257):
        yield "CreateTopic", "Name", name[:10] or "empty", {"Name": name}, bad, TOPIC_NAME
    fifo = {"Attributes": {"FifoTopic": "true"}}
    for name in ("a", "a.Fifo", "a.fifo.b"):
        yield "CreateTopic", "Name", f"{name} with FifoTopic", {"Name": name, **fifo}, bad, TOPIC_NAME
    for name in ("a" * 256, "A_b-9"):
        yield "CreateTopic", "Name", name[:10], {"Name": name}, OK, of("CreateTopic")
    yield "CreateTopic", "Name", "taken", {"Name": "<topic-name>"}, OK, of("CreateTopic")
    yield ("CreateTopic", "Attributes", "of a topic that has others",
           {"Name": "<topic-name>", "Attributes": {"TracingConfig": "Active"}},
           refused("Attributes Reason: Topic already exists with different attributes"), DIFFERENT)  # fmt: skip
    yield ("CreateTopic", "Tags", "of a topic that has others",
           {"Name": "<topic-name>", "Tags": [{"Key": "z", "Value": "y"}]},
           refused("Tags Reason: Topic already exists with different tags"), of("CreateTopic"))  # fmt: skip
    for value in ("True", "TRUE", "TrUe"):
        yield ("CreateTopic", "Attributes.FifoTopic", value,
               {"Name": "<name>.fifo", "Attributes": {"FifoTopic": value}}, OK, RECORDED)  # fmt: skip
    for value in ("yes", "1", " true"):
        yield ("CreateTopic", "Attributes.FifoTopic", value,
               {"Name": "<name>.fifo", "Attributes": {"FifoTopic": value}}, INVALID, of("CreateTopic"))  # fmt: skip
    yield "CreateTopic", "Attributes.FifoTopic", "false", {"Attributes": {"FifoTopic": "false"}}, OK, RECORDED


DIFFERENT = Source(
    "module-ballerinax-aws.sns, tests against AWS", "https://github.com/ballerina-platform/module-ballerinax-aws.sns"
)
TOPIC_ATTRIBUTES = {
    "DeliveryPolicy": "",
    "DisplayName": "x",
    "Policy": "",
    "TracingConfig": "Active",
    "KmsMasterKeyId": "alias/aws/sns",
    "SignatureVersion": "2",
    "MaximumMessageSize": "262144",
    **{
        f"{protocol}{kind}": value
        for protocol in ("Application", "Firehose", "HTTP", "Lambda", "SQS")
        for kind, value in (
            ("SuccessFeedbackRoleArn", "arn:aws:iam::1:role/r"),
            ("SuccessFeedbackSampleRate", "50"),
            ("FailureFeedbackRoleArn", "arn:aws:iam::1:role/r"),
        )
    },
}
FIFO_ATTRIBUTES = {"ContentBasedDeduplication": "true", "FifoThroughputScope": "Topic", "ArchivePolicy": "{}"}
READ_ONLY = (
    "TopicArn",
    "Owner",
    "SubscriptionsConfirmed",
    "SubscriptionsPending",
    "SubscriptionsDeleted",
    "EffectiveDeliveryPolicy",
    "BeginningArchiveTime",
)
UNKNOWN = report("hashicorp/terraform-provider-aws", 22282)
BAD_VALUES = {
    "TracingConfig": ("passthrough", "active", "x"),
    "SignatureVersion": ("0", "3", "x", "1.0"),
    "MaximumMessageSize": ("1023", "1048577", "x", "-1", "1024.5"),
    "DisplayName": ("x" * 101,),
    **{
        f"{protocol}SuccessFeedbackSampleRate": ("101", "-1", "x", "1.5")
        for protocol in ("Application", "Firehose", "HTTP", "Lambda", "SQS")
    },
}
ARCHIVES = guide(
    "sns", "message-archiving-and-replay-topic-owner", "Amazon SNS message archiving for FIFO topic owners"
)
_DAYS_REFUSED = "MessageRetentionPeriod must be a number of days from 1 to 365"
BAD_ARCHIVES = {
    "x": "failed to parse JSON.",
    "[]": "failed to parse JSON.",
    '{"MessageRetentionPeriod":"0"}': _DAYS_REFUSED,
    '{"MessageRetentionPeriod":"366"}': _DAYS_REFUSED,
    '{"MessageRetentionPeriod":"1.5"}': _DAYS_REFUSED,
    '{"MessageRetentionPeriod":true}': _DAYS_REFUSED,
    '{"Days":"30"}': "Attribute Days is unknown.",
}
GOOD_VALUES = {
    "TracingConfig": ("PassThrough", "Active"),
    "SignatureVersion": ("1", "2"),
    "MaximumMessageSize": ("1024", "262144"),
    "DisplayName": ("x" * 100, "ä"),
    "HTTPSuccessFeedbackSampleRate": ("0", "100"),
}


def _topic_attributes() -> Iterator[Row]:
    name_refused = refused("AttributeName")
    for name, value in TOPIC_ATTRIBUTES.items():
        yield ("CreateTopic", f"Attributes.{name}", "as usual", {"Attributes": {name: value}}, OK, of("CreateTopic"))
        yield ("SetTopicAttributes", name, "as usual",
               {"TopicArn": "<new-topic>", "AttributeName": name, "AttributeValue": value}, OK,
               of("SetTopicAttributes"))  # fmt: skip
    fifo = {"Name": "<name>.fifo"}
    for name, value in FIFO_ATTRIBUTES.items():
        yield ("CreateTopic", f"Attributes.{name}", "of a FIFO topic",
               {**fifo, "Attributes": {"FifoTopic": "true", name: value}}, OK, of("CreateTopic"))  # fmt: skip
        yield ("CreateTopic", f"Attributes.{name}", "of a standard topic", {"Attributes": {name: value}}, INVALID,
               of("CreateTopic"))  # fmt: skip
        yield ("SetTopicAttributes", name, "of a standard topic", {"AttributeName": name, "AttributeValue": value},
               INVALID, of("SetTopicAttributes"))  # fmt: skip
    for policy, reason in BAD_ARCHIVES.items():
        yield ("CreateTopic", "Attributes.ArchivePolicy", policy,
               {**fifo, "Attributes": {"FifoTopic": "true", "ArchivePolicy": policy}},
               refused(f"Attributes Reason: ArchivePolicy: {reason}"), OURS)  # fmt: skip
        yield ("SetTopicAttributes", "ArchivePolicy", policy,
               {"TopicArn": "<fifo-topic>", "AttributeName": "ArchivePolicy", "AttributeValue": policy},
               refused(f"ArchivePolicy: {reason}"), OURS)  # fmt: skip
    for policy in ('{"MessageRetentionPeriod":"1"}', '{"MessageRetentionPeriod":365}', "{}"):
        yield ("CreateTopic", "Attributes.ArchivePolicy", policy,
               {**fifo, "Attributes": {"FifoTopic": "true", "ArchivePolicy": policy}}, OK,
               ARCHIVES)  # fmt: skip
    for name in (*TOPIC_ATTRIBUTES, *FIFO_ATTRIBUTES, "FifoTopic"):
        for written in spellings(name):
            yield ("CreateTopic", f"Attributes.{name}", f"written {written}", {"Attributes": {written: "x"}},
                   refused(f"Attributes Reason: Unknown attribute {written}"), UNKNOWN)  # fmt: skip
            yield ("SetTopicAttributes", "AttributeName", written, {"AttributeName": written}, name_refused,
                   of("SetTopicAttributes"))  # fmt: skip
    for name in (*READ_ONLY, "x", ""):
        response = refused(f"Attributes Reason: Unknown attribute {name}") if name else INVALID
        yield ("CreateTopic", "Attributes", name or "an empty name", {"Attributes": {name: "x"}}, response,
               UNKNOWN if name else OURS)  # fmt: skip
        yield ("SetTopicAttributes", "AttributeName", name or "empty", {"AttributeName": name}, name_refused,
               of("SetTopicAttributes"))  # fmt: skip
    yield ("SetTopicAttributes", "AttributeName", "FifoTopic", {"AttributeName": "FifoTopic", "AttributeValue": "true"},
           INVALID, OURS)  # fmt: skip


def _topic_values() -> Iterator[Row]:
    fifo = {"Name": "<name>.fifo"}
    for name, values in BAD_VALUES.items():
        for value in values:
            case = value if len(value) < 20 else f"{len(value)} characters"
            yield ("CreateTopic", f"Attributes.{name}", case, {"Attributes": {name: value}}, INVALID, of("CreateTopic"))
            yield ("SetTopicAttributes", name, case, {"AttributeName": name, "AttributeValue": value}, INVALID,
                   of("SetTopicAttributes"))  # fmt: skip
    for name, good in GOOD_VALUES.items():
        for value in good:
            case = value if len(value) < 20 else f"{len(value)} characters"
            yield ("CreateTopic", f"Attributes.{name}", case, {"Attributes": {name: value}}, OK, of("CreateTopic"))
    for value in ("topic", "messagegroup", "x"):
        yield ("CreateTopic", "Attributes.FifoThroughputScope", value,
               {**fifo, "Attributes": {"FifoTopic": "true", "FifoThroughputScope": value}}, INVALID,
               of("CreateTopic"))  # fmt: skip
    for value in ("True", "FALSE"):
        yield ("CreateTopic", "Attributes.ContentBasedDeduplication", value,
               {**fifo, "Attributes": {"FifoTopic": "true", "ContentBasedDeduplication": value}}, OK,
               RECORDED)  # fmt: skip
    yield ("CreateTopic", "Attributes.ContentBasedDeduplication", "x",
           {**fifo, "Attributes": {"FifoTopic": "true", "ContentBasedDeduplication": "x"}}, INVALID,
           of("CreateTopic"))  # fmt: skip
    for case, text in (("no JSON", "x"), ("no object", "[]"), ("Principle for Principal", json.dumps(MISSPELT))):
        yield ("SetTopicAttributes", "Policy", case, {"AttributeName": "Policy", "AttributeValue": text},
               refused("Policy Error: null"), report("serverless/serverless", 5519))  # fmt: skip
    for case, text in POLICIES.items():
        yield ("SetTopicAttributes", "DeliveryPolicy", case,
               {"AttributeName": "DeliveryPolicy", "AttributeValue": text}, INVALID, DELIVERY)  # fmt: skip


MISSPELT = {"Statement": [{"Effect": "Allow", "Action": ["sns:Publish"], "Resource": "*", "Principle": {"AWS": "*"}}]}
DELIVERY = guide("sns", "creating-delivery-policy", "Creating an HTTP/S delivery policy")
POLICIES = {
    "no JSON": "x",
    "no object": "[]",
    "an unknown member": '{"a":1}',
    "http of a wrong type": '{"http":1}',
    "a subscription's": '{"healthyRetryPolicy":{"numRetries":3}}',
    "101 retries": '{"http":{"defaultHealthyRetryPolicy":{"numRetries":101}}}',
    "no delay": '{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":0}}}',
    "less at most than at least": '{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":9,"maxDelayTarget":8}}}',
    "an unknown curve": '{"http":{"defaultHealthyRetryPolicy":{"backoffFunction":"x"}}}',
    "more at once than all": '{"http":{"defaultHealthyRetryPolicy":{"numRetries":3,"numNoDelayRetries":4}}}',
    "no receives a second": '{"http":{"defaultThrottlePolicy":{"maxReceivesPerSecond":0}}}',
    "an unknown content type": '{"http":{"defaultRequestPolicy":{"headerContentType":"image/png"}}}',
}
