"""Tests changes of one bus, subscriber, policy or set of tags by several clients at the same time.

"Fields omitted from the request are left unchanged", and a write of a policy succeeds only if the revision matches
ExpectedRevisionId. No other change has a condition, so all others succeed, as if they came one after the other. Source:
botocore's model `eventbridgev2`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

from tests.support.conformance.events import Events
from tests.support.conformance.valid_requests.events import POLICY

ROUNDS = 3
CLIENTS = 4
TAGS = 200  # the most of a resource


def call_at_once(calls: list[Callable[[], str]]) -> list[str]:
    """Makes calls in threads that begin together. Returns the name of each call's error, or an empty text."""
    barrier = Barrier(len(calls))

    def begin(call: Callable[[], str]) -> str:
        barrier.wait(20)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(begin, calls))


def build_calls(events: Events, action: str, changes: list[dict[str, Any]]) -> list[Callable[[], str]]:
    return [partial(events.code, action, **members) for members in changes]


def test_one_of_several_writes_of_a_policy_succeeds(events: Events) -> None:
    bus = {"ResourceArn": events.bus()}
    documents = [POLICY.replace("{", "{" + " " * n, 1) for n in range(CLIENTS)]
    revision = "NO_POLICY"
    for _ in range(ROUNDS):
        condition = {**bus, "ExpectedRevisionId": revision}
        changes = [{**condition, "PolicyDocument": document} for document in documents]
        outcomes = call_at_once(build_calls(events, "put_resource_policy", changes))
        assert sorted(outcomes) == ["", *["ConflictException"] * (CLIENTS - 1)]
        found = events.client.get_resource_policy(**bus)
        assert found["PolicyDocument"] == documents[outcomes.index("")]
        assert found["RevisionId"] != revision
        revision = found["RevisionId"]
    condition = {**bus, "ExpectedRevisionId": revision}
    puts = build_calls(events, "put_resource_policy", [{**condition, "PolicyDocument": documents[0]}])
    outcomes = call_at_once(puts + build_calls(events, "delete_resource_policy", [condition]))
    assert sorted(outcomes) == ["", "ConflictException"]
    assert events.code("get_resource_policy", **bus) == ("" if outcomes[0] == "" else "ResourceNotFoundException")


def test_no_tag_is_lost_and_no_resource_has_too_many(events: Events) -> None:
    bus = events.bus()
    for arn in (bus, events.subscriber(bus)):
        tags = [{f"k{client}.{n}": "v" for n in range(TAGS // CLIENTS)} for client in range(CLIENTS)]
        changes: list[dict[str, Any]] = [{"ResourceArn": arn, "Tags": each} for each in tags]
        assert call_at_once(build_calls(events, "tag_resource", changes)) == [""] * CLIENTS
        assert len(events.client.list_tags_for_resource(ResourceArn=arn)["Tags"]) == TAGS
        events.client.untag_resource(ResourceArn=arn, TagKeys=["k0.0"])
        changes = [{"ResourceArn": arn, "Tags": {f"last{n}": "v"}} for n in range(CLIENTS)]
        outcomes = call_at_once(build_calls(events, "tag_resource", changes))
        assert sorted(outcomes) == ["", *["LimitExceededException"] * (CLIENTS - 1)]
        assert f"last{outcomes.index('')}" in events.client.list_tags_for_resource(ResourceArn=arn)["Tags"]


def test_changes_of_different_members_of_a_subscriber_all_remain(events: Events) -> None:
    arn = events.subscriber(events.bus())
    for number in range(1, ROUNDS + 1):
        wanted: dict[str, Any] = {
            "Description": f"d{number}",
            "RetryPolicy": {"MaxRetryAttempts": number, "MaxEventAgeInSeconds": 300, "RetryStrategy": "ALL"},
            "BatchConfiguration": {"MaxBatchSize": number, "MaxBatchWindowInSeconds": 0},
            "State": "STOPPED" if number % 2 else "RUNNING",
        }
        changes = [{"SubscriberArn": arn, name: value} for name, value in wanted.items()]
        assert call_at_once(build_calls(events, "update_subscriber", changes)) == [""] * len(changes)
        found = events.shown(arn)
        assert {name: found[name] for name in wanted} == wanted


def test_changes_of_different_members_of_a_bus_all_remain(events: Events) -> None:
    arn = events.bus()
    for number in range(1, ROUNDS + 1):
        wanted: dict[str, Any] = {
            "Description": f"d{number}",
            "EncryptionConfiguration": {"KmsKeyIdentifier": f"alias/k{number}"},
            "StorageConfiguration": {"RetentionPeriodInDays": number},
        }
        changes = [{"EventBusArn": arn, name: value} for name, value in wanted.items()]
        assert call_at_once(build_calls(events, "update_event_bus", changes)) == [""] * len(changes)
        found = events.client.describe_event_bus(EventBusArn=arn)
        assert {name: found[name] for name in ("Description", "EncryptionConfiguration")} == {
            name: wanted[name] for name in ("Description", "EncryptionConfiguration")
        }
        assert found["StorageConfiguration"]["RetentionPeriodInDays"] == number


def test_a_change_does_not_bring_back_what_another_client_deletes_or_revokes(events: Events) -> None:
    bus = events.bus()
    for end, member, error in (
        ("revoke_resource", "Arn", "InvalidStateException"),
        ("delete_subscriber", "SubscriberArn", "ResourceNotFoundException"),
    ):
        arn = events.subscriber(bus)
        changes = [{"SubscriberArn": arn, "Description": "x"}, {"SubscriberArn": arn, "State": "STOPPED"}]
        updates = build_calls(events, "update_subscriber", changes)
        ended, *outcomes = call_at_once([partial(events.code, end, **{member: arn}), *updates])
        assert ended == ""
        assert set(outcomes) <= {"", error}
        assert events.code("update_subscriber", SubscriberArn=arn, Description="y") == error
    outcomes = call_at_once(build_calls(events, "delete_event_bus", [{"EventBusArn": bus}] * CLIENTS))
    assert "" in outcomes
    assert set(outcomes) <= {"", "ResourceNotFoundException"}
