"""`penstock settings`: every setting and its present value."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from penstock.settings import SETTINGS, Settings, as_markdown

app = typer.Typer()


@app.command("settings", help="show every setting and its present value")
def settings(
    markdown: Annotated[bool, typer.Option("--markdown", help="print docs/settings.md")] = False,
) -> None:
    if markdown:
        print(as_markdown(), end="")
        return
    values = Settings.read(os.environ)
    for setting in SETTINGS:
        value = getattr(values, setting.name.lower())
        print(f"{setting.name}={'(set)' if setting.secret and value else value}")
