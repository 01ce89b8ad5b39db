"""Generates SNS requests with one invalid member, like invalid_members.py. The limits come from the SNS API reference
and the SNS Developer Guide.
"""

import json
import re
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from tests.support.hostile import values
from tests.support.hostile.invalid_members import Members, Poison, Target
from tests.support.hostile.values import ANYTHING, NOT_A_BODY, NOT_A_NAME, NOT_AN_ACCOUNT, NOT_AN_ID, text

ARN = "arn:aws:sns:us-east-1:000000000000:"
ID = "00000000-0000-4000-8000-000000000000"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"


def no_arn(rng: Random) -> str:
    found = text(rng, ANYTHING)
    return rng.choice((found, ARN, f"{ARN}{found} ", f"{ARN}a.b", f"arn:aws:sqs:us-east-1:000000000000:{found}",
                       f"arn:aws:sns:us-east-1:0:{found}", f"arn:aws:sns:\x00:000000000000:{found}"))  # fmt: skip


def no_queue_arn(rng: Random) -> str:
    """Returns a text that is not a queue's ARN. The queue's name must be invalid, because a missing queue can be
    subscribed.
    """
    found = text(rng, NOT_A_NAME)
    return rng.choice((found, ARN, f"{ARN}{found}", f"arn:aws:sqs:us-east-1:000000000000:{found}",
                       f"arn:aws:sqs:us-east-1:0:{found}", f"arn:aws:sqs:\x00:000000000000:{found}"))  # fmt: skip


def unknown_topic(rng: Random) -> str:
    """Returns a text that is not an ARN, or the ARN of a topic that does not exist or is in another region."""
    others = (f"{ARN}never-made", f"{ARN}never.fifo", "arn:aws:sns:eu-west-1:000000000000:topic", f"{ARN}{'x' * 256}")
    return rng.choice((no_arn(rng), *others))


def no_subscription(rng: Random) -> str:
    found = text(rng, ANYTHING)
    return rng.choice((found, f"{ARN}topic", f"{ARN}topic:{found}", f"{ARN}topic:{ID}x", "PendingConfirmation",
                       f"{ARN}topic:{ID.upper()}X", f"arn:aws:sns:eu-west-1:000000000000:topic:{ID}"))  # fmt: skip


def filter_policy(rng: Random) -> str:
    word = json.dumps(text(rng, ANYTHING))
    deep = rng.randint(2, 5_000)
    return rng.choice((
        "x", "[]", "1", "null", "{", '{"a":', f'{{"a":{word}}}', f'{{"a":[{{{word}:[1]}}]}}', '{"a":[]}', '{"a":{}}',
        '{"a":[[1]]}', '{"a":{"b":["c"]}}', '{"a":[{"prefix":1}]}', '{"a":[{"anything-but":{"prefix":""}}]}',
        '{"a":[{"exists":1}]}',
        '{"a":[{"numeric":[]}]}', '{"a":[{"numeric":["=","1"]}]}', '{"a":[{"numeric":["=",1e10]}]}',
        '{"a":[{"numeric":["=",1e400]}]}', '{"a":[{"numeric":[">",2,"<",1]}]}', '{"a":[{"wildcard":"a**"}]}',
        '{"a":[{"wildcard":"\\\\x"}]}', '{"a":[{"cidr":"x"}]}', '{"a":[{"cidr":"10.0.0.0/99"}]}',
        '{"a":[{"anything-but":[]}]}', '{"a":[{"anything-but":[null]}]}', '{"a":[{"prefix":"a","suffix":"b"}]}',
        '{"$or":[{"a":["b"]}]}', '{"a":"\\u0000"}', '{"a":["b"],"a":1}', '{"a":["' + "x" * 262_144 + '"]}',
        json.dumps({str(n): ["v"] for n in range(6)}), json.dumps({"a": list(range(151))}),
        json.dumps({"$or": [{"a": list(range(90))}, {"b": list(range(90))}]}),
        '{"a":' + "[" * deep + "]" * deep + "}", '{"a":' * deep + "[1]" + "}" * deep,
    ))  # fmt: skip


def access_policy(rng: Random) -> str:
    """Returns an invalid access policy. A topic allows longer policies than a queue."""
    found = values.policy(rng)
    return found if len(found) < 8_192 or len(found) > 30_720 else f'{{"Version":"{"x" * 30_720}"}}'


def delivery_policy(rng: Random) -> str:
    retry = {"minDelayTarget": 1, "maxDelayTarget": 1, "numRetries": 1}
    bad = rng.choice(({"numRetries": 101}, {"numRetries": -1}, {"numRetries": "3"}, {"minDelayTarget": 0},
                      {"maxDelayTarget": 3_601}, {"numRetries": 1.5}, {"numRetries": 10**30}, {"more": 1},
                      {"backoffFunction": text(rng, ANYTHING)}, {"numNoDelayRetries": 2}))  # fmt: skip
    broken = {**retry, **bad}
    return rng.choice((
        "x", "[]", "1", "null", "{", '"x"', '{"http":[]}', '{"http":1}', '{"a":1}', "[" * 500, '{"a":' * 5_000,
        json.dumps({"http": {"defaultHealthyRetryPolicy": broken}, "healthyRetryPolicy": broken}),
        '{"healthyRetryPolicy":1}', '{"throttlePolicy":{"maxReceivesPerSecond":0}}', '{"requestPolicy":[]}',
    ))  # fmt: skip


def redrive_policy(rng: Random) -> str:
    return rng.choice((
        "x", "[]", "{}", "1", "null", "{", '{"deadLetterTargetArn":1}', '{"deadLetterTargetArn":"x"}',
        f'{{"deadLetterTargetArn":"{ARN}topic"}}', f'{{"deadLetterTargetArn":"{QUEUE}\\u0000"}}', "[" * 500,
        f'{{"deadLetterTargetArn":{json.dumps(text(rng, ANYTHING))}}}', '{"deadLetterTargetArn":["a"]}',
    ))  # fmt: skip


def topic_attribute(rng: Random) -> tuple[str, str]:
    number = rng.choice(("x", "-1", "1.5", "1023", "1048577", "٣", "9" * 400, " 1024", "1024 ", "\x00"))
    return rng.choice((
        ("MaximumMessageSize", number), ("SignatureVersion", rng.choice(("0", "3", "x", "1 "))),
        ("TracingConfig", text(rng, lambda value: value != "")), ("DisplayName", "x" * rng.randint(101, 9_000)),
        ("DisplayName", "a\x00b"), ("KmsMasterKeyId", "\x00"), ("Policy", access_policy(rng)),
        ("DeliveryPolicy", delivery_policy(rng)), ("HTTPSuccessFeedbackSampleRate", rng.choice(("101", "x", "-1"))),
        ("FifoTopic", "true"), ("ContentBasedDeduplication", "true"), ("FifoThroughputScope", "Topic"),
        ("ArchivePolicy", "[]"), ("TopicArn", "x"), (text(rng, ANYTHING), "1"), ("displayname", "x"),
    ))  # fmt: skip


def subscription_attribute(rng: Random) -> tuple[str, str]:
    return rng.choice((
        ("FilterPolicy", filter_policy(rng)), ("FilterPolicy", filter_policy(rng)),
        ("RedrivePolicy", redrive_policy(rng)), ("FilterPolicyScope", text(rng, lambda value: value != "")),
        ("RawMessageDelivery", rng.choice(("yes", "1", "tru", "\x00"))), ("DeliveryPolicy", delivery_policy(rng)),
        ("SubscriptionRoleArn", "\x00"), ("ReplayPolicy", "x"), (text(rng, ANYTHING), "1"), ("filterpolicy", "{}"),
    ))  # fmt: skip


def url(rng: Random) -> str:
    """Returns a text that is not a valid endpoint for an https subscription."""
    word = text(rng, ANYTHING)
    return rng.choice((
        word, "http://example.com/", "https://", "https:///a", "https://example.com:0/", "https://example.com:99999/",
        "https://example.com:x/", "https://[::1", "https://exa mple.com/", "https://example.com/\x00", "https://ä.com/",
        "https://example.com/\r\nX: y", "https://example.com/\x7f", "ftp://example.com/", "file:///etc/passwd",
        "https://" + "a" * 70_000 + " ",
    ))  # fmt: skip


def tags(rng: Random) -> list[dict[str, str]]:
    pairs = [{"Key": key, "Value": value} for key, value in values.tags(rng).items()]
    return rng.choice((pairs, [{"Key": "a", "Value": "1"}] * 2, [{"Key": "aws:a", "Value": "1"}]))


def entries(rng: Random) -> list[Members]:
    """Returns a batch that the service refuses as a whole."""
    ids = [{"Id": entry_id, "Message": "m"} for entry_id in values.entry_ids(rng)]
    return rng.choice((ids, [{"Id": str(n), "Message": "m" * 30_000} for n in range(10)]))


def structured(rng: Random) -> str:
    """Returns an invalid message for the structure `json`."""
    word = json.dumps(text(rng, ANYTHING))
    return rng.choice((
        "", "x", "[]", "{", "null", "{}", '{"default":1}', f'{{"default":[{word}]}}', '{"default":"\\u0000"}',
        '{"sqs":"x"}', f"[{word}]", '{"default":"a","sqs":"\\u0001"}', '{"Default":"x"}', '{"default":' * 3_000,
        "[" * 60_000, '{"default":"' + "x" * 262_144 + '"}', '{"default":"a"} x',
    ))  # fmt: skip


def attributes(rng: Random) -> dict[str, Any]:
    """Returns at most ten attributes, some of which are invalid. Unlike SQS, SNS does not limit the number of
    attributes.
    """
    found = values.message_attributes(rng)
    while len(found) > 10:
        found = values.message_attributes(rng)
    bad = found.get("a")
    return found if not bad or "StringListValues" not in bad else {"a": {"DataType": "Number", "StringValue": "x"}}


# --- the table -------------------------------------------------------------------------------------------------------
REST: dict[str, Members] = {
    "SetTopicAttributes": {"AttributeName": "DisplayName", "AttributeValue": "x"},
    "Subscribe": {"Protocol": "sqs", "Endpoint": QUEUE}, "ConfirmSubscription": {"Token": "x"},
    "Publish": {"Message": "x"}, "PublishBatch": {"PublishBatchRequestEntries": [{"Id": "a", "Message": "x"}]},
    "AddPermission": {"Label": "l", "AWSAccountId": ["111122223333"], "ActionName": ["Publish"]},
    "RemovePermission": {"Label": "l"}, "TagResource": {"Tags": [{"Key": "a", "Value": "b"}]},
    "UntagResource": {"TagKeys": ["a"]}, "PutDataProtectionPolicy": {"DataProtectionPolicy": "{}"},
    "SetSubscriptionAttributes": {"AttributeName": "RawMessageDelivery", "AttributeValue": "true"},
}  # fmt: skip
ON_A_TOPIC = ("GetTopicAttributes", "SetTopicAttributes", "Subscribe", "ConfirmSubscription", "Publish", "PublishBatch",
              "ListSubscriptionsByTopic", "AddPermission", "RemovePermission")  # fmt: skip
ON_A_RESOURCE = ("TagResource", "UntagResource", "ListTagsForResource", "GetDataProtectionPolicy",
                 "PutDataProtectionPolicy")  # fmt: skip


def _topic(action: str, target: Target, **more: Any) -> Members:
    return {"TopicArn": target.topic, **REST.get(action, {}), **more}


def _on(action: str, **more: Any) -> Callable[[Target], Members]:
    return lambda target: _topic(action, target, **more)


def _rest(action: str, _target: Target) -> Members:
    return REST.get(action, {})


def _named(attribute: Callable[[Random], tuple[str, str]], action: str, resource: str) -> Poison:
    """Returns requests with one invalid attribute. Only the combination of name and value is invalid, so both are in
    the member's value.
    """
    return Poison(action, lambda target: {resource: getattr(target, resource_of[resource])}, "", lambda rng: dict(
        zip(("AttributeName", "AttributeValue"), attribute(rng), strict=True)), "sns")  # fmt: skip


resource_of = {"TopicArn": "topic", "SubscriptionArn": "subscription"}


def _no_members(_target: Target) -> Members:
    return {}


def sns(action: str, good: Callable[[Target], Members], member: str, bad: Callable[[Random], Any]) -> Poison:
    return Poison(action, good, member, bad, "sns")


TOPIC_POISONS: tuple[Poison, ...] = (
    *(sns(action, partial(_rest, action), "TopicArn", unknown_topic) for action in ON_A_TOPIC),
    *(sns(action, partial(_rest, action), "ResourceArn", unknown_topic) for action in ON_A_RESOURCE),
    *(sns(action, partial(_rest, action), "SubscriptionArn", no_subscription)
      for action in ("Unsubscribe", "GetSubscriptionAttributes", "SetSubscriptionAttributes")),
    sns("DeleteTopic", _no_members, "TopicArn", no_arn),
    sns("CreateTopic", _no_members, "Name", lambda rng: text(
        rng, lambda name: re.fullmatch(r"[A-Za-z0-9_-]{1,256}", name) is None)),
    sns("CreateTopic", lambda _: {"Name": "never-made"}, "Attributes", lambda rng: dict([topic_attribute(rng)])),
    sns("CreateTopic", lambda _: {"Name": "never-made"}, "Tags", tags),
    sns("CreateTopic", lambda _: {"Name": "never-made"}, "DataProtectionPolicy", lambda rng: text(
        rng, lambda policy: policy != "")),
    _named(topic_attribute, "SetTopicAttributes", "TopicArn"),
    _named(topic_attribute, "SetTopicAttributes", "TopicArn"),
    _named(subscription_attribute, "SetSubscriptionAttributes", "SubscriptionArn"),
    _named(subscription_attribute, "SetSubscriptionAttributes", "SubscriptionArn"),
    sns("Subscribe", _on("Subscribe"), "Attributes", lambda rng: dict([subscription_attribute(rng)])),
    sns("Subscribe", _on("Subscribe"), "Attributes", lambda rng: dict([subscription_attribute(rng)])),
    sns("Subscribe", _on("Subscribe"), "Protocol", lambda rng: text(rng, ANYTHING)),
    sns("Subscribe", _on("Subscribe"), "Endpoint", no_queue_arn),
    sns("Subscribe", _on("Subscribe", Protocol="https"), "Endpoint", url),
    sns("Subscribe", lambda target: {**REST["Subscribe"], "TopicArn": target.fifo_topic}, "Protocol",
        lambda rng: rng.choice(("http", "https", "email", "lambda"))),
    sns("ConfirmSubscription", _on("ConfirmSubscription"), "Token", lambda rng: text(rng, ANYTHING)),
    sns("ListTopics", _no_members, "NextToken", lambda rng: text(rng, lambda token: token != "")),
    sns("ListSubscriptions", _no_members, "NextToken", lambda rng: text(rng, lambda token: token != "")),
    sns("ListSubscriptionsByTopic", _on("x"), "NextToken", lambda rng: text(rng, lambda token: token != "")),
    sns("Publish", _on("Publish"), "Message", lambda rng: text(rng, NOT_A_BODY)),
    sns("Publish", _on("Publish"), "Message", lambda rng: "x" * rng.randint(262_145, 300_000)),
    sns("Publish", _on("Publish", MessageStructure="json"), "Message", structured),
    sns("Publish", _on("Publish"), "Subject", lambda rng: text(rng, lambda subject: (
        not 0 < len(subject) < 100 or not subject.isprintable() or subject != subject.strip()))),
    sns("Publish", _on("Publish"), "MessageStructure", lambda rng: text(rng, lambda structure: structure != "json")),
    sns("Publish", _on("Publish"), "MessageAttributes", attributes),
    sns("Publish", _on("Publish"), "MessageGroupId", lambda rng: text(rng, NOT_AN_ID)),
    sns("Publish", _on("Publish"), "MessageDeduplicationId", lambda rng: text(rng, ANYTHING)),
    sns("Publish", lambda target: {"TopicArn": target.fifo_topic, "Message": "x", "MessageDeduplicationId": "d"},
        "MessageGroupId", lambda rng: text(rng, NOT_AN_ID)),
    sns("Publish", lambda target: {"TopicArn": target.fifo_topic, "Message": "x", "MessageGroupId": "g"},
        "MessageDeduplicationId", lambda rng: text(rng, NOT_AN_ID)),
    sns("Publish", lambda _: {"Message": "x"}, "PhoneNumber", lambda rng: text(rng, ANYTHING)),
    sns("Publish", lambda _: {"Message": "x"}, "TargetArn", unknown_topic),
    sns("PublishBatch", _on("PublishBatch"), "PublishBatchRequestEntries", entries),
    sns("AddPermission", _on("AddPermission"), "AWSAccountId", lambda rng: [text(rng, NOT_AN_ACCOUNT)]),
    sns("AddPermission", _on("AddPermission"), "ActionName", lambda rng: [text(rng, ANYTHING)]),
    sns("AddPermission", _on("AddPermission"), "Label", lambda rng: rng.choice(("", "a\x00b"))),
    sns("TagResource", lambda target: {"ResourceArn": target.topic}, "Tags", tags),
    sns("PutDataProtectionPolicy", lambda target: {"ResourceArn": target.topic}, "DataProtectionPolicy",
        lambda rng: text(rng, ANYTHING)),
)  # fmt: skip
