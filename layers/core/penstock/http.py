"""Requests and answers of HTTP, as every entry point of the service has them: server, load balancer, API Gateway."""

from collections.abc import Mapping

from msgspec import Struct, structs

# Longer bodies are not kept for longer than they are needed. uvicorn reads as much before anybody asks for it.
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
        """Without a long body: for as long as the request takes, who has read it needs it no more."""
        return self if len(self.body) <= LONG_BODY_BYTES else structs.replace(self, body=b"")


class HttpResponse(Struct, frozen=True):
    """An answer: its headers lack Content-Length, which the server adds."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
