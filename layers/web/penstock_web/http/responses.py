"""Builds status lines, the date header, and the server's own responses, as bytes."""

import asyncio
from collections.abc import Iterable
from email.utils import formatdate
from http import HTTPStatus
from uuid import uuid4

from penstock.aws.codec.protocol import SMITHY_PROTOCOL, Protocol
from penstock.errors import CORAL, AwsError
from penstock.gateway import encode_error

STATUS_LINES = {status: b"HTTP/1.1 %d \r\n" % status for status in range(100, 600)} | {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}

CLOSE = b"connection: close\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

REASONS = {
    400: "The request is not valid HTTP.",
    408: "The request did not arrive in time.",
    431: "The head of the request is too long.",
    500: "Internal Server Error",
    503: "The service is not available.",
    505: "The server speaks HTTP/1.1.",
}


ERROR_NAMES = {
    400: "SerializationException",
    408: "RequestTimeout",
    431: "RequestHeaderFieldsTooLarge",
    500: "InternalFailure",
    503: "ServiceUnavailable",
    505: "HTTPVersionNotSupported",
}


class DateHeader:
    """Keeps the `date` header of all responses (RFC 9110, 6.6.1). The server renews this header at most once a second,
    and only when it sends a response.

    `line` is the header, including the line end, or empty if the header is older than a second.
    """

    def __init__(self) -> None:
        self.line = b""

    def renew(self) -> bytes:
        """Returns the header with the current time."""
        self.line = b"date: %b\r\n" % formatdate(usegmt=True).encode()
        asyncio.get_running_loop().call_later(1.0, self._forget)
        return self.line

    def _forget(self) -> None:
        self.line = b""


class HttpRefused(AwsError):  # noqa: N818 - named like AWS's errors
    """A request that the server refuses before it knows the action. `json_type` is the name of the status."""

    namespace = CORAL

    def __init__(self, status: int) -> None:
        super().__init__(REASONS[status])
        self.status = status
        self.sender_fault = status < 500
        self.json_type = self.query_code = ERROR_NAMES[status]
        self.retry_after_seconds = 1 if status == 503 else None


def refusal(status: int, date_line: bytes, headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """Returns a response that the server itself makes. The server closes the connection after this response.

    `headers` are the request's headers, as far as the server has read them. A request with `smithy-protocol` gets an
    error in CBOR.
    """
    if any(name == SMITHY_PROTOCOL for name, _ in headers):
        response = encode_error(Protocol.CBOR, HttpRefused(status), str(uuid4()))
        lines = [b"%b: %b\r\n" % field for field in response.headers]
        body = response.body
    else:
        body = REASONS[status].encode()
        lines = [b"content-type: text/plain; charset=utf-8\r\n", b"retry-after: 1\r\n" if status == 503 else b""]
    length = b"content-length: %d\r\n" % len(body)
    return b"".join((STATUS_LINES[status], date_line, *lines, length, CLOSE, b"\r\n", body))
