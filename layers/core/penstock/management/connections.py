"""Connections: the authorization of requests to API destinations.

The rights are those of AWS's API. Only the database knows the ARNs, so each operation checks its right after it has
found the connection. Source: CreateConnection and UpdateConnection (EventBridge API Reference).
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.access.authorization import check_user
from penstock.access.quotas import check_quota
from penstock.aws.api_destination_arn import CONNECTION, NAME, build_destination_arn
from penstock.aws.paging import build_token, read_name
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.endpoint import find_endpoint_problem
from penstock.events.connections import AuthorizationType, AuthParameters, ParameterCipher, hide_secrets
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.api_destinations import (
    CHANGE_CONNECTION,
    CREATE_CONNECTION,
    DELETE_CONNECTION,
    LIST_CONNECTIONS,
    ConnectionRow,
)

from .errors import ConnectionConflict, ConnectionNotFound
from .rights import needs, show

Name = Annotated[str, Meta(min_length=1, max_length=64, pattern=f"^{NAME}$")]
Description = Annotated[str, Meta(max_length=512)]
is_name: Final = re.compile(NAME).fullmatch


class NewConnection(Struct, forbid_unknown_fields=True):
    """A new connection. `auth_parameters` has the members of AuthParameters in CreateConnection, by AWS's names."""

    name: Name
    authorization_type: AuthorizationType
    auth_parameters: AuthParameters
    description: Description = ""


class ConnectionPatch(Struct, forbid_unknown_fields=True):
    """Changes of a connection. Absent members stay unchanged. `auth_parameters` replaces all parameters, with their
    secrets. `authorization_type` needs `auth_parameters`."""

    authorization_type: AuthorizationType | UnsetType = UNSET
    auth_parameters: AuthParameters | UnsetType = UNSET
    description: Description | UnsetType = UNSET


class ShownConnection(Struct):
    """A connection. `auth_parameters` has no secrets."""

    name: str
    arn: str
    description: str
    authorization_type: AuthorizationType
    auth_parameters: JsonObject
    created_at: datetime
    updated_at: datetime


class ConnectionPage(Struct, omit_defaults=True):
    """Connections in the order of their names. `next` requests the next page."""

    connections: list[ShownConnection]
    next: str | None = None


@needs("operation", "events:CreateConnection")
def create_connection(new: NewConnection, context: Context) -> Operation[ShownConnection]:
    """Creates a connection. Raises ConnectionConflict for a name that exists, InvalidParameterValue and OverLimit."""
    check_new_name(new.name)
    arn = build_destination_arn(context.region, context.account_id, CONNECTION, new.name)
    check_right("CreateConnection", f"{arn.rpartition('/')[0]}/*", context)
    fields = {
        "description": check_text(new.description),
        **_build_fields(new.auth_parameters, new.authorization_type, context),
    }
    sealed = read_cipher(context).seal(new.auth_parameters, arn, context.account_id)
    yield from check_quota("connections", new.name, context, errors.OverLimit)
    yield from _create(new.name, arn, fields, sealed, context)
    return (yield from _read(new.name, context))


@audited(lambda _name, arn, _fields, _sealed, _context: Act("events:CreateConnection", arn))
def _create(name: str, arn: str, fields: JsonObject, sealed: bytes, context: Context) -> Operation[None]:
    key = (context.account_id, context.region, name, arn)
    (row,) = yield from Call(CREATE_CONNECTION, (*key, encode_jsonb(fields), sealed))
    if not row.created:
        raise ConnectionConflict(f"Connection '{name}' already exists")


@needs("account", "events:ListConnections")
def list_connections(limit: int, after: str | None, context: Context) -> Operation[ConnectionPage]:
    """Returns a page of the account's connections by name."""
    key = (context.account_id, context.region, None, read_token(after), limit + 1)
    rows = yield from Call(LIST_CONNECTIONS, key)
    shown = [_show(row) for row in rows[:limit]]
    return ConnectionPage(shown, build_token(shown[-1].name) if len(rows) > limit else None)


@needs("operation", "events:DescribeConnection")
def describe_connection(name: str, context: Context) -> Operation[ShownConnection]:
    """Returns a connection. Raises ConnectionNotFound."""
    found = yield from _read(name, context)
    check_right("DescribeConnection", found.arn, context)
    return found


@needs("operation", "events:UpdateConnection")
def change_connection(name: str, patch: ConnectionPatch, context: Context) -> Operation[ShownConnection | None]:
    """Changes the given members. Returns the connection if the caller may read it. Raises ConnectionNotFound,
    InvalidParameterValue."""
    found = yield from _read(name, context)
    check_right("UpdateConnection", found.arn, context)
    fields: JsonObject = {}
    sealed = None
    if isinstance(patch.description, str):
        fields["description"] = check_text(patch.description)
    if isinstance(patch.auth_parameters, AuthParameters):
        kind = patch.authorization_type if patch.authorization_type is not UNSET else found.authorization_type
        fields |= _build_fields(patch.auth_parameters, kind, context)
        sealed = read_cipher(context).seal(patch.auth_parameters, found.arn, context.account_id)
    elif patch.authorization_type not in (UNSET, found.authorization_type):
        raise errors.InvalidParameterValue("authorization_type: another type needs auth_parameters")
    yield from _change(name, found.arn, fields, sealed, context)
    return (yield from show(describe_connection(name, context)))


@audited(lambda _name, arn, _fields, _sealed, _context: Act("events:UpdateConnection", arn, when_changed=True))
def _change(name: str, arn: str, fields: JsonObject, sealed: bytes | None, _context: Context) -> Operation[None]:
    (row,) = yield from Call(CHANGE_CONNECTION, (arn, encode_jsonb(fields), sealed))
    if not row.changed:
        raise ConnectionNotFound.named(name)


@needs("operation", "events:DeleteConnection")
def delete_connection(name: str, context: Context) -> Operation[None]:
    """Deletes a connection. Raises ConnectionNotFound, and ConnectionConflict if an API destination uses it."""
    found = yield from _read(name, context)
    check_right("DeleteConnection", found.arn, context)
    yield from _delete(name, found.arn, context)


@audited(lambda _name, arn, _context: Act("events:DeleteConnection", arn))
def _delete(name: str, arn: str, _context: Context) -> Operation[None]:
    (row,) = yield from Call(DELETE_CONNECTION, (arn,))
    if row.error is not None:
        raise ConnectionConflict(f"Connection '{name}' has API destinations")
    if not row.deleted:
        raise ConnectionNotFound.named(name)


# --- parts that API destinations use, too ----------------------------------------------------------------------------
def find_connection_arn(name: str, context: Context) -> Operation[str]:
    """Returns the ARN of a connection. Raises ConnectionNotFound."""
    return (yield from _read(name, context)).arn


def check_new_name(name: str) -> None:
    """Raises InvalidParameterValue."""
    if is_name(name) is None:
        raise errors.InvalidParameterValue("name: 1 to 64 letters, digits, '.', '-' and '_'")


def check_text(description: str) -> str | None:
    """Returns a description, or None for an empty one. Raises InvalidParameterValue."""
    if "\0" in description:  # PostgreSQL cannot store NUL
        raise errors.InvalidParameterValue("description: a text without NUL")
    return description or None


def check_endpoint(name: str, url: str, context: Context) -> None:
    """Raises InvalidParameterValue for a URL to which no worker could send a request.

    Requests carry credentials, so a URL begins with `https`, as on AWS. It can begin with `http` only if the
    installation reaches private networks (our choice).
    """
    problem = find_endpoint_problem(url, takes_credentials=False)
    if (
        problem is None
        and not url.lower().startswith("https:")
        and not context.environment.settings.webhook_allow_cidrs
    ):
        problem = "the URL must begin with https, unless WEBHOOK_ALLOW_CIDRS has private networks"
    if problem is not None:
        raise errors.InvalidParameterValue(f"{name}: {problem}")


def check_right(action: str, arn: str, context: Context) -> None:
    """Raises AccessDenied unless the caller's policies allow the action of EventBridge on the resource."""
    if context.user is not None:
        check_user("events", action, arn, context)


def read_token(token: str | None) -> str | None:
    """Returns the last name of the previous page. Raises InvalidParameterValue."""
    name = None if token is None else read_name(token)
    if token is not None and name is None:
        raise errors.InvalidParameterValue("next: the value of `next` from the previous page")
    return name


def read_cipher(context: Context) -> ParameterCipher:
    """Returns the cipher of the installation. Raises InvalidParameterValue if the process has no key."""
    key = context.environment.settings.queue_encryption_key
    if not key:
        raise errors.InvalidParameterValue("This installation cannot store secrets: QUEUE_ENCRYPTION_KEY is not set.")
    return ParameterCipher(key)


def _build_fields(parameters: AuthParameters, kind: AuthorizationType, context: Context) -> Mapping[str, object]:
    """Returns the columns that show the parameters. Raises InvalidParameterValue."""
    if parameters.authorization_types != [kind]:
        raise errors.InvalidParameterValue(f"auth_parameters: only the parameters of the authorization type {kind}")
    if parameters.oauth is not None:
        check_endpoint("AuthorizationEndpoint", parameters.oauth.authorization_endpoint, context)
    shown = hide_secrets(parameters)
    if "\\u0000" in msgspec.json.encode(shown).decode():  # PostgreSQL cannot store NUL
        raise errors.InvalidParameterValue("auth_parameters: texts without NUL")
    return {"authorization_type": kind, "parameters": shown}


def _read(name: str, context: Context) -> Operation[ShownConnection]:
    rows: list[ConnectionRow] = []
    if is_name(name) is not None:
        rows = yield from Call(LIST_CONNECTIONS, (context.account_id, context.region, name, None, 1))
    if not rows:
        raise ConnectionNotFound.named(name)
    return _show(rows[0])


def _show(row: ConnectionRow) -> ShownConnection:
    kind = msgspec.convert(row.authorization_type, AuthorizationType)
    return ShownConnection(
        row.name, row.arn, row.description or "", kind, row.parameters, row.created_at, row.updated_at
    )
