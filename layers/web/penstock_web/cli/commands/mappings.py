"""Implements `penstock mappings`: manages event source mappings over the REST API."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from penstock_web.cli.client import RestClient
from penstock_web.cli.options import Endpoint, Json, complete_queue
from penstock_web.cli.printing import print_described, print_table, say
from penstock_web.cli.values import json_object, whole_number

app = typer.Typer(name="mappings", help="manage mappings, through which queues invoke functions")

MappingId = Annotated[str, typer.Argument(metavar="ID", help="id from `mappings list`")]
Queue = Annotated[str, typer.Argument(metavar="QUEUE", help="name of the queue", autocompletion=complete_queue)]
Function = Annotated[str, typer.Argument(metavar="FUNCTION", help="name or ARN of the function, or a URL")]
BatchSize = Annotated[
    int, typer.Option(metavar="N", parser=whole_number(1, 10_000), help="maximum number of messages in a batch")
]
Window = Annotated[
    int, typer.Option(metavar="SECONDS", parser=whole_number(0, 300), help="longest time to collect a batch")
]
MaxConcurrency = Annotated[
    int | None,
    typer.Option(
        metavar="N", parser=whole_number(2, 1_000), help="maximum number of concurrent invocations (default: 5)"
    ),
]
Filters = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="JSON", help='such as \'{"body": {"kind": ["order"]}}\'; repeatable'),
]
ReportFailures = Annotated[
    bool, typer.Option("--report-failures", help="the function's response names failed messages")
]
Disabled = Annotated[bool, typer.Option("--disabled", help="create the mapping disabled")]
COLUMNS = ("id", "queue", "function", "state", "batch_size", "last_result")


@app.command("list", help="list the mappings with the results of their last batches")
def list_(
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="show only the mappings of a queue")] = None,
    function: Annotated[str | None, typer.Option(metavar="NAME", help="show only the mappings to a function")] = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Lists mappings by id."""
    found = RestClient(endpoint).read_pages("/mappings", "mappings", queue=queue, function=function)
    print_table(found, json, COLUMNS)


@app.command("show", help="show a mapping")
def show(mapping: MappingId, endpoint: Endpoint = None, json: Json = False) -> None:
    """Shows one mapping."""
    print_described(RestClient(endpoint).call("GET", _path(mapping)), json)


@app.command("put", help="let a queue invoke a function or a URL, or change the mapping")
def put(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    queue: Queue,
    function: Function,
    batch_size: BatchSize = 10,
    window: Window = 0,
    max_concurrency: MaxConcurrency = None,
    filter_: Filters = None,
    report_failures: ReportFailures = False,
    disabled: Disabled = False,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Creates or changes a mapping. Missing options receive their defaults. An existing mapping stays enabled or
    disabled, unless --disabled is set.
    """
    client = RestClient(endpoint)
    options: dict[str, object] = {
        "batch_size": batch_size,
        "window_secs": window,
        "max_concurrency": max_concurrency,
        "filters": [json_object(text, "--filter") for text in filter_ or ()],
        "report_failures": report_failures,
    }
    if disabled:
        options["enabled"] = False
    existing = client.call("GET", "/mappings", queue=queue, function=function)["mappings"]
    if isinstance(existing, list) and existing:
        made = client.call("PATCH", _path(existing[0]["id"]), options) or existing[0]
    else:
        made = client.call("POST", "/mappings", {"queue": queue, "function": function, **options})
    say(made, json, f"{made['id']}: {made['queue']} invokes {made['function']} ({made['state']})")


@app.command("enable", help="enable a mapping, so that the queue invokes the function again")
def enable(mapping: MappingId, endpoint: Endpoint = None, json: Json = False) -> None:
    """Enables a mapping. Afterwards, the mapping has the caller's permissions."""
    say(RestClient(endpoint).call("PATCH", _path(mapping), {"enabled": True}), json, f"enabled {mapping}")


@app.command("disable", help="disable a mapping, so that the queue stops invoking the function")
def disable(mapping: MappingId, endpoint: Endpoint = None, json: Json = False) -> None:
    """Disables a mapping. The messages stay in the queue, and running invocations finish."""
    say(RestClient(endpoint).call("PATCH", _path(mapping), {"enabled": False}), json, f"disabled {mapping}")


@app.command("delete", help="delete a mapping; the queue and its messages stay")
def delete(mapping: MappingId, endpoint: Endpoint = None, json: Json = False) -> None:
    """Deletes a mapping. Raises LocalError if the mapping does not exist."""
    RestClient(endpoint).call("DELETE", _path(mapping))
    say({"deleted": mapping}, json, f"deleted {mapping}")


def _path(mapping: object) -> str:
    return f"/mappings/{quote(str(mapping), safe='')}"
