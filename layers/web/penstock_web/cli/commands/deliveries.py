"""`penstock deliveries`: messages to URLs that are pending or were given up, over the REST API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from .client import RestClient
from .options import Endpoint, Json
from .printing import print_table, say
from .values import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .client import Document

app = typer.Typer(name="deliveries", help="messages to URLs, of a running service")

_A_PAGE: Final = 1_000
_COLUMNS: Final = ("id", "kind", "endpoint", "attempts", "next_attempt_at", "last_status", "last_error")


@app.command("list", help="list deliveries that are pending, or were given up")
def list_(
    state: Annotated[str, typer.Option(metavar="STATE", help="pending or exhausted")] = "pending",
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """In the order of their ids."""
    print_table(_all(RestClient(endpoint), state), json, _COLUMNS)


@app.command("retry", help="deliver now; one that was given up gets all its attempts again")
def retry(
    id_: Annotated[int, typer.Argument(metavar="ID", parser=whole_number(1, 2**63 - 1))],
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """One that is under way is left alone."""
    say(RestClient(endpoint).call("POST", f"/deliveries/{id_}/retry"), json, f"delivery {id_} is tried now")


def _all(client: RestClient, state: str) -> Iterator[Document]:
    after = None
    while page := client.members("/deliveries", state=state, limit=_A_PAGE, after=after):
        yield from page
        if len(page) < _A_PAGE:
            return
        after = page[-1]["id"]
