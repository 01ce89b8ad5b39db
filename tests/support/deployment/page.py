"""Reads the commands in a page's `sh` blocks, without comments but with here-documents.

Also clones this repository with its uncommitted changes.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.support.functions.server import ROOT

_comment = re.compile(r"\s{2,}#\s.*$")
_here_document = re.compile(r"<<(\w+)")


def blocks(page: str) -> Iterator[list[str]]:
    """Yields the lines of each `sh` block."""
    for text in re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        yield text.splitlines()


def commands(block: list[str]) -> Iterator[str]:
    """Yields the commands of a block. A command may continue on the next line: after a backslash, in an open quote or
    in a here-document.
    """
    lines = iter(block)
    for line in lines:
        command = _comment.sub("", line)
        while command.endswith("\\") or command.count("'") % 2:
            command += f"\n{next(lines)}"
        if found := _here_document.search(command):
            while command.splitlines()[-1] != found[1]:
                command += f"\n{next(lines)}"
        yield command


def clone_to(folder: Path) -> None:
    """Clones this checkout and applies its uncommitted changes."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    difference = subprocess.run(["git", "diff", "--binary", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    if difference:
        subprocess.run(["git", "apply"], cwd=folder, input=difference, check=True)
    others = ["git", "ls-files", "--others", "--exclude-standard"]
    for name in subprocess.run(others, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
