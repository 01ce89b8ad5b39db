"""The options that commands over the REST API share, and the question before something is deleted."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from penstock_web.system_account import LocalError

Endpoint = Annotated[
    str | None, typer.Option(metavar="URL", help="address of the service (default: the one that runs here)")
]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="do not ask")]


def confirm(yes: bool, question: str) -> None:
    """Raises LocalError when the answer is no, or nobody can answer."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise LocalError("nothing was deleted: without a terminal, say --yes")
    if not typer.confirm(question):
        raise LocalError("nothing was deleted")
