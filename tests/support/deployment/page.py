"""The commands of a page: its indented blocks, line by line, without comments and with their here-documents."""

from __future__ import annotations

import re
from collections.abc import Iterator

INDENT = "    "
_comment = re.compile(r"\s{2,}#\s.*$")
_here_document = re.compile(r"<<(\w+)")


def blocks(page: str) -> Iterator[list[str]]:
    """Indented blocks after an empty line, without the indentation, outside of fences."""
    page = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    for block in re.split(r"\n\s*\n", page):
        lines = block.splitlines()
        if lines and all(line.startswith(INDENT) for line in lines):
            yield [line.removeprefix(INDENT) for line in lines]


def commands(block: list[str]) -> Iterator[str]:
    """The commands of a block: a line each, longer by backslashes, open quotes and here-documents."""
    lines = iter(block)
    for line in lines:
        command = _comment.sub("", line)
        while command.endswith("\\") or command.count("'") % 2:
            command += f"\n{next(lines)}"
        if found := _here_document.search(command):
            while command.splitlines()[-1] != found[1]:
                command += f"\n{next(lines)}"
        yield command
