"""Prints a command's output: JSON, a table, or one line for each message. On a terminal, the library rich adds colours
unless NO_COLOR is set (https://no-color.org). Other outputs are plain text, even if FORCE_COLOR is set.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Self, TextIO

from penstock_web.local.terminal_text import to_printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from penstock.management.messages.types import StoredMessage

    from .client import Document

CONTROLS: Final = re.compile("[\x7f-\x9f]")
STYLES: Final = {
    "stalled": "bold red",
    "throttled": "red",
    "poisoned": "red",
    "falling behind": "yellow",
    "dead letters": "yellow",
    "draining": "cyan",
    "ok": "green",
    "idle": "dim",
    "messages expire": "red",
    "given up": "red",
    "failed": "red",
    "fails": "red",
    "mapping fails": "red",
    "late": "red",
    "lags": "red",
    "drops events": "red",
    "revoked": "dim",
    "running": "green",
    "stopped": "red",
    "paused": "yellow",
    "disabled": "yellow",
    "active": "green",
    "enabled": "green",
    "delivered": "green",
    "completed": "green",
}
"""The styles of the words for states."""
_STATE_COLUMNS: Final = {"kind", "verdict", "state", "status", "outcome", "paused", "database"}
_EVENT_COLUMNS: Final = ("at", "what", "queue", "receive", "by", "user_agent", "detail")
Style = str | Callable[[str], str]


def open_console(file: TextIO | None = None) -> Console:
    """Returns a console of the library rich, with styles only if `file` is a terminal. `file` defaults to standard
    output.
    """
    from rich.console import Console

    file = file or sys.stdout
    return Console(file=file, force_terminal=file.isatty(), highlight=False, soft_wrap=True)


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


def print_lines(lines: Iterable[str], file: TextIO | None = None, style: Style = "") -> None:
    """Prints lines. Escapes control characters. `style` is a style for a terminal, or returns the style of a line."""
    file = file or sys.stdout
    if not style or not file.isatty():
        print(*map(to_printable, lines), sep="\n", file=file)
        return
    from rich.text import Text

    console = open_console(file)
    for line in lines:
        console.print(Text(to_printable(line), style if isinstance(style, str) else style(line)))


class Progress:
    """Shows how far a command is: on a terminal in one line, which changes, and otherwise in a line for each change."""

    def __init__(self) -> None:
        self._shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and sys.stdout.isatty():
            print("\r\x1b[K", end="", flush=True)

    def show(self, text: str) -> None:
        """Shows a text without control characters."""
        if text == self._shown:
            return
        if sys.stdout.isatty():
            print(f"\r\x1b[K{text}", end="", flush=True)
        else:
            print(text, flush=True)
        self._shown = text


def print_messages(messages: Iterable[StoredMessage], json: bool) -> None:
    """Prints one line for each message: its id, when it was sent, how often it was received, its group, its body and
    its attributes. A dead letter's number of receives includes the receives from the source queue. Penstock's own
    attributes, such as `_schedule`, are not shown.
    """
    import msgspec

    found = list(messages)
    width = max((len(str(message.id)) for message in found), default=0)
    for message in found:
        if json:
            print_json(message)
            continue
        body = msgspec.json.decode(message.message)
        text = body if isinstance(body, str) else bytes(message.message).decode()
        receives = message.read_count if message.receive_count is msgspec.UNSET else message.receive_count
        group = "" if message.group_id is None else f"{to_printable(message.group_id)}  "
        shown = {name: value for name, value in sorted(message.headers.items()) if not name.startswith("_")}
        headers = "".join(f"  {name}={bytes(value).decode()}" for name, value in shown.items())
        start = f"{message.id:>{width}}  {message.enqueued_at}  {receives:>3}  {group}"
        print(f"{start}{to_printable(text)}{to_printable(headers)}")


def print_fields(document: Mapping[str, object]) -> None:
    """Prints one line for each member."""
    width = max(map(len, document))
    print_cells(
        [[(f"{key:{width}}", "bold"), (_cell(value), _style_of(key, value))] for key, value in document.items()]
    )


def print_described(document: Document, json: bool) -> None:
    """Prints JSON, or one line for each member, attribute and tag."""
    if json:
        print_json(document)
        return
    for member in ("attributes", "tags"):
        if isinstance(found := document.pop(member, None), dict):
            document |= {f"{member}.{key}": value for key, value in sorted(found.items())}
    print_fields(document)


def print_life(document: Document, json: bool) -> None:
    """Prints JSON, or a message's facts, its events, and the unknown facts."""
    if json:
        print_json(document)
        return
    events, unknown = document.pop("events"), document.pop("unknown")
    state = document["state"] or "not known"
    print_fields({name: value for name, value in {**document, "state": state}.items() if value is not None})
    if isinstance(events, list) and events:
        print()
        print_table(events, False, [name for name in _EVENT_COLUMNS if any(name in event for event in events)])
    for text in unknown if isinstance(unknown, list) else ():
        print(f"\n{to_printable(str(text))}")


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
    styles = [["bold"] * len(columns), *([_style_of(column, row.get(column)) for column in columns] for row in found)]
    print_cells(
        [(cell.rjust(width) if right else cell.ljust(width), style)
         for cell, style, width, right in zip(texts, styled, widths, numeric, strict=True)]
        for texts, styled in zip(cells, styles, strict=True)
    )  # fmt: skip


def print_cells(lines: Iterable[Sequence[tuple[str, str]]]) -> None:
    """Prints lines of texts with their styles, separated by two spaces."""
    if not sys.stdout.isatty():
        for line in lines:
            print("  ".join(text for text, _ in line).rstrip())
        return
    console = open_console()
    for line in lines:
        console.print(_styled(line))


def _styled(line: Sequence[tuple[str, str]]) -> Text:
    from rich.text import Text

    joined = Text("  ").join(Text(*cell) for cell in line)
    joined.rstrip()
    return joined


def _style_of(column: str, value: object) -> str:
    """Returns the style of a state, or "" for any other value."""
    return STYLES.get(str(value).replace("_", " "), "") if column in _STATE_COLUMNS else ""


def _cell(value: object) -> str:
    import msgspec

    if isinstance(value, (dict, list)):
        value = msgspec.json.encode(value).decode()
    return "" if value is None else to_printable(str(value))
