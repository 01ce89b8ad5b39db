"""Tests the rights of users, in both deployments and both protocols. The sources are "Policy evaluation logic" and
"Cross-account policy evaluation logic" (IAM User Guide).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from tests.support import client_setup
from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4, allow, key_ring, new_key
from tests.support.conformance.scheduler import Scheduler
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs
from tests.support.database import Database

_numbers = count()
SETTINGS = {**SIGV4, "QUEUE_PURGE_INTERVAL_SECONDS": "0"}

MakeUser = Callable[..., Sqs]


@pytest.fixture
def owner(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> Sqs:
    """Returns a client with the key of the account itself."""
    return sqs.with_settings(SETTINGS).with_key(*keys[OWNER])


@pytest.fixture
def user(sqs: Sqs, installation: Database) -> MakeUser:
    """Returns a function that creates a user with the given policies, which are names or statements."""

    def create(*policies: Any, account: str = OWNER, name: str = "") -> Sqs:
        name = name or f"user-{next(_numbers)}"
        texts = [policy if isinstance(policy, str) else json.dumps({"Statement": [policy]}) for policy in policies]
        with key_ring(installation) as ring:
            list(ring.set_user(name, texts, account, new=True))
        return sqs.with_settings(SETTINGS).with_key(*new_key(installation, account, name))

    return create


def denied(caller: Sqs, method: str, **parameters: Any) -> None:
    refusal = caller.refusal(method, **parameters)
    assert (refusal.code, refusal.status) == ("AccessDenied", 403)


def test_the_policies_that_are_built_in(owner: Sqs, user: MakeUser) -> None:
    url = owner.create()
    owner.send(url, "hello")
    arn = owner.arn(url)
    nothing, read, operate, admin = (user(*policies) for policies in ((), ("read",), ("operate",), ("admin",)))
    looks: list[tuple[str, dict[str, Any]]] = [
        ("list_queues", {}),
        ("get_queue_url", {"QueueName": url.rpartition("/")[2]}),
        ("get_queue_attributes", {"QueueUrl": url, "AttributeNames": ["All"]}),
        ("list_queue_tags", {"QueueUrl": url}),
        ("list_dead_letter_source_queues", {"QueueUrl": url}),
        ("list_message_move_tasks", {"SourceArn": arn}),
    ]
    works: list[tuple[str, dict[str, Any]]] = [
        ("send_message", {"QueueUrl": url, "MessageBody": "x"}),
        ("send_message_batch", {"QueueUrl": url, "Entries": [{"Id": "a", "MessageBody": "x"}]}),
        ("receive_message", {"QueueUrl": url, "VisibilityTimeout": 0}),
        ("purge_queue", {"QueueUrl": url}),
    ]
    changes: list[tuple[str, dict[str, Any]]] = [
        ("create_queue", {"QueueName": owner.name()}),
        ("set_queue_attributes", {"QueueUrl": url, "Attributes": {"DelaySeconds": "1"}}),
        ("tag_queue", {"QueueUrl": url, "Tags": {"a": "b"}}),
        ("add_permission", {"QueueUrl": url, "Label": "l", "AWSAccountIds": [PARTNER], "Actions": ["*"]}),
        ("delete_queue", {"QueueUrl": url}),
    ]
    for caller, allowed in ((nothing, 0), (read, 1), (operate, 2), (admin, 3)):
        for level, calls in enumerate((looks, works, changes), 1):
            for method, parameters in calls:
                if level <= allowed:
                    getattr(caller.client, method)(**parameters)
                else:
                    denied(caller, method, **parameters)


def test_a_user_of_one_queue(owner: Sqs, user: MakeUser) -> None:
    url, other = owner.create(), owner.create()
    name = f"of-one-queue-{next(_numbers)}"
    caller = user(
        {"Effect": "Allow", "Action": ["sqs:SendMessage", "sqs:GetQueueUrl"], "Resource": owner.arn(url)},
        {"Effect": "Allow", "Action": "sqs:CreateQueue", "Resource": "arn:aws:sqs:*:*:theirs-*"},
        name=name,
    )
    caller.send(url, "hello")
    denied(caller, "send_message", QueueUrl=other, MessageBody="x")
    denied(caller, "receive_message", QueueUrl=url)
    # The sources of the text are in tests/unit/access/test_hosts.py.
    assert caller.refusal("send_message", QueueUrl=other, MessageBody="x").message == (
        f"User: arn:aws:iam::{OWNER}:user/{name} is not authorized to perform: sqs:sendmessage on resource: "
        f"{owner.arn(other)} "
        "because no identity-based policy allows the sqs:sendmessage action"
    )
    denied(caller, "list_queues")
    denied(caller, "create_queue", QueueName=owner.name())
    caller.client.create_queue(QueueName="theirs-" + owner.name())


def test_policies_of_user_and_queue_together(owner: Sqs, user: MakeUser) -> None:
    """Within one account, a request needs an Allow in one of the two policies, and a Deny in either policy refuses
    it.
    """
    url = owner.create()
    send = {"QueueUrl": url, "MessageBody": "x"}
    name = "named-" + owner.name()
    named = user(name=name)
    operate = user("operate")
    denied(named, "send_message", **send)
    # the principal is the account, so the account's users also need a policy
    allow(owner, url, "sqs:SendMessage", principal=OWNER)
    denied(named, "send_message", **send)
    allow(owner, url, "sqs:SendMessage", principal=f"arn:aws:iam::{OWNER}:user/{name}")
    named.client.send_message(**send)
    allow(owner, url, "sqs:SendMessage", effect="Deny", principal="*")
    for caller in (named, operate, owner):
        denied(caller, "send_message", **send)
    allow(owner, url, "sqs:*", effect="Deny", principal=OWNER)
    for caller in (named, operate, user("admin")):
        denied(caller, "set_queue_attributes", QueueUrl=url, Attributes={"Policy": ""})
    owner.client.set_queue_attributes(QueueUrl=url, Attributes={"Policy": ""})  # the root user repairs the policy
    operate.client.send_message(**send)


def test_users_of_another_account_need_both(owner: Sqs, user: MakeUser) -> None:
    url = owner.create()
    send = {"QueueUrl": url, "MessageBody": "x"}
    partner, powerless = user("operate", account=PARTNER), user("read", account=PARTNER)
    denied(partner, "send_message", **send)
    allow(owner, url, "sqs:SendMessage", principal=PARTNER)
    partner.client.send_message(**send)
    denied(powerless, "send_message", **send)


def test_each_named_policy_allows_its_actions_on_topics(owner: Sqs, user: MakeUser) -> None:
    topic = Sns(owner).create()
    read, operate, admin = (Sns(user(policy)) for policy in ("read", "operate", "admin"))
    pages = read.client.get_paginator("list_topics").paginate()
    assert topic in [found["TopicArn"] for page in pages for found in page["Topics"]]
    assert read.attributes(topic)["TopicArn"] == topic
    assert read.refusal("publish", TopicArn=topic, Message="x")[:2] == ("AuthorizationError", 403)
    operate.publish(topic)
    for method, parameters in (("create_topic", {"Name": owner.name()}), ("delete_topic", {"TopicArn": topic})):
        for caller in (read, operate):
            assert caller.refusal(method, **parameters)[:2] == ("AuthorizationError", 403)
        getattr(admin.client, method)(**parameters)


PHONE = "+15550133333"


def test_a_phone_number_needs_a_right_of_its_own(owner: Sqs, user: MakeUser) -> None:
    """Penstock chose this rule, because text messages cost money, and every publisher of topics has `sns:Publish` on
    `*`.
    """
    every_topic = {"Effect": "Allow", "Action": "sns:Publish", "Resource": "*"}
    phones = {"Effect": "Allow", "Action": "penstock:PublishToPhoneNumber", "Resource": "*"}
    message = {"PhoneNumber": PHONE, "Message": "m"}
    for policies in (("operate",), (every_topic,), (phones,)):
        refused = Sns(user(*policies)).refusal("publish", **message)
        assert refused[:2] == ("AuthorizationError", 403)
    for caller in (user(every_topic, phones), user("admin"), owner):
        assert Sns(caller).client.publish(**message)["MessageId"]


def test_a_subscription_by_sms_needs_the_right_to_publish_to_phone_numbers(owner: Sqs, user: MakeUser) -> None:
    """Without this check, a user could send text messages through a topic without `penstock:PublishToPhoneNumber`."""
    topic = Sns(owner).create()
    every_topic = {"Effect": "Allow", "Action": ["sns:Publish", "sns:Subscribe"], "Resource": "*"}
    phones = {"Effect": "Allow", "Action": "penstock:PublishToPhoneNumber", "Resource": "*"}
    by_sms = {"TopicArn": topic, "Protocol": "sms", "Endpoint": PHONE}
    for policies in ((every_topic,), (phones,)):
        assert Sns(user(*policies)).refusal("subscribe", **by_sms)[:2] == ("AuthorizationError", 403)
    by_mail = {"TopicArn": topic, "Protocol": "email", "Endpoint": "a@example.com"}
    assert Sns(user(every_topic)).client.subscribe(**by_mail)["SubscriptionArn"]
    for caller in (user(every_topic, phones), user("admin"), owner):
        assert Sns(caller).client.subscribe(**by_sms)["SubscriptionArn"]


def test_a_number_of_the_sms_sandbox_needs_the_right_to_publish_to_phone_numbers(owner: Sqs, user: MakeUser) -> None:
    """The action sends a password to any phone number."""
    everything = {"Effect": "Allow", "Action": "sns:*", "Resource": "*"}
    phones = {"Effect": "Allow", "Action": "penstock:PublishToPhoneNumber", "Resource": "*"}
    number = {"PhoneNumber": PHONE}
    for policies in ((everything,), (phones,)):
        refused = Sns(user(*policies)).refusal("create_sms_sandbox_phone_number", **number)
        assert refused[:2] == ("AuthorizationError", 403)
    for caller in (user(everything, phones), user("admin"), owner):
        Sns(caller).client.create_sms_sandbox_phone_number(**number)
    Sns(owner).client.delete_sms_sandbox_phone_number(**number)


@pytest.mark.parametrize("sqs", ["container-json", "lambda-query"], indirect=True)
def test_a_replay_needs_the_right_to_replay_events(owner: Sqs, user: MakeUser) -> None:
    """Penstock chose this rule, because a ReplayPolicy reads messages from before the subscription."""
    topic = Sns(owner).create_fifo(ArchivePolicy='{"MessageRetentionPeriod":"1"}')
    policy = '{"PointType":"Timestamp","StartingPoint":"2026-01-01T00:00:00Z"}'
    everything = {"Effect": "Allow", "Action": "sns:*", "Resource": "*"}
    replay = {"Effect": "Allow", "Action": "penstock:ReplayEvents", "Resource": topic}
    new = {"TopicArn": topic, "Protocol": "sqs", "Endpoint": owner.arn(owner.create())}
    replaying = {**new, "Attributes": {"ReplayPolicy": policy}}
    for policies in ((everything,), (replay,)):
        assert Sns(user(*policies)).refusal("subscribe", **replaying)[:2] == ("AuthorizationError", 403)
    subscription = Sns(user(everything)).client.subscribe(**new)["SubscriptionArn"]
    change = {"SubscriptionArn": subscription, "AttributeName": "ReplayPolicy", "AttributeValue": policy}
    for policies in ((everything,), (replay,)):
        assert Sns(user(*policies)).refusal("set_subscription_attributes", **change)[:2] == ("AuthorizationError", 403)
    Sns(user(everything, replay)).client.set_subscription_attributes(**change)


def test_endpoints_of_mobile_apps_are_their_accounts(
    owner: Sqs, user: MakeUser, keys: dict[str, tuple[str, str]]
) -> None:
    mine = Sns(owner)
    app = mine.client.create_platform_application(
        Name=owner.name(), Platform="GCM", Attributes={"PlatformCredential": "c"}
    )["PlatformApplicationArn"]
    arn = mine.client.create_platform_endpoint(PlatformApplicationArn=app, Token="t")["EndpointArn"]
    partner, operate, read = Sns(owner.with_key(*keys[PARTNER])), Sns(user("operate")), Sns(user("read"))
    for method, parameters in (
        ("publish", {"TargetArn": arn, "Message": "m"}),
        ("get_endpoint_attributes", {"EndpointArn": arn}),
        ("delete_endpoint", {"EndpointArn": arn}),
        ("get_platform_application_attributes", {"PlatformApplicationArn": app}),
        ("create_platform_endpoint", {"PlatformApplicationArn": app, "Token": "u"}),
        ("delete_platform_application", {"PlatformApplicationArn": app}),
    ):
        assert partner.refusal(method, **parameters)[:2] == ("AuthorizationError", 403)
    operate.client.publish(TargetArn=arn, Message="m")
    assert read.client.get_endpoint_attributes(EndpointArn=arn)["Attributes"]["Token"] == "t"
    refused = read.refusal("create_platform_endpoint", PlatformApplicationArn=app, Token="u")
    assert refused[:2] == ("AuthorizationError", 403)


def test_the_outbox_is_its_accounts(owner: Sqs, user: MakeUser, installation: Database) -> None:
    """A user who can read the list does not see the texts of messages."""
    to = "+15550144444"
    Sns(owner).client.publish(PhoneNumber=to, Message="m")
    found = []
    for account, policy in ((OWNER, None), (OWNER, "operate"), (OWNER, "read"), (PARTNER, None)):
        with key_ring(installation) as ring:
            name = None if policy is None else f"outbox-{next(_numbers)}"
            if policy is not None and name is not None:
                list(ring.set_user(name, [policy], account, new=True))
            key = ring.create(account, "", bearer=True, user=name).token
        response = client_setup.get(
            f"{owner.endpoint_url}/v1/outbox?destination=%2B15550144444", headers={"authorization": f"Bearer {key}"}
        )
        found.append((response.status_code, len(response.json()) > 0))
    assert found == [(200, True), (200, True), (403, True), (200, False)]


def test_a_policy_limits_a_user_to_its_schedules(
    scheduler: Scheduler, installation: Database, keys: dict[str, tuple[str, str]]
) -> None:
    account = scheduler.of(scheduler.sqs.with_settings(SIGV4).with_key(*keys[OWNER]))
    arn = account.sqs.arn(account.sqs.create())
    target = {"Arn": arn, "RoleArn": "arn:aws:iam::000000000000:role/r"}
    statements = [
        {"Effect": "Allow", "Action": "scheduler:*", "Resource": "arn:aws:scheduler:*:*:schedule/default/mine-*"},
        {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": arn},
    ]
    callers = []
    for number in (1, 2):  # the second user can also send
        with key_ring(installation) as ring:
            policy = json.dumps({"Statement": statements[:number]})
            list(ring.set_user(name := account.sqs.name(), [policy], OWNER, new=True))
        key = new_key(installation, OWNER, name)
        callers.append(scheduler.of(scheduler.sqs.with_settings(SIGV4).with_key(*key)))
    mine = account.given(Name="mine-" + account.sqs.name(), Target=target)
    refused = ("AccessDeniedException", 403)
    assert callers[0].refused("create_schedule", **mine) == refused
    assert callers[1].refused("create_schedule", **{**mine, "Name": account.sqs.name()}) == refused
    callers[1].client.create_schedule(**mine)
    assert callers[1].client.get_schedule(Name=mine["Name"])["Name"] == mine["Name"]
    assert callers[1].refused("list_schedules") == refused
    assert callers[1].refused("create_schedule_group", Name=account.sqs.name()) == refused
