"""API destinations: HTTP endpoints that can be targets of subscribers of event buses.

The operations need the rights of AWS's API. The connection and the endpoint of an API destination decide which
server receives the connection's secrets. To set them, a user therefore also needs the right on the connection, as on
AWS. Sources: CreateApiDestination (EventBridge API Reference), "Actions, resources, and condition keys for Amazon
EventBridge" (Service Authorization Reference).
"""

from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.access.quotas import check_quota
from penstock.aws.api_destination_arn import API_DESTINATION, build_destination_arn
from penstock.aws.paging import build_token
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.api_destinations import (
    CHANGE_API_DESTINATION,
    CREATE_API_DESTINATION,
    DELETE_API_DESTINATION,
    LIST_API_DESTINATIONS,
    ApiDestinationRow,
)

from .connections import (
    Description,
    Name,
    check_endpoint,
    check_new_name,
    check_right,
    check_text,
    find_connection_arn,
    is_name,
    read_token,
)
from .errors import ApiDestinationConflict, ApiDestinationNotFound, ConnectionNotFound
from .rights import needs, show

Method = Literal["POST", "GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"]
Url = Annotated[str, Meta(min_length=1, max_length=2_048)]
Rate = Annotated[int, Meta(ge=1, le=1_000_000)]
DEFAULT_RATE: Final = 300
"""The most requests a second if the client sets no rate ("Amazon EventBridge quotas", EventBridge User Guide)."""


class NewApiDestination(Struct, forbid_unknown_fields=True):
    """A new API destination. `connection` is the name of a connection. Penstock replaces each `*` in the path of
    `invocation_endpoint` with a value of the subscriber's PathParameterValues. All workers together send at most
    `invocation_rate_limit_per_second` requests a second."""

    name: Name
    connection: Name
    invocation_endpoint: Url
    http_method: Method
    invocation_rate_limit_per_second: Rate = DEFAULT_RATE
    description: Description = ""


class ApiDestinationPatch(Struct, forbid_unknown_fields=True):
    """Changes of an API destination. Absent members stay unchanged."""

    connection: Name | UnsetType = UNSET
    invocation_endpoint: Url | UnsetType = UNSET
    http_method: Method | UnsetType = UNSET
    invocation_rate_limit_per_second: Rate | UnsetType = UNSET
    description: Description | UnsetType = UNSET


class ShownApiDestination(Struct):
    """An API destination. `arn` can be the TargetArn of a subscriber."""

    name: str
    arn: str
    description: str
    connection: str
    invocation_endpoint: str
    http_method: Method
    invocation_rate_limit_per_second: int
    created_at: datetime
    updated_at: datetime


class ApiDestinationPage(Struct, omit_defaults=True):
    """API destinations in the order of their names. `next` is the token for the next page."""

    api_destinations: list[ShownApiDestination]
    next: str | None = None


@needs("operation", "events:CreateApiDestination")
def create_api_destination(new: NewApiDestination, context: Context) -> Operation[ShownApiDestination]:
    """Creates an API destination. Raises ApiDestinationConflict if the name exists, ConnectionNotFound,
    InvalidParameterValue and OverLimit."""
    check_new_name(new.name)
    arn = build_destination_arn(context.region, context.account_id, API_DESTINATION, new.name)
    check_right("CreateApiDestination", f"{arn.rpartition('/')[0]}/*", context)
    fields = yield from _build_fields("CreateApiDestination", new, context)
    yield from check_quota("api_destinations", new.name, context, errors.OverLimit)
    yield from _create(new.name, arn, fields, context)
    return (yield from _read(new.name, context))


@audited(lambda _name, arn, fields, _context: Act("events:CreateApiDestination", arn, fields))
def _create(name: str, arn: str, fields: JsonObject, context: Context) -> Operation[None]:
    key = (context.account_id, context.region, name, arn)
    (row,) = yield from Call(CREATE_API_DESTINATION, (*key, encode_jsonb(fields)))
    if row.error is not None:
        raise ConnectionNotFound("The connection was deleted meanwhile")
    if not row.created:
        raise ApiDestinationConflict(f"API destination '{name}' already exists")


@needs("account", "events:ListApiDestinations")
def list_api_destinations(limit: int, after: str | None, context: Context) -> Operation[ApiDestinationPage]:
    """Returns a page of the account's API destinations by name."""
    key = (context.account_id, context.region, None, read_token(after), limit + 1)
    rows = yield from Call(LIST_API_DESTINATIONS, key)
    shown = [_show(row) for row in rows[:limit]]
    return ApiDestinationPage(shown, build_token(shown[-1].name) if len(rows) > limit else None)


@needs("operation", "events:DescribeApiDestination")
def describe_api_destination(name: str, context: Context) -> Operation[ShownApiDestination]:
    """Returns an API destination. Raises ApiDestinationNotFound."""
    found = yield from _read(name, context)
    check_right("DescribeApiDestination", found.arn, context)
    return found


@needs("operation", "events:UpdateApiDestination")
def change_api_destination(
    name: str, patch: ApiDestinationPatch, context: Context
) -> Operation[ShownApiDestination | None]:
    """Changes the given members. Returns the API destination if the caller may read it. Raises ApiDestinationNotFound,
    ConnectionNotFound and InvalidParameterValue."""
    found = yield from _read(name, context)
    check_right("UpdateApiDestination", found.arn, context)
    fields = yield from _build_fields("UpdateApiDestination", patch, context)
    if "invocation_endpoint" in fields and "connection_arn" not in fields:
        connection_arn = yield from find_connection_arn(found.connection, context)
        check_right("UpdateApiDestination", connection_arn, context)
    yield from _change(name, found.arn, fields, context)
    return (yield from show(describe_api_destination(name, context)))


@audited(lambda _name, arn, _fields, _context: Act("events:UpdateApiDestination", arn, when_changed=True))
def _change(name: str, arn: str, fields: JsonObject, _context: Context) -> Operation[None]:
    (row,) = yield from Call(CHANGE_API_DESTINATION, (arn, encode_jsonb(fields)))
    if row.error is not None:
        raise ConnectionNotFound("The connection was deleted meanwhile")
    if not row.changed:
        raise ApiDestinationNotFound.named(name)


@needs("operation", "events:DeleteApiDestination")
def delete_api_destination(name: str, context: Context) -> Operation[None]:
    """Deletes an API destination. The events of its subscribers then fail. Raises ApiDestinationNotFound."""
    found = yield from _read(name, context)
    check_right("DeleteApiDestination", found.arn, context)
    yield from _delete(name, found.arn, context)


@audited(lambda _name, arn, _context: Act("events:DeleteApiDestination", arn))
def _delete(name: str, arn: str, _context: Context) -> Operation[None]:
    (row,) = yield from Call(DELETE_API_DESTINATION, (arn,))
    if not row.deleted:
        raise ApiDestinationNotFound.named(name)


def _build_fields(
    action: str, given: NewApiDestination | ApiDestinationPatch, context: Context
) -> Operation[JsonObject]:
    """Converts the given members to columns. Raises ConnectionNotFound, AccessDenied and InvalidParameterValue."""
    fields: JsonObject = {}
    if isinstance(given.description, str):
        fields["description"] = check_text(given.description)
    if isinstance(given.invocation_endpoint, str):
        check_endpoint("invocation_endpoint", given.invocation_endpoint, context)
        fields["invocation_endpoint"] = given.invocation_endpoint
    if given.http_method is not UNSET:
        fields["http_method"] = given.http_method
    if given.invocation_rate_limit_per_second is not UNSET:
        fields["rate_limit"] = given.invocation_rate_limit_per_second
    if isinstance(given.connection, str):
        fields["connection_arn"] = yield from find_connection_arn(given.connection, context)
        check_right(action, fields["connection_arn"], context)
    return fields


def _read(name: str, context: Context) -> Operation[ShownApiDestination]:
    rows: list[ApiDestinationRow] = []
    if is_name(name) is not None:
        rows = yield from Call(LIST_API_DESTINATIONS, (context.account_id, context.region, name, None, 1))
    if not rows:
        raise ApiDestinationNotFound.named(name)
    return _show(rows[0])


def _show(row: ApiDestinationRow) -> ShownApiDestination:
    return ShownApiDestination(
        name=row.name,
        arn=row.arn,
        description=row.description or "",
        connection=row.connection_arn.split("/")[1],
        invocation_endpoint=row.invocation_endpoint,
        http_method=msgspec.convert(row.http_method, Method),
        invocation_rate_limit_per_second=row.rate_limit,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
