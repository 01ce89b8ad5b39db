"""The page docs/reference/settings.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .setting import Setting, Value

_HEAD: Final = (
    "# Settings",
    "",
    "For operators: look up the environment variables that configure Penstock.",
    "",
    "A process reads them once when it starts. An empty variable counts as not set. An invalid value stops the start",
    "with an error that names the variable. `penstock up` and `penstock doctor` name each variable that only resembles",
    "a setting, such as `QUEUE_MAX_CONECTIONS`. The maximum of a whole number is 2,147,483,647 unless its row names",
    "another.",
    "",
    "To read a secret or a database address from a file, set `NAME_FILE` to the path of the file.",
    "`penstock settings --markdown` writes this page.",
    "",
    "| Variable | Default | Unit | What it controls |",
    "| --- | --- | --- | --- |",
)


def render_page(settings: Iterable[Setting[Value]]) -> str:
    """Returns the text of the page. The page has one row for each setting, in the order of the definition."""
    rows = [f"| `{s.name}` | {_render_default(s)} | {s.unit} | {_render_help(s)} |" for s in settings]
    return "\n".join((*_HEAD, *rows, ""))


def _render_default(setting: Setting[Value]) -> str:
    return f"`{setting.write()}`" if setting.default != "" else "(empty)"


def _render_help(setting: Setting[Value]) -> str:
    if setting.choices:
        return f"{setting.help} One of {', '.join(f'`{c}`' for c in setting.choices)}."
    if not setting.has_own_maximum:
        return setting.help
    return f"{setting.help} At most {setting.maximum:,}."
