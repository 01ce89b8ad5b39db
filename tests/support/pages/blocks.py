"""Reads the code blocks of README.md and docs/, and the mark before a block.

A block is fenced, and its language decides how the tests treat it:

    sh, python, sql           they run it
    json, yaml, ini, toml     they parse it
    text                      nothing: a drawing, a grammar, an excerpt of output

A mark is a comment in the line before a block:

    <!-- not run: needs an AWS account -->      or `needs a Docker engine`, or `needs another vendor: NAME`
    <!-- run by: tests/system/operations/test_backup.py -->      that test runs it
    <!-- file: penstock.yaml -->      it is the content of a file of that name, for the blocks below it
    <!-- output -->             what the block before it prints, among other lines; … stands for any text
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
RUN = ("sh", "python", "sql")
PARSED = ("json", "yaml", "ini", "toml")
REASONS = re.compile(r"needs (?:an AWS account|a Docker engine|another vendor: \S.*)")

_fence = re.compile(r"^( *)```([\w-]*)$")
_mark = re.compile(r"^ *<!-- (not run|run by|file|output)(?:: (.+))? -->$")
_list_item = re.compile(r"(?:[-*]|\d+\.) ")


@dataclass(frozen=True)
class Block:
    """A fenced block. `kind` and `value` are those of its mark: ("not run", "needs a Docker engine")."""

    page: str
    line: int
    language: str
    text: str
    kind: str = ""
    value: str = ""

    @property
    def place(self) -> str:
        """Returns page and line in the form that editors open."""
        return f"{self.page}:{self.line}"

    @property
    def line_name(self) -> str:
        """The name of the file that holds the block's text during the run."""
        return f"line{self.line}.{self.language}" if self.language != "python" else f"test_line{self.line}.py"

    @property
    def is_run(self) -> bool:
        """Returns whether the tests of pages run the block themselves."""
        return self.language in RUN and not self.kind


def pages() -> list[str]:
    """Returns every page that users read, as paths below the root."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in found]


def blocks(page: str) -> list[Block]:
    """Returns the blocks of a page in order."""
    return list(_blocks(page, (ROOT / page).read_text().splitlines()))


def _blocks(page: str, lines: list[str]) -> Iterator[Block]:
    numbered = iter(enumerate(lines, 1))
    for number, line in numbered:
        if not (start := _fence.match(line)):
            continue
        content = []
        for _, inner in numbered:
            if inner.strip() == "```":
                break
            content.append(inner.removeprefix(start[1]))
        mark = _mark.match(lines[number - 2]) if number > 1 else None
        kind, value = (mark[1], mark[2] or "") if mark else ("", "")
        yield Block(page, number, start[2], "\n".join(content) + "\n", kind, value)


def unfenced(page: str) -> list[str]:
    """Returns the places of blocks that are indented instead of fenced."""
    found, above, fenced, was_blank = [], "", False, False
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        if _fence.match(line):
            fenced = not fenced
        elif not fenced and line.strip():
            depth = len(line) - len(line.lstrip())
            if depth >= 4 and was_blank and depth - _content_column(above) >= 4:
                found.append(f"{page}:{number}")
            elif depth == 0 or _list_item.match(line.lstrip()):
                above = line
        was_blank = not line.strip()
    return found


def _content_column(line: str) -> int:
    """Returns the column at which the text of a list's item begins, and 0 for other lines."""
    item = _list_item.match(line.lstrip())
    return len(line) - len(line.lstrip()) + item.end() if item else 0
