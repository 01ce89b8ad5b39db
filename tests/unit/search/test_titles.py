"""Tests the titles of failure groups."""

import json

import pytest

from penstock.postgres.statements.stored_messages import FailureRow
from penstock.search.titles import choose_titles


def row(body: object = "text", **attributes: str) -> FailureRow:
    """Makes a sample of a failure group."""
    encoded = {name: {"DataType": "String", "StringValue": text} for name, text in attributes.items()}
    stored = dict.fromkeys(FailureRow._fields) | {"body": json.dumps(body), "attributes": json.dumps(encoded)}
    return FailureRow(**stored)  # type: ignore[arg-type]


def test_the_cause_comes_first_and_numbers_do_not_count() -> None:
    samples = [row({"a": n}, PenstockError=f"order {n} is unknown\nat line {n}", error="x") for n in (1, 22)]
    assert choose_titles([samples]) == ["order # is unknown"]
    assert choose_titles([[row(ERROR_MESSAGE="no such queue")]]) == ["no such queue"]


def test_an_attribute_that_the_samples_share() -> None:
    groups = [[row(error="timeout", trace="1"), row(error="timeout", trace="2")], [row(error="refused")]]
    assert choose_titles(groups) == ["error: timeout", "error: refused"]
    assert choose_titles([[row(tenant="a", v="1")], [row(tenant="b", v="1")]]) == ["tenant: a", "tenant: b"]
    assert choose_titles([[row(tenant="a")]]) == [None]


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
    assert choose_titles([[row(body) for body in group] for group in bodies]) == titles
