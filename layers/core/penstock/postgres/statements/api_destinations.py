"""Statements for connections and API destinations."""

from datetime import datetime
from typing import NamedTuple

from penstock.postgres.statement import JsonObject, Statement


class CreatedConnectionRow(NamedTuple):
    created: bool


CREATE_CONNECTION = Statement(
    "queue.create_connection",
    ("text", "text", "text", "text", "jsonb", "bytea"),
    CreatedConnectionRow,
    is_audited=True,
    changed="created",
)


class ConnectionRow(NamedTuple):
    """A connection. `parameters` contains AuthParameters with AWS's names, without the secrets."""

    arn: str
    name: str
    description: str | None
    authorization_type: str
    parameters: JsonObject
    created_at: datetime
    updated_at: datetime


LIST_CONNECTIONS = Statement("queue.list_connections", ("text", "text", "text", "text", "int4"), ConnectionRow)


class ChangedConnectionRow(NamedTuple):
    changed: bool


CHANGE_CONNECTION = Statement(
    "queue.change_connection", ("text", "jsonb", "bytea"), ChangedConnectionRow, is_audited=True, changed="changed"
)


class DeletedConnectionRow(NamedTuple):
    deleted: bool
    error: str | None


DELETE_CONNECTION = Statement(
    "queue.delete_connection", ("text",), DeletedConnectionRow, is_audited=True, changed="deleted"
)


class CreatedApiDestinationRow(NamedTuple):
    created: bool
    error: str | None


CREATE_API_DESTINATION = Statement(
    "queue.create_api_destination",
    ("text", "text", "text", "text", "jsonb"),
    CreatedApiDestinationRow,
    is_audited=True,
    changed="created",
)


class ApiDestinationRow(NamedTuple):
    arn: str
    name: str
    description: str | None
    connection_arn: str
    invocation_endpoint: str
    http_method: str
    rate_limit: int
    created_at: datetime
    updated_at: datetime


LIST_API_DESTINATIONS = Statement(
    "queue.list_api_destinations", ("text", "text", "text", "text", "int4"), ApiDestinationRow
)


class ChangedApiDestinationRow(NamedTuple):
    changed: bool
    error: str | None


CHANGE_API_DESTINATION = Statement(
    "queue.change_api_destination", ("text", "jsonb"), ChangedApiDestinationRow, is_audited=True, changed="changed"
)


class DeletedApiDestinationRow(NamedTuple):
    deleted: bool


DELETE_API_DESTINATION = Statement(
    "queue.delete_api_destination", ("text",), DeletedApiDestinationRow, is_audited=True, changed="deleted"
)


class TurnsRow(NamedTuple):
    """Tells a worker when it can send requests to an API destination, and with which data. `wait_ms` is
    the time until the first request. `pause_ms` is the time between two requests. `revision` is the time of the last
    change of the connection."""

    arn: str
    account_id: str
    invocation_endpoint: str
    http_method: str
    connection_arn: str
    sealed_parameters: bytes
    revision: datetime
    wait_ms: float
    pause_ms: float


TAKE_API_DESTINATION_TURNS = Statement("queue.take_api_destination_turns", ("text[]", "int4[]"), TurnsRow)
