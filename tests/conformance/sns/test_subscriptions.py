"""Tests of subscriptions.

The sources are Subscribe, ConfirmSubscription, Unsubscribe, ListSubscriptions and Get/SetSubscriptionAttributes (SNS
API reference, https://docs.aws.amazon.com/sns/latest/api/API_Subscribe.html). The tests read the message for a URL from
the table of waiting deliveries.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.exceptions import ClientError

from tests.support import client_setup
from tests.support.conformance.sns import Sns, confirmation, endpoint, verify_signature

URL = "https://example.com/hook?a=1"


def test_a_queue_is_subscribed_at_once(sns: Sns) -> None:
    topic = sns.create()
    url, arn = sns.queue(topic)
    assert arn.startswith(f"{topic}:")
    found = sns.subscription(arn)
    assert (found["SubscriptionArn"], found["TopicArn"], found["Endpoint"]) == (arn, topic, sns.sqs.arn(url))
    assert (found["Protocol"], found["PendingConfirmation"], found["RawMessageDelivery"]) == ("sqs", "false", "false")
    assert sns.attributes(topic)["SubscriptionsConfirmed"] == "1"


def test_a_url_with_a_password_hides_it(sns: Sns) -> None:
    """ "Fanout Amazon SNS notifications to HTTPS endpoints". The response shows the password as ****."""
    topic, shown = sns.create(), "https://max:****@example.com/hook?a=b:c@d"
    arn = sns.subscribe(topic, shown.replace("****", "geh%3Aheim"), "https")
    for password in ("geh%3Aheim", "other", "****"):
        assert sns.subscribe(topic, shown.replace("****", password), "https") == arn
    lists = [
        [one for page in sns.client.get_paginator("list_subscriptions").paginate() for one in page["Subscriptions"]],
        sns.client.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"],
    ]
    endpoints = [found["Endpoint"] for page in lists for found in page if found["TopicArn"] == topic]
    assert endpoints == [shown] * 2
    assert sns.subscription(arn)["Endpoint"] == shown


def test_the_same_endpoint_has_one_subscription(sns: Sns) -> None:
    topic = sns.create()
    url, arn = sns.queue(topic, RawMessageDelivery="true")
    queue = sns.sqs.arn(url)
    assert sns.subscribe(topic, queue) == arn
    assert sns.subscribe(topic, queue, RawMessageDelivery="true") == arn
    refused = sns.refusal(
        "subscribe", TopicArn=topic, Protocol="sqs", Endpoint=queue, Attributes={"RawMessageDelivery": "false"}
    )
    assert refused == (
        "InvalidParameter", 400,
        "Invalid parameter: Attributes Reason: Subscription already exists with different attributes",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("protocol", "to"),
    [
        ("sqs", "http://127.0.0.1:9324/000000000000/queue"),
        ("sqs", ""),
        ("http", "https://example.com/"),
        ("https", "http://example.com/"),
        ("https", "https://exa mple.com/"),
        ("https", "https://"),
        ("https", "https://user@example.com/"),
        ("https", "https://a:b@c:d@example.com/"),
        ("https", "https://a..example/"),
        ("https", "https://1.2.3/"),
        ("sms", "555-0100"),
        ("email", "somebody"),
        ("email-json", "a@example.com\r\nBcc: b@example.com"),
        ("lambda", "arn:aws:lambda:us-east-1:000000000000:layer:f"),
        ("firehose", "arn:aws:firehose:us-east-1:000000000000:stream/f"),
        ("application", "arn:aws:sns:us-east-1:000000000000:app/GCM/f"),
        ("pigeon", "home"),
    ],
)
def test_endpoints_that_cannot_be(sns: Sns, protocol: str, to: str) -> None:
    """A subscription refers to a queue by ARN, not by URL."""
    topic = sns.create()
    refused = sns.refusal("subscribe", TopicArn=topic, Protocol=protocol, Endpoint=to)
    assert refused[:2] == ("InvalidParameter", 400)
    if protocol == "sqs":
        assert refused[2] == "Invalid parameter: SQS endpoint ARN"
    assert sns.client.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == []


# --- confirmation ----------------------------------------------------------------------------------------------------
def test_a_url_has_to_confirm(sns: Sns) -> None:
    topic, to = sns.create(), endpoint(sns)
    response = sns.client.subscribe(TopicArn=topic, Protocol="https", Endpoint=to)
    assert response["SubscriptionArn"] == "pending confirmation"
    (listed,) = sns.client.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    assert (listed["SubscriptionArn"], listed["Endpoint"]) == ("PendingConfirmation", to)
    message = confirmation(sns, to)
    assert message["Type"] == "SubscriptionConfirmation"
    verify_signature(message)
    arn = sns.client.confirm_subscription(TopicArn=topic, Token=message["Token"])["SubscriptionArn"]
    assert sns.subscription(arn)["PendingConfirmation"] == "false"
    assert sns.client.confirm_subscription(TopicArn=topic, Token=message["Token"])["SubscriptionArn"] == arn


def test_a_visit_confirms_and_another_one_ends_it(sns: Sns) -> None:
    """SubscribeURL and UnsubscribeURL are GET requests without credentials."""
    topic, to = sns.create(), endpoint(sns)
    arn = sns.subscribe(topic, to, "https")
    assert sns.subscription(arn)["PendingConfirmation"] == "true"
    visit = client_setup.get(confirmation(sns, to)["SubscribeURL"])
    assert (visit.status_code, arn in visit.text) == (200, True)
    assert sns.subscription(arn)["PendingConfirmation"] == "false"
    base = sns.sqs.endpoint_url
    assert client_setup.get(f"{base}/?Action=Unsubscribe&SubscriptionArn={arn}").status_code == 200
    assert sns.refusal("get_subscription_attributes", SubscriptionArn=arn)[:2] == ("NotFound", 404)
    verify_end = confirmation(sns, to, "UnsubscribeConfirmation")
    assert parse_qs(urlsplit(verify_end["SubscribeURL"]).query)["Token"] == [verify_end["Token"]]


def test_unsubscribing_may_ask_for_credentials(sns: Sns) -> None:
    """Tests ConfirmSubscription's parameter AuthenticateOnUnsubscribe."""
    topic, to = sns.create(), endpoint(sns)
    arn = sns.subscribe(topic, to, "https")
    token = confirmation(sns, to)["Token"]
    sns.client.confirm_subscription(TopicArn=topic, Token=token, AuthenticateOnUnsubscribe="true")
    anonymous = client_setup.get(f"{sns.sqs.endpoint_url}/?Action=Unsubscribe&SubscriptionArn={arn}")
    assert (anonymous.status_code, "AuthorizationError" in anonymous.text) == (403, True)
    sns.client.unsubscribe(SubscriptionArn=arn)
    assert sns.refusal("get_subscription_attributes", SubscriptionArn=arn)[:2] == ("NotFound", 404)


def test_an_unsigned_confirmation_is_told_less(sns: Sns) -> None:
    """The error about a malformed TopicArn has the text that was recorded at AWS."""
    for arn in ("x", "arn:aws:sns:eu-west-1:000000000000:news"):
        query = f"Action=ConfirmSubscription&TopicArn={arn}&Token={'0a' * 150}"
        response = client_setup.get(f"{sns.sqs.endpoint_url}/?{query}")
        assert response.status_code == 400
        assert "<Message>Invalid parameter: Topic</Message>" in response.text


def test_a_second_subscribe_with_equal_attributes_finds_the_first(sns: Sns) -> None:
    """Default values and different white space in JSON do not count as a conflict, because aws-sdk-php and other SDKs
    retry."""
    topic = sns.create()
    dead = sns.sqs.arn(sns.sqs.create())
    policies = {"FilterPolicy": '{"kind":["book"],"size":[1]}', "RedrivePolicy": f'{{"deadLetterTargetArn":"{dead}"}}'}
    for first, equal, other in (
        ({}, {"RawMessageDelivery": "false"}, {"RawMessageDelivery": "true"}),
        ({}, {"FilterPolicy": "{ }"}, {"FilterPolicy": '{"kind":["book"]}'}),
        ({"FilterPolicy": "{}"}, {"FilterPolicy": ""}, {"FilterPolicy": '{"kind":["book"]}'}),
        (policies, {"FilterPolicyScope": "MessageAttributes"}, {"FilterPolicyScope": "MessageBody"}),
        (policies, {"FilterPolicy": '{ "size": [1], "kind": ["book"] }'}, {"FilterPolicy": '{"kind":["book"]}'}),
        (policies, {"RedrivePolicy": f'{{ "deadLetterTargetArn": "{dead}" }}'}, {"FilterPolicy": ""}),
        ({"RawMessageDelivery": "true"}, {"RawMessageDelivery": "True"}, {"RawMessageDelivery": "false"}),
    ):
        queue = sns.sqs.arn(sns.sqs.create())
        arn = sns.subscribe(topic, queue, **first)
        assert sns.subscribe(topic, queue, **equal) == arn
        with pytest.raises(ClientError, match="Subscription already exists with different attributes"):
            sns.subscribe(topic, queue, **other)


def test_an_empty_filter_policy_is_not_shown(sns: Sns) -> None:
    """GetSubscriptionAttributes does not show the scope either (recorded at AWS)."""
    _, arn = sns.queue(sns.create(), FilterPolicy="", FilterPolicyScope="MessageBody")
    assert not {"FilterPolicy", "FilterPolicyScope"} & sns.subscription(arn).keys()


def test_bad_tokens(sns: Sns) -> None:
    topic = sns.create()
    sns.subscribe(topic, endpoint(sns), "https")
    for bad, text in (
        ("0" * 160, "Invalid parameter: Token"),
        ("0a" * 150, "Invalid parameter: Token"),
        *((token, "Invalid token") for token in ("", "x", "\0", "F" * 160)),
    ):
        refused = sns.refusal("confirm_subscription", TopicArn=topic, Token=bad)
        assert refused == ("InvalidParameter", 400, text)
    for method in ("list_subscriptions", "list_subscriptions_by_topic"):
        more = {"TopicArn": topic} if method.endswith("topic") else {}
        assert sns.refusal(method, NextToken="bm8gaWQ=", **more)[:2] == ("InvalidParameter", 400)


def test_nothing_is_sent_before_the_confirmation(sns: Sns) -> None:
    topic, to = sns.create(), endpoint(sns)
    sns.subscribe(topic, to, "https")
    sns.publish(topic, "too early")
    assert sns.sqs.clock.waiting(to, "Notification") == []


def test_a_fifo_topic_has_queues_only(sns: Sns) -> None:
    refused = sns.refusal("subscribe", TopicArn=sns.create_fifo(), Protocol="https", Endpoint=URL)
    assert refused[:2] == ("InvalidParameter", 400)


# --- attributes ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RawMessageDelivery", "true"),
        ("FilterPolicy", '{"a": ["b"]}'),
        ("RedrivePolicy", '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead"}'),
    ],
)
def test_attributes_read_back(sns: Sns, name: str, value: str) -> None:
    topic = sns.create()
    _, arn = sns.queue(topic)
    sns.client.set_subscription_attributes(SubscriptionArn=arn, AttributeName=name, AttributeValue=value)
    assert sns.subscription(arn)[name] == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NoSuchAttribute", "1"),
        ("RawMessageDelivery", "yes"),
        ("FilterPolicyScope", "Everything"),
        ("FilterPolicy", "{"),
        ("FilterPolicy", '{"a": {"b": ["c"]}}'),
        ("RedrivePolicy", '{"deadLetterTargetArn": "nowhere"}'),
        ("DeliveryPolicy", '{"healthyRetryPolicy": {"numRetries": 1}}'),
    ],
)
def test_bad_attributes_change_nothing(sns: Sns, name: str, value: str) -> None:
    topic = sns.create()
    _, arn = sns.queue(topic)
    before = sns.subscription(arn)
    refused = sns.refusal("set_subscription_attributes", SubscriptionArn=arn, AttributeName=name, AttributeValue=value)
    assert refused[:2] == ("InvalidParameter", 400)
    assert sns.subscription(arn) == before


def test_filter_policies_select_by_attributes_or_by_the_body(sns: Sns) -> None:
    """Both scopes filter. A subscription without a policy or with an empty policy receives every message."""
    topic = sns.create()
    by_attribute, arn = sns.queue(topic, RawMessageDelivery="true", FilterPolicy='{"kind": [{"prefix": "or"}]}')
    by_body, _ = sns.queue(
        topic, RawMessageDelivery="true", FilterPolicyScope="MessageBody", FilterPolicy='{"n": [{"numeric": [">", 5]}]}'
    )
    kind: dict[str, Any] = {"kind": {"DataType": "String", "StringValue": "order"}}
    sns.publish(topic, '{"n": 1}', MessageAttributes=kind)
    sns.publish(topic, '{"n": 9}')
    sns.publish(topic, "text")
    assert [message["Body"] for message in sns.sqs.receive(by_attribute, 1)] == ['{"n": 1}']
    assert [message["Body"] for message in sns.sqs.receive(by_body, 1)] == ['{"n": 9}']
    assert sns.sqs.counts(by_attribute) == sns.sqs.counts(by_body) == (0, 1, 0)
    sns.client.set_subscription_attributes(SubscriptionArn=arn, AttributeName="FilterPolicy", AttributeValue="{}")
    sns.publish(topic, "all")
    assert sns.sqs.receive_one(by_attribute)["Body"] == "all"


def test_arrays_of_numbers(sns: Sns) -> None:
    """ "Numeric value matching": an attribute of the type Number.Array."""
    topic = sns.create()
    url, _ = sns.queue(topic, RawMessageDelivery="true", FilterPolicy='{"price": [{"anything-but": [100]}]}')
    for prices in ("[100, 50]", "[100]", "x"):
        attribute = {"price": {"DataType": "Number.Array", "StringValue": prices}}
        sns.publish(topic, prices, MessageAttributes=attribute)
    assert sns.sqs.receive_one(url)["Body"] == "[100, 50]"
    assert sns.sqs.counts(url) == (0, 1, 0)


def test_a_nul_in_a_body(sns: Sns) -> None:
    """The body has NUL as a JSON escape. PostgreSQL's JSON cannot store NUL, but filters still compare such a body."""
    topic = sns.create()
    policy = json.dumps({"a": ["x\0"]})
    url, _ = sns.queue(topic, RawMessageDelivery="true", FilterPolicy=policy, FilterPolicyScope="MessageBody")
    sns.publish(topic, '{"a": "x\\u0000", "\\u001f": [{}, 1]}')
    sns.publish(topic, '{"a": "y\\u0000"}')
    assert sns.sqs.counts(url) == (1, 0, 0)


def test_a_delivery_policy_of_a_url(sns: Sns) -> None:
    topic = sns.create()
    policy = {"healthyRetryPolicy": {"numRetries": 5, "minDelayTarget": 2}}
    arn = sns.subscribe(topic, endpoint(sns), "https", DeliveryPolicy=json.dumps(policy))
    effective = json.loads(sns.subscription(arn)["EffectiveDeliveryPolicy"])["healthyRetryPolicy"]
    assert (effective["numRetries"], effective["minDelayTarget"], effective["maxDelayTarget"]) == (5, 2, 20)


def test_lists_have_pages(sns: Sns) -> None:
    """A page contains 100 subscriptions, both in the list of the account and in the list of a topic."""
    mine = Sns(sns.sqs.caller("321321321321"))
    topic = mine.create()
    arns = {mine.subscribe(topic, f"arn:aws:sqs:us-east-1:321321321321:q{number}") for number in range(101)}
    for method, more in (("list_subscriptions", {}), ("list_subscriptions_by_topic", {"TopicArn": topic})):
        pages = list(mine.client.get_paginator(method).paginate(**more))
        assert len(pages[0]["Subscriptions"]) == 100
        assert {subscription["SubscriptionArn"] for page in pages for subscription in page["Subscriptions"]} == arns
    mine.client.delete_topic(TopicArn=topic)


@pytest.mark.parametrize("bad", ["nonsense", "arn:aws:sns:us-east-1:000000000000:topic", "arn:aws:sqs:a:b:c:d"])
def test_an_invalid_subscription_arn_is_refused(sns: Sns, bad: str) -> None:
    for method in ("unsubscribe", "get_subscription_attributes"):
        assert sns.refusal(method, SubscriptionArn=bad)[:2] == ("InvalidParameter", 400)
