"""Implements `penstock status`: shows a running service on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import typer

from .client import RestClient
from .options import Endpoint, Json
from .printing import print_fields, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .client import Document

app = typer.Typer()

_NEED_ATTENTION: Final = ("stalled", "throttled", "poisoned", "falling_behind")
_COLUMNS: Final = ("name", "kind", "since", "backlog", "cause_text")
_A_PAGE: Final = 200
_SHOWN: Final = 15
"""Limits the queues on a screen. JSON has all."""


@app.command("status", help="show a service: address, version, database, and queues that need attention")
def status(endpoint: Endpoint = None, json: Json = False) -> int:
    """Returns 1 if the service cannot work and otherwise 0, whatever the state of its queues is."""
    client = RestClient(endpoint)
    life, ready = client.health("/livez"), client.health("/readyz")
    works = ready.get("status") == "ok"
    shown: Document = {
        "service": client.endpoint,
        "version": life.get("version"),
        "process": life.get("status"),
        "database": "ok" if works else "cannot be written to",
    }
    queues = list(_verdicts(client)) if works else []
    attention = [queue for queue in queues if queue["kind"] in _NEED_ATTENTION]
    attention.sort(key=lambda queue: (_NEED_ATTENTION.index(str(queue["kind"])), str(queue["name"])))
    if json:
        print_json({**shown, "queues": len(queues) if works else None, "attention": attention})
        return int(not works)
    if works:
        shown["queues"] = f"{len(queues)}, of which {len(attention) or 'none'} need attention"
    print_fields(shown)
    if attention:
        print()
        print_table(attention[:_SHOWN], json, _COLUMNS)
    if len(attention) > _SHOWN:
        print(f"{len(attention) - _SHOWN} more: penstock status --json")
    return int(not works)


def _verdicts(client: RestClient) -> Iterator[Document]:
    """Yields a queue's name with the members of its verdict."""
    following = None
    while True:
        page = client.call("GET", "/metrics/lag", limit=_A_PAGE, next=following)
        found = page["queues"]
        for queue in found if isinstance(found, list) else ():
            verdict = queue["verdict"] if isinstance(queue, dict) else None
            if isinstance(queue, dict) and isinstance(verdict, dict):
                yield {"name": str(queue["name"]), **verdict}
            elif isinstance(queue, dict):
                yield {"name": str(queue["name"]), "kind": None}
        if not (following := page.get("next")):
            return
