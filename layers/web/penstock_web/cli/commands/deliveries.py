"""Implements `penstock deliveries`: lists pending and exhausted deliveries to URLs over the REST API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock_web.cli.client import RestClient
from penstock_web.cli.options import Endpoint, Json
from penstock_web.cli.printing import print_table, say
from penstock_web.cli.values import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock_web.cli.client import Document

app = typer.Typer(name="deliveries", help="list and retry deliveries to URLs")

_A_PAGE: Final = 1_000
_COLUMNS: Final = ("id", "kind", "endpoint", "attempts", "next_attempt_at", "last_status", "last_error")


@app.command("list", help="list pending and exhausted deliveries")
def list_(
    state: Annotated[
        str, typer.Option(metavar="STATE", help="state of the deliveries: pending or exhausted")
    ] = "pending",
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Lists deliveries by id."""
    print_table(_read_all(RestClient(endpoint), state), json, _COLUMNS)


@app.command(
    "retry", help="retry a delivery now; after a retry, an exhausted delivery has its full number of attempts again"
)
def retry(
    id_: Annotated[int, typer.Argument(metavar="ID", parser=whole_number(1, 2**63 - 1))],
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Retries a delivery now. A delivery that the service is already sending stays unchanged."""
    say(RestClient(endpoint).call("POST", f"/deliveries/{id_}/retry"), json, f"the service retries delivery {id_} now")


def _read_all(client: RestClient, state: str) -> Iterator[Document]:
    after = None
    while page := client.call_list("/deliveries", state=state, limit=_A_PAGE, after=after):
        yield from page
        if len(page) < _A_PAGE:
            return
        after = page[-1]["id"]
