"""Filter policies: what they may be.

Sources: "Filter policy constraints" and the pages on matching (SNS Developer Guide).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.errors_sns import InvalidParameter
from penstock.filter_policy import attribute_facts, body_facts, compile_policy
from penstock.messages.sqs import MessageAttributeValue


def compiled(policy: Any, scope: str = "MessageBody") -> Any:
    text = compile_policy(json.dumps(policy), scope)
    return None if text is None else json.loads(text)


@pytest.mark.parametrize(
    "policy",
    [
        {"a": []},
        {"a": "b"},
        {"a": [["b"]]},
        {"a": [{"b": ["c"]}]},
        {"a": [{"prefix": 1}]},
        {"a": [{"prefix": ""}]},
        {"a": [{"prefix": "x", "suffix": "y"}]},
        {"a": [{"exists": "true"}]},
        {"a": [{"numeric": ["=", "1"]}]},
        {"a": [{"numeric": ["=", 1_000_000_001]}]},
        {"a": [{"numeric": ["!", 1]}]},
        {"a": [{"numeric": []}]},
        {"a": [{"numeric": "1"}]},
        {"a": [{"numeric": [">", 1, "<", 1]}]},
        {"a": [{"numeric": ["<", 1, ">", 2]}]},
        {"a": [{"numeric": [">", 1, "<", 5, "<", 6]}]},
        {"a": [{"anything-but": []}]},
        {"a": [{"anything-but": [True]}]},
        {"a": [{"anything-but": {"numeric": ["=", 1]}}]},
        {"a": [{"wildcard": "a**b"}]},
        {"a": [{"wildcard": "a\\b"}]},
        {"a": [{"cidr": "10.0.0.0/33"}]},
        {"a": [{"cidr": "nowhere"}]},
        {"a": {}},
        {"$or": [{"a": ["b"]}]},
        ["a"],
        "a",
    ],
)
def test_bad_policies(policy: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"^Invalid parameter: FilterPolicy: "):
        compiled(policy)


def test_what_is_no_json() -> None:
    with pytest.raises(InvalidParameter, match="failed to parse JSON"):
        compile_policy("{", "MessageBody")


def test_an_empty_policy_filters_nothing() -> None:
    assert compiled({}) is None


def test_at_most_five_keys() -> None:
    compiled({str(n): ["v"] for n in range(5)})
    with pytest.raises(InvalidParameter, match="can not have more than 5 keys"):
        compiled({str(n): ["v"] for n in range(6)})


def test_attributes_are_not_nested() -> None:
    with pytest.raises(InvalidParameter, match="does not support nested filter policy"):
        compiled({"a": {"b": ["c"]}}, "MessageAttributes")


@pytest.mark.parametrize(
    ("policy", "allowed"),
    [
        ({"a": list(range(150))}, True),
        ({"a": list(range(151))}, False),
        ({"a": list(range(10)), "b": list(range(15))}, True),
        ({"a": list(range(10)), "b": list(range(16))}, False),
        # AWS's example: 4 values on level 3, 3 on level 2: 4 x 3 x 3 x 2 = 72
        ({"a": {"b": {"c": list("wxyz")}}, "d": {"e": list("xyz")}}, True),
        ({"a": {"b": {"c": list("wxyz")}}, "d": {"e": list("tuvwxyz")}}, False),
    ],
)
def test_at_most_150_combinations(policy: Any, allowed: bool) -> None:
    """The numbers of values multiplied, each times the depth of its list."""
    if allowed:
        assert compiled(policy)
    else:
        with pytest.raises(InvalidParameter, match="too complex"):
            compiled(policy)


def test_at_most_256_kb() -> None:
    assert compiled({"a": ["x" * (262_144 - 11)]})
    with pytest.raises(InvalidParameter, match="longer than 262144 bytes"):
        compiled({"a": ["x" * (262_144 - 10)]})


def test_or_is_a_name_before_anything_but_alternatives() -> None:
    """ "$or" alone, before fewer than two objects or before operators, is a member like any other."""
    assert [len(compiled({"$or": [{"a": [1]}, {"b": [2]}]})), len(compiled({"$or": [{"prefix": "a"}]}))] == [
        2,
        1,
    ]


def test_alternatives_multiply() -> None:
    policy = {"x": ["0"], "$or": [{"a": [1]}, {"b": [2], "c": [3]}]}
    assert compiled(policy) == [
        [["x", [["in", ["0"]]]], ["a", [["in", [1]]]]],
        [["x", [["in", ["0"]]]], ["b", [["in", [2]]]], ["c", [["in", [3]]]]],
    ]


def test_facts_of_attributes() -> None:
    attributes = {
        "text": MessageAttributeValue(data_type="String", string_value="1"),
        "number": MessageAttributeValue(data_type="Number", string_value="+1.50"),
        "list": MessageAttributeValue(data_type="String.Array", string_value='["a", 1, true, null, ["b"]]'),
        "bytes": MessageAttributeValue(data_type="Binary", binary_value="AA=="),
    }
    facts = attribute_facts(attributes)
    assert facts["text"] == ["1"]
    assert json.loads(bytes(facts["number"][0])) == 1.5
    assert facts["list"] == ["a", 1, True, None]
    assert "bytes" not in facts


@pytest.mark.parametrize("body", ["", "text", "[1]", "1", "{", '"{}"', '{"a":1} x'])
def test_bodies_that_match_no_policy(body: str) -> None:
    assert body_facts(body) is None


def test_facts_of_a_body() -> None:
    facts = body_facts('{"a": {"b": [1, {"c": null}, [2]]}, "d": [], "e": {}}')
    assert facts is not None
    assert {path: sorted(map(str, values)) for path, values in facts.items()} == {
        "a\x1fb": ["1", "2"], "a\x1fb\x1fc": ["None"], "d": [],
    }  # fmt: skip
