"""Tests resource policies and tags of event buses.

Sources: "Resource policies", "Tags" and "Quotas" (custom event bus, Amazon EventBridge User Guide), and botocore's
model `eventbridgev2`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.conformance.events import Events
from tests.support.conformance.valid_requests.events import POLICY

INVALID = ("InvalidInputException", 400)
MISSING = ("ResourceNotFoundException", 404)
OTHER = "111122223333"
ID = "a" * 25


container = pytest.mark.parametrize("events", ["container"], indirect=True)


# --- policies --------------------------------------------------------------------------------------------------------
def policy(principal: Any = OTHER, effect: str = "Allow", **more: Any) -> str:
    statement = {"Effect": effect, "Action": "events:CreateSubscriber", "Resource": "*", **more}
    if principal is not None:
        statement["Principal"] = principal if isinstance(principal, dict) or principal == "*" else {"AWS": principal}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def test_a_policy_has_revisions(events: Events) -> None:
    """ExpectedRevisionId is the current revision, or NO_POLICY to create a policy."""
    bus = {"ResourceArn": events.bus()}
    conflict = ("ConflictException", 409)
    put, delete = events.client.put_resource_policy, events.client.delete_resource_policy
    assert events.refused("get_resource_policy", **bus) == MISSING
    assert events.client.list_resource_policies(**bus)["PolicySummaries"] == []
    assert "RevisionId" not in delete(**bus)
    assert events.refused("put_resource_policy", **bus, PolicyDocument=POLICY, ExpectedRevisionId="x") == conflict
    first = put(**bus, PolicyDocument=POLICY, ExpectedRevisionId="NO_POLICY")["RevisionId"]
    assert (
        events.refused("put_resource_policy", **bus, PolicyDocument=POLICY, ExpectedRevisionId="NO_POLICY") == conflict
    )
    second = put(**bus, PolicyDocument=policy(), ExpectedRevisionId=first)["RevisionId"]
    assert second != first
    found = events.client.get_resource_policy(**bus)
    assert (found["PolicyDocument"], found["PolicyName"], found["RevisionId"]) == (policy(), "default", second)
    assert events.refused("delete_resource_policy", **bus, ExpectedRevisionId=first) == conflict
    assert events.refused("delete_resource_policy", **bus, ExpectedRevisionId="NO_POLICY") == INVALID
    assert delete(**bus, ExpectedRevisionId=second)["RevisionId"] == second
    assert events.refused("delete_resource_policy", **bus, ExpectedRevisionId=second) == conflict


@container
def test_the_names_of_policies(events: Events) -> None:
    bus = {"ResourceArn": events.bus()}
    denied = ("AccessDeniedException", 403)
    assert events.refused("put_resource_policy", **bus, PolicyName="AWS_RAM", PolicyDocument=POLICY) == denied
    assert events.refused("delete_resource_policy", **bus, PolicyName="AWS_RAM") == denied
    assert events.refused("get_resource_policy", **bus, PolicyName="AWS_RAM") == MISSING
    assert events.refused("get_resource_policy", **bus, PolicyName="other") == INVALID
    missing = {"ResourceArn": bus["ResourceArn"][: -len(ID)] + ID}
    assert events.refused("put_resource_policy", **missing, PolicyDocument=POLICY) == MISSING
    assert events.refused("delete_resource_policy", **missing) == MISSING


PUBLIC = ("PublicPolicyException", 400)
ON_ACCOUNT = {"StringEquals": {"aws:PrincipalAccount": OTHER}}
POLICIES = [
    (policy("*"), PUBLIC),
    (policy({"AWS": "*"}), PUBLIC),
    (policy({"AWS": [OTHER, "*"]}), PUBLIC),
    (policy("*", Condition={"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}), PUBLIC),
    (policy("*", Condition={"StringNotEquals": {"aws:PrincipalAccount": OTHER}}), PUBLIC),
    (policy("*", Condition={"StringEqualsIfExists": {"aws:PrincipalAccount": OTHER}}), PUBLIC),
    (policy(None, NotPrincipal={"AWS": OTHER}), PUBLIC),
    (policy("*", Condition=ON_ACCOUNT), None),
    (policy("*", effect="Deny"), None),
    (policy({"Service": "events.amazonaws.com"}), None),
    ("{", INVALID),
    ("[]", INVALID),
    ("{}", INVALID),
    (policy("nobody"), INVALID),
    (policy(Action="events:Publish"), INVALID),
    (policy(Action="sqs:SendMessage"), INVALID),
    (policy(Effect="allow"), INVALID),
    (policy(Sid=7), INVALID),
    ("[" * 10_000, INVALID),
    (policy(Sid="x" * 20_480), ("PolicyLengthExceededException", 400)),
]


@container
def test_a_policy_is_checked(events: Events) -> None:
    """A policy for everybody needs a condition on the account. A policy has at most 20,480 bytes (Quotas)."""
    arn = events.bus()
    for document, refusal in POLICIES:
        if refusal is None:
            events.client.put_resource_policy(ResourceArn=arn, PolicyDocument=document)
            assert events.client.get_resource_policy(ResourceArn=arn)["PolicyDocument"] == document
        else:
            found = events.refused("put_resource_policy", ResourceArn=arn, PolicyDocument=document)
            assert found == refusal, document


# --- tags ------------------------------------------------------------------------------------------------------------
def test_tags_of_each_kind_of_resource(events: Events) -> None:
    bus = events.bus(Tags={"a": "1"})
    for arn in (bus, events.subscriber(bus, Tags={"a": "1"}), events.source(bus)):
        events.client.tag_resource(ResourceArn=arn, Tags={"a": "2", "b c": ""})
        events.client.untag_resource(ResourceArn=arn, TagKeys=["missing"])
        assert events.client.list_tags_for_resource(ResourceArn=arn)["Tags"] == {"a": "2", "b c": ""}
        events.client.untag_resource(ResourceArn=arn, TagKeys=["a", "b c"])
        assert events.client.list_tags_for_resource(ResourceArn=arn)["Tags"] == {}


@container
def test_limits_of_tags(events: Events) -> None:
    arn = events.bus(Tags={f"k{number}": "v" for number in range(200)})
    events.client.tag_resource(ResourceArn=arn, Tags={"k0": "w"})
    assert events.refused("tag_resource", ResourceArn=arn, Tags={"more": ""}) == ("LimitExceededException", 400)
    assert events.refused("tag_resource", ResourceArn=arn, Tags={"aws:x": ""}) == INVALID
    missing = arn[: -len(ID)] + ID
    assert events.refused("tag_resource", ResourceArn=missing, Tags={"a": ""}) == MISSING
    assert events.refused("untag_resource", ResourceArn=missing, TagKeys=["a"]) == MISSING
    assert events.refused("list_tags_for_resource", ResourceArn=missing) == MISSING
