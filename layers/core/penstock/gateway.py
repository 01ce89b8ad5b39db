"""Converts an HTTP request to a typed call of an action, and the result or error back to HTTP.

    call = decode(http, environment)          # raises RejectedRequest: the error, in the protocol to answer in
    result = run(call.operation())            # drivers.run, or the container's own driver
    response = encode(call, result)           # or encode_error(call.protocol, error, call.context.request_id)

In AWS JSON, `X-Amz-Target` contains the action. In REST-JSON (EventBridge Scheduler, Lambda), the method and path
determine the action. In rpc-v2-cbor, the header `smithy-protocol` selects the protocol, and the path the action. All
other requests use the Query protocol, with parameters in the query string, a form body or both. The path of a Query
request is `/` or the path of a queue, which is then the QueueUrl. A queue's path accepts GetQueueUrl and the actions
with a QueueUrl (recorded at AWS).

`decode` does not decode a request that must be signed. Looking up the request's key is an effect, so `call.operation()`
first verifies the signature and then decodes the request. Therefore a client without a valid signature does not see
other errors in its request.
"""

import logging
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from msgspec import Struct

from .access.public_links import PUBLIC_ACTIONS, is_followed_in_browser
from .access.quotas import count_response
from .access.request_rate import CHUNK_BYTES
from .access.sigv4 import CredentialScope
from .actions import (
    BY_NAME,
    BY_ROUTE,
    BY_TARGET,
    PEEK,
    REST_SERVICES,
    SERVICE_OF_SHAPE,
    SERVICES,
    UNDECODED,
    AnyAction,
    Service,
)
from .aws.codec import json, limits, query, query_json, rest_json, rpc_cbor, xml
from .aws.codec.errors import UnknownOperationException
from .aws.codec.protocol import SMITHY_PROTOCOL, Protocol, detect_protocol, find_operation, find_rest_resource
from .aws.queue_url import is_queue_path
from .context import (
    Context,
    build_default_scope,
    check_region,
    find_client_address,
    read_any_scope,
    read_header_scope,
    read_query_scope,
)
from .effects import Operation
from .environment import Environment
from .errors import (
    AwsError,
    InvalidAction,
    MissingAction,
    MissingParameter,
    RequestEntityTooLarge,
)
from .http import HttpRequest, HttpResponse
from .observing.telemetry import AtMost
from .sns import link_page
from .sns.errors import ValidationError

T = TypeVar("T")

# The size of a batch of 1 MiB in which every character is escaped as \uXXXX, plus names and ids.
MAX_BODY_BYTES = 6 * 1_048_576 + 262_144

_log = logging.getLogger(__name__)
_log.addFilter(AtMost(10))  # limits the length of records about refused requests

# The path of the peek endpoint (QUEUE_PEEK_ENDPOINT): `?QueueUrl=…`, or the queue's region, account and name.
# An SDK with CBOR appends the path of ReceiveMessage.
_PEEK_PATH = re.compile(
    r"/_aws/sqs/messages(?:/service/[^/]+/operation/[^/]+|/([a-z0-9-]{1,32})(/[0-9]{12}/[^/]+))?/?"
).fullmatch


class RejectedRequest(Exception):  # noqa: N818 - it carries an error to the client
    """A request that could not be decoded: the error, and the data for the response."""

    def __init__(self, error: AwsError, protocol: Protocol, request_id: str, service: str) -> None:
        super().__init__(error.message)
        self.error = error
        self.protocol = protocol
        self.request_id = request_id
        self.service = service

    def response(self) -> HttpResponse:
        """Returns the HTTP response with the error."""
        return encode_error(self.protocol, self.error, self.request_id, self.service)


class DecodedRequest(NamedTuple):
    """A request's action, typed members and credential scope."""

    action: AnyAction
    request: Struct
    scope: CredentialScope


class ActionCall(Struct, eq=False):
    """A decoded request for one action."""

    action: AnyAction
    request: Any
    context: Context
    protocol: Protocol

    def operation(self) -> Operation[Struct | None]:
        """Returns the action's operation for this request. The call drops the request, so callers can use this method
        only once."""
        request, self.request = self.request, None  # frees the request's memory while the operation waits
        return self.action.operation(request, self.context)

    @property
    def service(self) -> str:
        """Returns the service whose error format the client expects."""
        return self.action.service


class GuardedActionCall(ActionCall, eq=False):
    """A request that is decoded after its signature has been verified. Before the verification the action is UNDECODED.

    `guard` is the operation that verifies the signature. `decoder` decodes the action and the request, and can be
    called only once.
    """

    guard: Callable[["GuardedActionCall"], Operation[Struct | None]]
    decoder: Callable[[], DecodedRequest] | None

    def read(self) -> DecodedRequest:
        """Decodes the action and the request. Raises the AwsError of an invalid request, and TypeError if the request
        was read before."""
        if self.decoder is None:
            raise TypeError("the request was read before")
        decoded = self.decoder()
        self.action, self.request = decoded.action, decoded.request
        self.context.http = self.context.http.without_body
        self.decoder = None  # the decoder references the body
        return decoded

    def operation(self) -> Operation[Struct | None]:
        """Returns an operation that checks QUEUE_ACCESS and then runs the action's operation."""
        return self.guard(self)

    @property
    def service(self) -> str:
        """Returns the service whose error format the client expects before the request is decoded."""
        return guess_service(self.context.http) if self.action is UNDECODED else self.action.service


class PageCall(ActionCall, eq=False):
    """A link in an SNS message that a browser opens. The response is a page with a button. Opening the link has no
    other effect."""

    def operation(self) -> Operation[Struct | None]:
        yield from ()
        return None


# --- requests --------------------------------------------------------------------------------------------------------
def decode(
    http: HttpRequest, environment: Environment, service: str | None = None, action: str | None = None
) -> ActionCall:
    """Decodes a request into an action call. If `service` and `action` are given, refuses any other action with
    InvalidAction.

    Raises RejectedRequest for every error in the request. Refuses bodies of more than 6.25 MiB.
    """
    request_id = environment.request_ids()
    protocol = detect_protocol(http.headers, http.path)
    access, settings = environment.access, environment.settings
    decode_members = _DECODERS[protocol]

    def read() -> DecodedRequest:
        decoded = (_decode_peek if is_peek(http.path, environment) else decode_members)(http, environment)
        found = decoded.action
        if action is not None and (found.name != action or found.service != service):
            has_query = SERVICES[found.service].has_query
            raise InvalidAction.named(found.name) if has_query else UnknownOperationException
        return decoded

    try:
        page = _read_followed_link(http, environment, request_id, read) if http.method == "GET" else None
        if page is not None:
            return page
        environment.hosts.check(http.headers, http.host_checked)
        guard = None if access is None else access.check(http)
        if len(http.body) > MAX_BODY_BYTES:
            raise RequestEntityTooLarge
        if guard is not None:
            context = Context(settings.queue_account_id, settings.queue_region, request_id, environment, http, protocol)
            return GuardedActionCall(UNDECODED, None, context, protocol, guard, read)
        if environment.request_rate is not None:
            address = find_client_address(http.headers, http.peer, settings)
            environment.request_rate.check_address(address, len(http.body))
        decoded_action, request, scope = read()
    except AwsError as error:
        _count_refusal(error, http, environment, request_id)
        raise RejectedRequest(error, protocol, request_id, guess_service(http)) from error
    context = Context(scope.account_id, scope.region, request_id, environment, http.without_body, protocol)
    return ActionCall(decoded_action, request, context, protocol)


def _count_refusal(error: AwsError, http: HttpRequest, environment: Environment, request_id: str) -> None:
    from .access.audit.refusals import count_refusal  # noqa: PLC0415 - a function seldom needs it

    settings = environment.settings
    context = Context(settings.queue_account_id, settings.queue_region, request_id, environment, http)
    count_refusal(error, context, f"{guess_service(http)}:*")


def _read_followed_link(
    http: HttpRequest, environment: Environment, request_id: str, read: Callable[[], DecodedRequest]
) -> PageCall | None:
    """Returns the call for a link in an SNS message that a browser opens, or None for every other GET."""
    if not is_followed_in_browser(http):
        return None
    environment.hosts.check_host(http.headers, http.host_checked)
    action, request, scope = read()
    if action.label not in PUBLIC_ACTIONS:
        return None
    context = Context(scope.account_id, scope.region, request_id, environment, http, Protocol.PAGE)
    return PageCall(action, request, context, Protocol.PAGE)


def _decode_json(http: HttpRequest, environment: Environment) -> DecodedRequest:
    target = http.headers[b"x-amz-target"]
    action = BY_TARGET.get(target)
    if action is None:
        raise InvalidAction.named(target.decode("latin-1").rpartition(".")[2])
    try:
        request = json.build_decoder(action.request)(http.body)
    except MissingParameter as error:
        raise _build_missing_error(action, error) from error
    if SERVICES[action.service].has_validation_error:
        _check_limits(request)
    scope = read_header_scope(http.headers, environment) or build_default_scope(environment)
    return DecodedRequest(action, request, scope)


def _decode_checked(action: AnyAction, decode_body: Callable[[T], Struct], body: T) -> Struct:
    """Decodes the members of a Query service's action. Raises the service's errors for missing and too long members."""
    try:
        request = decode_body(body)
    except MissingParameter as error:
        raise _build_missing_error(action, error) from error
    if SERVICES[action.service].has_validation_error:
        _check_limits(request)
    return request


def _decode_cbor(http: HttpRequest, environment: Environment) -> DecodedRequest:
    rpc_cbor.check_headers(http.headers)
    service, name = find_operation(http.path) or ("", "")
    action = BY_NAME.get((SERVICE_OF_SHAPE.get(service, ""), name))
    if action is None or http.method != "POST":
        raise UnknownOperationException
    if not SERVICES[action.service].has_query:
        request = rpc_cbor.build_rest_decoder(action.request)(http.body)
    else:
        request = _decode_checked(action, rpc_cbor.build_decoder(action.request), http.body)
    return DecodedRequest(action, request, read_any_scope(http, environment))


def _decode_rest(http: HttpRequest, environment: Environment) -> DecodedRequest:
    kind, label = find_rest_resource(http.path) or ("", None)
    action = BY_ROUTE.get((http.method, kind, label is not None))
    if action is None or not SERVICES[action.service].is_served(http, environment.settings):
        raise UnknownOperationException
    request = rest_json.build_decoder(action.request)(label, http.query, http.body)
    return DecodedRequest(action, request, read_any_scope(http, environment))


def _decode_query(http: HttpRequest, environment: Environment) -> DecodedRequest:
    tree = query.parse(http.query, b"" if http.method == "GET" else http.body)
    scope = (
        read_header_scope(http.headers, environment)
        or read_query_scope(tree, environment)
        or build_default_scope(environment)
    )
    on_queue = http.path != "/" and is_queue_path(http.path)
    if on_queue and not tree.get("Action"):
        raise UnknownOperationException
    action = _find_query_action(tree, scope.service)
    if on_queue and "queue_url" not in action.request.__struct_fields__ and action.name != "GetQueueUrl":
        raise InvalidAction.named(action.name)
    if http.path != "/":
        tree.setdefault("QueueUrl", http.path)
    request = _decode_checked(action, query.build_decoder(action.request), tree)
    return DecodedRequest(action, request, scope)


def _check_limits(request: Struct) -> None:
    """Raises ValidationError for members that exceed the limits of their types."""
    if problems := limits.find_violations(request):
        raise ValidationError.of(problems)


def _build_missing_error(action: AnyAction, error: MissingParameter) -> AwsError:
    """Returns the error of the action's service for a missing member."""
    if SERVICES[action.service].has_validation_error:
        return ValidationError.missing(error.member)
    return error


_DECODERS = {
    Protocol.JSON: _decode_json,
    Protocol.REST_JSON: _decode_rest,
    Protocol.CBOR: _decode_cbor,
    Protocol.QUERY: _decode_query,
    Protocol.QUERY_JSON: _decode_query,
}


def guess_service(http: HttpRequest) -> str:
    """Returns the most likely service of an undecodable request, because each service has its own error format.

    The function tries the path and the target first, then the signature's scope, and then `Version`.
    """
    operation = find_operation(http.path)
    if operation is not None and operation[0] in SERVICE_OF_SHAPE:
        return SERVICE_OF_SHAPE[operation[0]]
    resource = find_rest_resource(http.path)
    if resource is not None:
        return REST_SERVICES.get(resource[0], "lambda")
    target = http.headers.get(b"x-amz-target", b"").partition(b".")[0].decode("latin-1")
    scope = http.headers.get(b"authorization", b"")
    parameters = http.query + http.body[:65_536]
    services = [service for service in SERVICES.values() if service.has_query]
    signs: tuple[Callable[[Service], bool], ...] = (
        lambda service: target != "" and service.target_prefix == target,
        lambda service: f"/{service.name}/aws4_request".encode() in scope,
        lambda service: f"Version={service.version}".encode() in parameters,
    )
    return next((service.name for sign in signs for service in services if sign(service)), "sqs")


def _find_query_action(tree: query.Tree, signed_service: str) -> AnyAction:
    """Finds the action by name. Searches the signature's service first, then the service of `Version`, and then all
    services."""
    name = tree.get("Action")
    if not isinstance(name, str) or not name:
        raise MissingAction
    versions = [service.name for service in SERVICES.values() if service.version == tree.get("Version")]
    for service in (signed_service, *versions, *SERVICES):
        action = BY_NAME.get((service, name))
        if action is not None and SERVICES[service].has_query:
            return action
    raise InvalidAction.named(name[:256])


# --- peeking ---------------------------------------------------------------------------------------------------------
def is_peek(path: str, environment: Environment) -> bool:
    """Returns whether the path is the path of the peek endpoint, and the endpoint is enabled."""
    return environment.settings.queue_peek_endpoint and _PEEK_PATH(path) is not None


def _decode_peek(http: HttpRequest, environment: Environment) -> DecodedRequest:
    """Decodes a GET with parameters, or an SDK's ReceiveMessage. Ignores the members of ReceiveMessage except
    QueueUrl."""
    protocol = detect_protocol(http.headers, http.path)
    decode_members = {Protocol.JSON: _decode_json, Protocol.CBOR: _decode_cbor}.get(protocol)
    in_body = decode_members is None and http.method != "GET"
    tree = query.parse(http.query, http.body if in_body else b"")
    if decode_members is not None:
        decoded = decode_members(http, environment)
        tree |= {"Action": decoded.action.name, "QueueUrl": getattr(decoded.request, "queue_url", "")}
    if tree.get("Action", PEEK.name) != PEEK.name:
        raise InvalidAction.named(str(tree["Action"])[:256])
    scope = (
        read_header_scope(http.headers, environment)
        or read_query_scope(tree, environment)
        or build_default_scope(environment)
    )
    matched = _PEEK_PATH(http.path)
    if matched and matched[2]:
        tree["QueueUrl"] = f"/{matched[1]}{matched[2]}"
        scope = scope._replace(region=matched[1])
        check_region(scope.region, environment.settings)
    for name in ("ShowInvisible", "ShowDelayed"):
        if isinstance(tree.get(name), str):
            tree[name] = tree[name].lower()  # Python clients write True
    action: AnyAction = cast("AnyAction", PEEK)
    return DecodedRequest(action, query.build_decoder(PEEK.request)(tree), scope)


# --- responses --------------------------------------------------------------------------------------------------------
def encode(call: ActionCall, result: Struct | None) -> HttpResponse:
    """Returns the response in the request's protocol. A long response counts towards the caller's request rate."""
    context, action, protocol = call.context, call.action, call.protocol
    headers: list[tuple[bytes, bytes]] = []
    if protocol is Protocol.JSON:
        content_type = json.CONTENT_TYPE
        # AWS sends an empty body for an action without a result.
        body = b"" if result is None else json.encode(result)
    elif protocol is Protocol.REST_JSON:
        content_type, body = rest_json.CONTENT_TYPE, rest_json.encode_result(result)
    elif protocol is Protocol.CBOR:
        content_type, body, headers = rpc_cbor.CONTENT_TYPE, rpc_cbor.encode_result(result), [_RPC_HEADER]
    elif protocol is Protocol.QUERY_JSON and action is not PEEK:
        content_type = query_json.CONTENT_TYPE
        body = query_json.encode_result(action.name, result, context.request_id)
    elif protocol is Protocol.PAGE:
        content_type, body, headers = (link_page.CONTENT_TYPE, link_page.page(call.request), link_page.build_headers())
    else:
        content_type = xml.CONTENT_TYPE
        namespace = SERVICES[action.service].xml_namespace
        body = xml.encode_result(action.name, namespace, result, context.request_id)
        if protocol is Protocol.QUERY_JSON:
            content_type, body = query_json.CONTENT_TYPE, query_json.convert_xml(body)
    if len(body) > CHUNK_BYTES:
        count_response(context, len(body))
    return HttpResponse(action.status, [*_build_headers(content_type, context.request_id), *headers], body)


def encode_error(protocol: Protocol, error: AwsError, request_id: str, service: str = "sqs") -> HttpResponse:
    """Returns an error in the request's protocol. In JSON responses a header contains the Query code.

    Temporary errors (503 and throttling) tell the client when to retry. Logs errors that AWS's text does not explain.
    """
    if error.detail is not None:
        extra = {"request_id": request_id, "error": error.json_type, "cause": f"{error.message} {error.detail}"}
        _log.info("request refused", extra=extra)
    error = SERVICES[service].convert_error(error)
    if protocol is Protocol.JSON:
        headers = [*_build_headers(json.CONTENT_TYPE, request_id), _build_query_error(error)]
        body = json.encode_error(error)
    elif protocol is Protocol.REST_JSON:
        kind, body = rest_json.encode_error(error)
        headers = [*_build_headers(rest_json.CONTENT_TYPE, request_id), (rest_json.ERROR_HEADER, kind)]
    elif protocol is Protocol.CBOR:
        headers, body = _encode_cbor_error(error, request_id, service)
    elif isinstance(error, UnknownOperationException):
        headers, body = _build_headers(xml.CONTENT_TYPE, request_id), xml.UNKNOWN_OPERATION
    elif protocol is Protocol.QUERY_JSON:
        headers = _build_headers(query_json.CONTENT_TYPE, request_id)
        body = query_json.encode_error(error, request_id)
    else:
        headers = _build_headers(xml.CONTENT_TYPE, request_id)
        body = xml.encode_error(SERVICES[service].xml_namespace, error, request_id)
    if error.retry_after_seconds is not None:
        headers.append((b"retry-after", str(error.retry_after_seconds).encode()))
    return HttpResponse(error.status, headers, body)


def _encode_cbor_error(error: AwsError, request_id: str, service: str) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Returns the headers and the body of an error in CBOR.

    A service with the Query protocol also sends the Query code, as the trait awsQueryCompatible demands for requests
    with `x-amzn-query-mode`. Clients that do not send this header ignore the code.
    """
    headers = [*_build_headers(rpc_cbor.CONTENT_TYPE, request_id), _RPC_HEADER]
    if not SERVICES[service].has_query:
        return headers, rpc_cbor.encode_rest_error(error)
    return [*headers, _build_query_error(error)], rpc_cbor.encode_error(error)


_RPC_HEADER = (SMITHY_PROTOCOL, rpc_cbor.VERSION)


def _build_query_error(error: AwsError) -> tuple[bytes, bytes]:
    return b"x-amzn-query-error", f"{error.query_code};{error.fault}".encode()


def _build_headers(content_type: bytes, request_id: str) -> list[tuple[bytes, bytes]]:
    return [(b"content-type", content_type), (b"x-amzn-requestid", request_id.encode())]
