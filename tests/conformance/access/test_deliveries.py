"""Tests which messages a topic delivers to another account's queue with QUEUE_ACCESS=sigv4.

Sources: "Subscribing a queue to a topic" and "Sending Amazon SNS messages to an Amazon SQS queue in a different
account" (SNS Developer Guide).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4, allow
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs

SETTINGS = {**SIGV4, "QUEUE_RECREATE_INTERVAL_SECONDS": "0"}
REFUSED = ("AuthorizationError", 403)


@pytest.fixture
def owner(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> Sns:
    """Returns the account that owns the queues."""
    return Sns(sqs.with_settings(SETTINGS).with_key(*keys[OWNER]))


@pytest.fixture
def partner(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> Sns:
    """Returns the account that owns the topics."""
    return Sns(sqs.with_settings(SETTINGS).with_key(*keys[PARTNER]))


def let_in(owner: Sns, url: str, topic: str, effect: str = "Allow", **changes: Any) -> None:
    """Sets the policy of AWS's documentation, with changes."""
    statement = {
        "Effect": effect, "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": owner.sqs.arn(url), "Condition": {"ArnEquals": {"aws:SourceArn": topic}}, **changes,
    }  # fmt: skip
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    owner.sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})


def forbid(owner: Sns, url: str) -> None:
    owner.sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"Policy": ""})


def dead_letters(owner: Sns, url: str) -> str:
    return json.dumps({"deadLetterTargetArn": owner.sqs.arn(url)})


def bodies(owner: Sns, url: str, number: int) -> list[str]:
    """Returns the bodies of the published messages, sorted."""
    return sorted(json.loads(message["Body"])["Message"] for message in owner.sqs.receive(url, number))


def refused(partner: Sns, method: str, **parameters: Any) -> None:
    assert partner.refusal(method, **parameters)[:2] == REFUSED


def test_a_queue_of_another_account_has_to_allow_the_topic(owner: Sns, partner: Sns) -> None:
    for suffix in ("", ".fifo"):
        url = owner.sqs.create_fifo() if suffix else owner.sqs.create()
        topic = partner.create_fifo() if suffix else partner.create()
        there = {"TopicArn": topic, "Protocol": "sqs", "Endpoint": owner.sqs.arn(url)}
        refused(partner, "subscribe", **there)
        other = partner.create()
        for wrong in (
            {"Condition": {"ArnEquals": {"aws:SourceArn": other}}},
            {"Condition": {"StringEquals": {"aws:SourceAccount": OWNER}}},
            {"Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}},
            {"Principal": {"Service": "events.amazonaws.com"}},
            {
                "Principal": {"AWS": PARTNER},
                "Condition": {},
            },  # the partner may send, but the policy does not allow a topic to send
            {"Action": "sqs:ReceiveMessage"},
            {"effect": "Deny"},
        ):
            let_in(owner, url, topic, **wrong)
            refused(partner, "subscribe", **there)
        let_in(owner, url, topic)
        partner.client.subscribe(**there)
        group = {"MessageGroupId": "g", "MessageDeduplicationId": "1"} if suffix else {}
        partner.publish(topic, "agreed", **group)
        assert owner.notification(url)["Message"] == "agreed"


def test_a_policy_that_changes_holds_for_the_next_message(owner: Sns, partner: Sns) -> None:
    url, topic = owner.sqs.create(), partner.create()
    let_in(owner, url, topic)
    partner.subscribe(topic, owner.sqs.arn(url))
    forbid(owner, url)
    partner.publish(topic, "after the end")
    let_in(owner, url, topic, Principal="*")
    partner.publish(topic, "allowed again")
    owner.sqs.client.add_permission(QueueUrl=url, Label="more", AWSAccountIds=[PARTNER], Actions=["ReceiveMessage"])
    partner.publish(topic, "still allowed")
    owner.sqs.client.remove_permission(QueueUrl=url, Label="more")
    partner.publish(topic, "allowed to the end")
    assert bodies(owner, url, 3) == ["allowed again", "allowed to the end", "still allowed"]


def test_a_subscription_that_is_not_allowed_has_a_dead_letter_queue(owner: Sns, partner: Sns) -> None:
    """AWS also fails such a delivery at once and for good (SNS Developer Guide, "Message delivery retries")."""
    url, topic, dead = owner.sqs.create(), partner.create(), partner.sqs.create()
    let_in(owner, url, topic)
    arn = partner.subscribe(topic, owner.sqs.arn(url), RedrivePolicy=dead_letters(partner, dead))
    forbid(owner, url)
    partner.publish(topic, "not wanted")
    assert partner.notification(dead)["Message"] == "not wanted"
    assert owner.sqs.poll(url) == []
    # The policy of the dead-letter queue must also allow the topic.
    mine = owner.sqs.create()
    change = {"SubscriptionArn": arn, "AttributeName": "RedrivePolicy", "AttributeValue": dead_letters(owner, mine)}
    refused(partner, "set_subscription_attributes", **change)
    new = {"TopicArn": topic, "Protocol": "https", "Endpoint": "https://collector.invalid/"}
    redrive = {"RedrivePolicy": dead_letters(owner, mine)}
    refused(partner, "subscribe", **new, Attributes=redrive)
    let_in(owner, mine, topic)
    partner.client.set_subscription_attributes(**change)
    partner.client.subscribe(**new, Attributes=redrive)
    partner.publish(topic, "to the other")
    assert owner.notification(mine)["Message"] == "to the other"
    forbid(owner, mine)
    partner.publish(topic, "lost")
    assert owner.sqs.poll(mine) == []


def test_a_queue_of_the_name_of_a_deleted_one(owner: Sns, partner: Sns) -> None:
    url, topic = owner.sqs.create(), partner.create()
    name = url.rpartition("/")[2]
    let_in(owner, url, topic)
    partner.subscribe(topic, owner.sqs.arn(url))
    policy = owner.sqs.attributes(url, "Policy")["Policy"]
    for attributes, bodies in (({}, 0), ({"Policy": policy}, 1)):
        owner.sqs.client.delete_queue(QueueUrl=url)
        owner.sqs.client.create_queue(QueueName=name, Attributes=attributes)
        partner.publish(topic, "to whom?")
        assert len(owner.sqs.poll(url)) == bodies


def test_a_deny_holds_for_topics_of_the_own_account(owner: Sns) -> None:
    topic = owner.create()
    url, _ = owner.queue(topic)
    owner.publish(topic, "no policy")
    let_in(owner, url, topic, effect="Deny", Principal="*", Condition={})
    owner.publish(topic, "denied")
    refused(owner, "subscribe", TopicArn=owner.create(), Protocol="sqs", Endpoint=owner.sqs.arn(url))
    let_in(owner, url, topic, effect="Deny", Principal="*", Condition={"Bool": {"aws:SecureTransport": "false"}})
    owner.publish(topic, "encrypted only")
    assert bodies(owner, url, 2) == ["encrypted only", "no policy"]


def test_a_receiver_of_a_topic_can_list_and_end_the_subscription(owner: Sns, partner: Sns) -> None:
    url, topic = owner.sqs.create(), partner.create()
    let_in(owner, url, topic)
    arn = partner.subscribe(topic, owner.sqs.arn(url))
    listed = owner.client.get_paginator("list_subscriptions").paginate().build_full_result()["Subscriptions"]
    (found,) = [subscription for subscription in listed if subscription["SubscriptionArn"] == arn]
    assert (found["Owner"], found["TopicArn"], found["Endpoint"]) == (PARTNER, topic, owner.sqs.arn(url))
    assert owner.subscription(arn)["SubscriptionPrincipal"] == f"arn:aws:iam::{PARTNER}:root"
    refused(
        owner, "set_subscription_attributes", SubscriptionArn=arn, AttributeName="RawMessageDelivery",
        AttributeValue="true",
    )  # fmt: skip
    owner.client.unsubscribe(SubscriptionArn=arn)
    assert partner.client.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == []


def test_a_move_task_sends_to_its_destination(owner: Sns, partner: Sns) -> None:
    """ "Required permissions" of StartMessageMoveTask names SendMessage on the destination."""
    dead, theirs = partner.sqs.create(), owner.sqs.create()
    redrive = json.dumps({"deadLetterTargetArn": partner.sqs.arn(dead), "maxReceiveCount": 1})
    partner.sqs.create(RedrivePolicy=redrive)
    partner.sqs.send(dead, "moved")
    move = {"SourceArn": partner.sqs.arn(dead), "DestinationArn": owner.sqs.arn(theirs)}
    assert partner.sqs.refusal("start_message_move_task", **move).status == 403
    allow(owner.sqs, theirs, "sqs:SendMessage")
    assert partner.sqs.client.start_message_move_task(**move)["TaskHandle"]
    assert owner.sqs.refusal("start_message_move_task", SourceArn=partner.sqs.arn(dead)).status == 403


def test_a_policy_for_callers(owner: Sns, partner: Sns) -> None:
    """Conditions also apply to calls: "AWS global condition context keys" (IAM User Guide)."""
    url = owner.sqs.create()
    send = {"QueueUrl": url, "MessageBody": "hello"}
    for condition, allowed in (
        ({"StringEquals": {"aws:PrincipalAccount": PARTNER}}, True),
        ({"ArnEquals": {"aws:PrincipalArn": f"arn:aws:iam::{PARTNER}:root"}}, True),
        ({"IpAddress": {"aws:SourceIp": ["127.0.0.0/8", "::1/128", "192.0.2.1"]}}, True),
        ({"Null": {"aws:SourceArn": "true"}}, True),
        ({"StringEquals": {"aws:PrincipalAccount": OWNER}}, False),
        ({"IpAddress": {"aws:SourceIp": "198.51.100.0/24"}}, False),
        ({"Null": {"aws:SourceArn": "false"}}, False),
        ({"ArnEquals": {"aws:SourceArn": "arn:aws:sns:us-east-1:111122223333:news"}}, False),
    ):
        let_in(owner, url, "", Principal={"AWS": PARTNER}, Condition=condition)
        if allowed:
            partner.sqs.client.send_message(**send)
        else:
            assert partner.sqs.refusal("send_message", **send).status == 403
    assert len(owner.sqs.receive(url, 4)) == 4


def test_a_mobile_app_of_another_account_subscribes_to_nothing(owner: Sns, partner: Sns) -> None:
    """An endpoint has no policy, so only its account may publish to it or subscribe it (Penstock's choice)."""
    made = owner.client.create_platform_application(
        Name=owner.sqs.name(), Platform="GCM", Attributes={"PlatformCredential": "secret"}
    )
    arn = owner.client.create_platform_endpoint(PlatformApplicationArn=made["PlatformApplicationArn"], Token="t")[
        "EndpointArn"
    ]
    topic = partner.create()
    refused(partner, "publish", TargetArn=arn, Message="m")
    refused(partner, "subscribe", TopicArn=topic, Protocol="application", Endpoint=arn)
    missing = arn[:-36] + "00000000-0000-0000-0000-000000000000"
    refused(partner, "subscribe", TopicArn=topic, Protocol="application", Endpoint=missing)
    owner.subscribe(owner.create(), arn, "application")
