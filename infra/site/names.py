"""Links commands and SQL functions to their entries in the generated reference."""

import os
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

COMMANDS: Final = "reference/commands.md"
FUNCTIONS: Final = "reference/sql_functions.md"
_COMMAND: Final = re.compile(r"^### (penstock .+)$", re.MULTILINE)
_FUNCTION: Final = re.compile(r"^## (queue\.\w+)$", re.MULTILINE)
# Matches the places in which names do not become links, which are fenced blocks, headings, links and pictures.
_KEPT: Final = re.compile(r"^(?: *```.*?^ *```$|#.*?$)|!?\[[^\]]*\]\([^)]*\)|<!--.*?-->", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_CALL: Final = re.compile(r"queue\.\w+")


def read_names(generated: Mapping[str, str]) -> dict[str, str]:
    """Maps each command and function, such as `penstock up` and `queue.send`, to the address of its entry."""
    commands = {name: f"{COMMANDS}#{name.replace(' ', '-')}" for name in _COMMAND.findall(generated[COMMANDS])}
    functions = {name: f"{FUNCTIONS}#{name.replace('.', '')}" for name in _FUNCTION.findall(generated[FUNCTIONS])}
    return commands | functions


def link_names(text: str, place: str, names: Mapping[str, str]) -> str:
    """Returns a page in which the first mention of each name in backquotes is a link."""
    linked: set[str] = set()

    def link(code: re.Match[str]) -> str:
        name = find_name(code[1], names)
        if name is None or name in linked:
            return code[0]
        linked.add(name)
        return f"[{code[0]}]({os.path.relpath(names[name], PurePosixPath(place).parent)})"

    parts, end = [], 0
    for kept in _KEPT.finditer(text):
        parts += [_CODE.sub(link, text[end : kept.start()]), kept[0]]
        end = kept.end()
    return "".join((*parts, _CODE.sub(link, text[end:])))


def find_name(code: str, names: Mapping[str, str]) -> str | None:
    """Returns the function that the code calls, or the longest command at its beginning."""
    if call := _CALL.match(code):
        return call[0] if call[0] in names else None
    words = code.split()
    commands = (" ".join(words[:length]) for length in range(len(words), 1, -1))
    return next((command for command in commands if command in names), None)
