"""Renders the page docs/reference/settings.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from .setting import Setting, Value

_HEAD: Final = (
    "# Settings",
    "",
    "For operators: look up the environment variables that configure Penstock.",
    "",
    "A process reads the variables when it starts. An empty variable counts as not set. An invalid value stops the",
    "start with an error that names the variable. `penstock up` and `penstock doctor` also name misspelled variables.",
    "The maximum of a whole number is 2,147,483,647 unless the number's row names another maximum.",
    "",
    "To read a secret or a database address from a file, set `NAME_FILE` to the path of the file. `NAME_FILE` for any",
    "other setting stops the start with an error.",
    "`penstock settings --markdown` writes this page.",
)
_TABLE: Final = ("| Variable | Default | Unit | What it controls |", "| --- | --- | --- | --- |")


def render_page(subjects: Mapping[str, Iterable[Setting[Value]]]) -> str:
    """Returns the text of the page, with a heading for each subject, and a table with one row for each setting."""
    lines = [*_HEAD]
    for title, settings in subjects.items():
        lines += ("", f"## {title}", "", *_TABLE, *map(_render_row, settings))
    return "\n".join((*lines, ""))


def _render_row(setting: Setting[Value]) -> str:
    return f"| `{setting.name}` | {_render_default(setting)} | {setting.unit} | {_render_help(setting)} |"


def _render_default(setting: Setting[Value]) -> str:
    return f"`{setting.write()}`" if setting.default != "" else "(empty)"


def _render_help(setting: Setting[Value]) -> str:
    if setting.choices:
        return f"{setting.help} One of {', '.join(f'`{c}`' for c in setting.choices)}."
    if not setting.has_own_maximum:
        return setting.help
    return f"{setting.help} At most {setting.maximum:,}."
