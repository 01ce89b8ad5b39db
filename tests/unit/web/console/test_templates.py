"""The templates of the console can be read: their lines have a limit."""

from __future__ import annotations

from pathlib import Path

TEMPLATES = Path(__file__).parents[4] / "layers/web/penstock_web/console/templates"
LONGEST_LINE = 145


def test_lines_are_short() -> None:
    files = list(TEMPLATES.glob("*.html"))
    assert files
    long = {
        f"{file.name}:{number}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE
    }
    assert long == set()
