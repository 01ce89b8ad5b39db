"""No identifier of the product has a word that docs/glossary.md calls retired."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/glossary.md").read_text()
RETIRED = frozenset(re.findall(r"`([a-z_]+)`", PAGE.partition("Retired words")[2]))
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SQL_WORDS = re.compile(r"'(?:[^']|'')*'|--[^\n]*|[a-z_]+")


def retired_in(identifier: str) -> set[str]:
    """The retired words of an identifier: the whole of it, or one of its parts."""
    identifier = identifier.replace("dead_letters", "")  # messages of a dead-letter queue
    parts = {word.lower() for word in _WORDS.findall(identifier)}
    return (parts | {identifier.strip("_").lower()}) & RETIRED


def python_identifiers(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        for name in ("name", "id", "attr", "arg", "asname"):
            value = getattr(node, name, None)
            if isinstance(value, str):
                yield value


def sql_identifiers(source: str) -> Iterator[str]:
    return (word for word in _SQL_WORDS.findall(source) if not word.startswith(("'", "--", "drop function")))


def files() -> list[str]:
    command = ["git", "ls-files", "layers", "sql/functions", "sql/views", "functions", "jobs", "infra"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split() if name.endswith((".py", ".sql"))]


def test_no_identifier_has_a_retired_word() -> None:
    found = {}
    for name in files():
        read = python_identifiers if name.endswith(".py") else sql_identifiers
        words = {word for word in read((ROOT / name).read_text()) if retired_in(word)}
        if words:
            found[name] = words
    assert found == {}


@pytest.mark.parametrize("identifier", ["Letterhead", "_told", "open_world", "hang_up", "topic_letters"])
def test_a_retired_word_is_found(identifier: str) -> None:
    assert retired_in(identifier)


def test_other_words_are_none() -> None:
    assert not any(map(retired_in, ("walkway", "redrive", "topic_messages", "RejectedRequest")))
