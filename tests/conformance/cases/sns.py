"""Cases of SNS by hand: names, attributes in every letter case, values, pairs that exclude each other, existence, and
the order of checks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.conformance.cases.sns_members import ACCOUNT, ENTRY, INVALID, NO_ARN, NUMBER, TAG, TOPIC_NAME
from tests.support.cases.case import ABSENT, OK, OURS, Answer, Case, Source
from tests.support.cases.sources import RECORDED, guide, reference, report

ARN = f"arn:aws:sns:us-east-1:{ACCOUNT}:"
ID = "00000000-0000-4000-8000-000000000000"
NO_TOPIC = Answer("NotFound", "Topic does not exist")
NO_RESOURCE = Answer("ResourceNotFound", "Resource does not exist")
NO_SUBSCRIPTION = Answer("NotFound", "Subscription does not exist")


def refused(text: str) -> Answer:
    """InvalidParameter with AWS's text."""
    return Answer("InvalidParameter", f"Invalid parameter: {text}")


def of(action: str) -> Source:
    return reference("sns", action)


Row = tuple[str, str, str, dict[str, Any], Answer, Source]


def cases() -> Iterator[Case]:
    """All cases of these tables."""
    for rows in (_arns, _topics, _topic_attributes, _subscriptions, _subscription_attributes, _publish, _message_attributes,
                 _batches, _permissions, _tags, _mobile, _sms, _orders):  # fmt: skip
        for row in rows():
            yield _differing(Case("sns", *row))


def _differing(case: Case) -> Case:
    ours, why = DIFFERING.get((case.action, case.case), (None, ""))
    return case._replace(ours=ours, why=why)


DIFFERING: dict[tuple[str, str], tuple[Answer, str]] = {
    ("Unsubscribe", "of one that is pending"): (OK, "AWS forgets it after two days; here only this request does"),
}
"""Where Penstock differs from AWS on purpose."""


# --- ARNs and existence ----------------------------------------------------------------------------------------------
ON_TOPICS = {
    "AddPermission": NO_TOPIC, "GetDataProtectionPolicy": NO_TOPIC, "GetTopicAttributes": NO_TOPIC,
    "ListSubscriptionsByTopic": NO_TOPIC, "ListTagsForResource": NO_RESOURCE, "Publish": NO_TOPIC, "PublishBatch": NO_TOPIC,
    "PutDataProtectionPolicy": NO_TOPIC, "RemovePermission": NO_TOPIC, "SetTopicAttributes": NO_TOPIC,
    "Subscribe": NO_TOPIC, "TagResource": NO_RESOURCE, "UntagResource": NO_RESOURCE, "DeleteTopic": OK,
}  # fmt: skip
OTHER_REGION = report("sysdiglabs/terraform-aws-secure-for-cloud", 105)
BAD_TOPICS = {
    "no ARN": "x", "an ARN of three parts": "a:b:c", "of a queue": "<queue-arn>", "of a subscription": "<subscription>",
    "of a topic with a space": f"{ARN}a b", "of a topic without a name": ARN, "in capitals": "ARN:AWS:SNS:US-EAST-1:1:A",
}  # fmt: skip


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
    for action, missing in (("GetSubscriptionAttributes", NO_SUBSCRIPTION), ("SetSubscriptionAttributes", NO_SUBSCRIPTION),
                            ("Unsubscribe", OK)):  # fmt: skip
        source = OURS if action == "Unsubscribe" else of(action)
        yield action, "SubscriptionArn", "of no subscription", {"SubscriptionArn": f"{ARN}none:{ID}"}, missing, source
        for word in ("PendingConfirmation", "pending confirmation", "Deleted"):
            yield (action, "SubscriptionArn", word, {"SubscriptionArn": word}, Answer("InvalidParameter", NO_ARN.format("SubscriptionArn")),
                   report("crossplane-contrib/provider-upjet-aws", 935))  # fmt: skip
        yield action, "SubscriptionArn", "of a topic", {"SubscriptionArn": "<topic>"}, INVALID, of(action)
    yield ("Unsubscribe", "SubscriptionArn", "of one that is pending", {"SubscriptionArn": "<https-subscription>"},
           refused("SubscriptionArn Reason: Cannot unsubscribe a subscription that is pending confirmation"), PENDING)
    for action in ("ListTopics", "ListSubscriptions", "ListPlatformApplications", "ListSMSSandboxPhoneNumbers",
                   "ListOriginationNumbers"):  # fmt: skip
        yield action, "NextToken", "not ours", {"NextToken": "x"}, INVALID, of(action)
    yield "ListPhoneNumbersOptedOut", "nextToken", "not ours", {"nextToken": "x"}, INVALID, of("ListPhoneNumbersOptedOut")


PENDING = Source(
    "terraform-provider-aws, topic_subscription.go",
    "https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/sns/topic_subscription.go",
)


# --- topics ----------------------------------------------------------------------------------------------------------
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
           refused("Attributes Reason: Topic already exists with different attributes"), DIFFERENT)
    yield ("CreateTopic", "Tags", "of a topic that has others", {"Name": "<topic-name>", "Tags": [{"Key": "z", "Value": "y"}]},
           refused("Tags Reason: Topic already exists with different tags"), of("CreateTopic"))
    for value in ("True", "TRUE", "TrUe"):
        yield ("CreateTopic", "Attributes.FifoTopic", value, {"Name": "<name>.fifo", "Attributes": {"FifoTopic": value}}, OK, RECORDED)
    for value in ("yes", "1", " true"):
        yield ("CreateTopic", "Attributes.FifoTopic", value, {"Name": "<name>.fifo", "Attributes": {"FifoTopic": value}}, INVALID,
               of("CreateTopic"))  # fmt: skip
    yield "CreateTopic", "Attributes.FifoTopic", "false", {"Attributes": {"FifoTopic": "false"}}, OK, RECORDED


DIFFERENT = Source(
    "module-ballerinax-aws.sns, tests against AWS", "https://github.com/ballerina-platform/module-ballerinax-aws.sns"
)
TOPIC_ATTRIBUTES = {
    "DeliveryPolicy": "", "DisplayName": "x", "Policy": "", "TracingConfig": "Active", "KmsMasterKeyId": "alias/aws/sns",
    "SignatureVersion": "2", "MaximumMessageSize": "262144",
    **{f"{protocol}{kind}": value for protocol in ("Application", "Firehose", "HTTP", "Lambda", "SQS")
       for kind, value in (("SuccessFeedbackRoleArn", "arn:aws:iam::1:role/r"), ("SuccessFeedbackSampleRate", "50"),
                           ("FailureFeedbackRoleArn", "arn:aws:iam::1:role/r"))},
}  # fmt: skip
FIFO_ATTRIBUTES = {"ContentBasedDeduplication": "true", "FifoThroughputScope": "Topic", "ArchivePolicy": ""}
READ_ONLY = ("TopicArn", "Owner", "SubscriptionsConfirmed", "SubscriptionsPending", "SubscriptionsDeleted",
             "EffectiveDeliveryPolicy", "BeginningArchiveTime")  # fmt: skip
UNKNOWN = report("hashicorp/terraform-provider-aws", 22282)
BAD_VALUES = {
    "TracingConfig": ("passthrough", "active", "x"), "SignatureVersion": ("0", "3", "x", "1.0"),
    "MaximumMessageSize": ("1023", "1048577", "x", "-1", "1024.5"), "DisplayName": ("x" * 101,),
    **{f"{protocol}SuccessFeedbackSampleRate": ("101", "-1", "x", "1.5")
       for protocol in ("Application", "Firehose", "HTTP", "Lambda", "SQS")},
}  # fmt: skip
GOOD_VALUES = {
    "TracingConfig": ("PassThrough", "Active"), "SignatureVersion": ("1", "2"), "MaximumMessageSize": ("1024", "262144"),
    "DisplayName": ("x" * 100, "ä"), "HTTPSuccessFeedbackSampleRate": ("0", "100"),
}  # fmt: skip


def spellings(name: str) -> list[str]:
    """The name in other letter cases."""
    forms = (name.lower(), name.upper(), name[:1].lower() + name[1:])
    return [form for form in dict.fromkeys(forms) if form != name]


def _topic_attributes() -> Iterator[Row]:
    name_refused = refused("AttributeName")
    for name, value in TOPIC_ATTRIBUTES.items():
        yield "CreateTopic", f"Attributes.{name}", "as usual", {"Attributes": {name: value}}, OK, of("CreateTopic")
        yield ("SetTopicAttributes", name, "as usual", {"TopicArn": "<new-topic>", "AttributeName": name, "AttributeValue": value},
               OK, of("SetTopicAttributes"))  # fmt: skip
    fifo = {"Name": "<name>.fifo"}
    for name, value in FIFO_ATTRIBUTES.items():
        yield ("CreateTopic", f"Attributes.{name}", "of a FIFO topic",
               {**fifo, "Attributes": {"FifoTopic": "true", name: value}}, OK, of("CreateTopic"))  # fmt: skip
        yield "CreateTopic", f"Attributes.{name}", "of a standard topic", {"Attributes": {name: value}}, INVALID, of("CreateTopic")
        yield ("SetTopicAttributes", name, "of a standard topic", {"AttributeName": name, "AttributeValue": value}, INVALID,
               of("SetTopicAttributes"))  # fmt: skip
    for name in (*TOPIC_ATTRIBUTES, *FIFO_ATTRIBUTES, "FifoTopic"):
        for written in spellings(name):
            yield ("CreateTopic", f"Attributes.{name}", f"written {written}", {"Attributes": {written: "x"}},
                   refused(f"Attributes Reason: Unknown attribute {written}"), UNKNOWN)  # fmt: skip
            yield ("SetTopicAttributes", "AttributeName", written, {"AttributeName": written}, name_refused, of("SetTopicAttributes"))
    for name in (*READ_ONLY, "x", ""):
        answer = refused(f"Attributes Reason: Unknown attribute {name}") if name else INVALID
        yield ("CreateTopic", "Attributes", name or "an empty name", {"Attributes": {name: "x"}}, answer,
               UNKNOWN if name else OURS)  # fmt: skip
        yield ("SetTopicAttributes", "AttributeName", name or "empty", {"AttributeName": name}, name_refused, of("SetTopicAttributes"))
    yield "SetTopicAttributes", "AttributeName", "FifoTopic", {"AttributeName": "FifoTopic", "AttributeValue": "true"}, INVALID, OURS
    for name, values in BAD_VALUES.items():
        for value in values:
            case = value if len(value) < 20 else f"{len(value)} characters"
            yield "CreateTopic", f"Attributes.{name}", case, {"Attributes": {name: value}}, INVALID, of("CreateTopic")
            yield "SetTopicAttributes", name, case, {"AttributeName": name, "AttributeValue": value}, INVALID, of("SetTopicAttributes")
    for name, good in GOOD_VALUES.items():
        for value in good:
            case = value if len(value) < 20 else f"{len(value)} characters"
            yield "CreateTopic", f"Attributes.{name}", case, {"Attributes": {name: value}}, OK, of("CreateTopic")
    for value in ("topic", "messagegroup", "x"):
        yield ("CreateTopic", "Attributes.FifoThroughputScope", value,
               {**fifo, "Attributes": {"FifoTopic": "true", "FifoThroughputScope": value}}, INVALID, of("CreateTopic"))  # fmt: skip
    for value in ("True", "FALSE"):
        yield ("CreateTopic", "Attributes.ContentBasedDeduplication", value,
               {**fifo, "Attributes": {"FifoTopic": "true", "ContentBasedDeduplication": value}}, OK, RECORDED)  # fmt: skip
    yield ("CreateTopic", "Attributes.ContentBasedDeduplication", "x",
           {**fifo, "Attributes": {"FifoTopic": "true", "ContentBasedDeduplication": "x"}}, INVALID, of("CreateTopic"))
    for case, text in (("no JSON", "x"), ("no object", "[]"), ("Principle for Principal", json.dumps(MISSPELT))):
        yield ("SetTopicAttributes", "Policy", case, {"AttributeName": "Policy", "AttributeValue": text}, refused("Policy Error: null"),
               report("serverless/serverless", 5519))  # fmt: skip
    for case, text in POLICIES.items():
        yield ("SetTopicAttributes", "DeliveryPolicy", case, {"AttributeName": "DeliveryPolicy", "AttributeValue": text}, INVALID,
               DELIVERY)  # fmt: skip


MISSPELT = {"Statement": [{"Effect": "Allow", "Action": ["sns:Publish"], "Resource": "*", "Principle": {"AWS": "*"}}]}
DELIVERY = guide("sns", "creating-delivery-policy", "Creating an HTTP/S delivery policy")
POLICIES = {
    "no JSON": "x", "no object": "[]", "an unknown member": '{"a":1}', "http of a wrong type": '{"http":1}',
    "a subscription's": '{"healthyRetryPolicy":{"numRetries":3}}',
    "101 retries": '{"http":{"defaultHealthyRetryPolicy":{"numRetries":101}}}',
    "no delay": '{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":0}}}',
    "maxDelayTarget below minDelayTarget": '{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":9,"maxDelayTarget":8}}}',
    "an unknown curve": '{"http":{"defaultHealthyRetryPolicy":{"backoffFunction":"x"}}}',
    "more immediate retries than retries": '{"http":{"defaultHealthyRetryPolicy":{"numRetries":3,"numNoDelayRetries":4}}}',
    "no receives a second": '{"http":{"defaultThrottlePolicy":{"maxReceivesPerSecond":0}}}',
    "an unknown content type": '{"http":{"defaultRequestPolicy":{"headerContentType":"image/png"}}}',
}  # fmt: skip


# --- subscriptions ---------------------------------------------------------------------------------------------------
def _subscriptions() -> Iterator[Row]:
    for protocol in ("", "SQS", "Https", "EMAIL", "ftp", "sqs ", "json-email"):
        yield "Subscribe", "Protocol", protocol or "empty", {"Protocol": protocol}, INVALID, of("Subscribe")
    matching = report("argoproj/argo-events", 414)
    for protocol, endpoint, answer, source in (
        ("sqs", "", INVALID, of("Subscribe")), ("sqs", "<queue>", refused("SQS endpoint ARN"), of("Subscribe")),
        ("sqs", "x", refused("SQS endpoint ARN"), of("Subscribe")), ("sqs", "<topic>", INVALID, of("Subscribe")),
        ("http", "https://example.com/", refused("Endpoint must match the specified protocol"), matching),
        ("https", "http://example.com/", refused("Endpoint must match the specified protocol"), matching),
        ("https", "x", refused("Endpoint must match the specified protocol"), matching),
        ("https", "", refused("Endpoint must match the specified protocol"), matching),
        ("https", "HTTPS://example.com/", INVALID, OURS), ("https", "https://", INVALID, OURS),
        ("email", "", INVALID, of("Subscribe")), ("email", "x", INVALID, of("Subscribe")),
        ("email-json", "a@", INVALID, of("Subscribe")),
        ("sms", "555-555-5555", Answer("InvalidParameter", "Invalid SMS endpoint: 555-555-5555"),
         report("aws-samples/aws-sagemaker-build", 4)),
        ("sms", "", INVALID, of("Subscribe")), ("application", "x", INVALID, of("Subscribe")),
        ("application", f"{ARN}x", INVALID, of("Subscribe")), ("lambda", "x", INVALID, of("Subscribe")),
        ("lambda", "<queue-arn>", INVALID, of("Subscribe")), ("firehose", "x", INVALID, of("Subscribe")),
        ("application", f"arn:aws:sns:us-east-1:{ACCOUNT}:endpoint/GCM/none/{ID}", INVALID, OURS),
    ):  # fmt: skip
        yield "Subscribe", "Endpoint", f"{protocol}: {endpoint or 'empty'}", {"Protocol": protocol, "Endpoint": endpoint}, answer, source
    for protocol, endpoint in (
        ("sqs", "<queue-arn>"), ("sqs", f"arn:aws:sqs:us-east-1:{ACCOUNT}:none"), ("https", "https://example.com/a?b=c"),
        ("http", "http://example.com"), ("email", "a@example.com"), ("email-json", "a@example.com"), ("sms", NUMBER),
        ("application", "<endpoint>"), ("lambda", f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:f"),
    ):  # fmt: skip
        yield "Subscribe", "Endpoint", f"{protocol}: {endpoint}", {"Protocol": protocol, "Endpoint": endpoint}, OK, of("Subscribe")
    yield ("Subscribe", "Endpoint", "firehose, without a role",
           {"Protocol": "firehose", "Endpoint": f"arn:aws:firehose:us-east-1:{ACCOUNT}:deliverystream/s"}, INVALID, of("Subscribe"))
    yield ("Subscribe", "Endpoint", "a FIFO queue", {"Endpoint": "<fifo-queue-arn>"},
           refused("Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics"), FIFO)
    for protocol, endpoint in (("sms", NUMBER), ("email", "a@example.com"), ("https", "https://example.com/")):
        yield ("Subscribe", "Protocol", f"{protocol} to a FIFO topic",
               {"TopicArn": "<fifo-topic>", "Protocol": protocol, "Endpoint": endpoint}, refused(f"Invalid protocol type: {protocol}"),
               report("hashicorp/terraform-provider-aws", 38441))  # fmt: skip
    for queue in ("<queue-arn>", "<fifo-queue-arn>"):
        yield "Subscribe", "Endpoint", f"{queue} to a FIFO topic", {"TopicArn": "<fifo-topic>", "Endpoint": queue}, OK, FIFO
    yield ("Subscribe", "Attributes", "of a subscription that has others",
           {"TopicArn": "<new-topic>", "Endpoint": "<queue-arn>", "Attributes": {"RawMessageDelivery": "true"}}, OK, of("Subscribe"))
    yield "ConfirmSubscription", "Token", "x", {"Token": "x"}, INVALID, of("ConfirmSubscription")
    yield "ConfirmSubscription", "TopicArn", "of no topic", {"TopicArn": f"{ARN}none"}, NO_TOPIC, of("ConfirmSubscription")


FIFO = guide("sns", "fifo-message-delivery", "Message delivery for FIFO topics")
SUBSCRIPTION_ATTRIBUTES = {
    "DeliveryPolicy": "", "FilterPolicy": '{"a":["b"]}', "FilterPolicyScope": "MessageBody", "RawMessageDelivery": "true",
    "RedrivePolicy": '{"deadLetterTargetArn":"<queue-arn>"}', "SubscriptionRoleArn": f"arn:aws:iam::{ACCOUNT}:role/r",
}  # fmt: skip
BAD_SUBSCRIPTION_VALUES = {
    "RawMessageDelivery": ("yes", "1", " true"), "FilterPolicyScope": ("messagebody", "MESSAGEBODY", "x"),
    "FilterPolicy": (
        "x", "[]", "1", '{"a":"b"}', '{"a":[]}', '{"a":{}}', '{"a":[["b"]]}', '{"a":[{"x":1}]}', '{"a":[{"prefix":1}]}',
        '{"a":[{"numeric":["=","1"]}]}', '{"a":[{"numeric":["<"]}]}', '{"a":[{"exists":"true"}]}', '{"a":[{"Prefix":"b"}]}',
        '{"a":[{"EXISTS":true}]}', '{"a":[{"anything-but":[]}]}', '{"a":[{"prefix":"b","suffix":"c"}]}',
        '{"a":["1"],"b":["1"],"c":["1"],"d":["1"],"e":["1"],"f":["1"]}',
    ),
    "RedrivePolicy": ("x", "[]", "{}", '{"deadLetterTargetArn":"x"}', '{"deadLetterTargetArn":"<topic>"}',
                      '{"deadLetterTargetArn":1}', '{"DeadLetterTargetArn":"<queue-arn>"}'),
}  # fmt: skip
UNKNOWN_MEMBER = report("cloudposse/terraform-aws-sns-topic", 48)
FILTERS = guide("sns", "subscription-filter-policy-constraints", "Filter policy constraints")
RAW = report("aws-controllers-k8s/community", 2192)
DELAY = report("awsdocs/amazon-sns-developer-guide", 5)


def _subscription_attributes() -> Iterator[Row]:
    for name, value in SUBSCRIPTION_ATTRIBUTES.items():
        new = {"TopicArn": "<new-topic>", "Attributes": {name: value}}
        yield "Subscribe", f"Attributes.{name}", "as usual", new, OK, of("Subscribe")
        yield ("SetSubscriptionAttributes", name, "as usual",
               {"SubscriptionArn": "<new-subscription>", "AttributeName": name, "AttributeValue": value}, OK,
               of("SetSubscriptionAttributes"))  # fmt: skip
        for written in spellings(name):
            yield "Subscribe", f"Attributes.{name}", f"written {written}", {"Attributes": {written: value}}, INVALID, of("Subscribe")
            yield ("SetSubscriptionAttributes", "AttributeName", written, {"AttributeName": written, "AttributeValue": value},
                   refused("AttributeName"), of("SetSubscriptionAttributes"))  # fmt: skip
    for name in ("PendingConfirmation", "Owner", "Endpoint", "Protocol", "EffectiveDeliveryPolicy", "TopicArn", "x"):
        yield "Subscribe", "Attributes", name, {"Attributes": {name: "x"}}, INVALID, of("Subscribe")
        yield ("SetSubscriptionAttributes", "AttributeName", name, {"AttributeName": name, "AttributeValue": "x"},
               refused("AttributeName"), of("SetSubscriptionAttributes"))  # fmt: skip
    for name, values in BAD_SUBSCRIPTION_VALUES.items():
        source = FILTERS if name == "FilterPolicy" else of("SetSubscriptionAttributes")
        for value in values:
            yield "Subscribe", f"Attributes.{name}", value, {"Attributes": {name: value}}, INVALID, source
            yield "SetSubscriptionAttributes", name, value, {"AttributeName": name, "AttributeValue": value}, INVALID, source
    for value in ("True", "FALSE", "TrUe"):
        yield "SetSubscriptionAttributes", "RawMessageDelivery", value, {"AttributeValue": value}, OK, RECORDED
    counted = '{"deadLetterTargetArn":"<queue-arn>","maxReceiveCount":5}'
    text = "RedrivePolicy: invalid JSON. Attribute maxReceiveCount is unknown."
    yield ("Subscribe", "Attributes.RedrivePolicy", "with maxReceiveCount", {"Attributes": {"RedrivePolicy": counted}},
           refused(f"Attributes Reason: {text}"), UNKNOWN_MEMBER)
    yield ("SetSubscriptionAttributes", "RedrivePolicy", "with maxReceiveCount",
           {"AttributeName": "RedrivePolicy", "AttributeValue": counted}, INVALID, UNKNOWN_MEMBER)
    function = {"Protocol": "lambda", "Endpoint": f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:f"}
    for protocol in (function, {"Protocol": "sms", "Endpoint": NUMBER}, {"Protocol": "email", "Endpoint": "a@example.com"}):
        yield ("Subscribe", "Attributes.RawMessageDelivery", f"true for {protocol['Protocol']}",
               {**protocol, "Attributes": {"RawMessageDelivery": "true"}}, INVALID, of("Subscribe"))  # fmt: skip
    yield ("SetSubscriptionAttributes", "RawMessageDelivery", "true for email", {"SubscriptionArn": "<email-subscription>"},
           refused("Delivery protocol [email] does not support raw message delivery."), RAW)
    web = {"Protocol": "https", "Endpoint": "https://example.com/"}
    delay = '{"healthyRetryPolicy":{"numRetries":0,"minDelayTarget":0,"maxDelayTarget":0}}'
    yield ("Subscribe", "Attributes.DeliveryPolicy", "no delay", {**web, "Attributes": {"DeliveryPolicy": delay}},
           refused("Attributes Reason: DeliveryPolicy: healthyRetryPolicy.minDelayTarget must be greater than or equal to 1"), DELAY)
    yield ("Subscribe", "Attributes.DeliveryPolicy", "of a queue",
           {"Attributes": {"DeliveryPolicy": '{"healthyRetryPolicy":{"numRetries":3}}'}}, INVALID, OURS)
    body = {"FilterPolicyScope": "MessageBody"}
    for case, policy, answer in (("nested, of the body", '{"a":{"b":["c"]}}', OK), ("six keys, of the body", SIX_KEYS, INVALID),
                                 ("151 combinations", json.dumps({"a": list(range(151))}), INVALID)):  # fmt: skip
        yield ("Subscribe", "Attributes.FilterPolicy", case,
               {"TopicArn": "<new-topic>", "Attributes": {"FilterPolicy": policy, **body}}, answer, FILTERS)  # fmt: skip
    yield ("Subscribe", "Attributes.FilterPolicy", "nested, of the attributes", {"Attributes": {"FilterPolicy": '{"a":{"b":["c"]}}'}},
           INVALID, FILTERS)


SIX_KEYS = json.dumps({letter: ["1"] for letter in "abcdef"})


# --- messages --------------------------------------------------------------------------------------------------------
STRUCTURE = "Message Structure - {}"
NO_DEFAULT = refused(STRUCTURE.format("No default entry in JSON message body"))
NOT_PARSED = refused(STRUCTURE.format("JSON message body failed to parse"))
MISSING_DEFAULT = report("aws/aws-sdk-ruby", 346)
NO_NUMBER = report("boto/boto3", 2195)
NO_GROUP = report("erlcloud/erlcloud", 785)
ENDPOINT = report("evanshortiss/sns-mobile", 6)
TOO_LONG = report("wellcomecollection/platform", 1460)


def _publish() -> Iterator[Row]:
    anywhere = {"TopicArn": ABSENT}
    yield ("Publish", "", "to nobody", anywhere, refused("TopicArn or TargetArn Reason: no value for required parameter"),
           report("sul-dlss/dlme", 432))
    yield "Publish", "PhoneNumber", "with TopicArn", {"PhoneNumber": NUMBER}, INVALID, report("aws/aws-sdk-js", 1217)
    yield "Publish", "TargetArn", "with TopicArn", {"TargetArn": "<endpoint>"}, INVALID, OURS
    yield "Publish", "TargetArn", "with PhoneNumber", {**anywhere, "TargetArn": "<endpoint>", "PhoneNumber": NUMBER}, INVALID, OURS
    yield "Publish", "TargetArn", "of a topic", {**anywhere, "TargetArn": "<topic>"}, OK, of("Publish")
    for number in ("15550100001", "+1555", "555-0100", "x", "+1 555 010 0001"):
        yield ("Publish", "PhoneNumber", number, {**anywhere, "PhoneNumber": number},
               refused(f"PhoneNumber Reason: {number} is not valid to publish to"), NO_NUMBER)  # fmt: skip
    yield "Publish", "PhoneNumber", "valid", {**anywhere, "PhoneNumber": NUMBER}, OK, of("Publish")
    yield ("Publish", "TargetArn", "of no endpoint", {**anywhere, "TargetArn": f"{ARN}endpoint/GCM/none/{ID}"},
           refused("TargetArn Reason: No endpoint found for the target arn specified"), of("Publish"))
    yield "Publish", "Message", "empty", {"Message": ""}, refused("Empty message"), of("Publish")
    yield "Publish", "Message", "262144 bytes", {"Message": "x" * 262_144}, OK, of("Publish")
    yield "Publish", "Message", "262145 bytes", {"Message": "x" * 262_145}, refused("Message too long"), TOO_LONG
    yield "Publish", "Message", "131073 letters of two bytes", {"Message": "ä" * 131_073}, refused("Message too long"), TOO_LONG
    for subject in ("x" * 100, "a\nb", "a\tb", "\x01"):
        yield "Publish", "Subject", subject[:5].encode("unicode_escape").decode(), {"Subject": subject}, refused("Subject"), of("Publish")
    for subject in ("x" * 99, "?!", "a b"):
        yield "Publish", "Subject", subject[:5], {"Subject": subject}, OK, of("Publish")
    structured = {"MessageStructure": "json"}
    for message in ('{"sqs":"x"}', "{}", '{"Default":"x"}', '{"default":1}', '{"default":null}'):
        yield "Publish", "Message", f"{message} as JSON", {**structured, "Message": message}, NO_DEFAULT, MISSING_DEFAULT
    for message in ("x", "[]", "{", '"default"', "null"):
        yield "Publish", "Message", f"{message} as JSON", {**structured, "Message": message}, NOT_PARSED, of("Publish")
    for message in ('{"default":"x","this":"that"}', '{"default":"x","sqs":1}', '{"default":"x","x":{}}'):
        yield "Publish", "Message", f"{message} as JSON", {**structured, "Message": message}, OK, report("boto/boto3", 464)
    yield ("Publish", "Message", "for the platform alone", {**anywhere, "TargetArn": "<endpoint>", **structured, "Message": '{"GCM":"x"}'},
           OK, ENDPOINT)
    yield ("Publish", "Message", "for another platform", {**anywhere, "TargetArn": "<endpoint>", **structured, "Message": '{"ADM":"x"}'},
           refused("JSON must contain an entry for 'default' or 'GCM'."), ENDPOINT)
    for value in ("string", "String"):
        yield "Publish", "MessageStructure", value, {"MessageStructure": value}, OK, report("aws/aws-sdk-js", 1368)
    for value in ("JSON", "x"):
        yield "Publish", "MessageStructure", value, {"MessageStructure": value, "Message": "x"}, INVALID, OURS
    fifo = {"TopicArn": "<fifo-topic>", "MessageGroupId": "g", "MessageDeduplicationId": "<name>"}
    yield "Publish", "", "to a FIFO topic", fifo, OK, of("Publish")
    yield ("Publish", "MessageGroupId", "absent, FIFO", {**fifo, "MessageGroupId": ABSENT},
           refused("The MessageGroupId parameter is required for FIFO topics"), NO_GROUP)
    yield "Publish", "MessageDeduplicationId", "absent, FIFO", {**fifo, "MessageDeduplicationId": ABSENT}, INVALID, of("Publish")
    yield ("Publish", "MessageDeduplicationId", "absent, by content",
           {**fifo, "TopicArn": "<content-topic>", "MessageDeduplicationId": ABSENT}, OK, of("Publish"))
    for member in ("MessageGroupId", "MessageDeduplicationId"):
        for case, value in (("129 characters", "x" * 129), ("with a space", "a b"), ("not ASCII", "ä")):
            yield "Publish", member, f"{case}, FIFO", {**fifo, member: value}, INVALID, of("Publish")
        yield "Publish", member, "128 characters, FIFO", {**fifo, member: "x" * 128}, OK, of("Publish")
    yield "Publish", "MessageDeduplicationId", "on a standard topic", {"MessageDeduplicationId": "x"}, INVALID, of("Publish")
    yield "Publish", "MessageGroupId", "on a standard topic", {"MessageGroupId": "x"}, OK, of("Publish")


def _message_attributes() -> Iterator[Row]:
    bad, source = Answer("ParameterValueInvalid"), of("MessageAttributeValue")
    for case, name, value, answer in (
        ("a text", "a", {"DataType": "String", "StringValue": "x"}, OK),
        ("a number", "a", {"DataType": "Number", "StringValue": "1e2"}, OK),
        ("an array", "a", {"DataType": "String.Array", "StringValue": '["a",1,true,null]'}, OK),
        ("a custom type", "a", {"DataType": "Number.float", "StringValue": "1"}, OK),
        ("no number", "a", {"DataType": "Number", "StringValue": "x"}, bad),
        ("an empty text", "a", {"DataType": "String", "StringValue": ""}, bad),
        ("no value", "a", {"DataType": "String"}, bad),
        ("an empty type", "a", {"DataType": "", "StringValue": "x"}, bad),
        ("a type in lower case", "a", {"DataType": "string", "StringValue": "x"}, bad),
        ("an unknown type", "a", {"DataType": "Boolean", "StringValue": "true"}, bad),
        ("a type of 257 characters", "a", {"DataType": "String." + "x" * 250, "StringValue": "x"}, bad),
        ("binary in a text's member", "a", {"DataType": "Binary", "StringValue": "x"}, bad),
        ("a name that begins with a dot", ".a", {"DataType": "String", "StringValue": "x"}, bad),
        ("a name with two dots in a row", "a..b", {"DataType": "String", "StringValue": "x"}, bad),
        ("a name with a space", "a b", {"DataType": "String", "StringValue": "x"}, bad),
        ("a name of 257 characters", "a" * 257, {"DataType": "String", "StringValue": "x"}, bad),
        ("a name of AWS", "AWS.a", {"DataType": "String", "StringValue": "x"}, bad),
        ("a name of Amazon", "amazon.a", {"DataType": "String", "StringValue": "x"}, bad),
        ("AWS.SNS.SMS.SenderID", "AWS.SNS.SMS.SenderID", {"DataType": "String", "StringValue": "x"}, OK),
    ):  # fmt: skip
        yield "Publish", "MessageAttributes", case, {"MessageAttributes": {name: value}}, answer, source
    many = {f"a{n}": {"DataType": "String", "StringValue": "x"} for n in range(11)}
    yield "Publish", "MessageAttributes", "eleven", {"MessageAttributes": many}, OK, guide("sns", "sns-message-attributes", "Message attributes")


def _batches() -> Iterator[Row]:
    def entries(*given: dict[str, Any]) -> dict[str, Any]:
        return {"PublishBatchRequestEntries": list(given)}

    name, batch = "PublishBatchRequestEntries", of("PublishBatch")
    yield "PublishBatch", name, "eleven", entries(*({**ENTRY, "Id": str(n)} for n in range(11))), Answer("TooManyEntriesInBatchRequest"), batch
    yield "PublishBatch", name, "two of one id", entries(ENTRY, ENTRY), Answer("BatchEntryIdsNotDistinct"), batch
    yield "PublishBatch", name, "ids that differ in letter case", entries(ENTRY, {**ENTRY, "Id": "A"}), OK, batch
    for bad in ("a b", "a.b", "ä", "x" * 81):
        yield "PublishBatch", f"{name}.N.Id", bad[:5], entries({**ENTRY, "Id": bad}), Answer("InvalidBatchEntryId"), of("PublishBatchRequestEntry")
    yield "PublishBatch", f"{name}.N.Id", "80 characters", entries({**ENTRY, "Id": "x" * 80}), OK, of("PublishBatchRequestEntry")
    long = ({**ENTRY, "Id": letter, "Message": "x" * 131_073} for letter in "ab")
    yield "PublishBatch", name, "262146 bytes", entries(*long), Answer("BatchRequestTooLong"), batch
    attribute = {"a": {"DataType": "Number", "StringValue": "x"}}
    yield ("PublishBatch", f"{name}.N.MessageAttributes", "no number", entries({**ENTRY, "MessageAttributes": attribute}),
           Answer("ParameterValueInvalid"), RECORDED)
    fifo = {"TopicArn": "<fifo-topic>"}
    yield ("PublishBatch", f"{name}.N.MessageGroupId", "absent, FIFO", {**fifo, **entries({**ENTRY, "MessageDeduplicationId": "x"})},
           refused("The MessageGroupId parameter is required for FIFO topics"), RECORDED)
    yield ("PublishBatch", f"{name}.N.MessageDeduplicationId", "absent, FIFO", {**fifo, **entries({**ENTRY, "MessageGroupId": "x"})},
           INVALID, batch)


# --- permissions and tags --------------------------------------------------------------------------------------------
def _permissions() -> Iterator[Row]:
    scope = refused("Policy statement action out of service scope!")
    for action in ("SetSubscriptionAttributes", "x", "sns:Publish", ""):
        yield "AddPermission", "ActionName.N", action or "empty", {"ActionName": [action]}, scope, report("aws/aws-cli", 3143)
    for action in ("publish", "PUBLISH"):
        yield "AddPermission", "ActionName.N", action, {"ActionName": [action]}, scope, OURS
    for account in ("x", "11112222333", "1111-2222-3333", ""):
        yield "AddPermission", "AWSAccountId.N", account or "empty", {"AWSAccountId": [account]}, INVALID, of("AddPermission")
    yield "AddPermission", "", "several accounts and actions", {
        "AWSAccountId": ["111122223333", "444455556666"], "ActionName": ["Publish", "Subscribe"]}, OK, of("AddPermission")  # fmt: skip
    yield "AddPermission", "Label", "__default_statement_ID", {"Label": "__default_statement_ID"}, INVALID, of("AddPermission")


def _tags() -> Iterator[Row]:
    for action in ("TagResource", "CreateTopic"):
        yield action, "Tags", "a key twice", {"Tags": [TAG, TAG]}, refused("Duplicated keys are not allowed."), of(action)
        yield action, "Tags", "a key of AWS", {"Tags": [{"Key": "aws:a", "Value": "b"}]}, INVALID, of(action)
        yield action, "Tags", "51", {"Tags": [{"Key": str(n), "Value": "v"} for n in range(51)]}, Answer(
            "TagLimitExceeded", "Could not complete request: tag quota of per resource exceeded"), of(action)  # fmt: skip
        topic = {"ResourceArn": "<new-topic>"} if action == "TagResource" else {}
        yield action, "Tags", "keys that differ in letter case", {**topic, "Tags": [TAG, {"Key": "A", "Value": "b"}]}, OK, of(action)
        yield action, "Tags", "an empty value", {**topic, "Tags": [{"Key": "a", "Value": ""}]}, OK, of("Tag")
    yield "UntagResource", "TagKeys", "no such tag", {"TagKeys": ["none"]}, OK, of("UntagResource")


# --- mobile apps and text messages -----------------------------------------------------------------------------------
def _mobile() -> Iterator[Row]:
    create, endpoint = of("CreatePlatformApplication"), of("CreatePlatformEndpoint")
    for platform in ("gcm", "Apns", "FCM", "x"):
        yield "CreatePlatformApplication", "Platform", platform, {"Platform": platform}, INVALID, create
    for name in ("a b", "ä", "a" * 257, "a/b"):
        yield "CreatePlatformApplication", "Name", name[:5], {"Name": name}, INVALID, create
    for name in ("a.b_c-9", "a" * 256):
        yield "CreatePlatformApplication", "Name", name[:8], {"Name": name}, OK, create
    yield "CreatePlatformApplication", "Attributes", "no credential", {"Attributes": {"Enabled": "true"}}, INVALID, create
    for written in spellings("PlatformCredential"):
        yield "CreatePlatformApplication", "Attributes.PlatformCredential", f"written {written}", {"Attributes": {written: "key"}}, INVALID, create
    yield "CreatePlatformApplication", "Attributes.PlatformPrincipal", "absent for ADM", {"Platform": "ADM"}, INVALID, create
    for name in ("x", "enabled", "Token"):
        yield "SetPlatformApplicationAttributes", "Attributes", name, {"Attributes": {name: "x"}}, INVALID, of("SetPlatformApplicationAttributes")
        if name != "Token":
            yield "SetEndpointAttributes", "Attributes", name, {"Attributes": {name: "x"}}, INVALID, of("SetEndpointAttributes")
    for value in ("101", "-1", "x"):
        yield ("SetPlatformApplicationAttributes", "Attributes.SuccessFeedbackSampleRate", value,
               {"Attributes": {"SuccessFeedbackSampleRate": value}}, INVALID, of("SetPlatformApplicationAttributes"))  # fmt: skip
    for value in ("True", "FALSE"):
        yield "SetEndpointAttributes", "Attributes.Enabled", value, {"EndpointArn": "<new-endpoint>", "Attributes": {"Enabled": value}}, OK, OURS
    yield "SetEndpointAttributes", "Attributes.Enabled", "yes", {"Attributes": {"Enabled": "yes"}}, INVALID, of("SetEndpointAttributes")
    yield "SetEndpointAttributes", "Attributes.Token", "empty", {"Attributes": {"Token": ""}}, INVALID, of("SetEndpointAttributes")
    yield "CreatePlatformEndpoint", "CustomUserData", "2049 bytes", {"CustomUserData": "x" * 2_049}, INVALID, endpoint
    yield "CreatePlatformEndpoint", "CustomUserData", "2048 bytes", {"CustomUserData": "x" * 2_048}, OK, endpoint
    application = f"arn:aws:sns:us-east-1:{ACCOUNT}:app/GCM/none"
    missing = Answer("NotFound", "PlatformApplication does not exist")
    for action in ("CreatePlatformEndpoint", "GetPlatformApplicationAttributes", "SetPlatformApplicationAttributes",
                   "ListEndpointsByPlatformApplication"):  # fmt: skip
        yield action, "PlatformApplicationArn", "of no application", {"PlatformApplicationArn": application}, missing, of(action)
        yield action, "PlatformApplicationArn", "of a topic", {"PlatformApplicationArn": "<topic>"}, INVALID, of(action)
        yield action, "PlatformApplicationArn", "of an endpoint", {"PlatformApplicationArn": "<endpoint>"}, INVALID, of(action)
    yield "DeletePlatformApplication", "PlatformApplicationArn", "of no application", {"PlatformApplicationArn": application}, OK, OURS
    gone = {"EndpointArn": f"arn:aws:sns:us-east-1:{ACCOUNT}:endpoint/GCM/none/{ID}"}
    for action in ("GetEndpointAttributes", "SetEndpointAttributes"):
        yield action, "EndpointArn", "of no endpoint", gone, Answer("NotFound", "Endpoint does not exist"), of(action)
        yield action, "EndpointArn", "of an application", {"EndpointArn": "<application>"}, INVALID, of(action)
    yield "DeleteEndpoint", "EndpointArn", "of no endpoint", gone, OK, of("DeleteEndpoint")


def _sms() -> Iterator[Row]:
    for name in (*spellings("DefaultSMSType"), "x", ""):
        yield "SetSMSAttributes", "attributes", name or "an empty name", {"attributes": {name: "Promotional"}}, INVALID, of("SetSMSAttributes")
    for name, values in {
        "DefaultSMSType": ("promotional", "TRANSACTIONAL", "x", ""), "MonthlySpendLimit": ("x", "-1", ""),
        "DeliveryStatusSuccessSamplingRate": ("101", "-1", "x"), "DefaultSenderID": ("123", "a b", "x" * 12, "ä"),
        "DeliveryStatusIAMRole": ("x",),
    }.items():  # fmt: skip
        for value in values:
            yield "SetSMSAttributes", f"attributes.{name}", value or "empty", {"attributes": {name: value}}, INVALID, of("SetSMSAttributes")
    for name, value in (("DefaultSenderID", "a" * 11), ("DeliveryStatusSuccessSamplingRate", "0"), ("MonthlySpendLimit", "1")):
        yield "SetSMSAttributes", f"attributes.{name}", value, {"attributes": {name: value}}, OK, of("SetSMSAttributes")
    yield "GetSMSAttributes", "attributes.N", "unknown", {"attributes": ["x"]}, OK, OURS
    for action in ("CheckIfPhoneNumberIsOptedOut", "OptInPhoneNumber"):
        for number in ("x", "15550100001", "+1555"):
            yield action, "phoneNumber", number, {"phoneNumber": number}, INVALID, of(action)


# --- order of checks -------------------------------------------------------------------------------------------------
def _orders() -> Iterator[Row]:
    none = {"TopicArn": f"{ARN}none"}
    yield "Subscribe", "Endpoint", "bad, to no topic", {**none, "Endpoint": "x"}, NO_TOPIC, RECORDED
    yield "Subscribe", "Protocol", "bad, to no topic", {**none, "Protocol": "x"}, NO_TOPIC, OURS
    yield "Subscribe", "Attributes", "bad, to no topic", {**none, "Attributes": {"x": "y"}}, NO_TOPIC, OURS
    yield "SetTopicAttributes", "AttributeName", "bad, of no topic", {**none, "AttributeName": "x"}, INVALID, OURS
    yield "Publish", "Message", "empty, to no topic", {**none, "Message": ""}, INVALID, OURS
    yield "Publish", "Subject", "empty, to no topic", {**none, "Subject": ""}, INVALID, OURS
    yield "Publish", "Message", "empty, of a bad ARN", {"TopicArn": "x", "Message": ""}, INVALID, OURS
    yield "Publish", "MessageAttributes", "bad, to no topic", {**none, "MessageAttributes": {"a": {"DataType": "x"}}}, Answer(
        "ParameterValueInvalid"), OURS  # fmt: skip
    yield "PublishBatch", "PublishBatchRequestEntries", "empty, to no topic", {**none, "PublishBatchRequestEntries": []}, Answer(
        "EmptyBatchRequest"), OURS  # fmt: skip
    yield "AddPermission", "ActionName", "bad, of no topic", {**none, "ActionName": ["x"]}, INVALID, OURS
    yield "TagResource", "Tags", "a key twice, of no topic", {"ResourceArn": f"{ARN}none", "Tags": [TAG, TAG]}, INVALID, OURS
    yield "SetSubscriptionAttributes", "AttributeName", "bad, of no subscription", {
        "SubscriptionArn": f"{ARN}none:{ID}", "AttributeName": "x"}, NO_SUBSCRIPTION, OURS  # fmt: skip
    yield "CreateTopic", "Name", "bad, with a bad attribute", {"Name": "a b", "Attributes": {"x": "y"}}, INVALID, OURS
