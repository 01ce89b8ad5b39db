"""Tests which subscribers receive an event.

Sources: "Filter events", custom event bus, and "Comparison operators for use in event patterns" (Amazon EventBridge
User Guide); README of github.com/aws/event-ruler.
"""

from __future__ import annotations

import ast
import inspect
import json
from random import Random
from typing import Any

import pytest

from penstock.events import patterns
from penstock.events.delivery import event as delivered
from penstock.events.delivery import filter_rules
from penstock.events.delivery.filters import FilterIndex, UnreadableEvent
from penstock.events.errors import InvalidInputException
from penstock.events.patterns import MAX_LEVELS, check_filters
from penstock.events.shapes import Filter, FilterConfiguration
from penstock.sns.filter_policy import operators
from tests.support.filter_policies.events import (
    EVENT_ID,
    build_object,
    build_pattern,
    build_payload,
    build_values,
    configuration,
    count_comparisons,
    event,
    matches,
)

BIG = 12_345_678_901_234_567_890


# --- operators -------------------------------------------------------------------------------------------------------
def test_every_test_of_an_operator_has_a_builder() -> None:
    """Without a builder, a bus would accept a pattern, and fail when it delivers. `in` needs none, because a set of
    values replaces it."""
    names = {
        str(ast.literal_eval(call.args[0].elts[0]))
        for module in (operators, patterns)
        for call in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Operator"
        if call.args and isinstance(call.args[0], ast.List)
    }
    assert names - {"in"} == set(filter_rules.BUILDERS)


@pytest.mark.parametrize(
    ("operator", "accepted", "refused"),
    [
        ("x", ["x"], ["X", "xx", "", None, ["x "], {"x": 1}, []]),
        ("", [""], [None, 0, False, [], {}]),
        ("1", ["1"], [1, 1.0, True]),
        (1, [1, 1.0, [2, 1]], ["1", True, 10, None, 1.1]),
        (0, [0, -0.0], [False, "", None, []]),
        (True, [True, [False, True]], ["true", 1, False]),
        (None, [None, [1, None]], ["null", "", 0, False, [], {}]),
        (BIG, [BIG], [BIG + 1, BIG - 1, float(BIG), str(BIG)]),
        (0.1, [0.1, 0.100001], [0.10001, "0.1"]),
        ({"prefix": "a%"}, ["a%", "a%b"], ["ab", "A%", "%a%", 1]),
        ({"prefix": "a\\_"}, ["a\\_", "a\\_x"], ["a\\x", "a_"]),
        ({"prefix": ""}, ["", "x"], [1, None, True]),
        ({"suffix": "%_"}, ["%_", "a%_"], ["ax", "%_a"]),
        ({"suffix": "b\\"}, ["b\\", "ab\\"], ["b", "b\\a"]),
        ({"prefix": {"equals-ignore-case": "ÉT"}}, ["ét", "ÉTé"], ["e", "xét", 1, None]),
        ({"suffix": {"equals-ignore-case": ".PNG"}}, ["a.png", ".PnG"], ["png", "a.png ", 1]),
        ({"equals-ignore-case": "aÉ"}, ["aÉ", "Aé"], ["aéa", "a", 1, None]),
        ({"anything-but": "x"}, ["y", "X", 1, None, True, "", ["x", "y"]], ["x", ["x", "x"], [], {}, {"x": 1}]),
        ({"anything-but": 1}, [2, "1", True], [1, 1.0]),
        ({"anything-but": ["x", "y"]}, ["z", 1], ["x", "y"]),
        ({"anything-but": [1, 2]}, [3, "1"], [1, 2.0]),
        ({"anything-but": {"prefix": "x"}}, ["ax", 1, None], ["x", "xa"]),
        ({"anything-but": {"prefix": ["x", "y"]}}, ["ax"], ["xa", "ya"]),
        ({"anything-but": {"suffix": ["x", "_"]}}, ["xa", "_a", 1], ["x", "a_"]),
        ({"anything-but": {"equals-ignore-case": ["X", "é"]}}, ["xx", 1, None], ["x", "X", "É"]),
        ({"numeric": ["=", 5]}, [5, 5.0], ["5", 5.1, True]),
        ({"numeric": [">", 0, "<=", 5]}, [5, 0.1, [-1, 3]], [0, 5.1, "3", True, None]),
        ({"numeric": ["<", 0]}, [-1, -0.5], [0, -2_000_000_000]),
        ({"numeric": [">=", 1]}, [1, 1_000_000_000], [0.9, 1_000_000_001, 10**400]),
        ({"numeric": ["=", 1]}, [1], [True]),
        ({"cidr": "10.0.0.0/24"}, ["10.0.0.0", "10.0.0.255"], ["10.0.1.0", "10.0.0", "10.0.0.0/32", "", "::a00:0", 1]),
        ({"cidr": "2001:db8::/32"}, ["2001:db8::1", "2001:DB8:0::"], ["2001:db9::", "10.0.0.1", "2001:db8::1%eth0"]),
        ({"exists": True}, [1, None, "", False, [1], [None]], [{}, [], {"x": 1}, [[]], [{}]]),
        ({"exists": False}, [{}, [], {"x": 1}, [[]]], [1, None, "", [1]]),
    ],
    ids=str,
)  # fmt: skip
def test_an_operator(operator: object, accepted: list[object], refused: list[object]) -> None:
    pattern = {"k": [operator]}
    assert [value for value in accepted if not matches(pattern, {"k": value})] == []
    assert [value for value in refused if matches(pattern, {"k": value})] == []
    assert matches(pattern, {"other": "x"}) == (operator == {"exists": False})


@pytest.mark.parametrize(
    ("number", "others"),
    [
        ("1", ["1", "1.0", "1e0", "10e-1", "0.1e1", "1.000001"]),
        ("-0", ["0", "0.0", "-0.0", "0e9"]),
        (str(BIG), [str(BIG)]),
        ("9" * 400, ["9" * 400]),
        ("1e20", ["100000000000000000000", "1e+20", "1E20"]),
        ("1e999", ["1e999", "9e9999"]),
    ],
)  # fmt: skip
def test_forms_of_one_number_are_equal(number: str, others: list[str]) -> None:
    for other in others:
        assert matches(f'{{"k":[{number}]}}', event(raw=f'{{"k":{other}}}'.encode()))
        assert not matches(f'{{"k":[{{"anything-but":{number}}}]}}', event(raw=f'{{"k":{other}}}'.encode()))


def test_numbers_beyond_the_range_of_doubles_differ_by_one_digit() -> None:
    assert not matches('{"k":[' + "9" * 400 + "]}", event(raw=b'{"k":' + b"9" * 399 + b"8}"))


# --- structure -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("pattern", "data", "expected"),
    [
        ({"a": [1], "b": [2]}, {"a": 1, "b": 2, "c": 3}, True),
        ({"a": [1], "b": [2]}, {"a": 1}, False),
        ({"a": {"b": [1]}}, {"a": {"b": 1}}, True),
        ({"a": {"b": [1]}}, {"a.b": 1}, True),
        ({"a.b": [1]}, {"a": {"b": 1}}, True),
        ({"a": {"b": [1]}}, {"a": 1, "b": 1}, False),
        ({"": [1]}, {"": 1}, True),
        ({"": [1]}, 1, False),
        ({"wildcard": [1]}, {"wildcard": 1}, True),
        # $or
        ({"$or": [{"a": [1]}, {"b": [2]}]}, {"b": 2}, True),
        ({"$or": [{"a": [1]}, {"b": [2]}]}, {"a": 2, "b": 1}, False),
        ({"c": [3], "$or": [{"a": [1]}, {"b": [2]}]}, {"a": 1}, False),
        ({"c": [3], "$or": [{"a": [1]}, {"b": [2]}]}, {"b": 2, "c": 3}, True),
        ({"d": {"$or": [{"a": [1]}, {"b": [2]}]}}, {"d": {"b": 2}}, True),
        ({"$or": [{"a": [1], "$or": [{"b": [2]}, {"c": [3]}]}, {"d": [4]}]}, {"a": 1, "c": 3}, True),
        ({"$or": [{"a": [1]}, {"b": [{"exists": False}]}]}, {"c": 1}, True),
        ({"$or": ["x"]}, {"$or": "x"}, True),
        # one element of an array
        ({"e": {"f": ["Anna"], "l": ["Jones"]}}, {"e": [{"f": "Anna", "l": "S"}, {"f": "Peter", "l": "Jones"}]}, False),
        ({"e": {"f": ["Anna"], "l": ["S"]}}, {"e": [{"f": "Peter", "l": "Jones"}, {"f": "Anna", "l": "S"}]}, True),
        ({"e": {"f": ["Anna"], "l": ["Smith"]}}, {"e": [[{"f": "Anna"}, {"l": "Smith"}]]}, False),
        ({"e": {"f": [1], "g": {"h": [2]}}}, {"e": [{"f": 1, "g": [{"h": 3}, {"h": 2}]}, {"f": 2}]}, True),
        ({"e": {"f": [1]}, "g": {"h": [2]}}, {"e": [{"f": 2}, {"f": 1}], "g": [{"h": 2}, {"h": 1}]}, True),
        ({"e.f": [1], "e.g": [2]}, {"e": [{"f": 1, "g": 1}, {"f": 2, "g": 2}]}, False),
        ({"e": {"f": {"g": [1], "h": [2]}}}, {"e.f": [{"g": 1, "h": 2}, {"g": 2}]}, True),
        ({"e": {"f": {"g": [1], "h": [2]}}}, {"e.f": [{"g": 1}, {"h": 2}]}, False),
        ({"e": {"f": [1], "g": [2]}}, {"e": [{"f": 2}, {"g": 1}], "e.f": 1, "e.g": 2}, True),
        ({"e": {"f\x00": [1], "g": [2]}}, {"e": [{"f\x00": 1}, {"g": 2}]}, False),
        ({"e": {"f\x00": [1], "g": [2]}}, {"e": [{"f\x00": 1, "g": 2}, {}]}, True),
        ({"e": [1], "e.f": [1]}, {"e": [1, {"f": 1}]}, False),
        ({"e": {"f": {"g": [1]}, "h": [2]}}, {"e": [{"h": 2}, {"h": 2, "f": {}, "f.g": 1}]}, True),
        ({"e": {"f": {"g": [1], "h": [2]}}}, {"e": {"f": [{"g": 1}, {"h": 2}], "f.g": 1}}, True),
        # payloads that are not objects
        ({"a": [1], "b": [2]}, [{"a": 1, "b": 2}, {"a": 3}], True),
        ({"a": [1], "b": [2]}, [{"a": 1}, {"b": 2}], False),
        ({"a": [1]}, "a", False),
        ({"a": [{"exists": False}]}, 5, True),
        ({"a": [{"exists": False}]}, {}, True),
        (["x", {"prefix": "y"}], "x", True),
        (["x", {"prefix": "y"}], ["z", "yes"], True),
        (["x", {"prefix": "y"}], {"x": "x"}, False),
        (["x", {"prefix": "y"}], {"": "x"}, False),
        ([None], None, True),
        ([{"exists": False}], {"a": 1}, True),
        ([{"exists": False}], 1, False),
    ],
)  # fmt: skip
def test_structure(pattern: object, data: object, *, expected: bool) -> None:
    assert matches(pattern, data) == expected


def test_the_last_of_equal_names_counts() -> None:
    assert matches({"k": [2]}, event(raw=b'{"k":1,"k":2}'))
    assert not matches({"k": [1]}, event(raw=b'{"k":1,"k":2}'))
    assert matches('{"k":[1],"k":[2]}', {"k": 2})
    assert not matches('{"k":[1],"k":[2]}', {"k": 1})


# --- scopes ----------------------------------------------------------------------------------------------------------
def test_a_binary_payload_matches_no_pattern_for_data() -> None:
    for pattern in ({"a": [1]}, {"a": [{"exists": False}]}, [{"exists": False}], ["x"]):
        assert not matches(pattern, event(raw=b'{"a":1}', binary=True))
    assert matches({"k": ["v"]}, event(raw=b"\xff", binary=True, metadata={"k": "v"}), scope="METADATA")


def test_metadata() -> None:
    metadata = {"k": "v", "app.name": "x", "n": "1", "$or": "y", "u": "\x1f"}
    for pattern in ({"k": ["w", "v"]}, {"app.name": ["x"]}, {"n": ["1"]}, {"$or": ["y"]}, {"u": ["\x1f"]}):
        assert matches(pattern, event(metadata=metadata), scope="METADATA")
    for other in ({"k": ["x"]}, {"n": [1]}, {"k": [None]}, {"missing": ["v"]}, {"k": ["v"], "n": ["2"]}):
        assert not matches(other, event(metadata=metadata), scope="METADATA")
    assert not matches({"k": ["v"]}, event({"k": "v"}), scope="METADATA")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ({"aws:EventId": [str(EVENT_ID)]}, True),
        ({"aws:Source": [{"prefix": "shop"}]}, True),
        ({"aws:DetailType": [{"exists": False}]}, True),
        ({"aws:SequenceNumber": [{"numeric": [">", 0]}]}, False),
        ({"aws:SequenceNumber": ["10000000000000000001"]}, True),
        ({"aws:IngestionTime": [{"prefix": "2026-08-31T07"}]}, True),
        ({"EventGroupId": ["g"], "ContentType": ["application/json"]}, True),
        ({"$or": [{"aws:Source": ["x"]}, {"aws:DeliveryType": ["LIVE"]}]}, True),
        ({"aws:DeliveryType": ["REPLAY"]}, False),
    ],
)
def test_system_metadata(pattern: object, *, expected: bool) -> None:
    assert matches(pattern, event(source="shop.orders", group_id="g"), scope="SYSTEM_METADATA") == expected


def test_a_filter_can_select_replays() -> None:
    index = FilterIndex([(1, configuration(SYSTEM_METADATA={"aws:DeliveryType": ["REPLAY"]}))])
    assert index.find(event(), "REPLAY") == [1]
    assert index.find(event(), "LIVE") == []


def test_the_filters_of_all_scopes_must_match() -> None:
    index = FilterIndex(
        [(1, configuration(DATA={"a": [1]}, METADATA={"k": ["v"]}, SYSTEM_METADATA={"aws:Source": ["s"]}))]
    )
    assert index.find(event({"a": 1}, metadata={"k": "v"}, source="s")) == [1]
    assert index.find(event({"a": 2}, metadata={"k": "v"}, source="s")) == []
    assert index.find(event({"a": 1}, metadata={"k": "w"}, source="s")) == []
    assert index.find(event({"a": 1}, metadata={"k": "v"}, source="t")) == []


# --- several subscribers ---------------------------------------------------------------------------------------------
def test_subscribers_keep_their_order() -> None:
    patterns: list[tuple[int, dict[str, Any] | None]] = [
        (9, configuration(DATA={"a": [1, 2]})),
        (3, None),
        (7, configuration(DATA={"a": [{"numeric": ["<", 5]}]})),
        (8, configuration(DATA={"a": [3]})),
        (1, {"Language": "EVENT_BRIDGE_PATTERN"}),
        (2, configuration(DATA={"b": [{"exists": False}]})),
    ]
    index = FilterIndex(iter(patterns))
    assert index.find(event({"a": [1, 2, 1]})) == [9, 3, 7, 1, 2]
    assert index.find(event({"a": 3, "b": 1})) == [3, 7, 8, 1]
    assert index.find(event(raw=b"\xff", binary=True)) == [3, 1]
    assert FilterIndex([]).find(event({"a": 1})) == []


def test_subscribers_do_not_influence_each_other() -> None:
    """The index finds the same subscribers as a separate index for each of them."""
    random, matching, total = Random(1), 0, 0
    for _ in range(30):
        patterns = [build_values(random) if random.random() < 0.1 else build_pattern(random) for _ in range(12)]
        subscribers = [(number, configuration(DATA=pattern)) for number, pattern in enumerate(patterns)]
        index = FilterIndex(subscribers)
        alone = [FilterIndex([subscriber]) for subscriber in subscribers]
        for _ in range(20):
            given = event(build_object(random) if random.random() < 0.7 else build_payload(random))
            expected = [number for each in alone for number in each.find(given)]
            assert index.find(given) == expected
            matching, total = matching + len(expected), total + len(patterns)
    assert 200 < matching < total / 2


# --- payloads that parsers dislike -----------------------------------------------------------------------------------
HOSTILE = (
    b'{"k":1e999}',
    b'{"k":-1e999,"j":1e-999}',
    b'{"k":' + b"9" * 400 + b"}",
    b'{"k":-' + b"9" * 5_000 + b"}",
    b'{"k":' + b"9" * 400 + b".5e-3}",
    b'{"k":"\\ud800","\\udfff":1}',
    b'{"k":"\\u0000\\u001f","\\u001f":"x"}',
    b'{"k":1,"k":{"k":[{},{}]},"k":[[],[1,{"k":2}]]}',
    b'{"k":' * 200 + b"1" + b"}" * 200,
    b'{"k":' + b"[" * 200 + b"1" + b"]" * 200 + b"}",
    b'{"k":' + b"[" * 200 + b'{"k":1},{"j":2}' + b",{}]" * 200 + b"}",
    b'{"k.k.k":{".":1,"..":2,"":3},"k":{"k":{"k":{"":4}}}}',
    b"[" * 200 + b"]" * 200,
    b" null ",
    b'""',
    b"{}",
)
PATTERNS = (
    {"k": [1, "x", None, {"numeric": [">", 0]}, {"cidr": "::/0"}, {"equals-ignore-case": "x"}], "j": [2]},
    {"k": {"k": [{"anything-but": [1]}, {"suffix": "x"}], "j": [{"exists": True}]}},
    {"k": [{"anything-but": {"prefix": "x"}}], ".": [{"exists": False}]},
    {"$or": [{"k": {"k": {"k": {"": [4]}}}}, {"\ud800": [{"prefix": ""}]}]},
    [1, {"exists": False}, {"anything-but": {"equals-ignore-case": "x"}}],
)


@pytest.mark.parametrize("payload", HOSTILE, ids=lambda payload: payload[:30].decode())
def test_valid_json_is_always_judged(payload: bytes) -> None:
    index = FilterIndex((number, configuration(DATA=pattern)) for number, pattern in enumerate(PATTERNS))
    index.find(event(raw=payload))  # raises no error
    assert matches([{"exists": False}, {"exists": True}], event(raw=payload))


def test_lone_surrogates_and_control_characters_match_themselves() -> None:
    for text in ('"\\ud800"', '"a\\udfffb"', '"\\u0000"', '"\\u001f"'):
        assert matches(f'{{"k":[{text}]}}', event(raw=f'{{"k":{text}}}'.encode()))
        assert matches(f'{{{text}:["x"]}}', event(raw=f'{{{text}:"x"}}'.encode()))
        assert not matches(f'{{"k":[{text}]}}', {"k": "ab"})


@pytest.mark.parametrize(
    "payload",
    [
        b"", b"{", b'{"a":1}x', b"NaN", b'{"a":Infinity}', b"\xff", b'"\xed\xa0\x80"', b'{"a":1,}', b"'a'",
        b"\xef\xbb\xbf{}", b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000,
    ],
    ids=lambda payload: str(payload[:10]),
)  # fmt: skip
def test_a_payload_that_cannot_be_read_is_an_error(payload: bytes) -> None:
    index = FilterIndex(
        [
            (1, configuration(DATA={"a": [1]})),
            (2, None),
            (3, configuration(METADATA={"k": ["v"]})),
            (4, configuration(DATA={"a": [{"exists": False}]}, METADATA={"k": ["v"]})),
            (5, configuration(DATA={"a": [1]}, METADATA={"k": ["w"]})),
            (6, configuration(METADATA={"k": ["w"]})),
        ]
    )
    with pytest.raises(UnreadableEvent) as found:
        index.find(event(raw=payload, metadata={"k": "v"}))
    assert found.value.matched == [2, 3]
    assert found.value.unjudged == [1, 4]


def test_a_payload_that_no_filter_needs_can_be_anything() -> None:
    index = FilterIndex([(1, None), (2, configuration(METADATA={"k": ["v"]})), (3, configuration(
        DATA={"a": [1]}, METADATA={"k": ["other"]}))])  # fmt: skip
    assert index.find(event(raw=b"{", metadata={"k": "v"})) == [1, 2]


def test_arrays_that_are_too_deep_are_an_error_and_no_mismatch() -> None:
    index = FilterIndex([(1, configuration(DATA={"a": {"b": [1], "c": [2]}}))])
    found = []
    for levels in (1, 200, 800, 900, 920, 940, 960, 980, 1_000, 1_200, 20_000):
        try:
            found += index.find(event(raw=b'{"a":' + b"[" * levels + b'{"b":1,"c":2}' + b",0]" * levels + b"}"))
        except UnreadableEvent as error:
            found += [-number for number in error.unjudged]
    assert found[:2] == [1, 1]
    assert found[-1] == -1
    assert len(found) == 11


# --- large events ----------------------------------------------------------------------------------------------------
TENS = {name: {"$or": [{f"k{n}": [1]} for n in range(10)]} for name in "xyz"}  # 1,000 alternatives, the most of AWS
ONES = {name: {f"k{n}": 1 for n in range(10)} for name in "xyz"}


def test_the_alternatives_of_a_pattern_compare_a_long_array_once() -> None:
    """Each time, 1,000 alternatives would need 10 million comparisons, which are more than MAX_COMPARISONS."""
    pattern = {"a": [{"suffix": "z"}], **TENS}
    values = [f"v{n}" for n in range(5_000)]
    assert matches(pattern, {"a": values, **ONES}) is False
    assert matches(pattern, {"a": [*values, "z"], **ONES}) is True


def test_a_pattern_that_needs_too_many_comparisons_lets_the_event_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each member matches in an element of the array, but no element has all of them. The other subscribers receive
    what their patterns match."""
    monkeypatch.setattr(filter_rules, "MAX_COMPARISONS", 20_000)
    index = FilterIndex(
        [
            (1, configuration(DATA={"l": TENS})),
            (2, configuration(DATA={"l": {"x": {"k1": [1]}, "y": {"k1": [1]}}})),
            (3, configuration(DATA={"l": {"x": {"k1": [1], "k2": [1]}}})),
            (4, configuration(DATA={"l": TENS}, METADATA={"k": ["w"]})),
            (5, configuration(DATA={"l": TENS}, METADATA={"k": ["v"]})),
        ]
    )
    elements = [*({name: members} for name, members in ONES.items()), *[{}] * 100]
    with pytest.raises(UnreadableEvent) as found:
        index.find(event({"l": elements}, metadata={"k": "v"}))
    assert found.value.matched == [3]
    assert sorted(found.value.unjudged) == [1, 5]


def test_an_event_of_a_mebibyte_is_compared_with_hundreds_of_patterns() -> None:
    size = 100_000
    patterns = [{"l": {"a": [n], "b": [n]}} for n in range(size, size + 300)]
    index = FilterIndex([(n, configuration(DATA=pattern)) for n, pattern in enumerate(patterns)])
    elements = [*({"a": n} for n in range(size)), {"a": size + 7, "b": size + 7}]
    given = event({"l": elements})
    assert len(given.data) > 1_000_000
    assert index.find(given) == [7]


def test_all_patterns_of_a_bus_share_the_comparisons_of_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty patterns compare 1,000 values, of which the limit permits twenty. The other subscribers receive the event.
    Patterns that compare few values do not count."""
    monkeypatch.setattr(filter_rules, "MAX_EVENT_COMPARISONS", 40_000)
    compared = count_comparisons(monkeypatch)
    long = [(n, configuration(DATA={"a": [{"suffix": "z"}]})) for n in range(50)]
    short = [(n, configuration(DATA={"n": [{"prefix": "ab"[n % 2]}]})) for n in range(50, 100)]
    with pytest.raises(UnreadableEvent) as found:
        FilterIndex(long + short).find(event({"n": "b", "a": [f"v{n}" for n in range(1_000)]}))
    assert found.value.matched == list(range(51, 100, 2))
    assert found.value.unjudged == list(range(20, 50))
    assert len(compared) == 20_000 + 50


def test_an_event_is_read_once_and_equal_values_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []

    def decode(data: bytes) -> object:
        read.append(data)
        return json.loads(data)

    monkeypatch.setattr(delivered, "decode_json", decode)
    compared = count_comparisons(monkeypatch)
    index = FilterIndex([(n, configuration(DATA={"a": [{"suffix": "z"}]})) for n in range(300)])
    assert index.find(event({"a": ["v", "w"] * 50_000})) == []
    assert (len(read), len(compared)) == (1, 2 * 300)


def _list_leaves(value: object, names: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], object]]:
    if isinstance(value, dict):
        return [found for name, member in value.items() for found in _list_leaves(member, (*names, name))]
    if isinstance(value, list):
        return [found for member in value for found in _list_leaves(member, names)]
    return [(names, value)]


def _build_text(random: Random) -> str:
    return "".join(chr(random.choice((0, 31, 46, 65, 97, 0xE9, 0xD83D, 0x10FFFF))) for _ in range(2))


def _build_json(random: Random, levels: int = 4) -> Any:
    kind = random.randrange(7 if levels else 5)
    if kind < 5:
        number = random.uniform(-1, 1) * 10 ** random.randint(-320, 300)
        return (None, random.random() < 0.5, random.randint(-(10**30), 10**30), number, _build_text(random))[kind]
    if kind == 5:
        return [_build_json(random, levels - 1) for _ in range(random.randint(0, 4))]
    return {_build_text(random): _build_json(random, levels - 1) for _ in range(random.randint(0, 4))}


def test_every_value_of_a_payload_matches_a_pattern_for_it() -> None:
    """Whatever a payload contains, the pattern with the path and the value of a leaf matches. Only one lone surrogate
    occurs, because names that differ only in unpaired surrogates are equal."""
    random, leaves = Random(2), 0
    index = FilterIndex((number, configuration(DATA=pattern)) for number, pattern in enumerate(PATTERNS))
    for _ in range(400):
        encoded = event(_build_json(random))
        index.find(encoded)  # raises no error
        for names, value in _list_leaves(json.loads(encoded.text)):
            pattern: object = [value]
            for name in reversed(names):
                pattern = {name: pattern}
            assert matches(pattern, encoded)
            leaves += 1
    assert leaves > 500


# --- agreement with the check ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "pattern",
    [
        '{"a":' * (MAX_LEVELS - 1) + "[1]" + "}" * (MAX_LEVELS - 1),
        '{"$or":[{"a":[1]},' * 90 + '{"b":[1]}' + "]}" * 90,
        json.dumps({"$or": [{"a": [n]} for n in range(250)]}),
        json.dumps({"a": list(range(10)), "$or": [{"b": [n], "c": ["x"]} for n in range(100)]}),
        '{"a":["\\ud800","\\u0000",1e999,' + "9" * 400 + "]}",
        json.dumps({".".join("a" * 1_900): [1]}),
        json.dumps([{"prefix": {"equals-ignore-case": "İ"}}, {"numeric": ["<=", -1e9]}, {"cidr": "0.0.0.0/0"}]),
    ],
    ids=lambda pattern: pattern[:20],
)
def test_an_accepted_pattern_compiles_in_a_worker_with_many_calls(pattern: str) -> None:
    """The worker's stack can be deeper than the stack of CreateSubscriber."""
    check_filters(FilterConfiguration(filters=[Filter(pattern, "DATA")]))

    def call(depth: int) -> list[int]:
        return call(depth - 1) if depth else FilterIndex([(1, configuration(DATA=pattern))]).find(event({"a": "x"}))

    assert call(100) == []


@pytest.mark.parametrize("levels", [MAX_LEVELS, 600, 2_000])
def test_a_pattern_with_too_many_levels_is_refused(levels: int) -> None:
    pattern = '{"a":' * levels + "[1]" + "}" * levels
    with pytest.raises(InvalidInputException, match=r"levels|not valid JSON"):
        check_filters(FilterConfiguration(filters=[Filter(pattern[:4_096] if levels > 600 else pattern, "DATA")]))
