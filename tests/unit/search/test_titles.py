"""Tests the titles of failure groups."""

import json
from collections import Counter

import pytest

from penstock.postgres.statements.stored_messages import FailureRow
from penstock.search.titles import choose_titles, find_cause

Sample = tuple[object, dict[str, str]]


def sample(body: object = "text", **attributes: str) -> Sample:
    return body, attributes


def group(*samples: Sample, more: tuple[Sample, ...] = (), shape: str | None = "s") -> list[FailureRow]:
    """Makes a failure group's rows. The messages in `more` are not among the samples."""
    found: dict[str, Counter[str]] = {}
    for _, attributes in (*samples, *more):
        cause = find_cause(attributes)
        facts = {name: text for name, text in attributes.items() if name not in ("PenstockError", "ERROR_MESSAGE")}
        for name, text in (facts | ({} if cause is None else {"": cause})).items():
            found.setdefault(name, Counter())[text] += 1
    facts_json = json.dumps(
        {name: [[text for text, _ in texts.most_common(3)], len(texts), texts.total()] for name, texts in found.items()}
    )
    empty = dict.fromkeys(FailureRow._fields) | {"group_messages": len(samples) + len(more), "group_shape": shape}
    rows = []
    for body, attributes in samples:
        encoded = {name: {"DataType": "String", "StringValue": text} for name, text in attributes.items()}
        stored = empty | {"body": json.dumps(body), "attributes": json.dumps(encoded)}
        rows.append(FailureRow(**stored))  # type: ignore[arg-type]
    return [rows[0]._replace(group_facts=facts_json), *rows[1:]]


def test_the_cause_comes_first_and_numbers_do_not_count() -> None:
    samples = [sample({"a": n}, PenstockError=f"order {n} is unknown\nat line {n}", error="x") for n in (1, 22)]
    assert choose_titles([group(*samples)]) == ["order # is unknown"]
    assert choose_titles([group(sample(ERROR_MESSAGE="no such queue"))]) == ["no such queue"]


def test_an_attribute_that_all_messages_share() -> None:
    groups = [group(sample(error="timeout", trace="1"), sample(error="timeout", trace="2")), group(sample(error="no"))]
    assert choose_titles(groups) == ["error: timeout", "error: no"]
    assert choose_titles([group(sample(tenant="a", v="1")), group(sample(tenant="b", v="1"))]) == [
        "tenant: a", "tenant: b"
    ]  # fmt: skip
    assert choose_titles([group(sample(tenant="a"))]) == [None]


@pytest.mark.parametrize(
    ("samples", "more", "title"),
    [
        ([{"reason": "stolen"}] * 3, [{"reason": "timeout"}] * 4, "mixed reason: timeout, stolen"),
        ([{"reason": "stolen"}] * 3, [{}], "mixed reason: stolen, none"),
        ([{"reason": "a"}] * 3, [{"reason": text} for text in "bcd"], "mixed reason: a, b, c, …"),
        ([{"PenstockError": "card 1"}] * 3, [{"PenstockError": "late"}], "mixed: card #, late"),
        ([{"PenstockError": "late"}] * 3, [{"reason": "x"}], "mixed: late, none"),
        ([{"PenstockError": "\nx"}] * 3, [{"PenstockError": "\ny"}], None),
        ([{"tenant": "a"}] * 3, [{"tenant": "b"}], None),
    ],
)
def test_a_message_outside_the_samples_counts(
    samples: list[dict[str, str]], more: list[dict[str, str]], title: str | None
) -> None:
    mixed = group(*(sample(**each) for each in samples), more=tuple(sample(**each) for each in more))
    assert choose_titles([mixed, group(sample())])[0] == title


@pytest.mark.parametrize(
    ("bodies", "titles"),
    [
        ([[{"order": 1}, {"order": 2}], [{"order": "three"}]], ["order: number", 'order: "three"']),
        ([[{"a": {"b": None}}], [{"a": {"b": 1}}]], ["a.b: null", "a.b: 1"]),
        ([[{"a": 1, "x": True}], [{"a": 1}]], ["x: true", None]),
        ([["no JSON object"], [[1]]], [None, None]),
    ],
)
def test_a_field_in_which_the_groups_differ(bodies: list[list[object]], titles: list[str | None]) -> None:
    assert choose_titles([group(*map(sample, each)) for each in bodies]) == titles


def test_more_messages_than_samples_share_only_what_their_shape_says() -> None:
    """The shape of an object with more than 200 names does not contain them (queue.json_shape)."""
    same, more = [sample({"order": 1})] * 3, (sample({"order": 2}),)
    other = group(sample({"order": "x"}))
    assert choose_titles([group(*same, more=more), other])[0] == "order: number"
    assert choose_titles([group(*same, more=more, shape=None), other])[0] is None
    wide = [sample({"n": dict.fromkeys(map(str, range(201)), 1)})] * 3
    assert choose_titles([group(*wide, more=more), other])[0] == "n: object"
