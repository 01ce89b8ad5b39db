"""The commands of a page: its blocks of `sh`, line by line, without comments and with their here-documents."""

from __future__ import annotations

import re
from collections.abc import Iterator

_comment = re.compile(r"\s{2,}#\s.*$")
_here_document = re.compile(r"<<(\w+)")


def blocks(page: str) -> Iterator[list[str]]:
    """Fenced blocks of commands."""
    for text in re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        yield text.splitlines()


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
