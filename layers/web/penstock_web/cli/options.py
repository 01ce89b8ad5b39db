"""Defines the options of the commands that use the REST API, and the confirmation before a deletion or a move."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Final

import typer

from penstock_web.local_error import LocalError

from .values import whole_number

_COMPLETION_SECONDS: Final = 1.0


def complete_queue(beginning: str) -> list[str]:
    """Completes a queue name in a shell: returns the queue names that begin with this text. Returns an empty list if no
    service responds within a second.
    """
    from .client import RestClient

    try:
        page = RestClient(seconds=_COMPLETION_SECONDS).call("GET", "/queues", limit=1_000)
    except LocalError:
        return []
    queues = page["queues"]
    names = (str(queue["name"]) for queue in queues) if isinstance(queues, list) else ()
    return [name for name in names if name.startswith(beginning)]


Name = Annotated[str, typer.Argument(metavar="NAME", help="name of the queue", autocompletion=complete_queue)]
Endpoint = Annotated[
    str | None, typer.Option(metavar="URL", help="address of the service (default: the service that runs here)")
]
Remote = Annotated[
    str | None,
    typer.Option(
        "--endpoint", metavar="URL", help="use a service instead of the database; PENSTOCK_TOKEN contains the key"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Account = Annotated[str | None, typer.Option(metavar="ID", help="12 digits (default: QUEUE_ACCOUNT_ID)")]
MessageIds = Annotated[
    list[int] | None,
    typer.Option("--id", metavar="ID", parser=whole_number(0, 2**63 - 1), help="only this message; repeatable"),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="do not ask for confirmation")]


def confirm(yes: bool, question: str | Callable[[], str], otherwise: str = "nothing was deleted") -> None:
    """Asks the user. A function builds the question only for a terminal. Raises LocalError, which begins with
    `otherwise`, if the user says no, or if there is no terminal.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise LocalError(f"{otherwise}: without a terminal, pass --yes")
    if not typer.confirm(question if isinstance(question, str) else question()):
        raise LocalError(otherwise)
