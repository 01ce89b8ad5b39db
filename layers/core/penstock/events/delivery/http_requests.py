"""Builds the requests to API destinations.

A connection's parameters take precedence over those of the subscriber (InvocationHttpParameters, EventBridge API
Reference). The worker ignores FIXED_HEADERS in the parameters, so that no event can begin a second request.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from penstock.delivery.http.request import AGENT
from penstock.endpoint import Endpoint, parse_endpoint
from penstock.events.connections import FIXED_HEADERS, AuthParameters, is_header_name, is_header_value

from .tokens import NO_PARAMETERS

CONTENT_TYPE: Final = "application/json; charset=utf-8"
WITHOUT_BODY: Final = frozenset(("GET", "HEAD"))
"""The methods of requests without a body (our choice; "content received in a GET request has no generally defined
semantics", RFC 9110, section 9.3.1)."""


class InvalidRequestError(Exception):
    """The parameters of a subscriber make no request. The text is the reason."""


def build_credentials(parameters: AuthParameters, token: str | None) -> dict[str, str]:
    """Returns the header with the credentials of a connection."""
    if parameters.basic is not None:
        pair = f"{parameters.basic.username}:{parameters.basic.password}"
        return {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
    if parameters.api_key is not None:
        return {parameters.api_key.api_key_name: parameters.api_key.api_key_value}
    return {"Authorization": f"Bearer {token}"}


def build_endpoint(url: str, given: Mapping[str, object], parameters: AuthParameters) -> Endpoint:
    """Returns the endpoint with the subscriber's path and query. Raises InvalidRequestError, EndpointInvalid."""
    endpoint = parse_endpoint(url)
    path, mark, query = endpoint.target.partition("?")
    start, *others = path.split("*")
    values = given.get("PathParameterValues") or []
    if not isinstance(values, list) or len(values) < len(others):
        raise InvalidRequestError(f"PathParameterValues must have {len(others)} values.")
    path = start + "".join(_quote_segment(str(value)) + rest for value, rest in zip(values, others, strict=False))
    invocation = parameters.invocation or NO_PARAMETERS
    pairs = _read_map(given, "QueryStringParameters") | {
        each.key: each.value for each in invocation.query_string_parameters
    }
    more = urlencode(pairs, quote_via=quote)
    if more:
        query = f"{query}&{more}" if query else more
    target = f"{path}?{query}" if query or mark else path
    return endpoint._replace(target=target)


def _quote_segment(value: str) -> str:
    if value in ("", ".", ".."):
        raise InvalidRequestError("A path parameter must not be empty, '.' or '..'.")
    return quote(value, safe="")


def list_headers(given: Mapping[str, object], parameters: AuthParameters) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the headers of the subscriber and of the connection."""
    invocation = parameters.invocation or NO_PARAMETERS
    return _read_map(given, "HeaderParameters"), {each.key: each.value for each in invocation.header_parameters}


def build_headers(*parts: Mapping[str, str]) -> list[str]:
    """Returns the lines of a request's headers. A later part replaces headers of an earlier one. Raises
    InvalidRequestError."""
    headers: dict[str, str] = {}
    for pairs in parts:
        for name, value in pairs.items():
            if not (is_header_name(name) and is_header_value(value)):
                raise InvalidRequestError("A header has a character that is not allowed.")
            headers[name.lower()] = f"{name}: {value.strip()}"
    return [line for name, line in headers.items() if name not in FIXED_HEADERS]


def _read_map(given: Mapping[str, object], name: str) -> dict[str, str]:
    found = given.get(name) or {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def write_request(method: str, endpoint: Endpoint, headers: Iterable[str], body: bytes | None) -> bytes:
    """Returns the bytes of a request. `body` is None for a request without a body."""
    lines = [f"{method} {endpoint.target} HTTP/1.1", f"Host: {endpoint.host_header}", f"User-Agent: {AGENT}"]
    lines += [*headers, "Connection: keep-alive"]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + (body or b"")


def add_members(text: str, parameters: AuthParameters) -> str:
    """Returns the JSON of an event with the members that a connection adds to a body. The other members keep their
    text. An event that is not an object stays unchanged (our choice)."""
    invocation = parameters.invocation or NO_PARAMETERS
    body = text.strip(" \t\r\n")
    if not invocation.body_parameters or not body.startswith("{"):
        return text
    added = msgspec.json.encode({each.key: each.value for each in invocation.body_parameters}).decode()
    separator = "" if body[1:-1].strip(" \t\r\n") == "" else ","
    return f"{body[:-1]}{separator}{added[1:]}"
