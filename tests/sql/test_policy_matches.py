"""queue.policy_matches against the examples of AWS's documentation, and against a reading of it in Python.

Sources: "String value matching", "Numeric value matching", "Key matching", "AND/OR logic" (SNS Developer Guide).
"""

from __future__ import annotations

import fnmatch
import ipaddress
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.filter_policy import body_facts, compile_policy
from tests.sql.calls import Connection, value


def matches(db: Connection, policy: Any, body: Any) -> bool:
    compiled = compile_policy(json.dumps(policy), "MessageBody")
    facts = body_facts(json.dumps(body))
    if compiled is None:
        return True
    return bool(
        value(
            db,
            "select queue.policy_matches(%s::jsonb, %s::jsonb)",
            compiled,
            None if facts is None else json.dumps(facts),
        )
    )


RANGE = [{"numeric": [">", 0, "<=", 150]}]


@pytest.mark.parametrize(
    ("policy", "body", "expected"),
    [
        ({"i": ["rugby", "tennis"]}, {"i": "rugby"}, True),
        ({"i": ["rugby", "tennis"]}, {"i": ["baseball", "tennis"]}, True),
        ({"i": ["rugby", "tennis"]}, {"i": "baseball"}, False),
        ({"i": ["rugby"]}, {"i": "Rugby"}, False),
        ({"i": ["rugby"]}, {}, False),
        ({"i": [{"anything-but": ["rugby", "tennis"]}]}, {"i": "baseball"}, True),
        ({"i": [{"anything-but": ["rugby", "tennis"]}]}, {"i": ["rugby", "baseball"]}, True),
        ({"i": [{"anything-but": ["rugby", "tennis"]}]}, {"i": ["rugby"]}, False),
        ({"i": [{"anything-but": ["rugby", "tennis"]}]}, {}, False),
        ({"p": [{"anything-but": [100, 500]}]}, {"p": 101}, True),
        ({"p": [{"anything-but": [100, 500]}]}, {"p": 100.0}, False),
        ({"e": [{"anything-but": {"prefix": "order-"}}]}, {"e": "data-entry"}, True),
        ({"e": [{"anything-but": {"prefix": "order-"}}]}, {"e": "order-number"}, False),
        ({"e": [{"anything-but": {"suffix": "ball"}}]}, {"e": "baseball"}, False),
        ({"i": [{"equals-ignore-case": "tennis"}]}, {"i": "TENNIS"}, True),
        ({"i": [{"equals-ignore-case": "tennis"}]}, {"i": "TENNIS "}, False),
        ({"ip": [{"cidr": "10.0.0.0/24"}]}, {"ip": "10.0.0.255"}, True),
        ({"ip": [{"cidr": "10.0.0.0/24"}]}, {"ip": "10.1.1.0"}, False),
        ({"ip": [{"cidr": "10.0.0.0/24"}]}, {"ip": "no address"}, False),
        ({"ip": [{"cidr": "2001:db8::/32"}]}, {"ip": "2001:db8::1"}, True),
        ({"i": [{"prefix": "bas"}]}, {"i": "baseball"}, True),
        ({"i": [{"prefix": "bas"}]}, {"i": "rugby"}, False),
        ({"i": [{"suffix": "ball"}]}, {"i": "basketball"}, True),
        ({"i": [{"suffix": "ball"}]}, {"i": "ballet"}, False),
        ({"i": [{"wildcard": "*ball"}]}, {"i": "baseball"}, True),
        ({"i": [{"wildcard": "a*c_%"}]}, {"i": "abbc_%"}, True),
        ({"i": [{"wildcard": "a*c_%"}]}, {"i": "abbcxy"}, False),
        ({"i": [{"wildcard": "1\\*2"}]}, {"i": "1*2"}, True),
        ({"i": [{"wildcard": "1\\*2"}]}, {"i": "1x2"}, False),
        ({"p": [{"numeric": ["=", 301.5]}]}, {"p": 301.5}, True),
        ({"p": [301.5]}, {"p": "301.5"}, False),
        ({"p": [{"numeric": ["<", 0]}]}, {"p": -1}, True),
        ({"p": RANGE}, {"p": 150}, True),
        ({"p": RANGE}, {"p": 0}, False),
        ({"p": RANGE}, {"p": "100"}, False),
        ({"s": [{"exists": True}]}, {"s": "x"}, True),
        ({"s": [{"exists": True}]}, {}, False),
        ({"s": [{"exists": False}]}, {}, True),
        ({"s": [{"exists": False}]}, {"s": None}, False),
        ({"a": [True]}, {"a": True}, True),
        ({"a": [True]}, {"a": "true"}, False),
        ({"a": [None]}, {"a": None}, True),
        ({"a": {"b": ["x"]}}, {"a": {"b": "x"}}, True),
        ({"a": {"b": ["x"]}}, {"a": [{"b": "y"}, {"b": "x"}]}, True),
        ({"a": {"b": ["x"]}}, {"a.b": "x"}, False),
        ({"a": ["1"], "b": ["2"]}, {"a": "1"}, False),
        ({"$or": [{"a": ["1"]}, {"b": ["2"]}]}, {"b": "2"}, True),
        ({"$or": [{"a": ["1"]}, {"b": ["2"]}]}, {"a": "2", "b": "1"}, False),
        ({"s": ["aws"], "$or": [{"m": ["cpu"]}, {"n": ["x"]}]}, {"s": "aws", "n": "x"}, True),
        ({"s": ["aws"], "$or": [{"m": ["cpu"]}, {"n": ["x"]}]}, {"n": "x"}, False),
        ({"a": ["x", {"prefix": "y"}]}, {"a": "yes"}, True),
    ],
)
def test_examples(db: Connection, policy: Any, body: Any, expected: bool) -> None:
    assert matches(db, policy, body) is expected


def test_a_body_that_is_no_object_matches_nothing(db: Connection) -> None:
    assert matches(db, {"a": [{"exists": False}]}, [1]) is False


# --- an independent reading ------------------------------------------------------------------------------------------
def passes(test: Any, one: Any) -> Any:
    """One value of a policy's list on one value of a message, from the documentation."""
    if not isinstance(test, dict):
        return (type(test) is type(one) and test == one) or (
            is_number(test) and is_number(one) and test == one
        )
    ((name, wanted),) = test.items()
    if name == "anything-but":
        if isinstance(wanted, dict):
            return not passes(wanted, one)
        return not any(passes(value, one) for value in (wanted if isinstance(wanted, list) else [wanted]))
    if name == "numeric":
        return is_number(one) and all(
            {"=": one == n, "<": one < n, "<=": one <= n, ">": one > n, ">=": one >= n}[op]
            for op, n in zip(wanted[::2], wanted[1::2], strict=True)
        )
    if not isinstance(one, str):
        return False
    if name == "cidr":
        return is_address(one) and ipaddress.ip_address(one) in ipaddress.ip_network(wanted)
    if name == "wildcard":
        return (
            re.fullmatch(fnmatch.translate(wanted.replace("[", "[[]").replace("?", "[?]")), one) is not None
        )
    return {"prefix": one.startswith, "suffix": one.endswith, "equals-ignore-case": lambda w: one.lower() == w.lower()}[
        name
    ](wanted)  # fmt: skip


def is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def accepts(policy: dict[str, Any], body: dict[str, Any]) -> bool:
    return all(member_accepts(name, wanted, body) for name, wanted in policy.items())


def member_accepts(name: str, wanted: Any, body: dict[str, Any]) -> bool:
    if name == "$or":
        return any(accepts(one, body) for one in wanted)
    there = name in body
    values = body[name] if isinstance(body.get(name), list) else [body[name]] if there else []
    return any(
        there is test["exists"]
        if isinstance(test, dict) and "exists" in test
        else any(passes(test, v) for v in values)
        for test in wanted
    )


NAMES = st.sampled_from(["a", "b"])
TEXTS = st.sampled_from(["", "ab", "abc", "ABC", "b", "10.0.0.1", "a_c", "a%"])
NUMBERS = st.sampled_from([-1, 0, 1, 1.5, 100])
SCALARS = st.one_of(TEXTS, NUMBERS, st.booleans(), st.none())
SOME = TEXTS.filter(bool)
TESTS = st.one_of(
    SCALARS,
    st.builds(lambda t: {"prefix": t}, SOME), st.builds(lambda t: {"suffix": t}, SOME),
    st.builds(lambda t: {"equals-ignore-case": t}, SOME), st.builds(lambda b: {"exists": b}, st.booleans()),
    st.builds(lambda op, n: {"numeric": [op, n]}, st.sampled_from(["=", "<", "<=", ">", ">="]), NUMBERS),
    st.builds(lambda ts: {"anything-but": ts}, st.lists(st.one_of(SOME, NUMBERS), min_size=1, max_size=3)),
    st.builds(lambda t: {"anything-but": {"prefix": t}}, SOME),
    st.builds(lambda t: {"wildcard": t}, st.sampled_from(["a*", "*c", "a*c", "*", "a_c", "a%"])),
    st.just({"cidr": "10.0.0.0/8"}),
)  # fmt: skip
MEMBERS = st.dictionaries(NAMES, st.lists(TESTS, min_size=1, max_size=3), min_size=1, max_size=2)
POLICIES = st.one_of(MEMBERS, st.builds(lambda m, n: {"$or": [m, n]}, MEMBERS, MEMBERS))
BODIES = st.dictionaries(NAMES, st.one_of(SCALARS, st.lists(SCALARS, max_size=3)), max_size=2)


@settings(max_examples=2000, deadline=None, derandomize=True, database=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])  # fmt: skip
@given(policy=POLICIES, body=BODIES)
def test_sql_reads_policies_as_the_documentation_does(db: Connection, policy: Any, body: Any) -> None:
    assert matches(db, policy, body) is accepts(policy, body)
