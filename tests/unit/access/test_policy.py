"""Tests access policies. The sources are the IAM User Guide, "Policy evaluation logic" and "IAM JSON policy element
reference"."""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatchcase
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.access.policy.conditions import read_conditions
from penstock.access.policy.evaluation import Decision, _find_decision, evaluate, evaluate_user
from penstock.access.policy.patterns import Pattern
from penstock.access.policy.requests import AccessRequest, Principal, build_root
from penstock.access.policy.statements import find_misspelling, read_policy

ARN = "arn:aws:sqs:us-east-1:000000000000:orders"
PARTNER = "111122223333"
GRANT = {"Effect": "Allow", "Principal": {"AWS": PARTNER}, "Action": "sqs:SendMessage", "Resource": ARN}


USER = Principal(PARTNER, f"arn:aws:iam::{PARTNER}:user/team/billing")
TOPIC = "arn:aws:sns:us-east-1:111122223333:news"
SNS = Principal(None, None, "sns.amazonaws.com")


def request(
    principal: Principal, keys: dict[str, str] | None = None, action: str = "SendMessage", arn: str = ARN
) -> AccessRequest:
    return AccessRequest(principal, f"sqs:{action}".lower(), arn, keys or {})


def policy(*statements: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def verdict(*statements: Any, principal: Principal | None = None, **keys: str) -> Decision:
    return evaluate(policy(*statements), request(principal or build_root(PARTNER), keys))


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
        {"Condition": {"Null": {"aws:SourceArn": "true"}}},
    ],
)
def test_matching_statements_allow(change: dict[str, Any]) -> None:
    assert verdict({**GRANT, **change}) is Decision.ALLOWED


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
def test_other_statements_do_not_match(change: dict[str, Any]) -> None:
    assert verdict({**GRANT, **change}) is Decision.NO_MATCH


@pytest.mark.parametrize("element", ["Principal", "Action", "Resource"])
def test_an_element_that_is_missing(element: str) -> None:
    """An Allow statement without the element allows no request. A Deny statement without the element applies to every
    request."""
    rest = {name: value for name, value in GRANT.items() if name != element}
    assert verdict(rest) is Decision.NO_MATCH
    assert verdict({**rest, "Effect": "Deny"}) is Decision.DENIED


@pytest.mark.parametrize(
    ("element", "named", "other"),
    [
        ("Principal", {"AWS": PARTNER}, {"AWS": "444455556666"}),
        ("Action", "sqs:SendMessage", "sqs:ReceiveMessage"),
        ("Resource", ARN, ARN + "s"),
    ],
)
def test_an_element_that_is_turned_round(element: str, named: object, other: object) -> None:
    """NotPrincipal with Allow would admit all other callers, including services, so a statement with both allows no
    request (Penstock's choice).
    """
    rest = {name: value for name, value in GRANT.items() if name != element}
    turned = {**rest, f"Not{element}": named}
    assert verdict(turned) is Decision.NO_MATCH
    assert verdict({**turned, "Effect": "Deny"}) is Decision.NO_MATCH
    turned = {**rest, f"Not{element}": other}
    assert verdict(turned) is (Decision.NO_MATCH if element == "Principal" else Decision.ALLOWED)
    assert verdict({**turned, "Effect": "Deny"}) is Decision.DENIED


def test_a_deny_wins_wherever_it_stands() -> None:
    deny = {**GRANT, "Effect": "Deny", "Principal": "*"}
    assert verdict(GRANT, deny) is verdict(deny, GRANT) is Decision.DENIED
    assert verdict(GRANT, {**deny, "Action": "sqs:ReceiveMessage"}) is Decision.ALLOWED


@pytest.mark.parametrize(
    "condition",
    [
        {"StringEquals": {"aws:PrincipalOrgID": "o-1"}},
        {"DateLessThan": {"aws:CurrentTime": "2030-01-01T00:00:00Z"}},
        {"StringEquals": {"aws:PrincipalAccount": "${aws:SourceAccount}"}},
        {"IpAddress": {"aws:SourceIp": "everywhere"}},
        {"ArnLike": {"aws:SourceArn": "*"}},
        {"ForSomeValues:StringEquals": {"aws:PrincipalAccount": PARTNER}},
        {"StringEquals": {"aws:PrincipalAccount": {"is": PARTNER}}},
        {"StringEquals": PARTNER},
        {"StringEquals": {}},
        "always",
    ],
)
def test_a_condition_that_is_not_understood(condition: object) -> None:
    """An Allow with such a condition never allows a request. A Deny with such a condition applies as if the condition
    were satisfied."""
    assert verdict({**GRANT, "Condition": condition}) is Decision.NO_MATCH
    assert verdict(GRANT, {**GRANT, "Effect": "Deny", "Condition": condition}) is Decision.DENIED


def test_an_element_of_tomorrow_and_a_policy_variable_allow_nothing() -> None:
    for change in ({"Unless": "it rains"}, {"Resource": "arn:aws:sqs:*:*:${aws:username}"}):
        assert verdict({**GRANT, **change}) is Decision.NO_MATCH
        assert verdict(GRANT, {**GRANT, **change, "Effect": "Deny"}) is Decision.DENIED


# --- policies of AWS's documentation ---------------------------------------------------------------------------------
FROM_SNS = {
    "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": ARN,
    "Condition": {"ArnEquals": {"aws:SourceArn": TOPIC}},
}  # fmt: skip
FROM_S3 = {
    "Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"}, "Action": ["SQS:SendMessage"], "Resource": ARN,
    "Condition": {
        "ArnLike": {"aws:SourceArn": "arn:aws:s3:*:*:awsexamplebucket1"},
        "StringEquals": {"aws:SourceAccount": "111122223333"},
    },
}  # fmt: skip
FROM_EVENTBRIDGE = {
    "Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": ARN,
    "Condition": {"ArnEquals": {"aws:SourceArn": "arn:aws:events:us-east-1:111122223333:rule/nightly"}},
}  # fmt: skip
ENCRYPTED_ONLY = {
    "Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*",
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "service", "keys"),
    [
        (FROM_SNS, "sns", {"aws:sourcearn": TOPIC}),
        ({**FROM_SNS, "Principal": "*"}, "sns", {"aws:sourcearn": TOPIC}),
        ({**FROM_SNS, "Principal": {"AWS": "*"}}, "sns", {"aws:sourcearn": TOPIC}),
        (FROM_S3, "s3", {"aws:sourcearn": "arn:aws:s3:::awsexamplebucket1", "aws:sourceaccount": "111122223333"}),
        (FROM_EVENTBRIDGE, "events", {"aws:sourcearn": "arn:aws:events:us-east-1:111122223333:rule/nightly"}),
    ],
)
def test_services_that_act_for_a_resource(statement: Any, service: str, keys: dict[str, str]) -> None:
    """ "Subscribing a queue to a topic" (SNS), "Granting permissions to publish event notifications" (S3), "Using
    resource-based policies for EventBridge"."""
    principal = Principal(None, None, f"{service}.amazonaws.com")
    assert verdict(statement, principal=principal, **keys) is Decision.ALLOWED
    for name in keys:
        assert verdict(statement, principal=principal, **{**keys, name: TOPIC + "s"}) is Decision.NO_MATCH
        missing = {key: value for key, value in keys.items() if key != name}
        assert verdict(statement, principal=principal, **missing) is Decision.NO_MATCH
    assert verdict(statement, principal=build_root(PARTNER)) is Decision.NO_MATCH


def test_a_deny_of_what_is_not_encrypted() -> None:
    """ "Ensure that only encrypted connections are used" (SQS Developer Guide, "Security best practices")."""
    for encrypted, expected in (("true", Decision.ALLOWED), ("false", Decision.DENIED)):
        secure = request(build_root(PARTNER), {"aws:securetransport": encrypted})
        assert evaluate(policy(GRANT, ENCRYPTED_ONLY), secure) is expected


# --- users -----------------------------------------------------------------------------------------------------------
def test_a_statement_for_an_account_allows_its_users_if_the_account_does() -> None:
    assert verdict(GRANT, principal=USER) is Decision.ACCOUNT_ALLOWED
    assert verdict({**GRANT, "Principal": {"AWS": USER.arn}}, principal=USER) is Decision.ALLOWED
    assert verdict({**GRANT, "Effect": "Deny"}, principal=USER) is Decision.DENIED
    assert verdict({**GRANT, "Principal": {"AWS": USER.arn}}) is Decision.NO_MATCH  # the root user


def test_policies_of_a_user() -> None:
    send = {"Effect": "Allow", "Action": "sqs:Send*", "Resource": "*"}
    deny = {"Effect": "Deny", "Action": "sqs:*", "NotResource": "arn:aws:sqs:*:*:orders"}
    assert evaluate_user((), request(USER)) is Decision.NO_MATCH
    assert evaluate_user((policy(send),), request(USER)) is Decision.ALLOWED
    assert evaluate_user((policy(send),), request(USER, action="ReceiveMessage")) is Decision.NO_MATCH
    assert evaluate_user((policy(send), policy(deny)), request(USER)) is Decision.ALLOWED
    assert evaluate_user((policy(send), policy(deny)), request(USER, arn=ARN + "s")) is Decision.DENIED
    assert evaluate_user((policy(GRANT),), request(USER)) is Decision.NO_MATCH  # it has a Principal


@pytest.mark.parametrize("text", [None, "", "{}", "[]", "not json", '{"Statement": "x"}', '{"Statement": [1]}'])
def test_a_policy_that_says_nothing(text: str | None) -> None:
    assert evaluate(text, request(build_root(PARTNER))) is Decision.NO_MATCH


def test_a_policy_may_have_half_a_pair_of_surrogates() -> None:
    """The text is JSON (RFC 8259), and its statements apply."""
    statement = {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*", "Sid": "\ud83d"}
    text = json.dumps({"Version": "2012-10-17", "Id": "\ud83d", "Statement": statement})
    assert len(read_policy(text).statements) == 1
    assert find_misspelling(text) is None


# --- conditions ------------------------------------------------------------------------------------------------------
# Tests the operators of conditions ("IAM JSON policy elements: Condition operators", IAM User Guide).
#
# Also tests the patterns of policies ("IAM JSON policy elements: Resource", IAM User Guide).


def holds(condition: Any, **keys: str) -> bool:
    conditions = read_conditions(condition)
    assert conditions is not None
    return all(condition.holds({f"aws:{name}": value for name, value in keys.items()}) for condition in conditions)


# Each row consists of an operator, a wanted value, a value that satisfies the condition, and a value that does not.
OPERATORS = [
    ("StringEquals", "sourceaccount", ["1", "2"], "2", "3"),
    ("StringNotEquals", "sourceaccount", ["1", "2"], "3", "2"),
    ("StringEqualsIgnoreCase", "username", "Ann", "aNN", "Anne"),
    ("StringNotEqualsIgnoreCase", "username", "Ann", "Anne", "aNN"),
    ("StringLike", "username", "a?n*", "annabel", "Annabel"),
    ("StringNotLike", "username", "a?n*", "Annabel", "annabel"),
    ("ArnEquals", "sourcearn", TOPIC, TOPIC, TOPIC + "s"),
    ("ArnEquals", "sourcearn", "arn:aws:sns:*:*:news", TOPIC, TOPIC + "s"),
    ("ArnLike", "sourcearn", "arn:aws:*:us-*:111122223333:n*", TOPIC, "arn:aws:sns:eu-west-1:111122223333:news"),
    ("ArnLike", "sourcearn", "arn:aws:s3:*:*:bucket", "arn:aws:s3:::bucket", "arn:aws:s3:::bucket2"),
    # A star matches only within one part of the ARN.
    ("ArnLike", "sourcearn", "arn:*:news:x:y:z", "arn:aws:news:x:y:z", TOPIC),
    ("ArnNotEquals", "sourcearn", TOPIC, TOPIC + "s", TOPIC),
    ("ArnNotLike", "sourcearn", "arn:aws:sns:*:*:news", TOPIC + "s", TOPIC),
    ("IpAddress", "sourceip", ["192.0.2.0/24", "2001:db8::/32"], "192.0.2.77", "198.51.100.1"),
    ("IpAddress", "sourceip", ["192.0.2.0/24", "2001:db8::/32"], "2001:db8::7", "2001:db9::7"),
    ("IpAddress", "sourceip", "192.0.2.7", "::ffff:192.0.2.7", "192.0.2.8"),
    ("NotIpAddress", "sourceip", "192.0.2.0/24", "198.51.100.1", "192.0.2.77"),
    ("Bool", "securetransport", True, "true", "false"),
    ("Bool", "securetransport", "TRUE", "true", "false"),
]


@pytest.mark.parametrize(("operator", "key", "wanted", "matching", "other"), OPERATORS)
def test_each_operator_compares_with_its_variants(
    operator: str, key: str, wanted: object, matching: str, other: str
) -> None:
    negated = "Not" in operator
    for name in (operator, operator.lower(), f"{operator}IfExists", f"ForAllValues:{operator}"):
        condition = {name: {f"aws:{key}": wanted}}
        assert holds(condition, **{key: matching})
        assert not holds(condition, **{key: other})
        assert holds(condition) == (negated or name.endswith("IfExists") or name.startswith("ForAllValues"))
    condition = {f"ForAnyValue:{operator}": {f"AWS:{key.upper()}": wanted}}
    assert holds(condition, **{key: matching})
    assert not holds(condition, **{key: other})
    assert not holds(condition)


def test_null_asks_whether_the_request_has_the_key() -> None:
    """Null tests whether the request contains the key."""
    assert holds({"Null": {"aws:SourceArn": "true"}})
    assert not holds({"Null": {"aws:SourceArn": "true"}}, sourcearn=TOPIC)
    assert holds({"Null": {"aws:SourceArn": False}}, sourcearn=TOPIC)
    assert not holds({"Null": {"aws:SourceArn": False}})


def test_all_tests_have_to_hold() -> None:
    both = {"StringEquals": {"aws:SourceAccount": "1", "aws:username": "ann"}, "Bool": {"aws:SecureTransport": "true"}}
    assert holds(both, sourceaccount="1", username="ann", securetransport="true")
    for name in ("sourceaccount", "username", "securetransport"):
        assert not holds(both, **{"sourceaccount": "1", "username": "ann", "securetransport": "true", name: "2"})


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_wildcards_are_those_of_a_shell(pattern: str, text: str) -> None:
    assert Pattern(pattern).matches(text) == fnmatchcase(text, pattern)


def lines_run(pattern: str, text: str) -> int:
    """Returns the number of lines of Python that run while the pattern is compiled and matched."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        Pattern(pattern).matches(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("part", ["*a", "?*", "*?a", "a*?"])
def test_work_is_in_proportion_to_the_input(part: str) -> None:
    """For patterns with many stars, a simple matcher needs time in proportion to the product of both lengths, or never
    ends."""
    for size in (100, 1_000):
        pattern, text = part * size + "b", "a" * 10 * size
        assert lines_run(pattern, text) <= 10 * (len(pattern) + len(text)) + 20


# --- the keys of published events ------------------------------------------------------------------------------------
BUS = "arn:aws:events:us-east-1:000000000000:event-busv2/orders/aaaaaaaaaaaaaaaaaaaaaaaaa"
PUBLISHED = {"events:source": "shop", "events:systemmetadata/contenttype": "x", "events:metadata/team": "a"}


def judge(action: str, effect: str, condition: Any, keys: dict[str, str]) -> Decision:
    """Evaluates a policy of a bus whose only statement has the condition."""
    statement = {"Effect": effect, "Principal": "*", "Action": "events:*", "Resource": "*", "Condition": condition}
    return evaluate(policy(statement), AccessRequest(build_root(PARTNER), f"events:{action}", BUS, keys))


@pytest.mark.parametrize("action", ["putevents", "putrawevents"])
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"StringEquals": {"events:source": "shop"}}, True),
        ({"StringEquals": {"EVENTS:Source": ["a", "shop"]}}, True),
        ({"StringEquals": {"events:source": "Shop"}}, False),
        ({"StringNotEquals": {"events:source": "shop"}}, False),
        ({"StringEquals": {"events:detail-type": "order"}}, False),
        ({"Null": {"events:detail-type": "true"}}, True),
        ({"StringEquals": {"events:SystemMetadata/ContentType": "x"}}, True),
        ({"StringLike": {"events:Metadata/Team": "?"}}, True),
        ({"StringLike": {"events:Metadata/Other": "*"}}, False),
        ({"StringEquals": {"events:source": "shop", "events:Metadata/team": "b"}}, False),
    ],
)
def test_requests_that_publish_have_the_keys_of_their_event(action: str, condition: Any, holds: bool) -> None:
    assert judge(action, "Allow", condition, PUBLISHED) is (Decision.ALLOWED if holds else Decision.NO_MATCH)
    assert judge(action, "Deny", condition, PUBLISHED) is (Decision.DENIED if holds else Decision.NO_MATCH)


@pytest.mark.parametrize(
    ("action", "key"),
    [
        ("createsubscriber", "events:source"),
        ("createsubscriber", "events:Metadata/team"),
        ("putevents", "events:Metadata/"),
        ("putevents", "events:ContentFilterPresent"),
        ("putevents", "events:SystemMetadata/Other"),
    ],
)
@pytest.mark.parametrize("operator", ["StringNotEquals", "ForAllValues:StringEquals", "StringEqualsIfExists", "Null"])
def test_a_key_that_the_action_lacks_allows_nothing_and_denies(action: str, key: str, operator: str) -> None:
    """AWS gives CreateSubscriber the keys of its filters. Without them, such an Allow must not apply to all filters."""
    condition = {operator: {key: "true"}}
    assert judge(action, "Allow", condition, {}) is Decision.NO_MATCH
    assert judge(action, "Deny", condition, {}) is Decision.DENIED


def test_long_values_are_not_kept() -> None:
    condition = {"StringNotEquals": {"events:Metadata/team": "b"}}
    before = _find_decision.cache_info().currsize
    assert judge("putevents", "Allow", condition, {"events:metadata/team": "x" * 100_000}) is Decision.ALLOWED
    assert _find_decision.cache_info().currsize == before
    assert judge("putevents", "Allow", condition, {"events:metadata/team": "x"}) is Decision.ALLOWED
    assert _find_decision.cache_info().currsize == before + 1
