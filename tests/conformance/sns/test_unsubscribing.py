"""Tests how a subscription ends, and how the subscriber restores it.

The sources are Unsubscribe and ConfirmSubscription (SNS API reference), and "Parsing message formats",
UnsubscribeConfirmation (Developer Guide).
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support import client_setup
from tests.support.conformance.sns import Sns, confirmation, endpoint, verify_signature

BAD_TOKEN = ("InvalidParameter", 400, "Invalid parameter: Token")


def confirmed(sns: Sns, topic: str, to: str, **attributes: str) -> str:
    """Subscribes a URL, confirms the subscription, and returns the subscription's ARN."""
    sns.subscribe(topic, to, "https", **attributes)
    token = confirmation(sns, to)["Token"]
    return str(sns.client.confirm_subscription(TopicArn=topic, Token=token)["SubscriptionArn"])


def ended(sns: Sns, arn: str, to: str) -> dict[str, str]:
    """Ends the subscription and returns the UnsubscribeConfirmation."""
    sns.client.unsubscribe(SubscriptionArn=arn)
    return confirmation(sns, to, "UnsubscribeConfirmation")


def notifications(sns: Sns, to: str) -> int:
    return len(sns.sqs.clock.waiting(to, "Notification"))


def test_the_endpoint_takes_it_back(sns: Sns) -> None:
    """The restored subscription has the old attributes: "To cancel this operation …, visit the SubscribeURL"."""
    topic, to = sns.create(), endpoint(sns)
    policy = '{"a": [{"exists": false}]}'
    arn = confirmed(sns, topic, to, FilterPolicy=policy, FilterPolicyScope="MessageBody")
    message = ended(sns, arn, to)
    verify_signature(message)
    sns.publish(topic, '{"b": 1}')
    assert notifications(sns, to) == 0
    for _ in range(2):
        visit = client_setup.get(message["SubscribeURL"])
        assert (visit.status_code, arn in visit.text) == (200, True)
    assert sns.client.confirm_subscription(TopicArn=topic, Token=message["Token"])["SubscriptionArn"] == arn
    found = sns.subscription(arn)
    assert (found["PendingConfirmation"], found["FilterPolicy"]) == ("false", policy)
    sns.publish(topic, '{"b": 1}')
    sns.publish(topic, '{"a": 1}')
    assert notifications(sns, to) == 1
    assert sns.attributes(topic)["SubscriptionsConfirmed"] == "1"


def test_subscribed_anew_meanwhile(sns: Sns) -> None:
    """Only the new subscription exists, and a visit of the old link confirms it."""
    topic, to = sns.create(), endpoint(sns)
    message = ended(sns, confirmed(sns, topic, to), to)
    new = sns.subscribe(topic, to, "https")
    assert sns.subscription(new)["PendingConfirmation"] == "true"
    assert client_setup.get(message["SubscribeURL"]).status_code == 200
    assert sns.subscription(new)["PendingConfirmation"] == "false"
    assert len(sns.client.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]) == 1


def test_only_the_last_end_can_be_undone(sns: Sns) -> None:
    topic, to = sns.create(), endpoint(sns)
    first = ended(sns, confirmed(sns, topic, to), to)
    last = ended(sns, confirmed(sns, topic, to), to)
    assert sns.refusal("confirm_subscription", TopicArn=topic, Token=first["Token"]) == BAD_TOKEN
    assert sns.client.confirm_subscription(TopicArn=topic, Token=last["Token"])["SubscriptionArn"]


@pytest.mark.parametrize("state", ["pending", "ended"])
def test_tokens_are_good_for_two_days(sns: Sns, state: str) -> None:
    """Subscribe, API reference: "Confirmation tokens are valid for two days." """
    topic, to = sns.create(), endpoint(sns)
    if state == "ended":
        token = ended(sns, confirmed(sns, topic, to), to)["Token"]
    else:
        sns.subscribe(topic, to, "https")
        token = confirmation(sns, to)["Token"]
    sns.sqs.clock.advance(2 * 86_400 + 1)
    assert sns.refusal("confirm_subscription", TopicArn=topic, Token=token) == BAD_TOKEN
    elsewhere = sns.create()
    assert sns.refusal("confirm_subscription", TopicArn=elsewhere, Token=token) == BAD_TOKEN


def test_a_token_names_its_topic(sns: Sns) -> None:
    """The request can contain the ARN of any topic in the same region and account (recorded at AWS)."""
    topic, to = sns.create(), endpoint(sns)
    arn = confirmed(sns, topic, to)
    token = ended(sns, arn, to)["Token"]
    elsewhere = topic.replace(":000000000000:", ":111122223333:")
    assert sns.refusal("confirm_subscription", TopicArn=elsewhere, Token=token) == BAD_TOKEN
    response = sns.client.confirm_subscription(TopicArn=sns.create(), Token=token)
    assert response["SubscriptionArn"] == arn
    again = sns.client.confirm_subscription(TopicArn=f"{topic}-that-is-none", Token=token)
    assert again["SubscriptionArn"] == arn


def test_a_topic_that_was_deleted_takes_nothing_back(sns: Sns) -> None:
    name = sns.sqs.name()
    topic, to = sns.client.create_topic(Name=name)["TopicArn"], endpoint(sns)
    token = ended(sns, confirmed(sns, topic, to), to)["Token"]
    sns.client.delete_topic(TopicArn=topic)
    assert sns.refusal("confirm_subscription", TopicArn=topic, Token=token) == BAD_TOKEN
    sns.client.create_topic(Name=name)
    assert sns.refusal("confirm_subscription", TopicArn=topic, Token=token) == BAD_TOKEN


def test_large_messages_keep_urls_out(sns: Sns) -> None:
    """A MaximumMessageSize of more than 256 KiB is for queues (SetTopicAttributes, API reference)."""
    topic, to = sns.create(), endpoint(sns)
    token = ended(sns, confirmed(sns, topic, to), to)["Token"]
    sns.client.set_topic_attributes(TopicArn=topic, AttributeName="MaximumMessageSize", AttributeValue="262145")
    refused = sns.refusal("confirm_subscription", TopicArn=topic, Token=token)
    assert refused[:2] == ("InvalidParameter", 400)
    assert refused != BAD_TOKEN


# --- done twice ------------------------------------------------------------------------------------------------------
def test_ending_what_has_ended_is_no_error(sns: Sns) -> None:
    topic, to = sns.create(), endpoint(sns)
    arn = confirmed(sns, topic, to)
    for _ in range(3):
        sns.client.unsubscribe(SubscriptionArn=arn)
    assert len(sns.sqs.clock.waiting(to, "UnsubscribeConfirmation")) == 1
    sns.client.unsubscribe(SubscriptionArn=f"{topic}:00000000-0000-4000-8000-000000000000")


def test_a_pending_subscription_ends_silently(sns: Sns) -> None:
    topic, to = sns.create(), endpoint(sns)
    arn = sns.subscribe(topic, to, "https")
    token = confirmation(sns, to)["Token"]
    sns.client.unsubscribe(SubscriptionArn=arn)
    assert sns.sqs.clock.waiting(to, "UnsubscribeConfirmation") == []
    assert sns.refusal("confirm_subscription", TopicArn=topic, Token=token) == BAD_TOKEN


def test_a_confirmed_url_that_subscribes_again_keeps_its_token(sns: Sns) -> None:
    """The service does not send a new confirmation, and the token of the endpoint still works, even after an error."""
    topic, to = sns.create(), endpoint(sns)
    arn = confirmed(sns, topic, to)
    token = confirmation(sns, to)["Token"]
    assert sns.client.subscribe(TopicArn=topic, Protocol="https", Endpoint=to)["SubscriptionArn"] == arn
    assert len(sns.sqs.clock.waiting(to, "SubscriptionConfirmation")) == 1
    assert sns.client.confirm_subscription(TopicArn=topic, Token=token)["SubscriptionArn"] == arn


def test_a_refused_subscription_leaves_the_token(sns: Sns) -> None:
    topic, to = sns.create(), endpoint(sns)
    sns.subscribe(topic, to, "https")
    token = confirmation(sns, to)["Token"]
    raw = {"RawMessageDelivery": "true"}
    refused = sns.refusal("subscribe", TopicArn=topic, Protocol="https", Endpoint=to, Attributes=raw)
    assert refused[:2] == ("InvalidParameter", 400)
    sns.client.confirm_subscription(TopicArn=topic, Token=token)


def test_asking_for_signatures_takes_one(sns: Sns) -> None:
    """ConfirmSubscription requires a signature when AuthenticateOnUnsubscribe is true."""
    topic, to = sns.create(), endpoint(sns)
    arn = sns.subscribe(topic, to, "https")
    message = confirmation(sns, to)
    visit = client_setup.get(message["SubscribeURL"] + "&AuthenticateOnUnsubscribe=true")
    assert (visit.status_code, "AuthorizationError" in visit.text) == (403, True)
    assert sns.subscription(arn)["PendingConfirmation"] == "true"
    sns.client.confirm_subscription(TopicArn=topic, Token=message["Token"], AuthenticateOnUnsubscribe="true")
    assert sns.subscription(arn)["ConfirmationWasAuthenticated"] == "true"
    # A later unsigned visit does not cancel the setting.
    assert client_setup.get(message["SubscribeURL"]).status_code == 200
    anonymous = client_setup.get(f"{sns.sqs.endpoint_url}/?Action=Unsubscribe&SubscriptionArn={arn}")
    assert anonymous.status_code == 403


# --- at the same time ------------------------------------------------------------------------------------------------
def test_subscribing_and_unsubscribing_at_the_same_time(sns: Sns) -> None:
    """In either order, no request fails, and at most one subscription exists. A remaining subscription receives
    messages."""
    topic = sns.create()
    url = sns.sqs.create()
    arn = sns.sqs.arn(url)
    known = sns.subscribe(topic, arn)

    def turn(number: int) -> str:
        if number % 2:
            return sns.subscribe(topic, arn)
        sns.client.unsubscribe(SubscriptionArn=known)
        return known

    with ThreadPoolExecutor(8) as pool:
        arns = set(pool.map(turn, range(40)))
    left = sns.client.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    assert {subscription["SubscriptionArn"] for subscription in left} <= arns
    assert len(left) <= 1
    sns.publish(topic, "m")
    assert sns.sqs.counts(url) == (len(left), 0, 0)


def test_deleting_the_topic_at_the_same_time(sns: Sns) -> None:
    """The two requests do not deadlock, and every module checks PostgreSQL's log for deadlocks."""
    with ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            topic = sns.create()
            arns = [confirmed(sns, topic, endpoint(sns)) for _ in range(3)]
            ends = [pool.submit(sns.client.unsubscribe, SubscriptionArn=arn) for arn in arns]
            ends.append(pool.submit(sns.client.delete_topic, TopicArn=topic))
            assert [end.result()["ResponseMetadata"]["HTTPStatusCode"] for end in ends] == [200] * 4


def test_attributes_set_at_the_same_time(sns: Sns) -> None:
    """The filter uses the policy and the scope of the same request, and the service returns the attributes of that
    request.
    """
    topic = sns.create()
    url, arn = sns.queue(topic, FilterPolicy='{"a": ["x"]}')
    changes = [("FilterPolicy", '{"a": {"b": ["x"]}}'), ("FilterPolicyScope", "MessageAttributes")]
    sns.client.set_subscription_attributes(
        SubscriptionArn=arn, AttributeName="FilterPolicyScope", AttributeValue="MessageBody"
    )

    def change(one: tuple[str, str]) -> bool:
        try:
            sns.client.set_subscription_attributes(SubscriptionArn=arn, AttributeName=one[0], AttributeValue=one[1])
        except sns.client.exceptions.InvalidParameterException:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(change, changes))
    assert sorted(done) == [False, True]
    found = sns.subscription(arn)
    nested = isinstance(json.loads(found["FilterPolicy"])["a"], dict)
    assert (nested, found["FilterPolicyScope"]) in ((True, "MessageBody"), (False, "MessageAttributes"))
    assert sns.sqs.counts(url) == (0, 0, 0)
