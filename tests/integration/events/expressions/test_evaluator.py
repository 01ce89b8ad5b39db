"""Tests the process that evaluates expressions.

Sources: the JSONata documentation (https://docs.jsonata.org/), "JSONata expressions", custom event bus (Amazon
EventBridge User Guide), and "Transforming data with JSONata" (AWS Step Functions Developer Guide,
https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html) for the functions that AWS adds.
"""

import json
import random
import sys
from datetime import datetime
from typing import Any
from uuid import UUID

import jsonata
import pytest

from penstock.events.expressions import evaluator as evaluators
from penstock.events.expressions.evaluator import Evaluator, ExpressionsUnavailableError
from penstock.events.expressions.protocol import Response

# "Simple Queries" of the JSONata documentation
PERSON = {
    "FirstName": "Fred", "Surname": "Smith", "Age": 28,
    "Address": {"Street": "Hursley Park", "City": "Winchester", "Postcode": "SO21 2JN"},
    "Phone": [
        {"type": "home", "number": "0203 544 1234"}, {"type": "office", "number": "01962 001234"},
        {"type": "office", "number": "01962 001235"}, {"type": "mobile", "number": "077 7700 1234"},
    ],
    "Other": {"Over 18 ?": True, "Misc": None},
}  # fmt: skip
DOCUMENT = {"Data": PERSON, "Metadata": {"team": "a"}, "SystemMetadata": {"aws:Source": "shop"}}
DOCUMENTED = {
    # Simple Queries, Predicate Queries, Functions and Expressions, Composition, Sorting and Grouping
    "$p.Surname": '"Smith"',
    "$p.Address.City": '"Winchester"',
    "$p.Other.Misc": "null",
    "$p.Other.Nothing": None,
    "$p.Other.`Over 18 ?`": "true",
    "$p.Phone[0].number": '"0203 544 1234"',
    "$p.Phone[-1].type": '"mobile"',
    "$p.Phone.number[0]": '["0203 544 1234","01962 001234","01962 001235","077 7700 1234"]',
    "$p.Phone[type='office'].number": '["01962 001234","01962 001235"]',
    "$p.Phone[type='mobile'].number": '"077 7700 1234"',
    "$p.Address.*[0]": '"Hursley Park"',
    "$p.FirstName & ' ' & $p.Surname": '"Fred Smith"',
    "$p.Age > 18 and 'Fred' in $p.FirstName": "true",
    "$p.Age > 30 ? 'old' : 'young'": '"young"',
    "$sum([1..10])": "55",
    "[1..5][$ % 2 = 0]": "[2,4]",
    "$p.Phone{type: $join(number, ', ')}": (
        '{"home":"0203 544 1234","office":"01962 001234, 01962 001235","mobile":"077 7700 1234"}'
    ),
    "$p.Phone^(>number).number[0]": ('["077 7700 1234","0203 544 1234","01962 001235","01962 001234"]'),
    "($cube := function($n) { $n * $n * $n }; $map([1..3], $cube))": "[1,8,27]",
    "$p.Address ~> |$|{'City': 'X'}, ['Street', 'Postcode']|": '{"City":"X"}',
    "$substringBefore($p.Address.Postcode, ' ') ~> $lowercase()": '"so21"',
    "$match('ababbabbcc', /a(b+)/)[1].groups": '["bb"]',
    "$fromMillis(1510067557121)": '"2017-11-07T15:12:37.121Z"',
    # The functions of AWS
    "$hash('abc', 'MD5')": '"900150983cd24fb0d6963f7d28e17f72"',
    "$hash('abc', 'SHA-1')": '"a9993e364706816aba3e25717850c26c9cd0d89d"',
    "$partition([1,2,3,4], 2)": "[[1,2],[3,4]]",
    "$partition([1,2,3], 2)": "[[1,2],[3]]",
    "$range(0, 4, 2)": "[0,2,4]",
    "$range(5, 1, -2)": "[5,3,1]",
    """$parse('{"a": [1, null]}').a""": "[1,null]",
    "$random(7) = $random(7)": "true",
    "$now() = $now() and $toMillis($now()) = $millis()": "true",
}


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator()


def evaluate(evaluator: Evaluator, *sources: str, document: Any = DOCUMENT) -> Response:
    (answer,) = evaluator.evaluate(sources, [json.dumps(document).encode()], 30.0, 1 << 20)
    return answer


# --- the language ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("source", "result"), DOCUMENTED.items())
def test_a_documented_expression_has_its_documented_result(
    evaluator: Evaluator, source: str, result: str | None
) -> None:
    assert evaluate(evaluator, f"($p := $events.Data; {source})") == Response([result])


def test_an_expression_reads_the_metadata_of_the_event(evaluator: Evaluator) -> None:
    sources = ("$events.Metadata.team", "$events.SystemMetadata.`aws:Source`", "$", "$uuid()", "$random()")
    team, source, context, uuid, number = evaluate(evaluator, *sources).results
    assert (team, source, context) == ('"a"', '"shop"', None)
    assert UUID(json.loads(uuid or "")).version == 4
    assert 0 <= float(number or "") < 1


def test_the_time_is_the_same_in_all_expressions_of_an_event(evaluator: Evaluator) -> None:
    first, second, millis = evaluate(evaluator, "$now()", "$now()", "$millis()").results
    assert first == second
    assert datetime.fromisoformat(json.loads(first or "")).timestamp() * 1000 == float(millis or "")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("$eval('1')", "$eval is not supported"),
        ("$hash('a', 'CRC')", "must be one of MD5"),
        ("$parse('{')", "is not JSON"),
        ("$partition([1], 0)", "whole number"),
        ("$range(1, 2, 0)", "must not be 0"),
        ("$range(1, 1000000000, 1)", "more than 1000000 numbers"),
        ("$error('no order')", "D3137: no order"),
        ("1 + 'a'", "T2002"),
    ],
)
def test_a_failed_evaluation_says_why(evaluator: Evaluator, source: str, text: str) -> None:
    answer = evaluate(evaluator, source)
    assert answer.results == []
    assert text in (answer.error or "")


def test_the_first_fault_of_the_syntax_has_its_place(evaluator: Evaluator) -> None:
    assert evaluator.find_fault(["1", "$events.Data"]) is None
    fault = evaluator.find_fault(["1", "2 +"])
    assert fault is not None
    assert (fault.failed, fault.position, (fault.error or "")[:5]) == (1, 3, "S0207")


# --- another implementation ------------------------------------------------------------------------------------------
NUMBERS = ["0", "3", "7", "$e.n", "({n} + {n})", "({n} * {n})", "$abs({n} - {n})", "$floor({n} / 2)", "$sum({a})",
           "$count({a})", "$length({s})", "({b} ? {n} : {n})"]  # fmt: skip
STRINGS = ["'x'", "'Ärger'", "$e.s", "({s} & {s})", "$string({n})", "$uppercase({s})", "$substring({s}, 1)",
           "$join($map({a}, $string), '-')", "$pad({s}, 5, '.')", "$substringBefore({s}, 'b')"]  # fmt: skip
BOOLEANS = ["true", "({n} < {n})", "({s} = {s})", "({n} in {a})", "({b} and {b})", "({b} or {b})", "$not({b})"]
ARRAYS = ["[1, 2, {n}]", "[{n}, {n}]", "$e.items.q", "$e.items[q > {n}].q", "$map({a}, function($v) {{ $v + {n} }})",
          "$filter({a}, function($v) {{ $v > {n} }})", "$reverse({a})", "$sort({a})", "$distinct({a})",
          "$append({a}, {a})", "[0..{n}]"]  # fmt: skip
VALUES = ["{n}", "{s}", "{b}", "{a}", "{{'a': {n}, 'b': {s}}}", "$merge([{{'a': {n}}}, {{'c': {b}}}])",
          "$e.items{{k: $sum(q)}}", "$type({a})", "$boolean({s})"]  # fmt: skip
KINDS = {"n": NUMBERS, "s": STRINGS, "b": BOOLEANS, "a": ARRAYS}
EVENT = {"n": 4, "s": "abc", "items": [{"k": "x", "q": 1}, {"k": "y", "q": 5}, {"k": "x", "q": 9}]}


def build_expression(choose: random.Random, forms: list[str], depth: int = 3) -> str:
    form = choose.choice(forms if depth else [form for form in forms if "{n}" not in form and "{a}" not in form])
    members = {kind: build_expression(choose, KINDS[kind], depth - 1) if depth else KINDS[kind][0] for kind in KINDS}
    return form.format(**members)


def test_another_implementation_has_the_same_results(evaluator: Evaluator) -> None:
    choose = random.Random(7)
    sources = [f"($e := $events.Data; {build_expression(choose, VALUES)})" for _ in range(120)]
    for source in sources:
        other = jsonata.Jsonata(source)
        other.assign("events", {"Data": EVENT})
        (result,) = evaluate(evaluator, source, document={"Data": EVENT}).results
        assert (None if result is None else json.loads(result)) == other.evaluate(None), source


# --- hostile expressions ---------------------------------------------------------------------------------------------
REGEX = "$match($events.Data.s, /^(a+)+$/) ~> $count()"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("($f := function($n) { 1 + $f($n + 1) }; $f(1))", "D1011"),
        ("($f := function($s) { $f($s & $s) }; $f('ab'))", "size limit"),
        ("$pad('a', 2000000, 'a')", "size limit of 1048576"),
        ("(" * 4000 + "1" + ")" * 4000, "nested too deeply"),
    ],
)
def test_a_hostile_expression_fails_alone(evaluator: Evaluator, source: str, text: str) -> None:
    assert text in (evaluate(evaluator, source).error or "")
    assert evaluate(evaluator, "1") == Response(["1"])


def test_an_endless_evaluation_ends_after_a_second_and_the_next_event_is_evaluated(evaluator: Evaluator) -> None:
    documents = [json.dumps({"Data": {"s": text}}).encode() for text in ("a" * 40 + "!", "aaa")]
    answers = evaluator.evaluate([REGEX], documents, 30.0, 1 << 20)
    assert ["D1012" in (answer.error or "") for answer in answers] == [True, False]
    assert answers[1] == Response(["1"])


def test_an_expression_that_takes_the_memory_ends_only_its_process(evaluator: Evaluator) -> None:
    """The expression makes 100 strings of 9 million characters for the first document.

    On a slow machine the library's own limit of time (its code D1012) can come before the limit of memory.
    """
    source = "$events.Data = 1 ? 1 : $count($map([1..100], function($n) { $pad('', 9000000, 'a') & $n }))"
    answers = evaluator.evaluate([source], [b'{"Data":0}', b'{"Data":1}'], 30.0, 1 << 20)
    assert str(answers[0].error).startswith((evaluators.TOO_LARGE, evaluators.TOO_LONG, "D1012: "))
    assert answers[1:] == [Response(["1"])]


def test_the_evaluator_stops_when_its_time_or_its_bytes_are_used_up(evaluator: Evaluator) -> None:
    documents = [b'{"Data":1}'] * 3
    assert evaluator.evaluate(["$events.Data"], documents, 0.0, 1 << 20) == []
    assert evaluator.evaluate(["$events.Data"], documents, 30.0, 1) == [Response(["1"])]


def test_without_the_library_expressions_are_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if "site-packages" not in path])
    with pytest.raises(ExpressionsUnavailableError, match="jlens"):
        Evaluator().evaluate(["1"], [b"{}"], 1.0, 1)
