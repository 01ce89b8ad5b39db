"""The protocols of requests and of their answers."""

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from urllib.parse import unquote_to_bytes


class Protocol(Enum):
    """JSON: AWS JSON 1.0, by `X-Amz-Target`. REST_JSON names the action by method and path. The other protocols have
    form parameters with `Action`.

    The answer to QUERY is XML. The answer to QUERY_JSON is JSON, as the header `Accept` requests. PAGE is a page for
    a browser.
    """

    JSON = "json"
    QUERY = "query"
    QUERY_JSON = "query-json"
    REST_JSON = "rest-json"
    PAGE = "page"


# Matches the paths of EventBridge Scheduler and of Lambda's event source mappings: the kind of a resource, and a
# resource's name. Older clients end the path of all mappings with a slash.
_RESOURCE = re.compile(
    r"/(schedules|schedule-groups|tags|2015-03-31/event-source-mappings|2017-03-31/tags)(?:/(.*))?", re.DOTALL
).fullmatch
_PREFIXES = ("/schedule", "/tags", "/2015-03-31/event", "/2017-03-31/tags")
_MAPPINGS = "2015-03-31/event-source-mappings"
FORM = b"application/x-www-form-urlencoded"
REST_METHODS = frozenset(("GET", "POST", "PUT", "DELETE", "PATCH"))
"""The methods for which a path of `find_rest_resource` gets an answer in AWS's form. No action has PATCH."""


def find_rest_resource(path: str) -> tuple[str, str | None] | None:
    """Returns kind and label of the resource at a REST-JSON path, or None: `/schedules/a` is `("schedules", "a")`.

    Some servers pass a path on as the client wrote it, and other servers decode it. No label has a percent sign, so
    both forms work.
    """
    match = _RESOURCE(path) if path.startswith(_PREFIXES) else None
    if match is None:
        return None
    if match[2] is None or (match[2] == "" and match[1] == _MAPPINGS):
        return match[1], None
    return match[1], unquote_to_bytes(match[2].encode("utf-8", "surrogatepass")).decode("utf-8", "replace")


def detect_protocol(headers: Mapping[bytes, bytes], path: str) -> Protocol:
    """Returns the protocol of a request, by its path and its headers (names in lower case).

    A form belongs to the Query protocol even if the client adds X-Amz-Target, as some clients do.
    """
    if path != "/" and find_rest_resource(path) is not None:
        return Protocol.REST_JSON
    if b"x-amz-target" in headers and not headers.get(b"content-type", b"").startswith(FORM):
        return Protocol.JSON
    accept = headers.get(b"accept", b"*/*")
    return Protocol.QUERY if accept == b"*/*" or not is_json_preferred(accept) else Protocol.QUERY_JSON


@lru_cache(maxsize=256)
def is_json_preferred(accept: bytes) -> bool:
    """Returns whether `Accept` prefers `application/json` to XML and HTML (RFC 9110, 12.5.1).

    A wildcard states no preference, and a browser names HTML first, so both get XML. The result is cached, since a
    client sends the same header with every request. A header longer than any client's header gets XML.
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
    """Returns the value of `q=0.8`. A missing value counts as 1, and an invalid value counts as 0."""
    for parameter in parameters:
        name, _, value = parameter.partition(b"=")
        if name.strip() == b"q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
