"""Tests queue.policy_matches against AWS's examples, and against an evaluator that was written from AWS's
documentation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any
from unicodedata import ucd_3_2_0

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.sns.errors import InvalidParameter
from penstock.sns.filter_policy.compile import compile_policy
from penstock.sns.filter_policy.facts import attribute_facts, encode_body_facts, find_body_facts
from penstock.sns.filter_policy.values import lower_case
from penstock.sqs.types import MessageAttributeValue
from tests.support.filter_policies import reference_evaluator as filter_oracle
from tests.support.filter_policies import strategies
from tests.support.filter_policies.aws_examples import Attributes, PolicyCase, cases
from tests.support.sql.calls import Connection, value

MATCHES = """
select array_agg(p.policy is null or queue.policy_matches(p.policy, f.facts) order by p.n, f.n)
from unnest(%s::jsonb[]) with ordinality p(policy, n), unnest(%s::jsonb[]) with ordinality f(facts, n)
"""
Message = Mapping[str, tuple[str, str]] | str


def facts(message: Message) -> str | None:
    """Returns the facts in the service's format."""
    if isinstance(message, str):
        found = encode_body_facts(message)
        return None if found is None else found.decode()
    given = {
        name: MessageAttributeValue(data_type=kind, binary_value=text)
        if kind == "Binary"
        else MessageAttributeValue(data_type=kind, string_value=text)
        for name, (kind, text) in message.items()
    }
    return msgspec.json.encode(attribute_facts(given)).decode()


def matches(db: Connection, policies: list[str | None], messages: list[Message]) -> list[list[bool]]:
    """Compares all pairs of policies and messages in one statement, and returns whether each compiled policy accepts
    each message."""
    row = db.execute(MATCHES, (policies, [facts(message) for message in messages])).fetchone()
    assert row is not None
    return [row[0][at : at + len(messages)] for at in range(0, len(row[0]), len(messages))]


def accepts(db: Connection, policy: Any, message: Message, scope: str = "MessageBody") -> bool:
    """Returns whether one policy accepts one message. Fails if the test's evaluator disagrees."""
    text = json.dumps(policy)
    accepted = matches(db, [compile_policy(text, scope)], [message])[0][0]
    assert accepted == filter_oracle.accepts(text, scope, message)
    return accepted


def body(**members: Any) -> str:
    return json.dumps(members)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases()])
def test_examples_of_aws(case: PolicyCase) -> None:
    """The evaluator must agree with AWS's examples, because other tests compare the SQL function with the evaluator."""
    assert filter_oracle.accepts(case.policy, case.scope, case.message) == case.accepted


def test_examples_of_aws_in_sql(db: Connection) -> None:
    wrong = []
    for case in cases():
        [[accepted]] = matches(db, [compile_policy(case.policy, case.scope)], [case.message])
        if accepted != case.accepted:
            wrong.append(case.name)
    assert not wrong


# --- compared with the evaluator -------------------------------------------------------------------------------------
def test_every_operator_with_every_value(db: Connection) -> None:
    """Each policy has one key, one operator, and one or two values. One statement compares the policies with all
    bodies."""
    policies = [json.dumps({"k": [operator]}) for operator in strategies.operators()]
    values = strategies.VALUES
    messages: list[Message] = [body(k=value) for value in values]
    messages += [body(k=[first, other]) for first, other in pairwise(values)]
    messages += [body(k=[]), body(k={"k": 1}), body(other=1)]
    found = matches(db, [compile_policy(policy, "MessageBody") for policy in policies], messages)
    wrong = [
        (policy, message)
        for policy, row in zip(policies, found, strict=True)
        for message, accepted in zip(messages, row, strict=True)
        if filter_oracle.accepts(policy, "MessageBody", message) != accepted
    ]
    assert not wrong
    assert len(policies) * len(messages) > 20_000


LIMITS = ("Filter policy is too complex", "Filter policy can not have more than 5 keys")


def valid(policies: list[dict[str, Any]], scope: str) -> Iterator[tuple[str, str | None]]:
    """Yields the policies within AWS's limits, as text and compiled."""
    for policy in policies:
        text = json.dumps(policy)
        try:
            yield text, compile_policy(text, scope)
        except InvalidParameter as error:
            if not error.message.endswith(LIMITS):
                raise


@pytest.mark.parametrize(
    ("scope", "policies", "messages"),
    [
        ("MessageAttributes", strategies.attribute_policies, strategies.attributes),
        ("MessageBody", strategies.body_policies, strategies.bodies),
        ("MessageBody", strategies.body_policies.map(strategies.dotted), strategies.bodies),
    ],
)
def test_random_policies_and_messages(
    db: Connection,
    scope: str,
    policies: st.SearchStrategy[dict[str, Any]],
    messages: st.SearchStrategy[Attributes | str],
) -> None:
    """The SQL function and the evaluator agree about every policy and message. Both acceptances and rejections are
    common."""
    responses: Counter[bool] = Counter()

    # The examples depend on the source of `compare` (derandomize), so another name or annotation would change the
    # examples.
    @settings(max_examples=150, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(policies, min_size=4, max_size=4), st.lists(messages, min_size=4, max_size=4))
    def compare(some_policies: list[dict[str, Any]], some_messages: list[Message]) -> None:
        checked = list(valid(some_policies, scope))
        found = matches(db, [compiled for _, compiled in checked], some_messages) if checked else []
        for (text, _), row in zip(checked, found, strict=True):
            expected = [filter_oracle.accepts(text, scope, message) for message in some_messages]
            assert row == expected, text
            responses.update(row)

    compare()
    assert responses.total() > 1200
    assert min(responses[True], responses[False]) > 100


@settings(max_examples=150, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(strategies.bodies)
def test_sql_makes_the_same_facts(db: Connection, text: str) -> None:
    """Publications over SQL use queue.body_facts. The order of the values at a path does not matter."""

    def sorted_facts(found: Any) -> Any:
        return found and {
            path: sorted(map(json.dumps, values)) if isinstance(values, list) else values
            for path, values in found.items()
        }

    in_sql = value(db, "select queue.body_facts(%s::jsonb)", text)
    assert sorted_facts(in_sql) == sorted_facts(find_body_facts(text))


MANY_ARRAYS, TOO_MANY_ARRAYS = ('{"a":[' + ",".join(["[]"] * number) + "]}" for number in (131_070, 131_071))


def test_the_largest_number_of_arrays(db: Connection) -> None:
    assert value(db, "select queue.body_facts(%s::jsonb)", MANY_ARRAYS).keys() == {"\x1f"}
    assert (find_body_facts(MANY_ARRAYS) or {}).keys() == {"\x1f"}


def test_brackets_within_texts_are_no_arrays(db: Connection) -> None:
    text = json.dumps({"type": "order", "text": '["\\' * 131_073})
    for facts in (value(db, "select queue.body_facts(%s::jsonb)", text), find_body_facts(text) or {}):
        assert facts["type"] == ["order"] or facts["type"] == "order"
        assert len(facts) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1]", None),
        ("1", None),
        ('"x"', None),
        ("null", None),
        ('{"a":' + "[" * 34 + "]" * 34 + "}", True),
        (TOO_MANY_ARRAYS, True),
    ],
    ids=lambda text: str(text)[:10],
)
def test_bodies_that_are_no_objects_have_no_facts(db: Connection, text: str, expected: bool | None) -> None:
    """A policy rejects a body that is not an object, and accepts a body that exceeds the limits of the facts."""
    assert value(db, "select queue.body_facts(%s::jsonb)", text) is expected
    assert json.loads(encode_body_facts(text) or b"null") is expected
    policy = compile_policy('{"b": [1]}', "MessageBody")
    assert matches(db, [policy], [text]) == [[expected is True]]


# --- single cases ----------------------------------------------------------------------------------------------------
EMPLOYEES = [
    {"firstName": "John", "lastName": "Doe"},
    {"firstName": "Anna", "lastName": "Smith"},
    {"firstName": "Peter", "lastName": "Jones"},
]


@pytest.mark.parametrize(
    "employees",
    [EMPLOYEES, [EMPLOYEES[:2], EMPLOYEES[2:]], [{"staff": [employee]} for employee in EMPLOYEES]],
    ids=["an array", "arrays in an array", "arrays in objects"],
)
def test_keys_match_in_one_element_of_an_array(db: Connection, employees: list[Any]) -> None:
    def policy(first: str, last: str) -> dict[str, Any]:
        keys: dict[str, Any] = {"firstName": [first], "lastName": [last]}
        return {"employees": {"staff": keys} if "staff" in employees[0] else keys}

    text = body(employees=employees)
    assert accepts(db, policy("Anna", "Smith"), text)
    assert not accepts(db, policy("Anna", "Jones"), text)


DOTTED = [{"name.first": "Anna", "work.place.town": "Rome"}, {"name.first": "Peter"}]


@pytest.mark.parametrize(
    ("policy", "accepted"),
    [
        ({"people.name.first": ["Anna"]}, True),
        ({"people": {"name": {"first": ["Anna"]}}}, True),
        ({"people.name.first": ["Anna"], "people.work": {"place.town": ["Rome"]}}, True),
        ({"people.name.first": ["Peter"], "people.work": {"place.town": ["Rome"]}}, False),
        ({"people.name.last": [{"exists": False}], "people.work.place.town": ["Rome"]}, True),
    ],
)
def test_names_with_dots_are_paths(db: Connection, policy: dict[str, Any], accepted: bool) -> None:
    """The rule applies to policies and messages, as in AWS's rule engine, and to keys that match in one array
    element."""
    text = body(people=DOTTED)
    assert accepts(db, policy, text) is accepted


def test_keys_of_different_arrays_match_freely(db: Connection) -> None:
    text = body(a=[{"x": 1}, {"x": 2}], b=[{"y": 1, "z": 1}, {"y": 2, "z": 2}], c="c")
    assert accepts(db, {"a": {"x": [1]}, "b": {"y": [2], "z": [2]}, "c": ["c"]}, text)
    assert not accepts(db, {"a": {"x": [1]}, "b": {"y": [2], "z": [1]}, "c": ["c"]}, text)


def test_no_facts_match_nothing(db: Connection) -> None:
    policy = compile_policy('{"a":[{"exists":false}]}', "MessageBody")
    assert matches(db, [policy], ["no JSON", "[1]", "{}", '{"b": 1}']) == [[False, False, False, True]]


@pytest.mark.parametrize("text", ["\0", "a\0b", "\x1f", "a\x1fb"])
def test_text_that_postgresql_cannot_store(db: Connection, text: str) -> None:
    """The rule also covers the separator between names, so a message cannot forge a path."""
    policy = compile_policy(json.dumps({"a": [text], "b": [{"exists": False}]}), "MessageBody")
    found = matches(db, [policy], [body(a=text), body(a="b"), json.dumps({text: 1}), body(a=text, b=[{}, 1])])
    assert found == [[True, False, False, False]]
    assert matches(db, [compile_policy('{"a":{"b":["x"]}}', "MessageBody")], [body(**{"a\x1fb": "x"})]) == [[False]]


@pytest.mark.parametrize("text", ["123456789012", "-1000000000.5", "1e300", "1" * 300])
def test_numbers_out_of_range(db: Connection, text: str) -> None:
    """Account ids and similar numbers match exactly. Numeric matching rejects numbers outside of its range."""
    policies = [f'{{"a":[{text}]}}', '{"a":[{"numeric":[">",0]}]}', '{"a":[{"numeric":["<",0]}]}']
    found = matches(db, [compile_policy(policy, "MessageBody") for policy in policies], [f'{{"a":{text}}}', '{"a":1}'])
    assert found == [[True, False], [False, True], [False, False]]


def test_the_deepest_arrays_that_have_facts(db: Connection) -> None:
    """The recursion in SQL is as deep as the nesting of the arrays. Python's limit is far below PostgreSQL's limit. A
    body with deeper arrays passes every policy."""
    policy = compile_policy('{"a":{"a":["x"],"b":["z"]}}', "MessageBody")

    def deep(levels: int) -> str:
        inner: Any = {"a": "x", "b": "y"}
        for _ in range(levels):
            inner = [inner, {"c": 1}]
        return body(b="n", a=["n", inner])

    assert matches(db, [policy], [deep(30), deep(32)]) == [[False, True]]


def test_every_character_has_one_lower_case(db: Connection) -> None:
    """Python and SQL agree about each single character under any collation. No case conversion changes the length of a
    text.

    The test uses letters and symbols of Unicode 3.2, because only some Python versions know later characters.
    """
    cased = ("Lu", "Ll", "Lt", "Lm", "Nl", "So")
    every = "".join(c for c in map(chr, range(0x110000)) if ucd_3_2_0.category(c) in cased)
    assert value(db, "select queue.lower_case(%s)", every) == lower_case(every)
    assert [lower_case(text) for text in ("ÉÖ", "Ǆ", "İ", "ABC")] == ["éö", "ǆ", "İ", "abc"]


def test_a_pattern_with_stars_takes_no_time(db: Connection) -> None:
    """The test matches a text of a megabyte against a pattern with three stars. A regular expression would backtrack
    for an unlimited time."""
    policy = compile_policy(json.dumps({"a": [{"wildcard": "*aab*aab*c"}]}), "MessageBody")
    assert matches(db, [policy], [body(a="a" * 1_000_000)]) == [[False]]
