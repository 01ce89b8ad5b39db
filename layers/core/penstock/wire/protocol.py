"""The ways in which a request can be spoken, and is then answered."""

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache


class Protocol(Enum):
    """JSON: AWS JSON 1.0, by `X-Amz-Target`. The others: form parameters with `Action`.

    QUERY is answered in XML, QUERY_JSON in JSON, because `Accept` says so.
    """

    JSON = "json"
    QUERY = "query"
    QUERY_JSON = "query-json"


def spoken(headers: Mapping[bytes, bytes]) -> Protocol:
    """The protocol of a request, by its headers (names in lower case)."""
    if b"x-amz-target" in headers:
        return Protocol.JSON
    accept = headers.get(b"accept", b"*/*")
    return Protocol.QUERY if accept == b"*/*" or not prefers_json(accept) else Protocol.QUERY_JSON


@lru_cache(maxsize=256)
def prefers_json(accept: bytes) -> bool:
    """Whether `Accept` names `application/json` before, or rather than, XML and HTML (RFC 9110, 12.5.1).

    A wildcard wishes for nothing in particular, and a browser names HTML first: both get XML. Cached, since a client
    sends the same header all day; longer ones than any client's are XML.
    """
    if len(accept) > 1024:
        return False
    best, weight = b"", 0.0
    for part in accept.lower().split(b","):
        kind, *parameters = (piece.strip() for piece in part.split(b";"))
        if kind in _KINDS and _weight(parameters) > weight:
            best, weight = kind, _weight(parameters)
    return best == _JSON


_JSON = b"application/json"
_KINDS = frozenset((_JSON, b"application/xml", b"text/xml", b"text/html", b"application/xhtml+xml"))


def _weight(parameters: list[bytes]) -> float:
    """`q=0.8`; 1 without one, 0 for one that cannot be read."""
    for parameter in parameters:
        name, _, value = parameter.partition(b"=")
        if name.strip() == b"q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
