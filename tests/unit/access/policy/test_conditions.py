"""Tests the operators of conditions ("IAM JSON policy elements: Condition operators", IAM User Guide).

Also tests the patterns of policies ("IAM JSON policy elements: Resource", IAM User Guide).
"""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.access.policy.conditions import read_conditions
from penstock.access.policy.patterns import Pattern

TOPIC = "arn:aws:sns:us-east-1:111122223333:news"


def holds(condition: Any, **keys: str) -> bool:
    conditions = read_conditions(condition)
    assert conditions is not None
    return all(condition.holds({f"aws:{name}": value for name, value in keys.items()}) for condition in conditions)


# Each row has an operator, a wanted value, a value that satisfies the condition, and a value that does not.
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
    ("ArnLike", "sourcearn", "arn:*:news:x:y:z", "arn:aws:news:x:y:z", TOPIC),  # A star matches only within its part.
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
def test_operators(operator: str, key: str, wanted: object, matching: str, other: str) -> None:
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


def test_null() -> None:
    """The operator tests whether the request has the key."""
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
    """Returns the number of executed lines of Python to compile and match the pattern."""
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
    """A simple matcher would need the product of both lengths for these patterns, or would never end."""
    for size in (100, 1_000):
        pattern, text = part * size + "b", "a" * 10 * size
        assert lines_run(pattern, text) <= 10 * (len(pattern) + len(text)) + 20
