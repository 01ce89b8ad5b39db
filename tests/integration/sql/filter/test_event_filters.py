"""Compares the filters of event buses, which the delivery evaluates, with the filter policies of SNS, which SQL
evaluates. Both have the same syntax, and most rules are the same."""

from __future__ import annotations

import json
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from penstock.events.delivery.filters import FilterIndex
from penstock.sns.errors import InvalidParameter
from penstock.sns.filter_policy.compile import compile_policy
from penstock.sns.filter_policy.facts import encode_body_facts
from tests.support.filter_policies import strategies
from tests.support.filter_policies.events import build_object, build_pattern, configuration, event, matches
from tests.support.sql.calls import Connection

pytestmark = pytest.mark.shared

MATCHES = """
select array_agg(queue.policy_matches(p.policy, f.facts) order by p.n, f.n)
from unnest(%s::jsonb[]) with ordinality p(policy, n), unnest(%s::jsonb[]) with ordinality f(facts, n)
"""


def match_in_sql(db: Connection, policies: list[str], payloads: list[str]) -> list[list[bool]]:
    facts = [encode_body_facts(payload) for payload in payloads]
    row = db.execute(MATCHES, (policies, [each and each.decode() for each in facts])).fetchone()
    assert row is not None
    return [row[0][at : at + len(payloads)] for at in range(0, len(row[0]), len(payloads))]


def compare(db: Connection, patterns: list[Any], payloads: list[Any]) -> list[bool]:
    """Asserts that both evaluators agree about every pattern and payload, and returns the answers. Ignores patterns
    that exceed the limits of SNS."""
    texts, policies = [], []
    for text in map(json.dumps, patterns):
        policy = _compile(text)
        if policy is not None:
            policies.append(policy)
            texts.append(text)
    bodies = [json.dumps(payload) for payload in payloads]
    in_sql = match_in_sql(db, policies, bodies)
    index = FilterIndex((number, configuration(DATA=text)) for number, text in enumerate(texts))
    found = [index.find(event(raw=body.encode())) for body in bodies]
    wrong = [
        (text, body)
        for number, text in enumerate(texts)
        for at, body in enumerate(bodies)
        if in_sql[number][at] != (number in found[at])
    ]
    assert not wrong
    return [accepted for row in in_sql for accepted in row]


def _compile(text: str) -> str | None:
    """Returns the compiled filter policy, or None if it exceeds the limits of SNS."""
    try:
        return compile_policy(text, "MessageBody")
    except InvalidParameter as error:
        if error.message.endswith(("too complex", "more than 5 keys")):
            return None
        raise


def _differs(part: Any) -> bool:
    """Returns whether a pattern contains an operator whose rules differ: `exists: true`, or `wildcard`."""
    if isinstance(part, dict):
        return part == {"exists": True} or "wildcard" in part or any(map(_differs, part.values()))
    return isinstance(part, list) and any(map(_differs, part))


def test_every_operator_with_every_value(db: Connection) -> None:
    patterns = [{"k": [operator]} for operator in strategies.operators() if not _differs(operator)]
    values = strategies.VALUES
    payloads: list[Any] = [{"k": value} for value in values]
    payloads += [{"k": [first, other]} for first, other in pairwise(values)]
    payloads += [{"k": [], "j": 1}, {"k": {"k": 1}}, {"other": 1}]
    answers = compare(db, patterns, payloads)
    assert len(answers) > 15_000
    assert 1_000 < sum(answers) < len(answers)


def test_random_patterns_and_payloads(db: Connection) -> None:
    random = Random(3)
    patterns = [pattern for pattern in (build_pattern(random, 1) for _ in range(300)) if not _differs(pattern)]
    payloads = [payload for payload in (build_object(random, "ab") for _ in range(80)) if _has_leaf(payload)]
    answers = compare(db, patterns, payloads)
    assert len(answers) > 5_000
    assert 200 < sum(answers) < len(answers) - 200
    # If several names with dots lead to keys of one array, SQL takes the shortest name, and event filters the longest.
    dotted = [payload for payload in (build_object(random) for _ in range(80)) if _has_leaf(payload)]
    assert sum(compare(db, patterns, [payload for payload in dotted if not _has_several(payload)])) > 100


def _has_leaf(payload: Any) -> bool:
    if isinstance(payload, dict | list):
        return any(map(_has_leaf, payload.values() if isinstance(payload, dict) else payload))
    return True


def _has_several(payload: Any) -> bool:
    inner = payload.values() if isinstance(payload, dict) else payload if isinstance(payload, list) else ()
    return (isinstance(payload, list) and len(payload) > 1) or any(map(_has_several, inner))


DEEP = '{"a":' + "[" * 33 + '{"b":1}' + "]" * 33 + "}"


@pytest.mark.parametrize(
    ("pattern", "payload", "event_filter", "filter_policy"),
    [
        pytest.param({"k": [{"exists": True}]}, '{"k":null}', True, False, id="exists accepts null"),
        pytest.param({"k": [{"exists": True}]}, '{"k":""}', True, False, id="exists accepts the empty text"),
        pytest.param({"k": [{"exists": False}]}, "{}", True, False, id="a payload without values lacks every key"),
        pytest.param({"k": [{"exists": False}]}, "[]", True, False, id="a payload that is no object lacks every key"),
        pytest.param({"k": [1]}, '[{"k":2},{"k":1}]', True, False, id="an array of objects can be the payload"),
        pytest.param({"a": {"b": [2]}}, DEEP, False, True, id="more than 32 nested arrays are judged"),
        pytest.param(
            {"a": {"b": {"c": [1]}, "d": [2]}},
            '{"a":[{"d":2},{"d":2,"b":{},"b.c":1}],"x":[{},{}]}',
            True,
            False,
            id="a name with dots goes before a shorter name",
        ),
        pytest.param(
            {"k": [12345678901234567890]}, '{"k":1234567890123456789e1}', False, False,
            id="a number with an exponent is a double in both",
        ),
        pytest.param({"k": [{"cidr": "10.0.0.0/8"}]}, '{"k":"010.0.0.1"}', False, True, id="addresses with zeros"),
    ],
)  # fmt: skip
def test_the_differences(
    db: Connection, pattern: object, payload: str, *, event_filter: bool, filter_policy: bool
) -> None:
    policy = compile_policy(json.dumps(pattern), "MessageBody")
    assert policy is not None
    assert matches(pattern, event(raw=payload.encode())) == event_filter
    assert match_in_sql(db, [policy], [payload]) == [[filter_policy]]


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(["x"], id="an array at the root"),
        pytest.param({"k": [{"prefix": {"equals-ignore-case": "x"}}]}, id="a prefix without case"),
        pytest.param({"k": [{"suffix": {"equals-ignore-case": "x"}}]}, id="a suffix without case"),
        pytest.param({letter: ["x"] for letter in "kabcde"}, id="more than 5 keys"),
        pytest.param({"k": ["x", *range(200)]}, id="more than 150 values"),
    ],
)
def test_patterns_that_only_event_filters_have(pattern: Any) -> None:
    payload = "x" if isinstance(pattern, list) else dict.fromkeys(pattern, "x")
    assert matches(pattern, payload)
    with pytest.raises(InvalidParameter):
        compile_policy(json.dumps(pattern), "MessageBody")
