"""Patterns of policies ("IAM JSON policy elements: Resource", IAM User Guide)."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.access.policy.patterns import Pattern


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_wildcards_are_those_of_a_shell(pattern: str, text: str) -> None:
    assert Pattern(pattern).matches(text) == fnmatchcase(text, pattern)


def lines_run(pattern: str, text: str) -> int:
    """How many lines of Python compiling and matching take."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        Pattern(pattern).matches(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("part", ["*a", "?*", "*?a", "a*?"])
def test_work_is_in_proportion_to_the_input(part: str) -> None:
    """Patterns that take another matcher the product of both lengths, or forever."""
    for size in (100, 1_000):
        pattern, text = part * size + "b", "a" * 10 * size
        assert lines_run(pattern, text) <= 10 * (len(pattern) + len(text)) + 20
