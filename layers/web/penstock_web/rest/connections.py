"""Serves /v1/connections: the authorization of requests to API destinations."""

from typing import Annotated, Final

from fastapi import Path, Query, Response

from penstock import errors
from penstock.documents.decoding import build_reader
from penstock.management import connections
from penstock.management.connections import ConnectionPage, ConnectionPatch, NewConnection, ShownConnection
from penstock.management.errors import ConnectionConflict, ConnectionNotFound
from penstock.management.rights import right_of
from penstock_web.routing.routes import CHANGED, Routes, Runner, json_response

routes = Routes("connections", prefix="/connections")

UNKNOWN: Final = (ConnectionNotFound,)
Connection = Annotated[str, Path(json_schema_extra={"minLength": 1, "maxLength": 64})]
_read_new = build_reader(NewConnection)
_read_patch = build_reader(ConnectionPatch)


@routes.post(
    "",
    right=right_of(connections.create_connection),
    status=201,
    body=NewConnection,
    response=ShownConnection,
    raises=(ConnectionConflict, errors.OverLimit),
)
async def create_connection(runner: Runner) -> Response:
    """Create a connection. The service encrypts its secrets and never shows them."""
    new = await runner.read(_read_new)
    made = await runner.run(connections.create_connection(new, runner.context))
    return json_response(made, 201, f"/v1/connections/{made.name}")


@routes.get("", right=right_of(connections.list_connections), response=ConnectionPage)
async def list_connections(
    runner: Runner,
    limit: Annotated[int, Query(ge=1, le=100)] = 100,
    next: str | None = None,  # noqa: A002
) -> ConnectionPage:
    """List connections by name. `next` is the value of `next` from the previous page."""
    return await runner.run(connections.list_connections(limit, next, runner.context))


@routes.get("/{connection}", right=right_of(connections.describe_connection), response=ShownConnection, raises=UNKNOWN)
async def describe_connection(connection: Connection, runner: Runner) -> ShownConnection:
    """Describe a connection without its secrets."""
    return await runner.run(connections.describe_connection(connection, runner.context))


@routes.patch(
    "/{connection}",
    right=right_of(connections.change_connection),
    body=ConnectionPatch,
    response=ShownConnection,
    statuses=CHANGED,
    raises=UNKNOWN,
)
async def change_connection(connection: Connection, runner: Runner) -> ShownConnection | None:
    """Change the given members. `auth_parameters` replaces all parameters, with their secrets."""
    patch = await runner.read(_read_patch)
    return await runner.run(connections.change_connection(connection, patch, runner.context))


@routes.delete(
    "/{connection}",
    right=right_of(connections.delete_connection),
    status=204,
    raises=(ConnectionNotFound, ConnectionConflict),
)
async def delete_connection(connection: Connection, runner: Runner) -> None:
    """Delete a connection and its secrets. A connection of an API destination cannot be deleted."""
    await runner.run(connections.delete_connection(connection, runner.context))
