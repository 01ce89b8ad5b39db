"""Implements `penstock connections` and `penstock api-destinations` over the REST API."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from penstock_web.cli.client import Document, RestClient
from penstock_web.cli.options import Endpoint, Json, Yes, confirm
from penstock_web.cli.printing import print_described, print_table, say
from penstock_web.cli.values import accept_only, json_object, whole_number

app = typer.Typer()
connections = typer.Typer(name="connections", help="manage the credentials of API destinations")
destinations = typer.Typer(name="api-destinations", help="manage HTTP endpoints to which event buses deliver")
app.add_typer(connections)
app.add_typer(destinations)

Connection = Annotated[str, typer.Argument(metavar="NAME", help="name of the connection")]
Destination = Annotated[str, typer.Argument(metavar="NAME", help="name of the API destination")]
Description = Annotated[str | None, typer.Option(metavar="TEXT", help="text for people")]
CONNECTION_COLUMNS = ("name", "authorization_type", "description", "updated_at")
COLUMNS = (
    "name", "connection", "http_method", "invocation_endpoint", "invocation_rate_limit_per_second", "arn",
)  # fmt: skip
METHODS = ("POST", "GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")
TYPES = ("BASIC", "API_KEY", "OAUTH_CLIENT_CREDENTIALS")
MAX_RATE = 1_000_000


@connections.command("list", help="list connections, without their secrets")
def list_connections(endpoint: Endpoint = None, json: Json = False) -> None:
    """Lists connections by name."""
    print_table(RestClient(endpoint).read_pages("/connections", "connections"), json, CONNECTION_COLUMNS)


@connections.command("show", help="show a connection, without its secrets")
def show_connection(name: Connection, endpoint: Endpoint = None, json: Json = False) -> None:
    """Shows one connection."""
    print_described(RestClient(endpoint).call("GET", _path("connections", name)), json)


@connections.command("put", help="create a connection, or replace its credentials")
def put_connection(
    name: Connection,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", parser=accept_only(*TYPES), help=f"{', '.join(TYPES)}")
    ] = None,
    parameters: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="AuthParameters, with secrets; - reads them from standard input"),
    ] = None,
    description: Description = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Creates a connection, or changes the given members of an existing connection."""
    given: Document = {"authorization_type": type_, "description": description}
    if parameters is not None:
        text = typer.get_text_stream("stdin").read() if parameters == "-" else parameters
        given["auth_parameters"] = json_object(text, "--parameters")
    _put("connections", name, given, endpoint, json)


@connections.command("delete", help="delete a connection that no API destination has")
def delete_connection(name: Connection, yes: Yes = False, endpoint: Endpoint = None, json: Json = False) -> None:
    """Deletes a connection and its secrets."""
    _delete("connections", name, yes, endpoint, json)


@destinations.command("list", help="list API destinations")
def list_destinations(endpoint: Endpoint = None, json: Json = False) -> None:
    """Lists API destinations by name."""
    print_table(RestClient(endpoint).read_pages("/api-destinations", "api_destinations"), json, COLUMNS)


@destinations.command("show", help="show an API destination")
def show_destination(name: Destination, endpoint: Endpoint = None, json: Json = False) -> None:
    """Shows one API destination."""
    print_described(RestClient(endpoint).call("GET", _path("api-destinations", name)), json)


@destinations.command("put", help="create or change an API destination")
def put_destination(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    name: Destination,
    connection: Annotated[str | None, typer.Option(metavar="NAME", help="connection of the requests")] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="endpoint; * in its path is a parameter")] = None,
    method: Annotated[
        str | None, typer.Option(metavar="METHOD", parser=accept_only(*METHODS), help="method (default: POST)")
    ] = None,
    rate: Annotated[
        int | None,
        typer.Option(metavar="N", parser=whole_number(1, MAX_RATE), help="most requests a second (default: 300)"),
    ] = None,
    description: Description = None,
    endpoint: Endpoint = None,
    json: Json = False,
) -> None:
    """Creates an API destination, or changes the given members of an existing API destination."""
    given: Document = {
        "connection": connection, "invocation_endpoint": url, "http_method": method,
        "invocation_rate_limit_per_second": rate, "description": description,
    }  # fmt: skip
    _put("api-destinations", name, given, endpoint, json, {"http_method": "POST"})


@destinations.command("delete", help="delete an API destination; the events of its subscribers then fail")
def delete_destination(name: Destination, yes: Yes = False, endpoint: Endpoint = None, json: Json = False) -> None:
    """Deletes an API destination."""
    _delete("api-destinations", name, yes, endpoint, json)


def _put(
    kind: str, name: str, given: Document, endpoint: str | None, json: bool, defaults: Document | None = None
) -> None:
    """Changes the given members, or creates the resource if it does not exist."""
    client = RestClient(endpoint)
    body = {member: value for member, value in given.items() if value is not None}
    listed = client.read_pages(f"/{kind}", kind.replace("-", "_"))
    if any(each["name"] == name for each in listed):
        shown = client.call("PATCH", _path(kind, name), body)
        say(shown, json, f"{name}: changed")
    else:
        shown = client.call("POST", f"/{kind}", {**(defaults or {}), **body, "name": name})
        say(shown, json, f"{name}: created, {shown['arn']}")


def _delete(kind: str, name: str, yes: bool, endpoint: str | None, json: bool) -> None:
    client = RestClient(endpoint)
    confirm(yes, f"Delete {name}?")
    client.call("DELETE", _path(kind, name))
    say({"name": name}, json, f"deleted {name}")


def _path(kind: str, name: str) -> str:
    return f"/{kind}/{quote(name, safe='')}"
