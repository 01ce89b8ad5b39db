"""Implements `penstock settings`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from penstock.settings import ADDRESSES, SETTINGS, SUBJECTS, Setting, Settings, Value
from penstock_web.cli.database_option import DatabaseAddress, build_variables_with

app = typer.Typer()


@app.command("settings", help="show every setting and its value in this environment")
def settings(
    database: DatabaseAddress = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="print a Markdown page that explains each setting")
    ] = False,
) -> None:
    if markdown:
        from penstock.settings.markdown import render_page

        print(render_page(SUBJECTS), end="")
        return
    values = Settings.read(build_variables_with(database))
    from penstock_web.local.announced import list_running_services

    if services := list_running_services():
        others = f" and {len(services) - 1} more" if len(services) > 1 else ""
        print(
            f"penstock: these values are from this environment. The service at {services[0].address}{others} "
            "started with other variables or options",
            file=sys.stderr,
            flush=True,
        )
    for setting in SETTINGS:
        print(f"{setting.name}={_display(setting, getattr(values, setting.attribute))}")


def _display(setting: Setting[Value], value: Value) -> Value:
    """Formats a value. Hides secrets, and the password in a database's address."""
    if not value or setting.name not in ADDRESSES:
        is_hidden = bool(value) and (setting.secret or setting.hidden)
        return "(set)" if is_hidden else value
    from penstock_web.local.migrating import without_password
    from penstock_web.local_error import LocalError

    try:
        return without_password(str(value))
    except LocalError:
        return "(set, but not a PostgreSQL address)"
