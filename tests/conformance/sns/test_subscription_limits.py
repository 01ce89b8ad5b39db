"""What Subscribe and SetSubscriptionAttributes refuse, and in which words.

Sources: Subscribe, SetSubscriptionAttributes (SNS API reference); "Filter policy constraints" (Developer Guide);
endpoints and quotas of SNS (General Reference). Texts: reports of users (terraform runs that SetSubscriptionAttributes
ended; answers to Subscribe that say "Attributes Reason").
"""

from __future__ import annotations

import json

import pytest

from tests.support.conformance.sns import Sns

SIX = json.dumps({str(n): ["v"] for n in range(6)})
TOO_MANY = json.dumps({"a": [str(n) for n in range(151)]})
LIMITED = {"SNS_TOPIC_FILTER_POLICIES": "2", "SNS_ACCOUNT_FILTER_POLICIES": "3"}
LIMIT = ("FilterPolicyLimitExceeded", 403)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("FilterPolicy", "{", "FilterPolicy: failed to parse JSON."),
        ("FilterPolicy", SIX, "FilterPolicy: Filter policy can not have more than 5 keys"),
        ("FilterPolicy", TOO_MANY, "FilterPolicy: Filter policy is too complex"),
        ("FilterPolicy", '{"a": "b"}', 'FilterPolicy: "a" must be an object or an array'),
        ("FilterPolicy", '{"a": {"b": ["c"]}}',
         "FilterPolicy: Filter policy scope MessageAttributes does not support nested filter policy"),
        ("RedrivePolicy", "x", "RedrivePolicy: failed to parse JSON."),
        ("RedrivePolicy", "{}", "RedrivePolicy: Missing deadLetterTargetArn attribute"),
        ("RedrivePolicy", '{"deadLetterTargetArn": "x"}', "RedrivePolicy: deadLetterTargetArn is an invalid arn"),
        ("RawMessageDelivery", "yes", "RawMessageDelivery: Invalid value [yes]. Must be true or false."),
    ],
)  # fmt: skip
def test_subscribe_names_its_map_of_attributes(sns: Sns, name: str, value: str, reason: str) -> None:
    """Subscribe has a map of them, SetSubscriptionAttributes one alone."""
    topic = sns.create()
    endpoint = {"Protocol": "sqs", "Endpoint": "arn:aws:sqs:us-east-1:000000000000:q"}
    refused = sns.refusal("subscribe", TopicArn=topic, **endpoint, Attributes={name: value})
    assert refused == ("InvalidParameter", 400, f"Invalid parameter: Attributes Reason: {reason}")
    arn = sns.client.subscribe(TopicArn=topic, **endpoint)["SubscriptionArn"]
    one = {"AttributeName": name, "AttributeValue": value}
    refused = sns.refusal("set_subscription_attributes", SubscriptionArn=arn, **one)
    assert refused == ("InvalidParameter", 400, f"Invalid parameter: {reason}")


def test_filter_policies_of_a_topic_and_an_account(sns: Sns) -> None:
    """200 and 10,000 by default, here 2 and 3. Subscriptions without one are not counted; a policy can be replaced."""
    mine = Sns(sns.sqs.caller(f"4{sns.sqs.name().removeprefix('queue-'):0>11}").with_settings(LIMITED))
    first, second = mine.create(), mine.create()
    policy = {"FilterPolicy": '{"a": ["b"]}'}
    arns = [mine.queue(first, **policy)[1] for _ in range(2)]
    _, without = mine.queue(first)
    third = mine.sqs.arn(mine.sqs.create())
    subscribe = {"TopicArn": first, "Protocol": "sqs", "Endpoint": third, "Attributes": policy}
    change = {"AttributeName": "FilterPolicy", "AttributeValue": '{"a": ["c"]}'}
    assert mine.refusal("subscribe", **subscribe)[:2] == LIMIT
    assert mine.refusal("set_subscription_attributes", SubscriptionArn=without, **change)[:2] == LIMIT
    assert "FilterPolicy" not in mine.subscription(without)
    mine.client.set_subscription_attributes(SubscriptionArn=arns[0], **change)
    mine.queue(second, **policy)
    assert mine.refusal("subscribe", **subscribe | {"TopicArn": second})[:2] == LIMIT
    mine.client.unsubscribe(SubscriptionArn=arns[0])
    mine.client.subscribe(**subscribe)


def test_a_fifo_topic_has_100_subscriptions(sns: Sns) -> None:
    topic = sns.create_fifo()

    def subscribe(number: int) -> dict[str, str]:
        return {
            "TopicArn": topic,
            "Protocol": "sqs",
            "Endpoint": f"arn:aws:sqs:us-east-1:000000000000:q{number}",
        }

    for number in range(100):
        sns.client.subscribe(**subscribe(number))
    assert sns.refusal("subscribe", **subscribe(100))[:2] == ("SubscriptionLimitExceeded", 403)
