"""Tests QUEUE_ACCESS=sigv4 for event buses, in both deployments where they could differ.

The sources are "Permissions" of the custom event bus (Amazon EventBridge User Guide), "Policy evaluation logic" (IAM
User Guide) and docs/operate/policies.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock_web.cli.key_ring import KeyRing
from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4, key_ring, new_key
from tests.support.conformance.events import Events, build_role
from tests.support.conformance.sdk_clients import REGION
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs
from tests.support.database import Database

DENIED = ("AccessDeniedException", 403)
container = pytest.mark.parametrize("events", ["container"], indirect=True)
Keys = dict[str, tuple[str, str]]
MakeUser = Callable[..., Events]


@pytest.fixture
def owner(events: Events, keys: Keys) -> Events:
    return events.of(events.sqs.with_settings(SIGV4).with_key(*keys[OWNER]))


@pytest.fixture
def partner(events: Events, keys: Keys) -> Events:
    return events.of(events.sqs.with_settings(SIGV4).with_key(*keys[PARTNER]))


@pytest.fixture(scope="module")
def ring(installation: Database) -> Iterator[KeyRing]:
    with key_ring(installation) as ring:
        list(ring.set_user("of-buses", ["read"], OWNER, new=True))
        yield ring


@pytest.fixture(scope="module")
def key(installation: Database, ring: KeyRing) -> tuple[str, str]:
    return new_key(installation, OWNER, "of-buses")


@pytest.fixture
def user(owner: Events, ring: KeyRing, key: tuple[str, str]) -> MakeUser:
    """Returns a function that replaces the policies of a user of the owner's account with statements, or names of
    policies, and returns the user's client."""

    def replace(*policies: Any) -> Events:
        texts = [policy if isinstance(policy, str) else json.dumps({"Statement": [policy]}) for policy in policies]
        list(ring.set_user("of-buses", texts, OWNER, new=False))
        return owner.of(owner.sqs.with_key(*key))

    return replace


def allow(*actions: str, resource: str = "*", effect: str = "Allow") -> dict[str, Any]:
    return {"Effect": effect, "Action": list(actions), "Resource": resource}


def grant(
    owner: Events, bus: str, *actions: str, account: str = PARTNER, effect: str = "Allow", condition: Any = None
) -> None:
    statement = {**allow(*actions, effect=effect), "Principal": {"AWS": account}}
    if condition is not None:
        statement["Condition"] = condition
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    owner.client.put_resource_policy(ResourceArn=bus, PolicyDocument=policy)


def to(caller: Events, bus: str, queue: str, account: str = OWNER, **more: Any) -> dict[str, Any]:
    """Returns the members of a subscriber with a queue of an account as its target."""
    target = f"arn:aws:sqs:{REGION}:{account}:{queue}"
    return caller.given(bus, InvokeConfiguration={"RoleArn": build_role(account), "TargetArn": target}, **more)


def event(source: str = "shop", **more: Any) -> dict[str, Any]:
    return {"Source": source, "DetailType": "order", "Detail": "{}", **more}


def raw_event(**metadata: str) -> dict[str, Any]:
    return {"Data": b"{}", "Metadata": metadata, "SystemMetadata": {"ContentType": "application/json"}}


@container
def test_the_policies_that_are_built_in(owner: Events, user: MakeUser) -> None:
    bus = owner.bus()
    subscriber = owner.subscriber(bus)
    calls: list[tuple[int, str, dict[str, Any]]] = [
        (1, "list_event_buses", {}),
        (1, "describe_event_bus", {"EventBusArn": bus}),
        (1, "describe_subscriber", {"SubscriberArn": subscriber}),
        (1, "list_subscribers", {"EventBusArn": bus}),
        (1, "list_resource_policies", {"ResourceArn": bus}),
        (1, "list_tags_for_resource", {"ResourceArn": subscriber}),
        (2, "put_events", {"EventBusArn": bus, "Entries": [event()]}),
        (2, "put_raw_events", {"EventBusArn": bus, "Entries": [raw_event()]}),
        (3, "update_subscriber", {"SubscriberArn": subscriber, "State": "STOPPED"}),
        (3, "tag_resource", {"ResourceArn": bus, "Tags": {"a": "b"}}),
        (3, "revoke_resource", {"Arn": subscriber}),
        (3, "delete_subscriber", {"SubscriberArn": subscriber}),
        (3, "delete_event_bus", {"EventBusArn": bus}),
    ]
    for level, names in enumerate(((), ("read",), ("operate",), ("admin",))):
        caller = user(*names)
        for needed, method, members in calls:
            if needed <= level:
                getattr(caller.client, method)(**members)
            else:
                assert caller.refused(method, **members) == DENIED, (level, method)


@container
def test_a_user_who_keeps_a_topic_on_a_bus_may_publish_on_it(owner: Events, user: MakeUser) -> None:
    """As the target of a subscriber (docs/operate/policies.md)."""
    bus = owner.bus()
    attributes = {"PenstockBus": bus.split("/")[1]}
    for right in (allow("sns:*"), allow("sns:*", "events:PutRawEvents")):
        caller = user(right)
        topic = Sns(caller.sqs).create()
        change = {"TopicArn": topic, "AttributeName": "PenstockBus", "AttributeValue": attributes["PenstockBus"]}
        acts = (
            lambda caller=caller: Sns(caller.sqs).create(**attributes),
            lambda caller=caller, change=change: Sns(caller.sqs).client.set_topic_attributes(**change),
        )
        for act in acts:
            if "events:PutRawEvents" in right["Action"]:
                act()
            else:
                with pytest.raises(ClientError, match="events:PutRawEvents"):
                    act()


@container
def test_a_universal_target_needs_the_right_to_its_action(owner: Events, user: MakeUser) -> None:
    """An expression can name any queue, so it needs the right to all, and a denial for none
    (docs/operate/policies.md)."""
    bus = owner.bus()
    create = allow("events:CreateSubscriber")
    queue = allow("sqs:SendMessage", resource=f"arn:aws:sqs:{REGION}:{OWNER}:orders")
    every, never = allow("sqs:SendMessage"), allow("sqs:*", resource="*:private", effect="Deny")

    def given(text: str) -> dict[str, Any]:
        invoke = {
            "RoleArn": build_role(OWNER), "TargetArn": "arn:aws:events:::aws-sdk:sqs:sendMessage",
            "UniversalTargetParameters": {"Input": text},
        }  # fmt: skip
        batches = {"MaxBatchSize": 1, "MaxBatchWindowInSeconds": 0}
        return owner.given(bus, InvokeConfiguration=invoke, BatchConfiguration=batches)

    literal = given(json.dumps({"QueueUrl": f"http://localhost/{OWNER}/orders", "MessageBody": "m"}))
    expression = given("{% {'QueueUrl': $events[0].Data.url, 'MessageBody': 'm'} %}")
    assert user(create).refused("create_subscriber", **literal) == DENIED
    assert user(create, queue).refused("create_subscriber", **expression) == DENIED
    assert user(create, every, never).refused("create_subscriber", **expression) == DENIED
    user(create, queue).client.create_subscriber(**literal)
    user(create, every).client.create_subscriber(**expression)


@container
def test_a_subscriber_needs_the_rights_on_bus_subscriber_and_target(owner: Events, user: MakeUser) -> None:
    bus = owner.bus()
    on_bus = allow("events:CreateSubscriber", resource=bus)
    on_subscriber = allow("events:CreateSubscriber", resource=f"arn:aws:events:{REGION}:{OWNER}:subscriber/mine-*")
    on_queue = allow("sqs:SendMessage", resource=f"arn:aws:sqs:{REGION}:{OWNER}:orders")
    replay = allow("penstock:ReplayEvents", resource=bus)
    tag = allow("events:TagResource", resource=f"arn:aws:events:{REGION}:{OWNER}:subscriber/*")
    past = {"StartingPosition": "POINT_IN_TIME", "PointInTimeConfiguration": {"PointType": "HORIZON"}}
    dead = {"OnFailureConfiguration": {"Arn": f"arn:aws:sqs:{REGION}:{OWNER}:dead"}}

    def refused(caller: Events, **more: Any) -> bool:
        return caller.refused("create_subscriber", **{**to(caller, bus, "orders"), "Name": "mine-1", **more}) == DENIED

    assert refused(user(on_subscriber, on_queue))
    assert refused(user(on_bus, on_queue))
    assert refused(user(on_bus, on_subscriber))
    caller = user(on_bus, on_subscriber, on_queue)
    assert refused(caller, Name="yours-1")
    assert refused(caller, Tags={"a": "b"})
    assert refused(caller, **past)
    assert refused(caller, **dead)
    assert refused(user(on_bus, on_subscriber, allow("sqs:*", effect="Deny"), "admin"))
    assert owner.client.list_subscribers()["Subscribers"] == []
    user(on_bus, on_subscriber, on_queue, replay, tag).client.create_subscriber(
        **{**to(owner, bus, "orders"), "Name": "mine-1", "Tags": {"a": "b"}, **past}
    )
    caller = user(on_bus, on_subscriber, on_queue)
    caller.client.create_subscriber(**{**to(owner, bus, "orders"), "Name": "mine-2"})


@container
def test_an_update_needs_the_rights_on_the_targets_again(owner: Events, user: MakeUser) -> None:
    bus = owner.bus()
    arn = owner.client.create_subscriber(**to(owner, bus, "orders"))["SubscriberArn"]
    change = allow("events:UpdateSubscriber", resource=arn)
    filters = {"Filters": [{"Scope": "DATA", "Pattern": '{"a":[1]}'}]}
    assert user(change).refused("update_subscriber", SubscriberArn=arn, State="STOPPED") == DENIED
    caller = user(change, allow("sqs:SendMessage", resource="*:orders"))
    caller.client.update_subscriber(SubscriberArn=arn, State="STOPPED")
    assert caller.refused("update_subscriber", SubscriberArn=arn, FilterConfiguration=filters) == DENIED
    dead = {"Arn": f"arn:aws:sqs:{REGION}:{OWNER}:dead"}
    assert caller.refused("update_subscriber", SubscriberArn=arn, OnFailureConfiguration=dead) == DENIED
    both = user(allow("events:UpdateSubscriber"), allow("sqs:SendMessage"))
    both.client.update_subscriber(SubscriberArn=arn, FilterConfiguration=filters, OnFailureConfiguration=dead)


@container
def test_a_subscriber_with_an_api_destination_needs_the_right_to_invoke_it(owner: Events, user: MakeUser) -> None:
    """A role of a rule needs events:InvokeApiDestination (API destinations, EventBridge User Guide)."""
    bus = owner.bus()
    target = f"arn:aws:events:{REGION}:{OWNER}:api-destination/crm/11111111-2222-4333-8444-555555555555"
    creates = allow("events:CreateSubscriber")
    invoke = {"InvokeConfiguration": {"RoleArn": build_role(OWNER), "TargetArn": target}}
    for right in (allow("sqs:*"), allow("events:InvokeApiDestination", resource=target.replace("crm", "other"))):
        caller = user(creates, right)
        assert caller.refused("create_subscriber", **caller.given(bus, **invoke)) == DENIED
    caller = user(creates, allow("events:InvokeApiDestination", resource="*:api-destination/crm/*"))
    caller.client.create_subscriber(**caller.given(bus, **invoke))


@container
def test_a_target_can_allow_the_service(owner: Events, user: MakeUser) -> None:
    """A policy of the queue can allow events.amazonaws.com for the subscriber instead of the user."""
    bus, queue = owner.bus(), owner.sqs.create()
    name = queue.rpartition("/")[2]
    caller = user(allow("events:CreateSubscriber"))
    assert caller.refused("create_subscriber", **to(caller, bus, name)) == DENIED
    statement = {
        "Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": owner.sqs.arn(queue),
        "Condition": {"ArnLike": {"aws:SourceArn": f"arn:aws:events:{REGION}:{OWNER}:subscriber/ours-*"}},
    }  # fmt: skip
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    owner.sqs.client.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy})
    assert caller.refused("create_subscriber", **to(caller, bus, name)) == DENIED
    caller.client.create_subscriber(**{**to(caller, bus, name), "Name": "ours-1"})


def test_another_account_needs_the_policy_of_the_bus(owner: Events, partner: Events) -> None:
    bus = owner.bus()
    given = to(partner, bus, "q", PARTNER)
    missing = {"EventBusArn": bus[:-25] + "a" * 25}
    for members in ({"EventBusArn": bus}, missing):
        assert partner.refused("describe_event_bus", **members) == DENIED
    assert partner.refused("create_subscriber", **given) == DENIED
    grant(
        owner,
        bus,
        "events:CreateSubscriber",
        "events:ListSubscribers",
        "events:DeleteEventBus",
        "events:GetResourcePolicy",
    )
    arn = partner.client.create_subscriber(**given)["SubscriberArn"]
    assert [each["SubscriberArn"] for each in partner.client.list_subscribers(EventBusArn=bus)["Subscribers"]] == [arn]
    # An owner cannot permit the administration of a bus to another account.
    assert partner.refused("delete_event_bus", EventBusArn=bus) == DENIED
    assert partner.refused("get_resource_policy", ResourceArn=bus) == DENIED
    assert partner.refused("put_resource_policy", ResourceArn=bus, PolicyDocument="{}") == DENIED
    # A subscriber belongs to the account that created it.
    assert owner.refused("describe_subscriber", SubscriberArn=arn) == DENIED
    assert owner.refused("delete_subscriber", SubscriberArn=arn) == DENIED
    assert partner.refused("revoke_resource", Arn=arn) == DENIED
    owner.client.revoke_resource(Arn=arn)
    partner.client.delete_subscriber(SubscriberArn=arn)


# --- publishing ------------------------------------------------------------------------------------------------------
def test_another_account_publishes_by_the_policy_of_the_bus(owner: Events, partner: Events) -> None:
    bus = owner.bus()
    missing = bus[:-25] + "a" * 25
    assert partner.refused("put_events", EventBusArn=bus, Entries=[event()]) == DENIED
    grant(owner, bus, "events:PutEvents")
    assert partner.client.put_events(EventBusArn=bus, Entries=[event()])["FailedEntryCount"] == 0
    assert partner.refused("put_raw_events", EventBusArn=bus, Entries=[raw_event()]) == DENIED
    assert partner.refused("put_events", EventBusArn=missing, Entries=[event()]) == DENIED
    grant(owner, bus, "events:PutEvents", effect="Deny")
    assert partner.refused("put_events", EventBusArn=bus, Entries=[event()]) == DENIED


def test_one_entry_that_a_condition_refuses_denies_all(owner: Events, partner: Events) -> None:
    """The keys of each entry are those of "Actions, resources, and condition keys for Amazon EventBridge"."""
    bus = owner.bus()
    shop_only = {"StringEquals": {"events:source": "shop"}, "StringLike": {"events:SystemMetadata/AwsDetailType": "o*"}}
    grant(owner, bus, "events:PutEvents", condition=shop_only)
    wrong = [event("bank"), event(DetailType="refund")]
    for entry in wrong:
        assert partner.refused("put_events", EventBusArn=bus, Entries=[event(), entry]) == DENIED
    answer = partner.client.put_events(EventBusArn=bus, Entries=[event(), event()])
    assert {entry["SuccessCode"] for entry in answer["Entries"]} == {"PUBLISHED"}
    team_only = {"StringEquals": {"events:Metadata/Team": "a", "events:SystemMetadata/ContentType": "application/json"}}
    grant(owner, bus, "events:PutRawEvents", condition=team_only)
    for metadata in ({}, {"Team": "b"}):
        entries = [raw_event(TEAM="a"), raw_event(**metadata)]
        assert partner.refused("put_raw_events", EventBusArn=bus, Entries=entries) == DENIED
    partner.client.put_raw_events(EventBusArn=bus, Entries=[raw_event(TEAM="a")] * 2)


@container
def test_a_user_may_publish_the_events_of_a_group(owner: Events, user: MakeUser) -> None:
    bus = owner.bus()
    one_group = {"StringEquals": {"events:SystemMetadata/EventGroupId": "g"}}
    caller = user({**allow("events:Put*Events", resource=bus), "Condition": one_group})
    in_group = event(SystemMetadata={"EventGroupId": "g"})
    caller.client.put_events(EventBusArn=bus, Entries=[in_group])
    assert caller.refused("put_events", EventBusArn=bus, Entries=[in_group, event()]) == DENIED
    assert caller.refused("put_raw_events", EventBusArn=bus, Entries=[raw_event()]) == DENIED


# --- policies and signatures -----------------------------------------------------------------------------------------
@container
def test_the_owner_can_always_repair_the_policy(owner: Events) -> None:
    bus = owner.bus()
    grant(owner, bus, "events:*", account=OWNER, effect="Deny")
    assert owner.refused("describe_event_bus", EventBusArn=bus) == DENIED
    owner.client.delete_resource_policy(ResourceArn=bus)
    owner.client.describe_event_bus(EventBusArn=bus)


def test_signatures_that_are_wrong(owner: Events, events: Events) -> None:
    """The scope's service is `events`. The names of errors come from "Common Errors"."""
    wrong = owner.of(owner.sqs.with_key(owner.sqs.account, "not the secret"))
    assert wrong.refused("list_event_buses") == ("InvalidSignatureException", 403)
    nobody: Sqs = events.sqs.with_settings(SIGV4).with_key("PSTKAAAAAAAAAAAAAAAA", "x")
    assert events.of(nobody).refused("list_event_buses") == ("UnrecognizedClientException", 403)
