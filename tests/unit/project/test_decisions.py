"""Decisions are short: whoever wants to know why reads a page. Measurements are in docs/performance/log."""

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))
LOGS = sorted((DOCS / "performance" / "log").glob("*.md"))
MOST_LINES, LONGEST_LINE = 60, 120


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_is_at_most_a_page(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= MOST_LINES
    assert [line for line in lines if len(line) > LONGEST_LINE] == []


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_a_number_and_says_what_was_decided(path: Path) -> None:
    text = path.read_text()
    assert text.startswith(f"# {int(path.stem[:4])}. ")
    assert "**Decision" in text


def test_decisions_are_numbered_without_a_gap() -> None:
    assert [int(path.stem[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize(
    "path", [path for path in LOGS if path.stem[:4].isdigit()], ids=lambda path: path.stem
)
def test_measurements_and_their_decision_name_each_other(path: Path) -> None:
    decision = DOCS / "decisions" / path.name
    assert f"../../decisions/{path.name}" in path.read_text()
    assert f"../performance/log/{path.name}" in decision.read_text()
