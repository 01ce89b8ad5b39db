"""What the documentation lists is what the code has: docs/errors.md against the table of errors."""

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
