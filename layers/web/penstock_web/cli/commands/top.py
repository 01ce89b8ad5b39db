"""Implements `penstock top`: shows all queues and event buses in a table that changes until the user quits."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from penstock_web.cli.client import RestClient
from penstock_web.cli.options import Endpoint, Json
from penstock_web.cli.printing import print_json, print_lines, print_table
from penstock_web.cli.values import accept_only, whole_number

app = typer.Typer()


@app.command("top", help="show queues and event buses in a live table, problems first")
def top(
    sort: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            parser=accept_only("verdict", "queue", "visible", "in_flight", "delayed", "oldest", "in", "out"),
            help="verdict (default), queue, visible, in_flight, delayed, oldest, in or out",
        ),
    ] = "verdict",
    interval: Annotated[
        int,
        typer.Option(metavar="SECONDS", parser=whole_number(1, 3_600), help="time between two requests to the service"),
    ] = 2,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Shows the table until the user presses q. If standard input or output is not a terminal, prints it once."""
    from penstock_web.cli.lag import read_all_queues
    from penstock_web.cli.queue_table import QueueTable

    client = RestClient(endpoint)
    table = QueueTable(client.endpoint, sort)
    table.take(*read_all_queues(client))
    if json:
        for row in table.sort():
            print_json(row.queue)
    elif sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        from penstock_web.cli.live_table import show

        show(table, lambda: read_all_queues(client), interval)
    else:
        for concern in table.buses.troubled:
            print_lines([f"{concern['name']}  {concern['state']}", f"  {concern['text']}"])
        columns = ("queue", "verdict", "visible", "in_flight", "delayed", "oldest_seconds", "in", "out", "empty", "why")
        print_table(table.describe_rows(), False, columns)
