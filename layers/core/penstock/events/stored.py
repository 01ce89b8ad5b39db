"""Code that the operations of buses, subscribers and event sources share: stored rows, client tokens, pages, errors."""

from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from penstock.aws.bus_arn import split_events_arn
from penstock.aws.paging import build_token, read_name
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.event_buses import READ_EVENT_BUS

from .errors import (
    EventsError,
    IdempotentParameterMismatchException,
    InvalidInputException,
    InvalidStateException,
    LimitExceededException,
    ResourceAlreadyExistsException,
    ResourceNotFoundException,
)
from .types import ListEventBusesRequest, ListEventSourcesRequest, ListResourcePoliciesRequest, ListSubscribersRequest

PAGE = 100
MAX_TAGS = 200
"""The most tags of a resource. AWS documents the limit of a request, which is the same."""


ListRequest: TypeAlias = (
    ListEventBusesRequest | ListEventSourcesRequest | ListResourcePoliciesRequest | ListSubscribersRequest
)


# --- rows ------------------------------------------------------------------------------------------------------------
class StoredBus(Struct):
    """A bus as queue.show_event_bus returns it. `now` is the database's time."""

    account_id: str
    name: str
    arn: str
    retention_days: int
    window_start: datetime
    now: datetime
    created_at: datetime
    updated_at: datetime
    description: str | None = None
    kms_key: str | None = None
    policy: str | None = None
    policy_revision: str | None = None
    tags: dict[str, str] = {}


class StoredResource(Struct):
    """A row of queue.event_subscriber or queue.event_source. Only subscribers have all columns, except for the
    `url_key` of a webhook."""

    account_id: str
    name: str
    arn: str
    bus_arn: str
    type: str
    revoked: bool
    configuration: JsonObject
    created_at: datetime
    updated_at: datetime
    state: str = "ACTIVE"
    starting_position: str | None = None
    target_arn: str | None = None
    deliverable: bool = True
    moved_to: datetime | None = None
    url_key: str | None = None
    tags: dict[str, str] = {}


def read_bus_row(columns: JsonObject) -> StoredBus:
    return msgspec.convert(columns, StoredBus)


def read_resource_row(columns: JsonObject) -> StoredResource:
    return msgspec.convert(columns, StoredResource)


def read_bus(arn: str, context: Context) -> Operation[StoredBus]:
    """Returns the bus. Raises ResourceNotFoundException."""
    check_region(arn, context)
    rows = yield from Call(READ_EVENT_BUS, (arn,))
    if not rows:
        raise ResourceNotFoundException.of(arn)
    return read_bus_row(rows[0].bus)


def convert_time(time: datetime) -> float:
    """Returns a time in seconds since 1970, with milliseconds."""
    return round(time.timestamp(), 3)


# --- errors ----------------------------------------------------------------------------------------------------------
def check_region(arn: str, context: Context) -> None:
    """Raises ResourceNotFoundException for an ARN of another region than the request's, as an endpoint of AWS does."""
    if split_events_arn(arn).region != context.region:
        raise ResourceNotFoundException.of(arn)


def raise_error(code: str | None, arn: str) -> None:
    """Raises the error for a code that a SQL function returned about the resource with this ARN."""
    if code is not None:
        raise _ERRORS[code](arn)


_ERRORS: Mapping[str, Callable[[str], EventsError]] = {
    "ResourceNotFound": ResourceNotFoundException.of,
    "ResourceAlreadyExists": lambda name: ResourceAlreadyExistsException(
        f"The resource {name} already exists.", member="Name"
    ),
    "IdempotentParameterMismatch": lambda _: IdempotentParameterMismatchException(),
    "InvalidState": lambda arn: InvalidStateException(f"The resource {arn} is revoked. Only its deletion is possible."),
    "LimitExceeded": lambda _: LimitExceededException(f"A resource can have at most {MAX_TAGS} tags.", member="Tags"),
}


# --- requests that create --------------------------------------------------------------------------------------------
def hash_request(request: Struct) -> str:
    """Returns a hash of a request without its token. A request with the same token must have the same hash."""
    return sha256(msgspec.json.encode(replace(request, client_token=None), order="deterministic")).hexdigest()[:32]


def check_tags(tags: Mapping[str, str] | None) -> dict[str, str]:
    """Returns the tags. Raises InvalidInputException for a key that is reserved for AWS."""
    if any(key.lower().startswith("aws:") for key in tags or ()):
        raise InvalidInputException("The keys of tags cannot begin with aws:, which is reserved.", member="Tags")
    return dict(tags or {})


# --- pages -----------------------------------------------------------------------------------------------------------
def build_page_token(request: ListRequest, last: str) -> str:
    """Returns the token for the page after `last`. The token belongs to the request's other parameters."""
    return build_token(f"{_hash_list(request)}/{last}")


def read_page_token(request: ListRequest) -> str | None:
    """Returns the last item of the previous page. Raises InvalidInputException for a token of another request."""
    if request.next_token is None:
        return None
    fingerprint, _, last = (read_name(request.next_token) or "").partition("/")
    if fingerprint != _hash_list(request):
        raise InvalidInputException("The NextToken does not belong to this request.")
    return last


def _hash_list(request: ListRequest) -> str:
    plain = replace(request, next_token=None, max_results=None)
    return sha256(type(request).__name__.encode() + msgspec.json.encode(plain)).hexdigest()[:16]
