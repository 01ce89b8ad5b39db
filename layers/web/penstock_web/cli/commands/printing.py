"""Prints a command's output: JSON, a table, or one line for each message."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TextIO

from penstock_web.local.terminal_text import make_printable

if TYPE_CHECKING:
    from penstock.management.messages.types import StoredMessage

    from .client import Document

CONTROLS: Final = re.compile("[\x7f-\x9f]")


def say(document: object, json: bool, text: str) -> None:
    """Prints a command's result as JSON or as a sentence."""
    if json:
        print_json(document)
    else:
        print_lines(text.split("\n"))


def count_noun(number: object, noun: str) -> str:
    """Returns texts such as "1 message" and "2 messages"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def shorten(text: str, signs: int) -> str:
    """Shortens a text to at most this many characters."""
    return text if len(text) <= signs else f"{text[: signs - 1]}\u2026"


def print_json(document: object) -> None:
    """Prints one line of JSON. Escapes U+007F to U+009F, which JSON allows and terminals obey."""
    import msgspec

    print(CONTROLS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", msgspec.json.encode(document).decode()))


def print_lines(lines: Iterable[str], file: TextIO | None = None) -> None:
    """Prints lines. Escapes control characters."""
    print(*map(make_printable, lines), sep="\n", file=file)


def print_messages(messages: Iterable[StoredMessage], json: bool) -> None:
    """Prints one line for each message: when the message was sent, how often it was received, its group and its body. A
    dead letter's number of receives includes the receives from the source queue.
    """
    import msgspec

    for message in messages:
        if json:
            print_json(message)
            continue
        body = msgspec.json.decode(message.message)
        text = body if isinstance(body, str) else bytes(message.message).decode()
        receives = message.read_count if message.receive_count is msgspec.UNSET else message.receive_count
        group = "" if message.group_id is None else f"{make_printable(message.group_id)}  "
        print(f"{message.enqueued_at}  {receives:>3}  {group}{make_printable(text)}")


def print_fields(document: Mapping[str, object]) -> None:
    """Prints one line for each member."""
    width = max(map(len, document))
    for key, value in document.items():
        print(f"{key:{width}}  {_cell(value)}".rstrip())


def print_described(document: Document, json: bool) -> None:
    """Prints JSON, or one line for each member, attribute and tag."""
    if json:
        print_json(document)
        return
    for member in ("attributes", "tags"):
        if isinstance(found := document.pop(member, None), dict):
            document |= {f"{member}.{key}": value for key, value in sorted(found.items())}
    print_fields(document)


def print_table(rows: Iterable[Document], json: bool, columns: Sequence[str]) -> None:
    """Prints each row as one line of JSON, or prints a table of `columns` with right-aligned numbers."""
    if json:
        for row in rows:
            print_json(row)
        return
    found = list(rows)
    cells = [[*columns], *([_cell(row.get(column)) for column in columns] for row in found)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [any(isinstance(row.get(column), int) for row in found) for column in columns]
    for texts in cells:
        line = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(texts, widths, numeric, strict=True)
        ]
        print("  ".join(line).rstrip())


def _cell(value: object) -> str:
    import msgspec

    if isinstance(value, (dict, list)):
        value = msgspec.json.encode(value).decode()
    return "" if value is None else make_printable(str(value))
