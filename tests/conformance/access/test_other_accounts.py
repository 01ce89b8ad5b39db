"""Tests how one account can use queues and topics of another account."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from botocore.exceptions import ClientError

from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4, allow
from tests.support.conformance.scheduler import ROLE, Scheduler
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs

# --- indirect --------------------------------------------------------------------------------------------------------
# Tests that one account cannot reach a queue or topic of another account, even if a policy almost allows the access.
#
# Each test also shows that the request works after the policy allows it. The sources are "Policy evaluation logic" and
# "IAM JSON policy element reference" (IAM User Guide) and docs/operate/policies.md.

STRANGER = "444455556666"
SOURCES = {
    "sns": "arn:aws:sns:us-east-1:{account}:{name}",
    "scheduler": "arn:aws:scheduler:us-east-1:{account}:schedule/default/{name}",
}


class Setup(NamedTuple):
    """Holds the resources of two accounts. The partner has a topic, a standard queue with a dead-letter queue, and a
    schedule. The owner has a queue and a topic.
    """

    owner: Sns
    partner: Sns
    scheduler: Scheduler
    topic: str
    dead: str
    schedule: str
    queue: str
    queue_arn: str
    foreign_topic: str


class Way(NamedTuple):
    """`principal` is the caller that the policy allows. If the caller is a service, the service acts for the partner's
    resource `name`. `reach` sends the request of the partner.
    """

    principal: str
    action: str
    reach: Callable[[Setup], Any]
    on_topic: bool = False


def target(arn: str, **more: Any) -> dict[str, Any]:
    return {"Arn": arn, "RoleArn": ROLE, **more}


def subscribe(setup: Setup, **attributes: str) -> Any:
    endpoint = "https://collector.invalid/" if attributes else setup.queue_arn
    return setup.partner.client.subscribe(
        TopicArn=setup.topic, Protocol="https" if attributes else "sqs", Endpoint=endpoint, Attributes=attributes
    )


def redrive(setup: Setup) -> str:
    return json.dumps({"deadLetterTargetArn": setup.queue_arn})


def change_redrive(setup: Setup) -> Any:
    own = setup.partner.sqs.arn(setup.partner.sqs.create())
    arn = setup.partner.subscribe(setup.topic, own)
    return setup.partner.client.set_subscription_attributes(
        SubscriptionArn=arn, AttributeName="RedrivePolicy", AttributeValue=redrive(setup)
    )


def schedule(setup: Setup, chosen: dict[str, Any]) -> Any:
    return setup.scheduler.client.create_schedule(**setup.scheduler.given(Name=setup.schedule, Target=chosen))


def change_schedule(setup: Setup) -> Any:
    own = setup.scheduler.given(Name=setup.schedule, Target=target(setup.partner.sqs.arn(setup.dead)))
    with suppress(setup.scheduler.client.exceptions.ConflictException):  # an earlier attempt created it
        setup.scheduler.client.create_schedule(**own)
    return setup.scheduler.client.update_schedule(**{**own, "Target": target(setup.queue_arn)})


WAYS = {
    "send": Way(PARTNER, "sqs:SendMessage", lambda w: w.partner.sqs.send(w.queue)),
    "send a batch": Way(
        PARTNER,
        "sqs:SendMessage",
        lambda w: w.partner.sqs.client.send_message_batch(QueueUrl=w.queue, Entries=[{"Id": "a", "MessageBody": "x"}]),
    ),
    "receive": Way(PARTNER, "sqs:ReceiveMessage", lambda w: w.partner.sqs.client.receive_message(QueueUrl=w.queue)),
    "move": Way(
        PARTNER,
        "sqs:SendMessage",
        lambda w: w.partner.sqs.client.start_message_move_task(
            SourceArn=w.partner.sqs.arn(w.dead), DestinationArn=w.queue_arn
        ),
    ),
    "subscribe a queue": Way("sns", "sqs:SendMessage", subscribe),
    "dead letters of a new subscription": Way(
        "sns", "sqs:SendMessage", lambda w: subscribe(w, RedrivePolicy=redrive(w))
    ),
    "dead letters of a subscription": Way("sns", "sqs:SendMessage", change_redrive),
    "target of a schedule": Way("scheduler", "sqs:SendMessage", lambda w: schedule(w, target(w.queue_arn))),
    "dead letters of a schedule": Way(
        "scheduler",
        "sqs:SendMessage",
        lambda w: schedule(w, target(w.partner.sqs.arn(w.dead), DeadLetterConfig={"Arn": w.queue_arn})),
    ),
    "target of a changed schedule": Way("scheduler", "sqs:SendMessage", change_schedule),
    "publish": Way(PARTNER, "sns:Publish", lambda w: w.partner.publish(w.foreign_topic, "forged"), on_topic=True),
    "subscribe to a topic": Way(
        PARTNER,
        "sns:Subscribe",
        lambda w: w.partner.subscribe(w.foreign_topic, w.partner.sqs.arn(w.dead)),
        on_topic=True,
    ),
    "topic of a schedule": Way(
        "scheduler", "sns:Publish", lambda w: schedule(w, target(w.foreign_topic)), on_topic=True
    ),
}


def statement(setup: Setup, way: Way) -> dict[str, Any]:
    """Returns a statement that allows exactly this way of access."""
    resource = setup.foreign_topic if way.on_topic else setup.queue_arn
    allows = {"Effect": "Allow", "Action": way.action, "Resource": resource}
    if way.principal == PARTNER:
        return {**allows, "Principal": {"AWS": f"arn:aws:iam::{PARTNER}:root"}}
    source = (
        setup.topic if way.principal == "sns" else SOURCES["scheduler"].format(account=PARTNER, name=setup.schedule)
    )
    return {
        **allows,
        "Principal": {"Service": f"{way.principal}.amazonaws.com"},
        "Condition": {"ArnEquals": {"aws:SourceArn": source}},
    }


def almost(setup: Setup, way: Way) -> list[list[dict[str, Any]]]:
    """Returns policies that do not allow this way of access, although each policy differs in only one detail."""
    good = statement(setup, way)
    service = way.principal != PARTNER
    others: list[dict[str, Any]] = [
        {"Action": "sqs:PurgeQueue" if way.action.startswith("sqs") else "sns:DeleteTopic"},
        {"Action": way.action + "?"},
        {"NotAction": way.action, "Action": None},
        {"Resource": good["Resource"] + "s"},
        {"NotResource": good["Resource"], "Resource": None},
        {"Resource": "arn:aws:*:*:${aws:PrincipalAccount}:*"},
        {"Principal": {"AWS": STRANGER}},
        {"Principal": {"AWS": f"arn:aws:iam::{PARTNER}:user/somebody"}},
        {"Principal": {"Service": "s3.amazonaws.com"}},
        {"NotPrincipal": {"AWS": STRANGER}, "Principal": None},
        {"Condition": {"StringEquals": {"aws:SourceAccount": STRANGER}}},
        {"Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}},
        {"Condition": {"IpAddress": {"aws:SourceIp": "198.51.100.0/24"}}},
        {"Condition": {"ArnLike": {"aws:SourceArn": SOURCES["sns"].format(account=STRANGER, name="*")}}},
        {"Condition": {"Null": {"aws:SourceArn": "true" if service else "false"}}},
    ]
    if service:
        others.append({"Principal": {"Service": f"{way.principal}.amazonaws.com.invalid"}})
    policies = [[_change(good, other)] for other in others]
    deny = {**good, "Effect": "Deny", "Principal": "*"}
    return [[], *policies, [good, deny], [deny, good]]


def misspelt(setup: Setup, way: Way) -> list[list[dict[str, Any]]]:
    """Returns policies that SQS and SNS refuse to store."""
    changes: list[dict[str, Any]] = [
        {"Action": way.action + "s"},
        {"Principal": None},
        {"Effect": "allow"},
        {"Unless": "it rains"},
        {"Condition": {"StringEqualsSometimes": {"aws:SourceAccount": PARTNER}}},
    ]
    return [[_change(statement(setup, way), change)] for change in changes]


def _change(good: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**good, **changes}.items() if value is not None}


def set_policy(setup: Setup, way: Way, statements: list[dict[str, Any]]) -> None:
    text = json.dumps({"Version": "2012-10-17", "Statement": statements}) if statements else ""
    if way.on_topic:
        setup.owner.client.set_topic_attributes(
            TopicArn=setup.foreign_topic, AttributeName="Policy", AttributeValue=text
        )
    else:
        setup.owner.sqs.client.set_queue_attributes(QueueUrl=setup.queue, Attributes={"Policy": text})


@pytest.fixture
def setup(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> Setup:
    owner, partner = (Sns(sqs.with_settings(SIGV4).with_key(*keys[account])) for account in (OWNER, PARTNER))
    dead, queue = partner.sqs.create(), owner.sqs.create()
    redrive_policy = json.dumps({"deadLetterTargetArn": partner.sqs.arn(dead), "maxReceiveCount": 1})
    partner.sqs.create(RedrivePolicy=redrive_policy)
    topics = partner.create(), owner.create()
    return Setup(
        owner, partner, Scheduler(partner.sqs), topics[0], dead, partner.sqs.name(), queue, owner.sqs.arn(queue),
        topics[1],
    )  # fmt: skip


@pytest.mark.parametrize("sqs", ["container-json", "lambda-query"], indirect=True)
@pytest.mark.parametrize("name", WAYS)
def test_nothing_happens_until_the_policy_allows_it(setup: Setup, name: str) -> None:
    way = WAYS[name]
    policies, refused = almost(setup, way), misspelt(setup, way)
    for statements in (*refused, *policies):
        if statements in refused:
            with pytest.raises(ClientError) as caught:
                set_policy(setup, way, statements)
            assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400, statements
        else:
            set_policy(setup, way, statements)
        with pytest.raises(ClientError) as caught:
            way.reach(setup)
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403, statements
        assert caught.value.response["Error"]["Code"] in {
            "AccessDenied", "AccessDeniedException", "AuthorizationError", "AuthorizationErrorException",
        }, statements  # fmt: skip
    assert len(policies) + len(refused) > 20
    set_policy(setup, way, [])
    assert setup.owner.sqs.poll(setup.queue) == []
    assert setup.owner.attributes(setup.foreign_topic)["SubscriptionsConfirmed"] == "0"
    set_policy(setup, way, [statement(setup, way)])
    way.reach(setup)


# --- deliveries ------------------------------------------------------------------------------------------------------
# Tests which messages a topic delivers to a queue of another account with QUEUE_ACCESS=sigv4.
#
# The sources are "Subscribing a queue to a topic" and "Sending Amazon SNS messages to an Amazon SQS queue in a
# different account" (SNS Developer Guide).

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
    """Sets the policy from AWS's documentation, with changes."""
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
            },  # the partner can send, but the policy does not allow a topic to send
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
    """AWS also gives up such a delivery immediately (SNS Developer Guide, "Message delivery retries")."""
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
    let_in(owner, url, topic, effect="Deny")
    owner.publish(topic, "denied to this topic")
    owner.subscribe(owner.create(), owner.sqs.arn(url))
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
    """Conditions also apply to calls ("AWS global condition context keys", IAM User Guide)."""
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
    """An endpoint has no policy, so only its account can publish to the endpoint or subscribe the endpoint (Penstock's
    choice).
    """
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
