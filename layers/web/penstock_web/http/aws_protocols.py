"""Recognises AWS requests, and builds the shared parts of their responses (28 µs, compared with 88 µs for a FastAPI
route).

HttpConnection ─► AwsRequest: decode ─► operation ─► encode ─► HttpConnection
ASGI ─► AsgiRequest: body ─► the same ─► ASGI
"""

import logging
from collections.abc import Iterable, Mapping

from starlette.types import Scope

from penstock.aws.codec.protocol import (
    FORM,
    REST_METHODS,
    SMITHY_PROTOCOL,
    detect_protocol,
    find_operation,
    find_rest_resource,
)
from penstock.aws.queue_url import is_queue_path
from penstock.environment import Environment
from penstock.errors import AwsError, InternalFailure
from penstock.gateway import ActionCall, RejectedRequest, encode_error, guess_service, is_peek
from penstock.http import HttpRequest, HttpResponse
from penstock_web.runtime.deadlines import Deadlines
from penstock_web.runtime.driver import Resources

from .request_notes import RequestTracer

_log = logging.getLogger(__name__)


def is_sqs_path(method: str, path: str) -> bool:
    """Returns whether the path is `/` or a queue's path. SQS and SNS clients send their requests to these paths."""
    return method in ("POST", "GET") and (path == "/" or is_queue_path(path))


def names_action(scope: Scope) -> bool:
    """Returns whether a request on an unknown path names an action, so that the client gets AWS errors.

    A client that knows only a queue's name sends a form to `/name`. Every request with `smithy-protocol` gets its
    errors in CBOR.
    """
    if any(name == SMITHY_PROTOCOL for name, _ in scope["headers"]):
        return True
    if scope["method"] not in ("POST", "GET") or scope["path"].startswith("/v1/"):
        return False
    headers = dict(scope["headers"])
    is_form = headers.get(b"content-type", b"").startswith(FORM)
    return is_form or b"x-amz-target" in headers or b"&Action=" in b"&" + scope["query_string"]


def is_rest_path(method: str, path: str) -> bool:
    """Returns whether the path is `/schedules`, `/schedule-groups` or `/tags`, or is below one of these paths."""
    return method in REST_METHODS and find_rest_resource(path) is not None


class AwsApplication:
    """Holds the objects that SQS, SNS and EventBridge Scheduler requests share. `AwsRequest` and `serve_request` answer
    the requests.

    `tracer` records fast-path requests. `tracer` is None if traces are off.
    """

    def __init__(
        self, environment: Environment, resources: Resources, deadlines: Deadlines, tracer: RequestTracer | None = None
    ) -> None:
        self.environment = environment
        self._checks_access = environment.access is not None
        self.resources = resources
        self.meter = resources.meter
        self.deadlines = deadlines
        self.tracer = tracer

    def handles(self, method: str, path: str) -> bool:
        """Returns whether this application answers the request."""
        if is_sqs_path(method, path) or is_rest_path(method, path):
            return True
        if method == "POST" and find_operation(path) is not None:
            return True
        return method in ("POST", "GET") and is_peek(path, self.environment)

    def headers(self, header_pairs: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
        """Returns the headers by name, with repeated headers joined."""
        return join_repeated_headers(header_pairs) if self._checks_access else dict(header_pairs)

    def refusal(self, http: HttpRequest, error: Exception) -> HttpResponse:
        """Returns the response to a request that could not be decoded. Logs an error that AWS does not define, and
        gives the client no details.
        """
        if isinstance(error, RejectedRequest):
            self.meter.count_refusal(error.error)
            return error.response()
        response = self.build_error_without_call(http.headers, http.path, InternalFailure())
        request_id = dict(response.headers)[b"x-amzn-requestid"].decode()
        _log.error("a request could not be read", exc_info=error, extra={"request_id": request_id})
        return response

    def build_error_response(self, call: ActionCall, error: BaseException) -> HttpResponse:
        """Returns the response to a failed call. Logs an error that AWS does not define, and gives the client no
        details.
        """
        request_id = call.context.request_id
        if isinstance(error, AwsError):
            self.meter.count_refusal(error)
        else:
            log_fields = {"request_id": request_id, "action": call.action.name}
            _log.error("request failed", extra=log_fields, exc_info=error)
            error = InternalFailure()
        return encode_error(call.protocol, error, request_id, call.service)

    def build_error_without_call(self, headers: Mapping[bytes, bytes], path: str, error: AwsError) -> HttpResponse:
        """Returns the error response to a request that does not name a known call."""
        service = guess_service(HttpRequest("", path, b"", headers, b""))
        return encode_error(detect_protocol(headers, path), error, self.environment.request_ids(), service)


def join_repeated_headers(header_pairs: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Returns the headers by name. If a header occurs several times, the result joins the values with commas, without
    spaces. Signatures cover this joined value, so a client cannot hide one header behind another header.
    """
    headers: dict[bytes, bytes] = {}
    for name, value in header_pairs:
        headers[name] = headers[name] + b"," + value if name in headers else value
    return headers
