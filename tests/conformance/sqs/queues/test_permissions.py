"""AddPermission and RemovePermission. Sources: their pages of the API reference; Developer Guide, "Basic examples of
Amazon SQS policies"."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.conformance.sqs import Sqs


def policy(sqs: Sqs, url: str) -> dict[str, Any]:
    text = sqs.attributes(url, "Policy").get("Policy")
    return {} if text is None else dict(json.loads(text))


def permit(sqs: Sqs, url: str, label: str = "partner", **more: Any) -> None:
    parameters = {"AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"], **more}
    sqs.client.add_permission(QueueUrl=url, Label=label, **parameters)


def test_a_permission_is_a_statement_of_the_policy(sqs: Sqs) -> None:
    """AddPermission generates a policy; the label is the statement's Sid, the account its principal."""
    url = sqs.create()
    permit(sqs, url)
    (statement,) = policy(sqs, url)["Statement"]
    assert statement == {
        "Sid": "partner",
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::111122223333:root"},
        "Action": "SQS:SendMessage",
        "Resource": sqs.arn(url),
    }


def test_several_accounts_and_actions_stand_in_lists(sqs: Sqs) -> None:
    url = sqs.create()
    permit(
        sqs, url, AWSAccountIds=["111122223333", "444455556666"], Actions=["SendMessage", "ReceiveMessage"]
    )
    assert policy(sqs, url)["Version"] == "2008-10-17"  # recorded at AWS
    (statement,) = policy(sqs, url)["Statement"]
    assert statement["Principal"]["AWS"] == [
        "arn:aws:iam::111122223333:root",
        "arn:aws:iam::444455556666:root",
    ]
    assert statement["Action"] == ["SQS:SendMessage", "SQS:ReceiveMessage"]


def test_labels_are_added_beside_the_users_own_statements_and_removed_alone(sqs: Sqs) -> None:
    own = {"Sid": "own", "Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"}
    url = sqs.create(Policy=json.dumps({"Version": "2012-10-17", "Statement": own}))
    permit(sqs, url, "one")
    permit(sqs, url, "two", Actions=["*"])
    assert [one["Sid"] for one in policy(sqs, url)["Statement"]] == ["own", "one", "two"]
    sqs.client.remove_permission(QueueUrl=url, Label="one")
    assert [one["Sid"] for one in policy(sqs, url)["Statement"]] == ["own", "two"]


def test_the_policy_goes_with_its_last_statement(sqs: Sqs) -> None:
    url = sqs.create()
    permit(sqs, url)
    sqs.client.remove_permission(QueueUrl=url, Label="partner")
    assert "Policy" not in sqs.attributes(url)


def test_a_label_is_used_once(sqs: Sqs) -> None:
    url = sqs.create()
    permit(sqs, url)
    refusal = sqs.refusal(
        "add_permission", QueueUrl=url, Label="partner", AWSAccountIds=["444455556666"], Actions=["*"]
    )
    assert refusal.code == "InvalidParameterValue"
    assert refusal.message == "Value partner for parameter Label is invalid. Reason: Already exists."


def test_an_unknown_label_cannot_be_removed(sqs: Sqs) -> None:
    url = sqs.create()
    refusal = sqs.refusal("remove_permission", QueueUrl=url, Label="nobody")
    assert refusal.code == "InvalidParameterValue"
    assert refusal.message == "Value nobody for parameter Label is invalid. Reason: can't find label."


@pytest.mark.parametrize(
    "bad",
    [
        {"Actions": ["CreateQueue"]},
        {"Actions": ["NoSuchAction"]},
        {"AWSAccountIds": ["12345"]},
        {"AWSAccountIds": ["١٢٣٤٥٦٧٨٩٠١٢"]},
        {"Label": "not a label"},
        {"Label": "l" * 81},
    ],
)
def test_what_cannot_be_granted_is_refused(sqs: Sqs, bad: dict[str, Any]) -> None:
    """Only the owner may create; accounts have 12 digits; labels are 1-80 of letters, digits, hyphen, underscore."""
    url = sqs.create()
    parameters = {"Label": "label", "AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"], **bad}
    assert sqs.code("add_permission", QueueUrl=url, **parameters) == "InvalidParameterValue"
    assert policy(sqs, url) == {}


def test_twenty_statements_and_seven_actions_are_the_most(sqs: Sqs) -> None:
    """API reference: a policy can have 20 statements, a statement seven actions; beyond that OverLimit."""
    url = sqs.create()
    for number in range(20):
        permit(sqs, url, f"label-{number}")
    one = {"AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"]}
    assert sqs.code("add_permission", QueueUrl=url, Label="label-20", **one) == "OverLimit"
    other = sqs.create()
    many = {**one, "Actions": ["SendMessage"] * 8}
    assert sqs.code("add_permission", QueueUrl=other, Label="label", **many) == "OverLimit"


def test_a_queue_that_is_not_there_gives_no_permission(sqs: Sqs) -> None:
    url = sqs.create()
    sqs.client.delete_queue(QueueUrl=url)
    missing = "AWS.SimpleQueueService.NonExistentQueue"
    one = {"AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"]}
    assert sqs.code("add_permission", QueueUrl=url, Label="label", **one) == missing
    assert sqs.code("remove_permission", QueueUrl=url, Label="label") == missing
