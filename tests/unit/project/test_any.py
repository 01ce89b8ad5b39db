"""`Any` says nothing to the type checker: the number of lines in layers/ that use it may only become smaller."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

LAYERS = Path(__file__).parents[3] / "layers"
MOST_LINES = 148


def lines_with_any(code: str) -> set[int]:
    """The lines that use the name; its imports are none of them, annotations in quotes are."""
    return set(_uses(ast.parse(code)))


def _uses(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id="Any", lineno=line) | ast.Attribute(attr="Any", lineno=line):
                yield line
            case ast.Constant(value=str(text), lineno=line) if "Any" in text and _is_annotation(text):
                yield line


def _is_annotation(text: str) -> bool:
    """Whether a string is an expression with the name, as in casts and forward references."""
    try:
        return any(_uses(ast.parse(text, mode="eval")))
    except SyntaxError:
        return False


def test_any_is_used_in_few_lines_of_the_layers() -> None:
    counts = {path: len(lines_with_any(path.read_text())) for path in LAYERS.rglob("*.py")}
    assert len(counts) > 200
    assert sum(counts.values()) <= MOST_LINES, sorted(counts.items(), key=lambda item: -item[1])[:20]


def test_uses_are_counted_by_line() -> None:
    code = '''
from typing import Any, cast
import typing as t

def f(a: Any, b: dict[str, Any]) -> t.Any:
    """Any words."""
    return cast("list[Any]", a)

text = "Any"
'''
    assert lines_with_any(code) == {5, 7, 9}
