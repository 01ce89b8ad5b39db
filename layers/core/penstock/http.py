"""HTTP requests and responses in the form that all entry points use: server, load balancer, API Gateway."""

from collections.abc import Mapping

from msgspec import Struct

# The server buffers this much of a body before the application reads it.
LONG_BODY_BYTES = 65_536


class HttpRequest(Struct, frozen=True):
    """A request as the server or API Gateway gave it. Header names are lower case; `query` is still encoded.

    `peer`: the address that the connection came from, a load balancer's if there is one; empty where it is not known.
    `host_checked`: API Gateway serves the name in `Host`, so it is a name of this service.
    """

    method: str
    path: str
    query: bytes
    headers: Mapping[bytes, bytes]
    body: bytes
    peer: str = ""
    host_checked: bool = False

    @property
    def without_body(self) -> "HttpRequest":
        """The request without its body, which would only take memory once it is decoded."""
        return HttpRequest(
            self.method, self.path, self.query, self.headers, b"", self.peer, self.host_checked
        )


class HttpResponse(Struct, frozen=True):
    """A response. Its headers lack Content-Length, which the server adds."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
