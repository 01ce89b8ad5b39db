"""What the documentation lists is what the code has: docs/errors.md against the table of errors."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import errors
from penstock.sns import errors as errors_sns

ROOT = Path(__file__).parents[3]


def rows(page: str, section: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    text = (ROOT / page).read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize(
    ("section", "table"),
    [("SQS, and requests as such", errors.ERRORS), ("SNS", errors_sns.SNS_ERRORS)],
)
def test_the_page_of_errors_lists_every_error(section: str, table: dict[str, type[errors.AwsError]]) -> None:
    expected = [
        [kind.json_type, kind.query_code, str(kind.status), "sender" if kind.sender_fault else "service"]
        for kind in table.values()
    ]
    assert rows("docs/errors.md", section) == sorted(expected)


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts of a module with their lines, without docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def test_no_message_sends_to_a_page_of_the_checkout() -> None:
    """`pip install` brings the program without docs/: a message says itself what to do."""
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "layers").rglob("*.py"))
        for line, text in texts(ast.parse(path.read_text()))
        if "docs/" in text
    ]
    assert found == []
