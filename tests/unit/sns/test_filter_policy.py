"""Tests the validity of filter policies, and their compiled form.

The sources are "Filter policy constraints" and the pages on matching (SNS Developer Guide). filter_policy.py names the
sources of the texts.
"""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec
import pytest

from penstock.sns.errors import InvalidParameter
from penstock.sns.filter_policy.compile import compile_policy, compile_topic_policy
from penstock.sns.filter_policy.facts import UNJUDGED, attribute_facts, encode_body_facts, find_body_facts
from penstock.sqs.types import MessageAttributeValue
from tests.support.filter_policies.aws_examples import NESTED_OR_POLICY, OR_POLICY


def compiled(policy: Any, scope: str = "MessageBody") -> Any:
    text = compile_policy(json.dumps(policy), scope)
    return None if text is None else json.loads(text)


def reason(policy: Any, scope: str = "MessageBody") -> str:
    """Returns the reason for refusing a policy."""
    with pytest.raises(InvalidParameter, match=r"^Invalid parameter: FilterPolicy: ") as caught:
        compile_policy(policy if isinstance(policy, str) else json.dumps(policy), scope)
    return caught.value.message.removeprefix("Invalid parameter: FilterPolicy: ")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("{", "failed to parse JSON."),
        ('{"a": [NaN]}', "failed to parse JSON."),
        ("[" * 5_000, "failed to parse JSON."),
        (["a"], "Filter is not an object"),
        ({"a": []}, "Empty arrays are not allowed"),
        ({"a": {}}, "Empty objects are not allowed"),
        ({"a": "b"}, '"a" must be an object or an array'),
        ({"a": [["b"]]}, "Match value must be String, number, true, false, or null"),
        ({"a": [{}]}, "Match expression name not found"),
        ({"a": [{"b": ["c"]}]}, "Unrecognized match type b"),
        ({"a": [{"prefix": "x", "suffix": "y"}]}, "Only one key allowed in match expression"),
        ({"a": [{"prefix": 1}]}, "prefix match pattern must be a string"),
        ({"a": [{"exists": "true"}]}, "exists match pattern must be either true or false."),
        ({"a": [{"numeric": "1"}]}, "Value of numeric must be an array."),
        ({"a": [{"numeric": []}]}, "Invalid member in numeric match: ]"),
        ({"a": [{"numeric": [1]}]}, "Invalid member in numeric match: 1"),
        ({"a": [{"numeric": ["!", 1]}]}, "Unrecognized numeric range operator: !"),
        ({"a": [{"numeric": ["=", "1"]}]}, "Value of equals must be numeric"),
        ({"a": [{"numeric": ["<", None]}]}, "Value of < must be numeric"),
        ({"a": [{"numeric": ["=", 1_000_000_001]}]}, "Value must be between -1.0E9 and 1.0E9, inclusive"),
        ({"a": [{"numeric": ["<", 1, ">", 2]}]}, "Too many elements in numeric expression"),
        ({"a": [{"numeric": [">", 1, ">", 2]}]}, "Bad numeric range operator: >"),
        ({"a": [{"numeric": [">", 1, True]}]}, "Bad value in numeric range: true"),
        ({"a": [{"numeric": [">", 1, "<", 5, "<"]}]}, "Too many terms in numeric range expression"),
        ({"a": [{"numeric": [">", 1, "<", 1]}]}, "Bottom must be less than top"),
        ({"a": [{"anything-but": [True]}]}, "Inside anything but list, start|null|boolean is not supported."),
        ({"a": [{"anything-but": None}]},
         "Value of anything-but must be an array or single string/number value."),
        ({"a": [{"anything-but": []}]},
         "Inside anything but list, either all values are number or string, mixed type is not supported"),
        ({"a": [{"anything-but": ["x", 1]}]},
         "Inside anything but list, either all values are number or string, mixed type is not supported"),
        ({"a": [{"anything-but": {"numeric": ["=", 1]}}]}, "Unsupported anything-but pattern: numeric"),
        ({"a": [{"anything-but": {"prefix": ""}}]}, "Null prefix/suffix not allowed"),
        ({"a": [{"anything-but": {"suffix": 1}}]}, "prefix/suffix match pattern must be a string"),
        ({"a": [{"wildcard": "a**b"}]}, "Consecutive wildcard characters at pos 2"),
        ({"a": [{"wildcard": "a\\b"}]}, "Invalid escape character at pos 2"),
        ({"a": [{"wildcard": "a*b*c*d*"}]}, "Filter policy is too complex"),
        ({"a": [{"cidr": "10.0.0.0"}]}, "Malformed CIDR, one '/' required"),
        ({"a": [{"cidr": "10.0.0.0/x"}]}, "Malformed CIDR, mask bits must be an integer"),
        ({"a": [{"cidr": "10.0.0.0/33"}]}, "Invalid CIDR: 10.0.0.0/33"),
        ({"$or": [{"a": ["b"]}]}, "Unrecognized match type a"),
    ],
)  # fmt: skip
def test_bad_policies(policy: Any, expected: str) -> None:
    assert reason(policy) == expected


@pytest.mark.parametrize(
    ("policy", "place"),
    [
        ("{", "line: 1, column: 2"),
        ("invalid", "line: 1, column: 8"),
        ('{"a": nul}', "line: 1, column: 10"),
        ("[]", "line: 1, column: 2"),
        ('{"a":"b"}', "line: 1, column: 7"),
        ('{"a":true}', "line: 1, column: 10"),
        ('{"a":[]}', "line: 1, column: 8"),
        ('{"a":{}}', "line: 1, column: 8"),
        ('{"a":[["b"]]}', "line: 1, column: 8"),
        ('{"a":[{}]}', "line: 1, column: 9"),
        ('{"a":[{"x":["c"]}]}', "line: 1, column: 13"),
        ('{"a":["]",1,{"prefix":"x","suffix":"y"}]}', "line: 1, column: 37"),
        ('{"a":[{"prefix":1}]}', "line: 1, column: 18"),
        ('{"a":[{"exists":"true"}]}', "line: 1, column: 18"),
        ('{"a":[{"wildcard":"a**b"}]}', "line: 1, column: 25"),
        ('{"a":[{"numeric":1}]}', "line: 1, column: 19"),
        ('{"a":[{"numeric":[]}]}', "line: 1, column: 20"),
        ('{"a":[{"numeric":["!",1]}]}', "line: 1, column: 22"),
        ('{"a":[{"numeric":["=","1"]}]}', "line: 1, column: 24"),
        ('{"a":[{"numeric":["=",1,">",2]}]}', "line: 1, column: 26"),
        ('{"a":[{"numeric":[">",1,">",2]}]}', "line: 1, column: 28"),
        ('{"a":[{"numeric":[">",1,"<",1]}]}', "line: 1, column: 30"),
        ('{"a":[{"numeric":[">",1,"<",5,"<"]}]}', "line: 1, column: 32"),
        ('{"a":[{"anything-but":["x",1]}]}', "line: 1, column: 30"),
        ('{"a":[{"anything-but":["x",null]}]}', "line: 1, column: 32"),
        ('{"a":[{"anything-but":{"suffix":"x"}}]}', "line: 1, column: 34"),
        ('{"a":[{"anything-but":{"prefix":""}}]}', "line: 1, column: 35"),
        ('{"a":["b"],\n "c": [{"b": 3}]}', "line: 2, column: 15"),
        ('{"$or":[{"a":["b"]},{"a":[{"prefix":1}]}]}', "line: 1, column: 38"),
        ('{"😀":[]}', "line: 1, column: 9"),
        ('{"a\\ud83d":[1e400,{"prefix":1}]}', "line: 1, column: 30"),
        ('{"a":[' + "9" * 5_000 + ",{}]}", "line: 1, column: 5010"),
        ('{"a":[{"cidr":"x/1"}]}', ""),
        ('{"a":["b"],"b":["1"],"c":["1"],"d":["1"],"e":["1"],"f":["1"]}', ""),
    ],
)
def test_the_place_of_a_fault(policy: str, place: str) -> None:
    """The columns follow the rules of Jackson (locations.py), as in the responses recorded at AWS."""
    with pytest.raises(InvalidParameter) as caught:
        compile_topic_policy(policy, "MessageBody")
    _, _, found = caught.value.message.partition("\n at [Source: ")
    assert found.rpartition("; ")[2].removesuffix("]") == place


def test_a_long_policy_is_quoted_in_part() -> None:
    with pytest.raises(InvalidParameter) as caught:
        compile_topic_policy(f'{{"{"a" * 600}":1}}', "MessageBody")
    quoted = '{"' + "a" * 498
    assert f'[Source: (String)"{quoted}"[truncated 106 chars]; line: 1, column: 606]' in caught.value.message


@pytest.mark.parametrize("depth", [10, 300, 900])
def test_deep_policies(depth: int) -> None:
    """The product of the depths exceeds the limit alone, or the depth exceeds the limit of every parser."""
    policy = '{"a":' * depth + '["x"]' + "}" * depth
    if depth == 10:
        assert compile_policy(policy, "MessageBody")
    else:
        assert reason(policy) in ("Filter policy is too complex", "failed to parse JSON.")


def test_an_empty_policy_filters_nothing() -> None:
    assert compiled({}) is None


def test_at_most_five_keys() -> None:
    compiled({str(n): ["v"] for n in range(5)})
    assert reason({str(n): ["v"] for n in range(6)}) == "Filter policy can not have more than 5 keys"


def test_attributes_are_not_nested() -> None:
    expected = "Filter policy scope MessageAttributes does not support nested filter policy"
    assert reason({"a": {"b": ["c"]}}, "MessageAttributes") == expected


@pytest.mark.parametrize(
    ("policy", "allowed"),
    [
        ({"a": list(range(150))}, True),
        ({"a": list(range(151))}, False),
        ({"a": list(range(10)), "b": list(range(15))}, True),
        ({"a": list(range(10)), "b": list(range(16))}, False),
        # AWS's example has 4 values on level 3 and 3 values on level 2: 4 x 3 x 3 x 2 = 72.
        ({"a": {"b": {"c": list("wxyz")}}, "d": {"e": list("xyz")}}, True),
        ({"a": {"b": {"c": list("wxyz")}}, "d": {"e": list("tuvwxyz")}}, False),
        # "AND/OR logic": 1 x (2 + 1 x (2 + 3)) = 7; (2 + 2) x (1 x 2) x (1 x 2 + 1 x 2) = 32. The branches of a $or add
        # up.
        (OR_POLICY, True),
        (NESTED_OR_POLICY, True),
        ({"$or": [{"a": list(range(75))}, {"b": list(range(75))}]}, True),
        ({"$or": [{"a": list(range(75))}, {"b": list(range(76))}]}, False),
    ],
)
def test_at_most_150_combinations(policy: Any, allowed: bool) -> None:
    """The number of combinations is the product of the lengths of all lists, which are each multiplied by their
    depth."""
    if allowed:
        assert compiled(policy)
    else:
        assert reason(policy) == "Filter policy is too complex"


@pytest.mark.parametrize(
    ("values", "allowed"),
    [
        # For each key, the sum of the patterns' points multiplied by the number of patterns is at most 100 ("Wildcard
        # pattern usage guidelines").
        ([{"wildcard": f"{n}*"} for n in range(10)], True),
        ([{"wildcard": f"{n}*"} for n in range(11)], False),
        ([{"wildcard": f"{n}*x*"} for n in range(5)], True),
        ([{"wildcard": f"{n}*x*"} for n in range(6)], False),
        ([*({"wildcard": f"{n}*"} for n in range(5)), *({"anything-but": str(n)} for n in range(5))], True),
        ([*({"wildcard": f"{n}*"} for n in range(5)), *({"anything-but": str(n)} for n in range(6))], False),
        ([{"anything-but": str(n)} for n in range(50)], True),
    ],
)
def test_at_most_100_points_of_wildcards(values: list[Any], allowed: bool) -> None:
    if allowed:
        assert compiled({"a": values})
    else:
        assert reason({"a": values}) == "Filter policy is too complex"


def test_at_most_256_kb() -> None:
    assert compiled({"a": ["x" * (262_144 - 11)]})
    assert reason({"a": ["x" * (262_144 - 10)]}) == "Filter policy is longer than 262144 bytes"


def test_or_is_a_name_before_anything_but_alternatives() -> None:
    """ "$or" is an ordinary member unless its value is a list of at least two objects without operators."""
    assert len(compiled({"$or": [{"a": [1]}, {"b": [2]}]})) == 2
    for name in ([{"prefix": "a"}], [{"prefix": "a"}, {"suffix": "b"}], ["x", "y"]):
        assert [[key[0] for key in branch] for branch in compiled({"$or": name})] == [["$or"]]


def test_alternatives_multiply() -> None:
    policy = {"x": ["0"], "$or": [{"a": [1]}, {"b": [2], "c": [3]}]}
    assert compiled(policy) == [
        [["x", False, ["in", ["0"]]], ["a", False, ["in", [1]]]],
        [["x", False, ["in", ["0"]]], ["b", False, ["in", [2]]], ["c", False, ["in", [3]]]],
    ]


def test_numbers_have_five_digits_after_the_point() -> None:
    assert compiled({"a": [1.000004, 1.000006, 123456789012]}) == [[["a", False, ["in", [1.0, 1.00001, 123456789012]]]]]


# --- facts -----------------------------------------------------------------------------------------------------------
def attribute(kind: str, text: str) -> MessageAttributeValue:
    if kind == "Binary":
        return MessageAttributeValue(data_type=kind, binary_value=text)
    return MessageAttributeValue(data_type=kind, string_value=text)


def test_facts_of_attributes() -> None:
    """Quotes and backslashes are escaped as in JSON. The facts omit empty values."""
    facts = attribute_facts(
        {
            "text": attribute("String", '1"\\'),
            "number": attribute("Number", "+1.50"),
            "list": attribute("String.Array", '["a", 1, true, null]'),
            "numbers": attribute("Number.Array", "[1, 2]"),
            "nothing": attribute("String.Array", "[]"),
            "bytes": attribute("Binary", "AA=="),
        }
    )
    assert json.loads(bytes(cast("msgspec.Raw", facts.pop("number")[0]))) == 1.5
    assert facts == {"text": ['1\\"\\\\'], "list": ["a", 1, True, None], "numbers": [1, 2]}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("String.Array", "x"),
        ("String.Array", '"x"'),
        ("String.Array", "[["),
        ("String.Array", '[{"a": 1}]'),
        ("Number.Array", "1"),
        ("String.Array", "[" * 9_000),
    ],
)
def test_an_attribute_that_is_not_what_it_says(kind: str, text: str) -> None:
    """Every policy rejects a message with an invalid attribute: NumberOfNotificationsFilteredOut-InvalidAttributes on
    AWS."""
    assert attribute_facts({"good": attribute("String", "x"), "bad": attribute(kind, text)}) == {}


@pytest.mark.parametrize(
    "body", ["", "text", "[1]", "1", "{", '"{}"', '{"a":1} x', '{"a":NaN}', '{"a":"\\ud8"}', '{"a":\ufeff1}']
)
def test_bodies_that_match_no_policy(body: str) -> None:
    assert encode_body_facts(body) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r'{"a":"thanks \ud83d","b":1}', {"a": ["thanks \ufffd"], "b": [1]}),
        (r'{"\ude00":"\ud83d\ude00","b":1}', {"\ufffd": ["\U0001f600"], "b": [1]}),
        (r'{"a":"\\\ud83d\\ud83d","b":1}', {"a": ["\\\ufffd\\ud83d"], "b": [1]}),
        (r'{"a":"\ud83d\ud83d\ude00\uDE00"}', {"a": ["\ufffd\U0001f600\ufffd"]}),
        ('{"a":[1e400,-1E+999,1e-400],"b":1}', {"a": [10**400, -(10**400), 0.0], "b": [1]}),
        (f'{{"a":{"9" * 5_000}}}', {"a": [10**400]}),
        (r'{"a":"x\u0000","b":1}', {"a": ["x\ufffd"], "b": [1]}),
    ],
    ids=lambda body: str(body)[:24],
)
def test_bodies_that_the_first_decoder_refuses(body: str, expected: dict[str, object]) -> None:
    """RFC 8259, sections 6 to 8: numbers of any size, and escaped surrogates without their other half, are JSON."""
    assert json.loads(encode_body_facts(body) or b"null") == expected


@pytest.mark.parametrize("text", [r'["x","\ud83d"]', '["x",1e400]', r'["x","\u0000"]', f'["x",{"9" * 5_000}]'])
def test_a_list_that_the_first_decoder_refuses(text: str) -> None:
    assert "x" in attribute_facts({"a": attribute("String.Array", text)})["a"]


@pytest.mark.parametrize("body", ['{"b":1,"a":' * 9_000 + "1" + "}" * 9_000, '{"b":1,"a":' + "[" * 40 + "]" * 40 + "}"])
def test_bodies_that_are_too_deep_pass_every_policy(body: str) -> None:
    assert encode_body_facts(body) == UNJUDGED


def test_facts_of_a_body() -> None:
    document = {"a": {"b": [1, {"c": None}, [2]]}, "d": [], "e": {}}
    found = find_body_facts(json.dumps(document))
    assert found is not None
    facts = dict(found)
    assert facts.pop("\x1f") == document
    assert {path: sorted(map(str, cast("list[object]", values))) for path, values in facts.items()} == {
        "a\x1fb": ["1", "2"], "a\x1fb\x1fc": ["None"],
    }  # fmt: skip


def test_the_document_is_there_for_arrays_of_objects_alone() -> None:
    for body, there in (('{"a": [1, 2]}', False), ('{"a": [{"b": 1}]}', False), ('{"a": [{}, {}]}', True)):
        facts = find_body_facts(body)
        assert facts is not None
        assert ("\x1f" in facts) is there


def test_long_paths_cost_no_memory() -> None:
    """The body of half a megabyte has names of 1 KB on 500 levels, whose paths are 128 MB long in total."""
    name = "x" * 1_000
    assert encode_body_facts(f'{{"{name}":' * 500 + "1" + "}" * 500) == UNJUDGED
