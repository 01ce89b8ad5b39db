"""HTTP requests and responses in the form that all entry points use (server, load balancer, API Gateway)."""

from collections.abc import Mapping

from msgspec import Struct

from .limits.response_limit import ResponseLimit

# The codecs of AWS's protocols take up to 5 ms per MiB, and 6 µs per parameter of the Query protocol. A thread decodes
# requests beyond the following limits (effects.Compute).
MAX_BYTES_AT_ONCE = 1_048_576
MAX_PARAMETERS_AT_ONCE = 1_000


class HttpRequest(Struct, frozen=True):
    """A request from the server, load balancer or API Gateway. Header names are in lower case, and `query` is still
    encoded.

    `peer` is the connection's source address, which can be the address of a load balancer. `peer` is empty if the
    address is unknown. `host_checked` means that API Gateway serves the name in `Host`, so the name belongs to this
    service. `response_limit` is the Lambda function's response limit, or None in the container.
    """

    method: str
    path: str
    query: bytes
    headers: Mapping[bytes, bytes]
    body: bytes
    peer: str = ""
    host_checked: bool = False
    response_limit: ResponseLimit | None = None

    @property
    def takes_long(self) -> bool:
        """Returns whether the request has more than a MiB or more than 1,000 parameters. Decoding a larger request in
        the event loop would delay other requests."""
        if len(self.body) > MAX_BYTES_AT_ONCE:
            return True
        return self.body.count(b"&") + self.query.count(b"&") > MAX_PARAMETERS_AT_ONCE

    @property
    def without_body(self) -> "HttpRequest":
        """Returns the request without its body, which is not needed after decoding."""
        return HttpRequest(
            self.method, self.path, self.query, self.headers, b"", self.peer, self.host_checked, self.response_limit
        )


class HttpResponse(Struct, frozen=True):
    """A response. The server adds Content-Length to the headers."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
