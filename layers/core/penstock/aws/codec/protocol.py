"""The protocols of requests and responses."""

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from urllib.parse import unquote_to_bytes


class Protocol(Enum):
    """JSON is AWS JSON 1.0 with `X-Amz-Target`. In REST_JSON, the method and the path determine the action. CBOR is
    Smithy's rpc-v2-cbor, whose path names the action. QUERY, QUERY_JSON and PAGE send forms with `Action`.

    QUERY responds with XML. QUERY_JSON responds with JSON, which the `Accept` header requests. PAGE responds with a
    page for a browser.
    """

    JSON = "json"
    QUERY = "query"
    QUERY_JSON = "query-json"
    REST_JSON = "rest-json"
    CBOR = "rpc-v2-cbor"
    PAGE = "page"


MAPPINGS = "2015-03-31/event-source-mappings"
"""The path of Lambda's event source mappings, without the slash at the front."""

# Matches the paths of EventBridge Scheduler and of Lambda's event source mappings: a resource kind and a resource name.
# Older clients append a slash to the path of all mappings. The paths of Lambda's other actions, which Penstock does not
# have, also begin with a date (botocore's model lambda/2015-03-31).
_RESOURCE = re.compile(
    rf"/(schedules|schedule-groups|tags|{MAPPINGS}|2017-03-31/tags|20\d\d-\d\d-\d\d)(?:/(.*))?",
    re.DOTALL | re.ASCII,
).fullmatch
_PREFIXES = ("/schedule", "/tags", "/20")
# Only the last four segments of the path count ("Smithy RPC v2 CBOR protocol", Requests).
_OPERATION = re.compile(r"(?:/.*)?/service/([^/]+)/operation/([^/]+)", re.DOTALL).fullmatch
SMITHY_PROTOCOL = b"smithy-protocol"
"""The header of requests and responses of Smithy's RPC protocols."""
FORM = b"application/x-www-form-urlencoded"
REST_METHODS = frozenset(("GET", "POST", "PUT", "DELETE", "PATCH"))
"""The methods that receive an error in AWS's format on a path of `find_rest_resource`. No action uses PATCH."""


def find_rest_resource(path: str) -> tuple[str, str | None] | None:
    """Returns the kind and the label of the resource at a REST-JSON path, or None. `/schedules/a` returns
    `("schedules", "a")`.

    The function accepts decoded and encoded paths, because servers differ and no label contains a percent sign.
    """
    match = _RESOURCE(path) if path.startswith(_PREFIXES) else None
    if match is None:
        return None
    if match[2] is None or (match[2] == "" and match[1] == MAPPINGS):
        return match[1], None
    return match[1], unquote_to_bytes(match[2].encode("utf-8", "surrogatepass")).decode("utf-8", "replace")


def find_operation(path: str) -> tuple[str, str] | None:
    """Returns the service and the operation that a path of rpc-v2-cbor names, or None. `/service/AmazonSQS/operation/A`
    returns `("AmazonSQS", "A")`."""
    match = _OPERATION(path) if "/operation/" in path else None
    return None if match is None else (match[1], match[2])


def detect_protocol(headers: Mapping[bytes, bytes], path: str) -> Protocol:
    """Returns the protocol that a request's path and headers (names in lower case) indicate.

    A form uses the Query protocol even if the client adds X-Amz-Target, as some clients do. Every response to a request
    with `smithy-protocol` is in CBOR, because the SDKs ignore the body of any other response.
    """
    if SMITHY_PROTOCOL in headers:
        return Protocol.CBOR
    if path != "/":
        if find_rest_resource(path) is not None:
            return Protocol.REST_JSON
        if find_operation(path) is not None:
            return Protocol.CBOR
    if b"x-amz-target" in headers and not headers.get(b"content-type", b"").startswith(FORM):
        return Protocol.JSON
    accept = headers.get(b"accept", b"*/*")
    return Protocol.QUERY if accept == b"*/*" or not is_json_preferred(accept) else Protocol.QUERY_JSON


@lru_cache(maxsize=256)
def is_json_preferred(accept: bytes) -> bool:
    """Returns whether `Accept` prefers `application/json` to XML and HTML (RFC 9110, 12.5.1).

    The response is also XML for a wildcard, which expresses no preference, and for browsers, which prefer HTML. The
    function caches results, because a client sends the same header with every request. The response is XML if the
    header is longer than any client's header.
    """
    if len(accept) > 1024:
        return False
    best, weight = b"", 0.0
    for part in accept.lower().split(b","):
        kind, *parameters = (piece.strip() for piece in part.split(b";"))
        if kind in _KINDS and _parse_weight(parameters) > weight:
            best, weight = kind, _parse_weight(parameters)
    return best == _JSON


_JSON = b"application/json"
_KINDS = frozenset((_JSON, b"application/xml", b"text/xml", b"text/html", b"application/xhtml+xml"))


def _parse_weight(parameters: list[bytes]) -> float:
    """Returns the weight in a parameter such as `q=0.8`. A missing weight counts as 1, and an invalid weight counts as
    0."""
    for parameter in parameters:
        name, _, value = parameter.partition(b"=")
        if name.strip() == b"q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
