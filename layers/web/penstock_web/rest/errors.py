"""Errors of the REST API: `{"error":{"code","message","detail"?,"hint"?}}` for every answer that is not 2xx.

ERROR_TABLE gives the typed errors of core a code and a status. A class that is not listed has the row of its nearest
ancestor; that of AwsError is `bad_request`.
"""

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

from penstock import errors
from penstock.environment import Environment
from penstock.errors import AwsError
from penstock.event_sources.errors import (
    NoSuchQueue,
    ResourceConflictException,
    ResourceNotFoundException,
    TooManyMappings,
)
from penstock.search.moves import MoveConflict, MoveNotFound
from penstock.sns.errors import NotFound, Throttled

from .request_id import request_id_of

_log = logging.getLogger(__name__)


class MessageNotFound(AwsError):  # noqa: N818 - called as the answer is
    """There is no message of this id (any more)."""

    json_type = query_code = "MessageNotFound"
    status = 404
    default_message = "The message does not exist."


class SubscriptionNotFound(AwsError):  # noqa: N818 - called as the answer is
    """There is no binding of this pattern and id."""

    json_type = query_code = "SubscriptionNotFound"
    status = 404
    default_message = "The subscription does not exist."


class StaleReceipt(AwsError):  # noqa: N818 - called as the answer is
    """A transaction acknowledges a message that was deleted or received again after the receipt was issued."""

    json_type = query_code = "StaleReceipt"
    status = 409


class DeliveryNotFound(AwsError):  # noqa: N818 - called as the answer is
    """There is no delivery of this id: it was delivered or moved to a dead-letter queue, or it never existed."""

    json_type = query_code = "DeliveryNotFound"
    status = 404
    default_message = "The delivery does not exist."


class EndpointNotFound(AwsError):  # noqa: N818 - called as the answer is
    """No subscription, binding or recent attempt of the account has this URL; or, to resume, it is not paused."""

    json_type = query_code = "EndpointNotFound"
    status = 404
    default_message = "The account delivers nothing to this endpoint."


class UserNotFound(AwsError):  # noqa: N818 - called as the answer is
    """The account has no user of this name."""

    json_type = query_code = "UserNotFound"
    status = 404
    default_message = "The user does not exist."


class KeyNotFound(AwsError):  # noqa: N818 - called as the answer is
    """The account has no key of this id."""

    json_type = query_code = "KeyNotFound"
    status = 404
    default_message = "The key does not exist."


class AccessIsOff(AwsError):  # noqa: N818 - called as the answer is
    """Users and keys are changed only where keys are asked for: else everybody could make one."""

    json_type = query_code = "AccessIsOff"
    status = 409
    default_message = "The service asks nobody for a key (QUEUE_ACCESS), so it makes none."


class UnsupportedMediaType(AwsError):  # noqa: N818 - called as the answer is
    """A body that does not say that it is JSON. Browsers let pages of other sites send only bodies that do not."""

    json_type = query_code = "UnsupportedMediaType"
    status = 415
    default_message = "The body must be JSON, and the header content-type must say so."


class ScheduleNotFound(AwsError):  # noqa: N818 - called as the answer is
    """There is no schedule of this name."""

    json_type = query_code = "ScheduleNotFound"
    status = 404

    @classmethod
    def named(cls, name: str) -> "ScheduleNotFound":
        """The error for a schedule of this name."""
        return cls(f"Schedule '{name}' does not exist")


class ScheduleConflict(AwsError):  # noqa: N818 - called as the answer is
    """The name is taken, or the schedule does not permit this change or run."""

    json_type = query_code = "ScheduleConflict"
    status = 409


class ScheduleUnusable(AwsError):  # noqa: N818 - called as the answer is
    """A schedule that could never fire as it is written.

    `details` are members of the error document if an expression is wrong: its position (from 0, in the written
    expression), suggestion, examples.
    """

    json_type = query_code = "ScheduleInvalid"

    def __init__(self, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.details = details or {}


# class: status, code, hint
ERROR_TABLE: dict[type[AwsError], tuple[int, str, str | None]] = {
    errors.QueueDoesNotExist: (404, "queue_not_found", "Create it with POST /v1/queues."),
    MessageNotFound: (404, "message_not_found", "It may have been deleted, or expired."),
    SubscriptionNotFound: (404, "subscription_not_found", None),
    StaleReceipt: (409, "stale_receipt", "Nothing of the transaction was done."),
    NotFound: (404, "topic_not_found", "Create it with POST /v1/topics."),
    Throttled: (429, "too_many_requests", None),
    DeliveryNotFound: (404, "delivery_not_found", "It may have been delivered."),
    UserNotFound: (404, "user_not_found", None),
    KeyNotFound: (404, "key_not_found", None),
    AccessIsOff: (409, "access_is_off", "penstock users and penstock keys do it in the database."),
    EndpointNotFound: (404, "endpoint_not_found", "GET /v1/deliveries/endpoints lists them."),
    MoveNotFound: (404, "move_not_found", "A queue keeps its last ten moves."),
    MoveConflict: (409, "move_conflict", None),
    UnsupportedMediaType: (415, "unsupported_media_type", "Send content-type: application/json."),
    ScheduleNotFound: (404, "schedule_not_found", None),
    ScheduleConflict: (409, "schedule_conflict", None),
    NoSuchQueue: (404, "queue_not_found", "Create it with POST /v1/queues."),
    ResourceNotFoundException: (404, "mapping_not_found", "GET /v1/mappings lists them."),
    ResourceConflictException: (
        409,
        "mapping_conflict",
        "Change the one that there is with PATCH /v1/mappings/{id}.",
    ),
    ScheduleUnusable: (400, "schedule_invalid", None),
    errors.QueueNameExists: (409, "queue_exists", None),
    errors.QueueDeletedRecently: (409, "queue_exists", "QUEUE_RECREATE_INTERVAL_SECONDS sets how long."),
    errors.ReceiptHandleIsInvalid: (
        400,
        "invalid_receipt_handle",
        "A receipt is only good for its own queue.",
    ),
    errors.RequestEntityTooLarge: (413, "payload_too_large", None),
    errors.ResponseTooLarge: (400, "response_too_large", None),
    errors.BatchRequestTooLong: (413, "payload_too_large", "Send fewer messages in one request."),
    errors.PurgeQueueInProgress: (
        429,
        "too_many_requests",
        "QUEUE_PURGE_INTERVAL_SECONDS sets the interval.",
    ),
    errors.OverLimit: (429, "too_many_requests", None),
    TooManyMappings: (429, "too_many_requests", None),
    errors.RequestThrottled: (429, "too_many_requests", None),
    errors.RequestTimeout: (408, "request_timeout", None),
    errors.MisdirectedRequest: (421, "misdirected_request", None),
    errors.ServiceUnavailable: (503, "service_unavailable", None),
    errors.InternalFailure: (500, "internal_error", None),
    errors.MissingAuthenticationToken: (401, "unauthorized", "Send Authorization: Bearer <key>."),
    errors.InvalidClientTokenId: (401, "unauthorized", "The key is unknown or revoked."),
    errors.AccessDenied: (403, "unauthorized", None),
    AwsError: (400, "bad_request", None),
}
HTTP_CODES = {401: "unauthorized", 403: "unauthorized", 404: "not_found", 405: "method_not_allowed",
              408: "request_timeout", 413: "payload_too_large", 429: "too_many_requests",
              503: "service_unavailable"}  # fmt: skip
METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")


def error_body(code: str, message: str, hint: str | None = None) -> dict[str, dict[str, str]]:
    """The body of an error. An unpaired surrogate from the client becomes a question mark: UTF-8 cannot encode it."""
    error = {"code": code, "message": message.encode(errors="replace").decode()}
    if hint is not None:
        error["hint"] = hint
    return {"error": error}


def status_and_code(kind: type[AwsError]) -> tuple[int, str]:
    """The status and the code of a typed error."""
    status, code, _ = _row(kind)
    return status, code


def _row(kind: type[AwsError]) -> tuple[int, str, str | None]:
    return next(ERROR_TABLE[one] for one in kind.__mro__ if one in ERROR_TABLE)


def error_response(error: AwsError) -> JSONResponse:
    """A typed error of core as a response of the REST API."""
    status, code, hint = _row(type(error))
    headers = {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"  # RFC 9110, 11.6.1
    if error.retry_after_seconds is not None:
        headers["retry-after"] = str(error.retry_after_seconds)
    body: dict[str, dict[str, Any]] = {**error_body(code, error.message, hint)}
    if error.detail is not None:
        body["error"]["detail"] = error.detail
    if isinstance(error, ScheduleUnusable):
        body["error"].update(error.details)
    return JSONResponse(body, status, headers)


def add_error_handlers(app: FastAPI, environment: Environment) -> None:
    """Adds handlers that give every error of a request the same shape."""

    @app.exception_handler(AwsError)
    async def typed(request: Request, error: AwsError) -> JSONResponse:
        name = request.path_params.get("name")
        if isinstance(error, errors.QueueDoesNotExist) and name is not None:
            error.message = f"Queue '{name}' does not exist"
        return error_response(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse(error_body("bad_request", describe(error.errors())), 400)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        code = HTTP_CODES.get(error.status_code, "bad_request")
        response = JSONResponse(error_body(code, str(error.detail)), error.status_code, error.headers)
        if error.status_code == 405:
            response.headers["allow"] = ", ".join(allowed_methods(app, request.scope))
        return response

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        request_id = request_id_of(request.scope, environment)
        known = {"request_id": request_id, "method": request.method, "path": request.url.path}
        _log.error("request failed", exc_info=error, extra=known)
        message = f"The request failed for a reason of ours. Request id: {request_id}"
        return JSONResponse(error_body("internal_error", message), 500, {"x-request-id": request_id})


def allowed_methods(app: FastAPI, scope: Scope) -> list[str]:
    """The methods of the path (RFC 9110, 15.5.6). Starlette's own header has those of the first of its routes only."""
    return [
        method
        for method in METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in app.routes)
    ]


def describe(problems: Any) -> str:
    """A text with the errors of the request, one clause for each: `body.vt: Input should be …`."""
    return "; ".join(f"{'.'.join(str(part) for part in p['loc'])}: {p['msg']}" for p in problems)
