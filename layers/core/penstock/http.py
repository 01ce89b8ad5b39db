"""HTTP requests and responses in the form that all entry points use: server, load balancer, API Gateway."""

from collections.abc import Mapping

from msgspec import Struct, structs

# Longer bodies are dropped once they are decoded. The server buffers this much before the application reads it.
LONG_BODY_BYTES = 65_536


class HttpRequest(Struct, frozen=True):
    """A request as the server or API Gateway gave it. Header names are lower case; `query` is still encoded."""

    method: str
    path: str
    query: bytes
    headers: Mapping[bytes, bytes]
    body: bytes

    @property
    def without_long_body(self) -> "HttpRequest":
        """The request without a long body, which would only take memory once it is decoded."""
        return self if len(self.body) <= LONG_BODY_BYTES else structs.replace(self, body=b"")


class HttpResponse(Struct, frozen=True):
    """A response. Its headers lack Content-Length, which the server adds."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
