"""Texts of refusals. Source: "Troubleshoot access denied error messages" (IAM User Guide), and answers of the three
services that public issues quote (see the module)."""

from __future__ import annotations

import pytest

from penstock.access.authorization import find_refusing_policies
from penstock.access.denial import Policies, make_denial
from penstock.access.policy.evaluation import Decision
from penstock.access.policy.requests import Principal

ANN = Principal("111122223333", "arn:aws:iam::111122223333:user/ann")


@pytest.mark.parametrize(
    ("service", "action", "name"),
    [
        ("sqs", "SendMessageBatch", "sqs:sendmessage"),
        ("sqs", "GetQueueUrl", "sqs:getqueueurl"),
        ("sns", "PublishBatch", "SNS:Publish"),
        ("scheduler", "CreateSchedule", "scheduler:CreateSchedule"),
        ("penstock", "ReadOutbox", "penstock:ReadOutbox"),
    ],
)
def test_what_no_policy_allows(service: str, action: str, name: str) -> None:
    error = make_denial(service, action, "arn:x", ANN, Policies.IDENTITY)
    assert error.message == (
        f"User: arn:aws:iam::111122223333:user/ann is not authorized to perform: {name} on resource: arn:x "
        f"because no identity-based policy allows the {name} action"
    )


@pytest.mark.parametrize(
    ("policies", "shown"), [(Policies.IDENTITY, "an identity"), (Policies.RESOURCE, "a resource")]
)
def test_a_deny(policies: Policies, shown: str) -> None:
    error = make_denial("sns", "Publish", "arn:x", ANN, policies, explicit=True)
    assert error.message.endswith(f" on resource: arn:x with an explicit deny in {shown}-based policy")


@pytest.mark.parametrize(
    ("of_user", "of_resource", "foreign", "expected"),
    [
        (Decision.NO_MATCH, Decision.NO_MATCH, False, (Policies.IDENTITY, False)),
        (Decision.DENIED, Decision.DENIED, False, (Policies.IDENTITY, True)),
        (Decision.ALLOWED, Decision.DENIED, False, (Policies.RESOURCE, True)),
        (Decision.ALLOWED, Decision.NO_MATCH, True, (Policies.RESOURCE, False)),
        (Decision.NO_MATCH, Decision.ALLOWED, True, (Policies.IDENTITY, False)),
        # Whether the resource of another account has a policy, or exists at all, is not told.
        (Decision.ALLOWED, Decision.DENIED, True, (Policies.RESOURCE, False)),
    ],
)
def test_whose_policies_are_named(
    of_user: Decision, of_resource: Decision, foreign: bool, expected: tuple[Policies, bool]
) -> None:
    assert find_refusing_policies(of_user, [of_resource], foreign=foreign) == expected
