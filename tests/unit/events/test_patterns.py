"""Tests which filters a subscriber can have.

Sources: "Filter events", custom event bus (Amazon EventBridge User Guide); the texts of github.com/aws/event-ruler.
"""

from __future__ import annotations

import json

import pytest

from penstock.events.errors import InvalidInputException
from penstock.events.patterns import MAX_BYTES, NO_FILTER, NO_WILDCARDS, check_filters
from penstock.events.shapes import Filter, FilterConfiguration

DATA, METADATA, SYSTEM = "DATA", "METADATA", "SYSTEM_METADATA"


def check(*filters: tuple[str, str]) -> FilterConfiguration:
    return check_filters(FilterConfiguration(filters=[Filter(pattern, scope) for scope, pattern in filters]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scope", "pattern"),
    [
        (DATA, {"a": ["x", 1, True, None, ""]}),
        (DATA, {"a": {"b": {"c": [{"prefix": "x"}, {"suffix": "y"}, {"equals-ignore-case": "z"}]}}}),
        (DATA, {"a": [{"anything-but": ["x", "y"]}], "b": [{"anything-but": {"suffix": "x"}}]}),
        (DATA, {"a": [{"numeric": [">=", 0, "<", 5]}], "ip": [{"cidr": "10.0.0.0/8"}, {"cidr": "2001:db8::/32"}]}),
        (DATA, {"a": [{"exists": False}], "$or": [{"b": [1]}, {"c": [2]}]}),
        (DATA, {**{letter: [1] for letter in "abcdefghij"}}),  # more keys than a filter policy of SNS can have
        (DATA, {"wildcard": [1], "a": {"wildcard": ["x"]}}),  # members of the event with the operator's name
        (DATA, ["x", {"prefix": "y"}]),
        (DATA, {"a": [{"prefix": {"equals-ignore-case": "x"}}, {"suffix": {"equals-ignore-case": ""}}]}),
        (METADATA, {"k": ["v", "w"]}),
        (SYSTEM, {"aws:EventId": ["1"], "ContentType": [{"prefix": "application/"}]}),
    ],
)
def test_a_pattern_is_accepted(scope: str, pattern: object) -> None:
    stored = check((scope, json.dumps(pattern)))
    assert stored.language == "EVENT_BRIDGE_PATTERN"
    assert stored.filters is not None
    assert json.loads(stored.filters[0].pattern) == pattern


@pytest.mark.parametrize(
    ("scope", "pattern", "text"),
    [
        (DATA, "", "Filter is not valid JSON"),
        (DATA, "{", "Filter is not valid JSON"),
        (DATA, '{"a":[1]}x', "Filter is not valid JSON"),
        (DATA, "1", "Filter is not an object"),
        (DATA, "null", "Filter is not an object"),
        (DATA, "{}", "Empty objects are not allowed"),
        (DATA, "[]", "Empty arrays are not allowed"),
        (DATA, '{"a":[]}', "Empty arrays are not allowed"),
        (DATA, '{"a":{}}', "Empty objects are not allowed"),
        (DATA, '{"a":1}', '"a" must be an object or an array'),
        (DATA, '{"a":[[1]]}', "Match value must be String, number, true, false, or null"),
        (DATA, '{"a":[{"regex":"x"}]}', "Unrecognized match type regex"),
        (DATA, '{"a":[{"prefix":1}]}', "prefix match pattern must be a string"),
        (DATA, '{"a":[{"prefix":{"equals-ignore-case":1}}]}', "prefix match pattern must be a string"),
        (DATA, '{"a":[{"suffix":{"prefix":"x"}}]}', "suffix match pattern must be a string"),
        (DATA, '{"a":[{"suffix":{"equals-ignore-case":"x","y":1}}]}', "suffix match pattern must be a string"),
        (DATA, '{"a":[{"prefix":{"equals-ignore-case":"x"},"suffix":"y"}]}', "Only one key allowed"),
        (DATA, '{"a":[{"exists":true,"prefix":"y"}]}', "Only one key allowed"),
        (DATA, '{"a":[{"numeric":["?",1]}]}', "Unrecognized numeric range operator"),
        (DATA, '{"a":[{"cidr":"10.0.0.0/33"}]}', "Invalid CIDR: 10.0.0.0/33"),
        (DATA, '{"a":[{"exists":1}]}', "exists match pattern must be either true or false."),
        (DATA, '{"a":[{"wildcard":"x*"}]}', NO_WILDCARDS),
        (DATA, '{"a":[{"wildcard":"x"}]}', NO_WILDCARDS),
        (DATA, '{"a":{"b":[{"anything-but":{"wildcard":"x*"}}]}}', NO_WILDCARDS),
        (DATA, '{"$or":[{"a":[{"wildcard":"x*"}]},{"b":[1]}]}', NO_WILDCARDS),
        (DATA, '{"a":' * 600 + "[1]" + "}" * 600, "levels"),
        (DATA, "[" * 2_000, "Filter is not valid JSON"),
        (METADATA, '["a"]', "Filter is not an object"),
        (METADATA, '{"a":"b"}', "non-empty arrays of literals"),
        (METADATA, '{"a":[]}', "non-empty arrays of literals"),
        (METADATA, '{"a":[{"prefix":"b"}]}', "non-empty arrays of literals"),
        (METADATA, '{"a":{"b":["c"]}}', "non-empty arrays of literals"),
        (METADATA, '{"$or":[{"a":["b"]},{"c":["d"]}]}', "non-empty arrays of literals"),
        (SYSTEM, '["a"]', "Filter is not an object"),
        (DATA, json.dumps({"a": [*range(11)], "b": [*range(10)], "$or": [{"c": [*range(9)]}, {"d": [1]}]}), "1000"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_a_pattern_is_refused(scope: str, pattern: str, text: str) -> None:
    with pytest.raises(InvalidInputException) as refused:
        check((scope, pattern))
    assert text in refused.value.message


def test_the_patterns_have_a_limit_together() -> None:
    longest = json.dumps({"a": ["x" * (MAX_BYTES - len('{"a": [""]}'))]})
    assert len(longest) == MAX_BYTES
    check((DATA, longest))
    with pytest.raises(InvalidInputException, match="at most 4096 bytes together"):
        check((DATA, longest), (METADATA, '{"k":["v"]}'))
    with pytest.raises(InvalidInputException, match="at most 4096 bytes together"):
        check((DATA, longest.replace("xx", "ü", 1).replace("x", "ü", 1)))


def test_each_scope_has_at_most_one_filter() -> None:
    check((DATA, '{"a":[1]}'), (METADATA, '{"a":["1"]}'), (SYSTEM, '{"a":["1"]}'))
    with pytest.raises(InvalidInputException, match="Duplicate filter scope: DATA"):
        check((DATA, '{"a":[1]}'), (DATA, '{"b":[1]}'))
    with pytest.raises(InvalidInputException, match=NO_FILTER):
        check_filters(FilterConfiguration())
