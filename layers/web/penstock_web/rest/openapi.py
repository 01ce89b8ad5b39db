"""What FastAPI cannot see of the routes, for the OpenAPI document: errors, and bodies that msgspec reads and writes.

A status that is not here is in no response of a route below /v1; `make fuzz-api` looks for others.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, cast

import msgspec

from penstock import errors
from penstock.errors import AwsError
from penstock.event_sources.errors import (
    NoSuchQueue,
    ResourceConflictException,
    ResourceNotFoundException,
    TooManyMappings,
)
from penstock.search.moves import MoveConflict, MoveNotFound
from penstock.sns.errors import (
    FilterPolicyLimitExceeded,
    NotFound,
    SubscriptionLimitExceeded,
    Throttled,
    TopicLimitExceeded,
)

from .errors import (
    AccessIsOff,
    DeliveryNotFound,
    EndpointNotFound,
    KeyNotFound,
    MessageNotFound,
    ScheduleConflict,
    ScheduleNotFound,
    ScheduleUnusable,
    StaleReceipt,
    SubscriptionNotFound,
    UnsupportedMediaType,
    UserNotFound,
    status_and_code,
)
from .shapes import ErrorAnswer

Responses = dict[int | str, dict[str, Any]]

UNAVAILABLE: Final = (errors.RequestTimeout, errors.InternalFailure, errors.ServiceUnavailable)
"""Of everything that asks the database."""
ACCESS: Final = (
    errors.MissingAuthenticationToken, errors.InvalidClientTokenId, errors.AccessDenied, errors.MisdirectedRequest,
    errors.RequestThrottled,
)  # fmt: skip
"""Of everything for which `OperationRunner.admit` checks the caller."""
EVERY_ROUTE: Final = (
    *ACCESS, *UNAVAILABLE, AwsError, errors.RequestEntityTooLarge, errors.ResponseTooLarge, UnsupportedMediaType
)  # fmt: skip
"""Of every route below /v1: a body may be too long, or not JSON, also where none is wanted."""

_QUEUE: Final = (errors.QueueDoesNotExist,)

# By the name of the route's function, as in `actions`: what it may raise besides.
ERRORS: Final[Mapping[str, tuple[type[AwsError], ...]]] = {
    "create_queue": (errors.QueueNameExists, errors.QueueDeletedRecently, errors.OverLimit),
    "list_queues": (),
    "describe_queue": _QUEUE,
    "change_queue": _QUEUE,
    "delete_queue": _QUEUE,
    "pause_queue": _QUEUE,
    "list_receivers": _QUEUE,
    "resume_queue": _QUEUE,
    "purge_queue": (*_QUEUE, errors.PurgeQueueInProgress),
    "send": (*_QUEUE, errors.BatchRequestTooLong),
    "receive": (*_QUEUE, errors.OverLimit),
    "peek": _QUEUE,
    "search": _QUEUE,
    "failures": _QUEUE,
    "start_move": (*_QUEUE, MoveConflict),
    "list_moves": _QUEUE,
    "describe_move": (*_QUEUE, MoveNotFound),
    "continue_move": (*_QUEUE, MoveNotFound, MoveConflict),
    "cancel_move": (*_QUEUE, MoveNotFound, MoveConflict),
    "delete": (*_QUEUE, errors.ReceiptHandleIsInvalid),
    "delete_one": (*_QUEUE, MessageNotFound),
    "change_visibility": (*_QUEUE, MessageNotFound),
    "read_archive": _QUEUE,
    "queue_metrics": _QUEUE,
    "queue_minutes": _QUEUE,
    "queue_subscriptions": _QUEUE,
    "lag": (),
    "transact": (*_QUEUE, errors.ReceiptHandleIsInvalid, errors.BatchRequestTooLong, StaleReceipt),
    "list_deliveries": (),
    "retry": (DeliveryNotFound,),
    "retry_failed": (),
    "list_attempts": (),
    "list_endpoints": (),
    "pause_endpoint": (EndpointNotFound,),
    "resume_endpoint": (EndpointNotFound,),
    "test_endpoint": (EndpointNotFound,),
    "list_outbox": (),
    "opt_out": (errors.OverLimit,),
    "publish": (),
    "matches": (),
    "subscribe": _QUEUE,
    "list_subscriptions": (),
    "unsubscribe": (SubscriptionNotFound,),
    "list_users": (),
    "set_user": (AccessIsOff,),
    "end_user": (AccessIsOff, UserNotFound),
    "list_keys": (),
    "create_key": (AccessIsOff, UserNotFound, errors.OverLimit),
    "limit_key": (AccessIsOff, KeyNotFound),
    "revoke_key": (AccessIsOff, KeyNotFound),
    "create_topic": (TopicLimitExceeded,),
    "list_topics": (),
    "describe_topic": (NotFound,),
    "delete_topic": (),
    "publish_message": (NotFound, Throttled),
    "list_topic_subscriptions": (NotFound,),
    "subscribe_to_topic": (NotFound, FilterPolicyLimitExceeded, SubscriptionLimitExceeded),
    "unsubscribe_from_topic": (),
    "create_schedule": (ScheduleUnusable, ScheduleConflict, errors.OverLimit),
    "list_schedules": (),
    "sync_schedules": (ScheduleUnusable, errors.OverLimit),
    "describe_schedule": (ScheduleNotFound,),
    "replace_schedule": (ScheduleUnusable, errors.OverLimit),
    "change_schedule": (ScheduleUnusable, ScheduleNotFound, ScheduleConflict),
    "delete_schedule": (),
    "run_schedule": (ScheduleNotFound, ScheduleConflict),
    "list_runs": (ScheduleNotFound,),
    "preview": (ScheduleUnusable,),
    "create_mapping": (NoSuchQueue, ResourceConflictException, TooManyMappings),
    "list_mappings": _QUEUE,
    "describe_mapping": (ResourceNotFoundException,),
    "change_mapping": (ResourceNotFoundException, ResourceConflictException),
    "delete_mapping": (ResourceNotFoundException,),
    "mcp": (),
}


def route_responses(name: str) -> Responses:
    """The errors of a route below /v1, by the name of its function."""
    return error_responses(*EVERY_ROUTE, *ERRORS[name])


def error_responses(*kinds: type[AwsError]) -> Responses:
    """Errors for the document: a response for each status, whose description names the codes."""
    codes: dict[int, list[str]] = {}
    for status, code in sorted({status_and_code(kind) for kind in kinds}):
        codes.setdefault(status, []).append(f"`{code}`")
    return {
        status: {"model": ErrorAnswer, "description": f"{HTTPStatus(status).phrase}: {', '.join(names)}"}
        for status, names in codes.items()
    }


def remove_validation_errors(document: dict[str, Any]) -> dict[str, Any]:
    """The document without FastAPI's own 422, which every route has in it: such requests are answered with 400."""
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
    return document


# --- bodies that msgspec reads and writes ----------------------------------------------------------------------------
def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON schema of a msgspec type for the OpenAPI document, without references, which would not resolve there."""
    (schema,), named = msgspec.json.schema_components((kind,), ref_template="{name}")
    return cast("dict[str, Any]", _inline_references(schema, named))


def _inline_references(schema: Any, named: Mapping[str, Any]) -> Any:
    if isinstance(schema, dict):
        inlined = {name: _inline_references(value, named) for name, value in schema.items() if name != "$ref"}
        return (
            {**_inline_references(named[schema["$ref"]], named), **inlined} if "$ref" in schema else inlined
        )
    return [_inline_references(one, named) for one in schema] if isinstance(schema, list) else schema


def request_body_schema(kind: Any) -> dict[str, Any]:
    """The schema of the request body, for the `openapi_extra` of a route that reads the body itself."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema_of(kind)}}}}


def json_answers(*kinds: Any, statuses: tuple[int, ...] = (200,)) -> Responses:
    """The `responses` of a route that encodes its body itself: one of these msgspec types, whatever the status."""
    schemas = [schema_of(kind) for kind in kinds]
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return {status: {"content": {"application/json": {"schema": schema}}} for status in statuses}
