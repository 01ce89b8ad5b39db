"""Implements `penstock status`: shows a running service's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import typer

from penstock.verdicts.words import count_in_words
from penstock_web.cli.client import RestClient
from penstock_web.cli.options import Endpoint, Json
from penstock_web.cli.printing import print_fields, print_json, print_table

if TYPE_CHECKING:
    from penstock_web.cli.client import Document

app = typer.Typer()

_COLUMNS: Final = ("state", "name", "since", "number", "text")
_SHOWN: Final = 15
"""The maximum number of printed problems. --json prints all problems."""


@app.command("status", help="show a service's address, version, database state and problems")
def status(endpoint: Endpoint = None, json: Json = False) -> int:
    """Prints a service's state. Returns 1 if the service cannot work or the database refuses changes, and 0 if only
    queues or endpoints have problems.
    """
    client = RestClient(endpoint)
    life, ready = client.read_health("/livez"), client.read_health("/readyz")
    is_ok, refusal = ready.get("status") == "ok", ready.get("writes")
    works = is_ok or bool(refusal)
    shown: Document = {
        "service": client.endpoint,
        "version": life.get("version"),
        "process": life.get("status"),
        "database": "ok" if is_ok else _describe_problem(ready),
    }
    found = client.call("GET", "/metrics/attention") if works else {"queues": None, "concerns": []}
    concerns = found["concerns"]
    assert isinstance(concerns, list)  # noqa: S101 - Attention
    if json:
        print_json({**shown, "queues": found["queues"], "attention": concerns})
        return int(not is_ok)
    if works:
        shown["queues"] = found["queues"]
        shown["attention"] = len(concerns) or "nothing needs it"
    print_fields(shown)
    if concerns:
        print()
        print_table(map(_show, concerns[:_SHOWN]), json, _COLUMNS)
    if len(concerns) > _SHOWN:
        print(f"{len(concerns) - _SHOWN} more: penstock status --json")
    return int(not is_ok)


def _describe_problem(ready: Document) -> str:
    if refusal := ready.get("writes"):
        return f"refuses writes: {refusal}. Sends fail, reads work. Free space: /docs/operate/disk_full/"
    return f"not ready: {ready.get('reason') or 'the reason is unknown'}"


def _show(concern: Document) -> Document:
    """Formats a concern as a table row: the number with its noun, and the time in whole seconds."""
    since = str(concern["since"] or "")
    if "." in since:
        since = f"{since.partition('.')[0]}Z"
    number = count_in_words(str(concern["kind"]), int(str(concern["number"])))
    text = str(concern["text"])
    if until := concern["muted_until"]:
        text += f" Muted until {until}."
    return {**concern, "since": since, "number": number, "text": text}
