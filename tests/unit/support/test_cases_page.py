"""`make cases` writes a page that has all cases."""

from __future__ import annotations

from tests.support.cases.page import page
from tests.support.cases.table import ALL


def test_the_page_has_every_action_and_source() -> None:
    text = page()
    assert {f"### {case.action}" for case in ALL} <= set(text.splitlines())
    assert all(case.source.title in text for case in ALL)
    assert sum(line.startswith("| ") for line in text.splitlines()) > 2_000
