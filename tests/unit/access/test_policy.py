"""Access policies. Sources: IAM User Guide, "Policy evaluation logic" and "IAM JSON policy element reference"."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.access.policy import Verdict, evaluate, matches

ARN = "arn:aws:sqs:us-east-1:000000000000:orders"
PARTNER = "111122223333"
GRANT = {"Effect": "Allow", "Principal": {"AWS": PARTNER}, "Action": "sqs:SendMessage", "Resource": ARN}


def verdict(*statements: Any, account: str = PARTNER, action: str = "SendMessage", arn: str = ARN) -> Verdict:
    return evaluate(
        json.dumps({"Version": "2012-10-17", "Statement": statements}), account, f"sqs:{action}", arn
    )


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"Principal": "*"},
        {"Principal": {"AWS": "*"}},
        {"Principal": {"AWS": ["444455556666", f"arn:aws:iam::{PARTNER}:root"]}},
        {"Action": "*"},
        {"Action": "SQS:*"},
        {"Action": ["sqs:ReceiveMessage", "SQS:Send*"]},
        {"Resource": "*"},
        {"Resource": "arn:aws:sqs:*:000000000000:ord?rs"},
        {"Sid": "named"},
    ],
)
def test_what_allows(change: dict[str, Any]) -> None:
    assert verdict({**GRANT, **change}) is Verdict.ALLOWED


@pytest.mark.parametrize(
    "change",
    [
        {"Principal": {"AWS": "444455556666"}},
        {"Principal": {"AWS": f"arn:aws:iam::{PARTNER}:user/somebody"}},
        {"Principal": {"Service": "sns.amazonaws.com"}},
        {"Action": "sqs:Receive*"},
        {"Action": "sns:*"},
        {"Resource": "arn:aws:sqs:us-east-1:000000000000:Orders"},
        {"Condition": {"Bool": {"aws:SecureTransport": "true"}}},
    ],
)
def test_what_allows_nothing(change: dict[str, Any]) -> None:
    assert verdict({**GRANT, **change}) is Verdict.NO_MATCH


@pytest.mark.parametrize("element", ["Principal", "Action", "Resource"])
def test_an_element_that_is_missing_or_turned_round(element: str) -> None:
    """It allows nothing; where it denies, it is taken to hold."""
    rest = {name: value for name, value in GRANT.items() if name != element}
    turned = {**rest, f"Not{element}": "nothing"}
    for statement in (rest, turned):
        assert verdict(statement) is Verdict.NO_MATCH
        assert verdict({**statement, "Effect": "Deny"}) is Verdict.DENIED


def test_a_deny_wins_wherever_it_stands() -> None:
    deny = {**GRANT, "Effect": "Deny", "Principal": "*"}
    assert verdict(GRANT, deny) is verdict(deny, GRANT) is Verdict.DENIED
    assert verdict(GRANT, {**deny, "Action": "sqs:ReceiveMessage"}) is Verdict.ALLOWED


def test_a_condition_that_nobody_understands_denies() -> None:
    condition = {"NotIpAddress": {"aws:SourceIp": "192.0.2.0/24"}}
    assert verdict(GRANT, {**GRANT, "Effect": "Deny", "Condition": condition}) is Verdict.DENIED


@pytest.mark.parametrize(
    "policy", [None, "", "{}", "[]", "not json", '{"Statement": "x"}', '{"Statement": [1]}']
)
def test_a_policy_that_says_nothing(policy: str | None) -> None:
    assert evaluate(policy, PARTNER, "sqs:SendMessage", ARN) is Verdict.NO_MATCH


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_wildcards_are_those_of_a_shell(pattern: str, text: str) -> None:
    assert matches(pattern, text) == fnmatchcase(text, pattern)


def test_many_stars_take_no_time() -> None:
    """A pattern that a regular expression would not finish: the test would hang."""
    assert not matches("*a" * 2000 + "b", "a" * 4000)
