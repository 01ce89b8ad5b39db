"""From an HTTP request to a typed call of an action, and from its result or error back to HTTP.

    call = decode(http, environment)          # raises Refusal: the error, in the protocol to answer in
    result = drive(call.operation())          # drivers.run, or the container's own driver
    response = encode(call, result)           # or encode_error(call.protocol, error, call.context.request_id)

AWS JSON names the action in `X-Amz-Target`; everything else is the Query protocol, whose parameters come in the query
string, a form body or both, on `/` and on a queue's own path (`/{account}/{queue}`, which then is the QueueUrl).
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from .actions import BY_NAME, BY_TARGET, SERVICES, Action
from .arn import is_account_id
from .context import Context, Environment, HttpRequest, HttpResponse
from .effects import Operation
from .errors import AwsError, InvalidAction, MissingAction, RequestEntityTooLarge
from .signing_v4 import Signed
from .wire import json, query, xml
from .wire.protocol import Protocol

MAXIMUM_BODY_BYTES = 6 * 1_048_576  # a batch of 1 MiB with every character escaped as \uXXXX

_REGION = re.compile(r"[a-z0-9-]{1,32}").fullmatch


class Refusal(Exception):  # noqa: N818 - not a failure of ours: it carries one to the client
    """A request that never became a call: the error and all that is needed to answer it."""

    def __init__(self, error: AwsError, protocol: Protocol, request_id: str) -> None:
        super().__init__(error.message)
        self.error = error
        self.protocol = protocol
        self.request_id = request_id

    def response(self) -> HttpResponse:
        """The answer."""
        return encode_error(self.protocol, self.error, self.request_id)


class Call:
    """One request for one action, ready to run."""

    __slots__ = ("action", "context", "protocol", "request", "signed")

    def __init__(
        self,
        action: Action,
        request: Any,
        context: Context,
        protocol: Protocol,
        signed: Signed | None = None,
    ) -> None:
        self.action = action
        self.request = request
        self.context = context
        self.protocol = protocol
        self.signed = signed

    def operation(self) -> Operation:
        """The rules of the action for this request, to be driven; behind those of QUEUE_ACCESS, if there are any."""
        access = self.context.environment.access
        return self.action.operation(self.request, self.context) if access is None else access.guarded(self)


class Caller(NamedTuple):
    """Who signed: account, region and service of the credential scope."""

    account_id: str
    region: str
    service: str


# --- requests --------------------------------------------------------------------------------------------------------
def decode(
    http: HttpRequest, environment: Environment, service: str | None = None, action: str | None = None
) -> Call:
    """The call that a request makes. With `service` and `action` given, any other action is InvalidAction.

    Raises Refusal for everything that is wrong with the request itself. Bodies beyond 6 MiB are refused.
    """
    request_id = environment.request_ids()
    target = http.headers.get(b"x-amz-target")
    protocol = Protocol.QUERY if target is None else Protocol.JSON
    access, signed = environment.access, None
    try:
        if access is not None:
            signed = access.check(http)
        if len(http.body) > MAXIMUM_BODY_BYTES:
            raise RequestEntityTooLarge
        if target is None:
            found, request, caller = _decode_query(http, environment)
        else:
            found, request, caller = _decode_json(target, http, environment)
        if action is not None and (found.name != action or found.service != service):
            raise InvalidAction.named(found.name)
    except AwsError as error:
        raise Refusal(error, protocol, request_id) from error
    context = Context(caller.account_id, caller.region, request_id, environment, http)
    return Call(found, request, context, protocol, signed)


def _decode_json(target: bytes, http: HttpRequest, environment: Environment) -> tuple[Action, Any, Caller]:
    action = BY_TARGET.get(target)
    if action is None:
        raise InvalidAction.named(target.decode("latin-1").rpartition(".")[2])
    request = json.decoder(action.request)(http.body)
    return action, request, _header_caller(http, environment) or _nobody(environment)


def _decode_query(http: HttpRequest, environment: Environment) -> tuple[Action, Any, Caller]:
    tree = query.parse(http.query, b"" if http.method == "GET" else http.body)
    caller = _header_caller(http, environment) or _query_caller(tree, environment) or _nobody(environment)
    action = _query_action(tree, caller.service)
    if http.path != "/":
        tree.setdefault("QueueUrl", http.path)
    return action, query.decoder(action.request)(tree), caller


def _query_action(tree: query.Tree, signed_service: str) -> Action:
    """The action by name, in the service that was signed for, else in the one whose `Version` is given, else any."""
    name = tree.get("Action")
    if not isinstance(name, str) or not name:
        raise MissingAction
    versions = [service.name for service in SERVICES.values() if service.version == tree.get("Version")]
    for service in (signed_service, *versions, *SERVICES):
        action = BY_NAME.get((service, name))
        if action is not None:
            return action
    raise InvalidAction.named(name[:256])


# --- callers ---------------------------------------------------------------------------------------------------------
def _header_caller(http: HttpRequest, environment: Environment) -> Caller | None:
    """Authorization: AWS4-HMAC-SHA256 Credential=<scope>, SignedHeaders=…, Signature=… (SigV4)."""
    header = http.headers.get(b"authorization")
    if header is None:
        return None
    _, found, rest = header.partition(b"Credential=")
    return _caller(rest.partition(b",")[0].strip(), environment) if found else None


def _query_caller(tree: query.Tree, environment: Environment) -> Caller | None:
    """X-Amz-Credential of a presigned address."""
    scope = tree.get("X-Amz-Credential")
    return _caller(scope.encode(), environment) if isinstance(scope, str) else None


def _caller(scope: bytes, environment: Environment) -> Caller | None:
    settings = environment.settings
    return parse_scope(scope, settings.queue_account_id, settings.queue_region)


@lru_cache(maxsize=1024)
def parse_scope(scope: bytes, default_account_id: str, default_region: str) -> Caller | None:
    """`AKID/20250101/us-east-1/sqs/aws4_request`: an access key id of 12 digits is the account id itself.

    None when it is no scope. Cached, since a client sends the same one all day.
    """
    parts = unquote_to_bytes(scope).decode("latin-1").rsplit("/", 4)
    if len(parts) != 5:
        return None
    key, _, region, service, _ = parts
    account_id = key if is_account_id(key) else default_account_id
    return Caller(account_id, region if _REGION(region) else default_region, service)


def _nobody(environment: Environment) -> Caller:
    return Caller(environment.settings.queue_account_id, environment.settings.queue_region, "")


# --- answers ---------------------------------------------------------------------------------------------------------
def encode(call: Call, result: Any) -> HttpResponse:
    """The answer of an action, in the protocol of its request."""
    request_id = call.context.request_id
    if call.protocol is Protocol.JSON:
        return HttpResponse(200, _headers(json.CONTENT_TYPE, request_id), json.encode_result(result))
    namespace = SERVICES[call.action.service].xml_namespace
    body = xml.encode_result(call.action.name, namespace, result, request_id)
    return HttpResponse(200, _headers(xml.CONTENT_TYPE, request_id), body)


def encode_error(protocol: Protocol, error: AwsError, request_id: str, service: str = "sqs") -> HttpResponse:
    """An error, in the protocol of its request. JSON names the Query code in a header; 503 says when to try again."""
    if protocol is Protocol.JSON:
        headers = _headers(json.CONTENT_TYPE, request_id)
        headers.append((b"x-amzn-query-error", f"{error.query_code};{error.fault}".encode()))
        body = json.encode_error(error)
    else:
        headers = _headers(xml.CONTENT_TYPE, request_id)
        body = xml.encode_error(SERVICES[service].xml_namespace, error, request_id)
    if error.retry_after_seconds is not None:
        headers.append((b"retry-after", str(error.retry_after_seconds).encode()))
    return HttpResponse(error.status, headers, body)


def _headers(content_type: bytes, request_id: str) -> list[tuple[bytes, bytes]]:
    return [(b"content-type", content_type), (b"x-amzn-requestid", request_id.encode())]
