"""Formats the REST API's errors. Every response without a 2xx status has the body
`{"error":{"code","message","detail"?,"hint"?}}`.

`routing.errors` maps core's typed errors to codes and statuses.
"""

import logging
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
from penstock.events.webhooks import hide_key
from penstock.management.errors import ScheduleUnusable
from penstock_web.routing.errors import find_row
from penstock_web.routing.request_id import get_request_id

_log = logging.getLogger(__name__)


HTTP_CODES = {401: "unauthorized", 403: "unauthorized", 404: "not_found", 405: "method_not_allowed",
              408: "request_timeout", 413: "payload_too_large", 429: "too_many_requests",
              503: "service_unavailable"}  # fmt: skip
METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")


def build_error_body(code: str, message: str, hint: str | None = None) -> dict[str, dict[str, str]]:
    """Returns the body of an error. A question mark replaces an unpaired surrogate, because UTF-8 cannot encode
    surrogates."""
    error = {"code": code, "message": message.encode(errors="replace").decode()}
    if hint is not None:
        error["hint"] = hint
    return {"error": error}


def build_error_response(error: AwsError) -> JSONResponse:
    """Returns the REST API's response to a typed error of the core package."""
    status, code, hint = find_row(type(error))
    headers = {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"  # RFC 9110, section 11.6.1, requires this header.
    if error.retry_after_seconds is not None:
        headers["retry-after"] = str(error.retry_after_seconds)
    body: dict[str, dict[str, Any]] = {**build_error_body(code, error.message, hint)}
    if error.detail is not None:
        body["error"]["detail"] = error.detail
    if isinstance(error, ScheduleUnusable):
        body["error"].update(error.details)
    return JSONResponse(body, status, headers)


def add_error_handlers(app: FastAPI, environment: Environment) -> None:
    """Adds handlers that format every error with `build_error_body`."""

    @app.exception_handler(AwsError)
    async def respond_to_aws_error(request: Request, error: AwsError) -> JSONResponse:
        name = request.path_params.get("name")
        if isinstance(error, errors.QueueDoesNotExist) and name is not None:
            error.message = f"Queue '{name}' does not exist"
        return build_error_response(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse(build_error_body("bad_request", describe_problems(error.errors())), 400)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        code = HTTP_CODES.get(error.status_code, "bad_request")
        response = JSONResponse(build_error_body(code, str(error.detail)), error.status_code, error.headers)
        if error.status_code == 405:
            response.headers["allow"] = ", ".join(list_methods(app, request.scope))
        return response

    @app.exception_handler(Exception)
    async def respond_to_exception(request: Request, error: Exception) -> JSONResponse:
        request_id = get_request_id(request.scope, environment)
        known = {"request_id": request_id, "method": request.method, "path": hide_key(request.url.path)}
        _log.error("request failed", exc_info=error, extra=known)
        message = f"Internal error. Request id: {request_id}"
        return JSONResponse(build_error_body("internal_error", message), 500, {"x-request-id": request_id})


def list_methods(app: FastAPI, scope: Scope) -> list[str]:
    """Returns the methods of the path for the Allow header (RFC 9110, 15.5.6). Starlette lists only the methods of the
    first route with this path.
    """
    return [
        method
        for method in METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in app.routes)
    ]


def describe_problems(problems: Any) -> str:
    """Joins the request's errors: `body.vt: Input should be …; query.max: Input should be …`."""
    return "; ".join(f"{'.'.join(str(part) for part in p['loc'])}: {p['msg']}" for p in problems)
