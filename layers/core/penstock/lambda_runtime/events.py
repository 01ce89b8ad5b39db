"""Reads an HTTP request from a function's event, and writes the response in the format of the event's source.

    form            recognised by               headers               query                            response
    HTTP API 2.0,   requestContext.http         joined by the API     text, still encoded              headers
    function URL
    REST API 1.0    httpMethod                  multiValueHeaders     parsed and decoded               headers
    load balancer   requestContext.elb          headers or            parsed, not decoded              headers or
                                                multiValueHeaders                                      multiValueHeaders

Sources: "Working with AWS Lambda proxy integrations for HTTP APIs", "Set up Lambda proxy integrations" (API Gateway
Developer Guide), "Lambda functions as targets" (Application Load Balancers), "Function URL payloads" (Lambda).

An HTTP API decodes the path. Function URLs, REST APIs and load balancers pass on the path as the client sent it. `read`
decodes every path, as the container does. A second decoding does not change an action's path, because names contain no
percent sign.

API Gateway and function URLs accept only their own host names, and report the name that the client used
(`requestContext.domainName`). A load balancer accepts every name that resolves to the load balancer.
"""

import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlencode

from penstock.aws.codec import rpc_cbor
from penstock.http import HttpRequest, HttpResponse
from penstock.limits.response_limit import FUNCTION_BYTES, HEAD_BYTES, LOAD_BALANCER_BYTES, ResponseLimit

Event = Mapping[str, Any]  # a JSON document whose form depends on its source
Response = dict[str, Any]


class UnknownEvent(ValueError):  # noqa: N818 - named for the event
    """The invocation's event is not an HTTP request."""


# --- requests --------------------------------------------------------------------------------------------------------
def read(event: Event) -> HttpRequest:
    """Returns the request in an event. Raises UnknownEvent, and ValueError for a body that is marked as base64 but is
    not base64."""
    context = event.get("requestContext") or {}
    if "http" in context:
        return _read_2(event, context)
    if "httpMethod" in event:
        return _read_1(event, by_load_balancer="elb" in context)
    raise UnknownEvent("the event is not from API Gateway, a load balancer or a function URL")


def _read_2(event: Event, context: Event) -> HttpRequest:
    path = _strip_stage(event["rawPath"], f"/{context.get('stage')}")
    headers = (event.get("headers") or {}).items()
    query = _encode_text(event.get("rawQueryString") or "")
    http = context["http"]
    return HttpRequest(
        http["method"],
        unquote(path),
        query,
        _encode_headers(headers),
        _decode_body(event),
        http.get("sourceIp") or "",
        is_host_checked(event),
        find_response_limit(event),
    )


def is_host_checked(event: Event) -> bool:
    """Returns whether the request's Host is a name that API Gateway serves for this function."""
    domain = (event.get("requestContext") or {}).get("domainName")
    hosts = [value for name, value in _list_pairs(event, "headers", "multiValueHeaders") if name.lower() == "host"]
    return bool(domain) and [host.lower() for host in hosts] == [str(domain).lower()]


MAX_ESCAPE_BYTES = 12  # the most bytes of a character in a function's result: two escapes \uXXXX

_UTF_8_RUNTIMES = frozenset(f"AWS_Lambda_python3.{minor}" for minor in (12, 13, 14))


def is_ascii_written(runtime: str | None) -> bool:
    """Returns whether the runtime (AWS_EXECUTION_ENV) escapes non-ASCII characters in a function's result."""
    return runtime not in _UTF_8_RUNTIMES


_IS_ASCII = is_ascii_written(os.environ.get("AWS_EXECUTION_ENV"))
LOAD_BALANCER = ResponseLimit("an Application Load Balancer (1 MB)", LOAD_BALANCER_BYTES, _IS_ASCII)
FUNCTION = ResponseLimit("a Lambda function (6 MB)", FUNCTION_BYTES, _IS_ASCII)


def find_response_limit(event: Event) -> ResponseLimit:
    """Returns the limit of the function's result."""
    return LOAD_BALANCER if "elb" in (event.get("requestContext") or ()) else FUNCTION


def strip_stage(event: Event) -> Response:
    """Returns an HTTP API's event with the path that the client sent, without a stage's name."""
    context = event.get("requestContext") or {}
    if "http" not in context:
        return dict(event)
    path = _strip_stage(event["rawPath"], f"/{context.get('stage')}")
    http = {**context["http"], "path": path}
    return {**event, "rawPath": path, "requestContext": {**context, "http": http}}


def _strip_stage(path: str, stage: str) -> str:
    """Returns the path that the client sent. Every stage except `$default` prepends its name to the path."""
    return path[len(stage) :] or "/" if path == stage or path.startswith(stage + "/") else path


def _read_1(event: Event, *, by_load_balancer: bool) -> HttpRequest:
    headers = _list_pairs(event, "headers", "multiValueHeaders")
    parameters = _list_pairs(event, "queryStringParameters", "multiValueQueryStringParameters")
    # A load balancer passes on names and values as the client sent them.
    query = "&".join(map("=".join, parameters)) if by_load_balancer else urlencode(parameters)
    peer = ((event.get("requestContext") or {}).get("identity") or {}).get("sourceIp") or ""
    return HttpRequest(
        event["httpMethod"],
        unquote(event.get("path") or "/"),
        _encode_text(query),
        _encode_headers(headers),
        _decode_body(event),
        peer,
        is_host_checked(event),
        find_response_limit(event),
    )


def find_rest_address(event: Event, http: HttpRequest) -> str | None:
    """Returns the address at which the function `Rest` serves a request, or None if the request is not for `Rest`.

    Routes and rules compare the path as the client sent it, so a path such as `/%76%31/queues` reaches the gateway.
    """
    sent = event.get("rawPath") or event.get("path") or "/"
    if "%" not in sent or not f"{http.path}/".startswith(("/v1/", "/console/")):
        return None
    address = quote(http.path, safe="/~")
    return f"{address}?{http.query.decode('latin-1')}" if http.query else address


def _list_pairs(event: Event, single: str, multiple: str) -> list[tuple[str, str]]:
    """Returns pairs of a name and a value. If a name has several values, returns a pair for each value."""
    lists = event.get(multiple)
    if lists is not None:
        return [(name, value) for name, values in lists.items() for value in values]
    return list((event.get(single) or {}).items())


def _encode_headers(pairs: Iterable[tuple[str, str]]) -> dict[bytes, bytes]:
    """Returns headers by lower-case name. Joins repeated headers with commas (RFC 9110, 5.3)."""
    headers: dict[bytes, bytes] = {}
    for name, value in pairs:
        key, given = _encode_text(name.lower()), _encode_text(value)
        headers[key] = headers[key] + b", " + given if key in headers else given
    return headers


def _decode_body(event: Event) -> bytes:
    body = event.get("body") or ""
    return b64decode(body, validate=True) if event.get("isBase64Encoded") else _encode_text(body)


def _encode_text(text: str) -> bytes:
    # JSON can contain a lone surrogate, which the codecs refuse.
    return text.encode("utf-8", "surrogatepass")


_CBOR = (b"content-type", rpc_cbor.CONTENT_TYPE)


# --- responses --------------------------------------------------------------------------------------------------------
def build_response(event: Event, response: HttpResponse) -> Response:
    """Returns the response in the form that the event's source expects. Only a body in CBOR is not text."""
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers]
    is_binary = _CBOR in response.headers
    body = b64encode(response.body) if is_binary else response.body
    result: Response = {"statusCode": response.status, "body": body.decode(), "isBase64Encoded": is_binary}
    if "elb" in (event.get("requestContext") or {}) and "multiValueHeaders" in event:
        result["multiValueHeaders"] = {name: [value] for name, value in headers}
    else:
        result["headers"] = dict(headers)
    return result


def is_within_limit(result: Response, limit: ResponseLimit) -> bool:
    """Returns whether the result is within AWS's limit after the runtime has encoded the result as JSON."""
    if MAX_ESCAPE_BYTES * len(result["body"]) + HEAD_BYTES <= limit.max_bytes:
        return True
    return limit.count_bytes(result) <= limit.max_bytes
