"""Generates modules/settings/known_settings.tf in infra/terraform: all settings with their bounds."""

import json
from collections.abc import Iterable
from typing import Any

from penstock.settings import Setting
from penstock.settings.setting import BOOLEANS

_HEAD = """\
# Every setting of docs/reference/settings.md, with its bounds. Written by `make generate`.
locals {
"""


def render_terraform(settings: Iterable[Setting[Any]]) -> str:
    """Returns the text of the file, with a line for each setting, as `terraform fmt` formats it."""
    names = {setting.name: _render_object(setting) for setting in settings}
    width = max(map(len, names))
    return "\n".join(
        (
            f"{_HEAD}  boolean_words = {json.dumps(list(BOOLEANS))}",
            "",
            "  known_settings = {",
            *(f"    {name:{width}} = {text}" for name, text in names.items()),
            "  }",
            "}",
            "",
        )
    )


def _render_object(setting: Setting[Any]) -> str:
    """Returns the object of a setting without missing bounds, which expressions read with `try`."""
    bounds = {
        "minimum": setting.minimum,
        "maximum": setting.maximum,
        "choices": list(setting.choices) or None,
        "pattern": setting.format.pattern or None if setting.format else None,
        "secret": setting.secret or None,
    }
    members = {"type": setting.kind, "default": setting.write(), **{k: v for k, v in bounds.items() if v is not None}}
    return f"{{ {', '.join(f'{name} = {json.dumps(value)}' for name, value in members.items())} }}"
