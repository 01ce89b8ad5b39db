"""Lists cases of SNS: subscriptions and their attributes."""

import json
from collections.abc import Iterator
from typing import Any

from tests.support.cases.case import ABSENT, OK, OURS, RECORDED, Response, guide, report
from tests.support.cases.sns.members import ACCOUNT, ARN, ID, INVALID, NUMBER, Row, of, refused, spellings


def rows() -> Iterator[Row]:
    for table in (_subscriptions, _confirmations, _subscription_attributes, _attribute_texts, _delivery_attributes,
                  _refused_filters, _values_as_sent, _replays, _dead_letters):  # fmt: skip
        yield from table()


def _subscriptions() -> Iterator[Row]:
    for protocol in ("", "SQS", "Https", "EMAIL", "ftp", "sqs ", "json-email"):
        yield "Subscribe", "Protocol", protocol or "empty", {"Protocol": protocol}, INVALID, of("Subscribe")
    matching = report("argoproj/argo-events", 414)
    no_number = Response("InvalidParameter", "Invalid SMS endpoint: 555-555-5555")
    for protocol, endpoint, response, source in (
        ("sqs", "", INVALID, of("Subscribe")),
        ("sqs", "<queue>", refused("SQS endpoint ARN"), of("Subscribe")),
        ("sqs", "x", refused("SQS endpoint ARN"), of("Subscribe")),
        ("sqs", "<topic>", INVALID, of("Subscribe")),
        ("sqs", f"arn:aws-cn:sqs:us-east-1:{ACCOUNT}:none", refused("SQS endpoint ARN"), OURS),
        ("http", "https://example.com/", refused("Endpoint must match the specified protocol"), matching),
        ("https", "http://example.com/", refused("Endpoint must match the specified protocol"), matching),
        ("https", "x", refused("Endpoint must match the specified protocol"), matching),
        ("https", "", refused("Endpoint must match the specified protocol"), matching),
        ("https", "HTTPS://example.com/", INVALID, OURS),
        ("https", "https://", INVALID, OURS),
        ("email", "", INVALID, of("Subscribe")),
        ("email", "x", INVALID, of("Subscribe")),
        ("email-json", "a@", INVALID, of("Subscribe")),
        ("sms", "555-555-5555", no_number, report("aws-samples/aws-sagemaker-build", 4)),
        ("sms", "", INVALID, of("Subscribe")),
        ("application", "x", INVALID, of("Subscribe")),
        ("application", f"{ARN}x", INVALID, of("Subscribe")),
        ("lambda", "x", INVALID, of("Subscribe")),
        ("lambda", "<queue-arn>", INVALID, of("Subscribe")),
        ("firehose", "x", INVALID, of("Subscribe")),
        ("application", f"arn:aws:sns:us-east-1:{ACCOUNT}:endpoint/GCM/none/{ID}", INVALID, OURS),
    ):
        yield ("Subscribe", "Endpoint", f"{protocol}: {endpoint or 'empty'}",
               {"Protocol": protocol, "Endpoint": endpoint}, response, source)  # fmt: skip
    for protocol, endpoint in (
        ("sqs", "<queue-arn>"),
        ("sqs", f"arn:aws:sqs:us-east-1:{ACCOUNT}:none"),
        ("https", "https://example.com/a?b=c"),
        ("http", "http://example.com"),
        ("email", "a@example.com"),
        ("email-json", "a@example.com"),
        ("sms", NUMBER),
        ("application", "<endpoint>"),
        ("lambda", f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:f"),
    ):
        yield ("Subscribe", "Endpoint", f"{protocol}: {endpoint}", {"Protocol": protocol, "Endpoint": endpoint}, OK,
               of("Subscribe"))  # fmt: skip


def _confirmations() -> Iterator[Row]:
    yield ("Subscribe", "Endpoint", "firehose, without a role",
           {"Protocol": "firehose", "Endpoint": f"arn:aws:firehose:us-east-1:{ACCOUNT}:deliverystream/s"}, INVALID,
           of("Subscribe"))  # fmt: skip
    yield ("Subscribe", "Endpoint", "a FIFO queue", {"Endpoint": "<fifo-queue-arn>"},
           refused("Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics"),
           RECORDED)  # fmt: skip
    for protocol, endpoint in (("sms", NUMBER), ("email", "a@example.com"), ("https", "https://example.com/")):
        yield ("Subscribe", "Protocol", f"{protocol} to a FIFO topic",
               {"TopicArn": "<fifo-topic>", "Protocol": protocol, "Endpoint": endpoint},
               refused(f"Invalid protocol type: {protocol}"),
               report("hashicorp/terraform-provider-aws", 38441))  # fmt: skip
    for queue in ("<queue-arn>", "<fifo-queue-arn>"):
        yield ("Subscribe", "Endpoint", f"{queue} to a FIFO topic", {"TopicArn": "<fifo-topic>", "Endpoint": queue}, OK,
               FIFO)  # fmt: skip
    yield ("Subscribe", "Attributes", "of a subscription that has others",
           {"TopicArn": "<new-topic>", "Endpoint": "<queue-arn>", "Attributes": {"RawMessageDelivery": "true"}}, OK,
           of("Subscribe"))  # fmt: skip
    malformed = Response(INVALID.code, "Invalid token")
    yield "ConfirmSubscription", "Token", "x", {"Token": "x"}, malformed, RECORDED
    unknown = refused("Token")
    yield "ConfirmSubscription", "Token", "of no subscription", {"Token": "0a" * 150}, unknown, RECORDED
    yield "ConfirmSubscription", "TopicArn", "of no topic", {"TopicArn": f"{ARN}none"}, unknown, RECORDED
    for arn in ("arn:aws:sns:us-east-1:111111111111:random", "<topic>"):
        given = {"SubscriptionArn": arn}
        yield "Unsubscribe", "SubscriptionArn", f"{arn}: the text", given, refused("SubscriptionId"), RECORDED


FIFO = guide("sns", "fifo-message-delivery", "Message delivery for FIFO topics")
SUBSCRIPTION_ATTRIBUTES = {
    "DeliveryPolicy": "",
    "FilterPolicy": '{"a":["b"]}',
    "FilterPolicyScope": "MessageBody",
    "RawMessageDelivery": "true",
    "RedrivePolicy": '{"deadLetterTargetArn":"<queue-arn>"}',
    "SubscriptionRoleArn": f"arn:aws:iam::{ACCOUNT}:role/r",
}
BAD_SUBSCRIPTION_VALUES = {
    "RawMessageDelivery": ("yes", "1", " true"),
    "FilterPolicyScope": ("messagebody", "MESSAGEBODY", "x"),
    "FilterPolicy": (
        "x",
        "[]",
        "1",
        '{"a":"b"}',
        '{"a":[]}',
        '{"a":{}}',
        '{"a":[["b"]]}',
        '{"a":[{"x":1}]}',
        '{"a":[{"prefix":1}]}',
        '{"a":[{"numeric":["=","1"]}]}',
        '{"a":[{"numeric":["<"]}]}',
        '{"a":[{"exists":"true"}]}',
        '{"a":[{"Prefix":"b"}]}',
        '{"a":[{"EXISTS":true}]}',
        '{"a":[{"anything-but":[]}]}',
        '{"a":[{"prefix":"b","suffix":"c"}]}',
        '{"a":["1"],"b":["1"],"c":["1"],"d":["1"],"e":["1"],"f":["1"]}',
    ),
    "RedrivePolicy": (
        "x",
        "[]",
        "{}",
        '{"deadLetterTargetArn":"x"}',
        '{"deadLetterTargetArn":"<topic>"}',
        '{"deadLetterTargetArn":1}',
        '{"DeadLetterTargetArn":"<queue-arn>"}',
    ),
}
UNKNOWN_MEMBER = report("cloudposse/terraform-aws-sns-topic", 48)
FILTERS = guide("sns", "subscription-filter-policy-constraints", "Filter policy constraints")
SCOPE = report("aws/aws-cdk", 23108)
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
            yield ("Subscribe", f"Attributes.{name}", f"written {written}", {"Attributes": {written: value}}, INVALID,
                   of("Subscribe"))  # fmt: skip
            yield ("SetSubscriptionAttributes", "AttributeName", written,
                   {"AttributeName": written, "AttributeValue": value}, refused("AttributeName"),
                   of("SetSubscriptionAttributes"))  # fmt: skip
    for name in ("PendingConfirmation", "Owner", "Endpoint", "Protocol", "EffectiveDeliveryPolicy", "TopicArn", "x"):
        yield "Subscribe", "Attributes", name, {"Attributes": {name: "x"}}, INVALID, of("Subscribe")
        yield ("SetSubscriptionAttributes", "AttributeName", name, {"AttributeName": name, "AttributeValue": "x"},
               refused("AttributeName"), of("SetSubscriptionAttributes"))  # fmt: skip
    for name, values in BAD_SUBSCRIPTION_VALUES.items():
        source = {"FilterPolicy": FILTERS, "FilterPolicyScope": SCOPE}.get(name, of("SetSubscriptionAttributes"))
        for value in values:
            yield "Subscribe", f"Attributes.{name}", value, {"Attributes": {name: value}}, INVALID, source
            yield ("SetSubscriptionAttributes", name, value, {"AttributeName": name, "AttributeValue": value}, INVALID,
                   source)  # fmt: skip


def _attribute_texts() -> Iterator[Row]:
    scope = "FilterPolicyScope: Invalid value [{}]. Please use either MessageBody or MessageAttributes"
    scopes: tuple[tuple[Any, str], ...] = (("x", "x"), (ABSENT, "null"))
    for value, shown in scopes:
        given = {"AttributeName": "FilterPolicyScope", "AttributeValue": value}
        response = refused(scope.format(shown))
        yield "SetSubscriptionAttributes", "FilterPolicyScope", f"{shown}: the text", given, response, SCOPE
    given = {"AttributeName": "FilterPolicy", "AttributeValue": SIX_KEYS}
    many = refused("FilterPolicy: Filter policy can not have more than 5 keys")
    keys = report("ministryofjustice/cloud-platform-environments", 30296)
    yield "SetSubscriptionAttributes", "FilterPolicy", "six keys: the text", given, many, keys
    alone = {"TopicArn": "<new-topic>", "Attributes": {"FilterPolicyScope": "MessageBody"}}
    yield "Subscribe", "Attributes.FilterPolicyScope", "without a policy", alone, OK, RECORDED
    for written in ("True", "FALSE", "TrUe"):
        yield ("SetSubscriptionAttributes", "RawMessageDelivery", written, {"AttributeValue": written}, OK, RECORDED)


def _delivery_attributes() -> Iterator[Row]:
    counted = '{"deadLetterTargetArn":"<queue-arn>","maxReceiveCount":5}'
    text = "RedrivePolicy: invalid JSON. Attribute maxReceiveCount is unknown."
    yield ("Subscribe", "Attributes.RedrivePolicy", "with maxReceiveCount", {"Attributes": {"RedrivePolicy": counted}},
           refused(f"Attributes Reason: {text}"), UNKNOWN_MEMBER)  # fmt: skip
    yield ("SetSubscriptionAttributes", "RedrivePolicy", "with maxReceiveCount",
           {"AttributeName": "RedrivePolicy", "AttributeValue": counted}, refused(text),
           report("ministryofjustice/cloud-platform-environments", 11520))  # fmt: skip
    function = {"Protocol": "lambda", "Endpoint": f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:f"}
    for protocol in (
        function,
        {"Protocol": "sms", "Endpoint": NUMBER},
        {"Protocol": "email", "Endpoint": "a@example.com"},
    ):
        yield ("Subscribe", "Attributes.RawMessageDelivery", f"true for {protocol['Protocol']}",
               {**protocol, "Attributes": {"RawMessageDelivery": "true"}}, INVALID, of("Subscribe"))  # fmt: skip
    yield ("SetSubscriptionAttributes", "RawMessageDelivery", "true for email",
           {"SubscriptionArn": "<email-subscription>"},
           refused("Delivery protocol [email] does not support raw message delivery."), RAW)  # fmt: skip
    web = {"Protocol": "https", "Endpoint": "https://example.com/"}
    delay = '{"healthyRetryPolicy":{"numRetries":0,"minDelayTarget":0,"maxDelayTarget":0}}'
    yield (
        "Subscribe",
        "Attributes.DeliveryPolicy",
        "no delay",
        {**web, "Attributes": {"DeliveryPolicy": delay}},
        refused(
            "Attributes Reason: DeliveryPolicy: healthyRetryPolicy.minDelayTarget must be greater than or equal to 1"
        ),
        DELAY,
    )
    yield ("Subscribe", "Attributes.DeliveryPolicy", "of a queue",
           {"Attributes": {"DeliveryPolicy": '{"healthyRetryPolicy":{"numRetries":3}}'}}, INVALID, OURS)  # fmt: skip
    body = {"FilterPolicyScope": "MessageBody"}
    for case, policy, response in (
        ("nested, of the body", '{"a":{"b":["c"]}}', OK),
        ("six keys, of the body", SIX_KEYS, INVALID),
        ("151 combinations", json.dumps({"a": list(range(151))}), INVALID),
    ):
        yield ("Subscribe", "Attributes.FilterPolicy", case,
               {"TopicArn": "<new-topic>", "Attributes": {"FilterPolicy": policy, **body}}, response,
               FILTERS)  # fmt: skip
    yield ("Subscribe", "Attributes.FilterPolicy", "nested, of the attributes",
           {"Attributes": {"FilterPolicy": '{"a":{"b":["c"]}}'}}, INVALID, FILTERS)  # fmt: skip


REDACTED = "REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled)"


def _refused_filters() -> Iterator[Row]:
    """Yields filter policies that AWS refuses. The error names the map that contains the attributes."""
    nested = "Filter policy scope MessageAttributes does not support nested filter policy"
    kind = '"{}" must be an object or an array'
    unknown = (
        "failed to parse JSON. Unrecognized token 'invalid': was expecting "
        "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
    )
    unclosed = (
        "failed to parse JSON. Unexpected end-of-input: expected close marker for Object (start marker at "
        f"[Source: {REDACTED}; line: 1, column: 1])"
    )
    for policy, reason, column in (
        ('{"key":[{"anything-but":{"suffix":"x"}}]}', "Unsupported anything-but pattern: suffix", 36),
        ('{"key":{"suffix":"v"}}', kind.format("suffix"), 19),
        ('{"key":{"suffix":"v","prefix":"w"}}', kind.format("suffix"), 19),
        ('{"key":{"not-an-operator":"v"}}', kind.format("not-an-operator"), 28),
        ("invalid", unknown, 8),
        ('{"a":["b"]', unclosed, 11),
        ('{"a":["b"}', "failed to parse JSON.", 10),
        ('{"key":{"nested":["v"]}}', nested, 0),
        ('{"key":[{"cidr":"bad-filter/64"}]}', "Nonstandard IP address: bad-filter", 0),
        ('{"key":[{"cidr":"xx.11.xx/8"}]}', "Nonstandard IP address: xx.11.xx", 0),
        ('{"key":[{"cidr":"xxxx:db8:1234:1a00::/64"}]}', "Nonstandard IP address: xxxx:db8:1234:1a00::", 0),
    ):
        origin = REDACTED if "failed to parse" in reason else f'(String)"{policy}"'
        place = f"\n at [Source: {origin}; line: 1, column: {column}]" if column else ""
        text = f"FilterPolicy: {reason}{place}"
        source = OURS if policy.startswith('{"a":') else RECORDED
        within = {"Attributes": {"FilterPolicy": policy}}
        response = refused(f"Attributes Reason: {text}")
        yield "Subscribe", "Attributes.FilterPolicy", f"{policy}: the text", within, response, source
        given = {"AttributeName": "FilterPolicy", "AttributeValue": policy}
        yield ("SetSubscriptionAttributes", "FilterPolicy", f"{policy}: the text", given,
               refused(text.removeprefix("FilterPolicy: ") if reason == nested else text), source)  # fmt: skip


def _values_as_sent() -> Iterator[Row]:
    """Yields values that the error text repeats unchanged."""
    for value in ("test-ValUe", ""):
        given = {"AttributeValue": value}
        response = refused(f"RawMessageDelivery: Invalid value [{value}]. Must be true or false.")
        yield "SetSubscriptionAttributes", "RawMessageDelivery", f"[{value}]", given, response, RECORDED


def _replays() -> Iterator[Row]:
    """Yields replay policies that are invalid without regard to an archive."""
    time = "must be a time such as 2026-01-31T00:00:00.000Z"
    start = {"PointType": "Timestamp", "StartingPoint": "2026-01-01T00:00:00.000Z"}
    for policy, reason in (
        ({}, "can only be set for FIFO topics"),
        ({"PointType": "Offset"}, "PointType must be Timestamp"),
        ({"StartingPoint": None}, f"StartingPoint {time}"),
        ({"StartingPoint": "2026-01-01"}, f"StartingPoint {time}"),
        ({"StartingPoint": "2026-13-01T00:00:00Z"}, f"StartingPoint {time}"),
        ({"StartingPoint": "9999-01-01T00:00:00Z"}, "StartingPoint must not be in the future"),
        ({"EndingPoint": 1}, f"EndingPoint {time}"),
        ({"EndingPoint": "2026-01-01T00:00:00.000Z"}, "EndingPoint must be after StartingPoint"),
        ({"Speed": "2"}, "Attribute Speed is unknown."),
    ):
        text, case = json.dumps(start | policy), json.dumps(policy) if policy else "of a standard topic"
        response = refused(f"Attributes Reason: ReplayPolicy: {reason}")
        yield "Subscribe", "Attributes.ReplayPolicy", case, {"Attributes": {"ReplayPolicy": text}}, response, OURS
        given = {"AttributeName": "ReplayPolicy", "AttributeValue": text}
        response = refused(f"ReplayPolicy: {reason}")
        yield "SetSubscriptionAttributes", "ReplayPolicy", case, given, response, OURS


def _dead_letters() -> Iterator[Row]:
    """Yields dead-letter queues for subscriptions to a FIFO topic. AWS requires a FIFO dead-letter queue if the
    endpoint is a FIFO queue.
    """
    wrong = "RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic."
    for endpoint, dead, response in (
        ("<fifo-queue-arn>", "<queue-arn>", refused(f"Attributes Reason: {wrong}")),
        ("<fifo-queue-arn>", "<fifo-queue-arn>", OK),
        ("<queue-arn>", "<queue-arn>", OK),
    ):
        policy = f'{{"deadLetterTargetArn":"{dead}"}}'
        new = {"TopicArn": "<new-fifo-topic>", "Endpoint": endpoint, "Attributes": {"RedrivePolicy": policy}}
        yield "Subscribe", "Attributes.RedrivePolicy", f"{dead} of {endpoint}", new, response, RECORDED
        given = {
            "SubscriptionArn": f"<subscription-of-{endpoint[1:]}",
            "AttributeName": "RedrivePolicy",
            "AttributeValue": policy,
        }
        changed = refused(wrong) if response.code else OK
        yield "SetSubscriptionAttributes", "RedrivePolicy", f"{dead} of {endpoint}", given, changed, RECORDED


SIX_KEYS = json.dumps({letter: ["1"] for letter in "abcdef"})
