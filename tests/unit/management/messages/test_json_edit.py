"""Tests which paths a preview of an edit suggests (Penstock's choice), and the types of values (RFC 8259, 3)."""

import pytest

from penstock.management.messages.editing import order_paths
from penstock.management.messages.json_edit import find_type, list_paths, replace_value


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ('{"total": 1, "lines": [{"sku": 1}, {"x": 2}]}', ["total", "lines", "lines.0", "lines.0.sku"]),
        ('{"a.b": 1, "": 2, "\\ud83d": 3, "\\u0000": 4, "' + "x" * 65 + '": 5}', []),
        ("no json", []), ("1", []), ("[" * 100_000, []),
    ],
)  # fmt: skip
def test_the_paths_of_a_body(text: str, paths: list[str]) -> None:
    assert list_paths(text, 30) == paths
    assert all(replace_value(text, path.split("."), "1") is not None for path in paths)


def test_a_body_with_many_members_has_few_paths() -> None:
    assert len(list_paths("{" + ",".join(f'"n{n}": {{}}' for n in range(10_000)) + "}", 30)) == 30


def test_the_most_similar_path_is_first() -> None:
    assert order_paths(["customer", "Total", "lines"], "totl") == ["Total", "customer", "lines"]
    assert order_paths([], "x") == []


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("{}", "object"), ("[1]", "array"), ('"12"', "string"), ("12", "number"), ("-1.5e3", "number"),
        ("true", "boolean"), ("false", "boolean"), ("null", "null"),
    ],
)  # fmt: skip
def test_the_type_of_a_value(value: str, kind: str) -> None:
    assert find_type(f" {value}") == kind
    assert find_type('{"a": [0, ' + value + "]}", ["a", "1"]) == kind
    assert find_type('{"a": ' + value + "}", ["b"]) is None
    assert find_type(f"{value},") is None
