"""What the documentation lists is what the code has: docs/errors.md against the table of errors."""

from pathlib import Path

from penstock import errors

ROOT = Path(__file__).parents[2]


def rows(page: str) -> list[list[str]]:
    """The cells of the page's table, without its head."""
    lines = [line for line in (ROOT / page).read_text().splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_of_errors_lists_every_error() -> None:
    expected = [
        [kind.json_type, kind.query_code, str(kind.status), "sender" if kind.sender_fault else "service"]
        for kind in errors.ERRORS.values()
    ]
    assert rows("docs/errors.md") == sorted(expected)
