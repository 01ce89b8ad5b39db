"""Builds status lines, the date header, and the server's own responses, as bytes."""

import asyncio
from email.utils import formatdate
from http import HTTPStatus

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


def refusal(status: int, date_line: bytes) -> bytes:
    """Returns a response that the server itself makes. The server closes the connection after this response."""
    body = REASONS[status].encode()
    retry_after = b"retry-after: 1\r\n" if status == 503 else b""
    head = b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n" % len(body)
    return b"".join((STATUS_LINES[status], date_line, head, retry_after, CLOSE, b"\r\n", body))
