"""Runs one request outside the fast path as an ASGI 3 application ("HTTP & WebSocket ASGI Message Format").

    HttpConnection ─► body ─► receive ─► application ─► send ─► head and body in one write ─► HttpConnection

The exchange writes the head together with the first part of the body. Therefore, most responses take one write, and the
server can still respond with 500 if the application fails before the first part of the body.
"""

import asyncio
import logging
import re
from typing import Any, Protocol

from starlette.types import Message, Scope

from penstock.limits.response_limit import LONG_BODY_BYTES

from .responses import CLOSE, CONTINUE, STATUS_LINES, refusal
from .server_state import ServerState

# A header's name is a token, and the tab is the only control character in a value (RFC 9110, 5.1 and 5.5).
NOT_A_NAME = re.compile(rb"[^!#$%&'*+\-.^_`|~0-9A-Za-z]|^$")
NOT_A_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")

_log = logging.getLogger(__name__)


class ResponseWriter(Protocol):
    """Declares the methods of the connection that an exchange uses."""

    @property
    def is_writable(self) -> bool:
        """Returns whether the client reads as fast as the server writes."""

    async def drain(self) -> None:
        """Waits until the connection is writable."""

    def write(self, *parts: bytes) -> None:
        """Writes bytes to the client."""

    def update_reading(self) -> None:
        """Continues to read from the client if the application has taken the earlier bytes."""

    def end_response(self, keep_alive: bool) -> None:
        """Ends the response. Begins the next request, or closes the connection."""

    def close(self) -> None:
        """Sends the remaining bytes and closes the connection."""


class AsgiExchange:
    """Represents a request whose application runs in a task.

    `is_written` becomes true with the response's head, and `response_complete` with the end of the response.
    `keep_alive` says whether the connection serves further requests.
    """

    __slots__ = (
        "_bodiless", "_body", "_body_is_whole", "_changed", "_chunked", "_connection", "_disconnected",
        "_expects_continue", "_head", "_is_started", "_missing_bytes", "_scope", "_state", "is_written", "keep_alive",
        "response_complete",
    )  # fmt: skip

    def __init__(
        self, connection: ResponseWriter, state: ServerState, scope: Scope, keep_alive: bool, expects_continue: bool
    ) -> None:
        self._connection = connection
        self._state = state
        self._scope = scope
        self._expects_continue = expects_continue
        self._body = bytearray()
        self._body_is_whole = False
        # The event is set when more of the body has arrived, or when the exchange is over.
        self._changed = asyncio.Event()
        self._disconnected = False
        self._head: list[bytes] = []  # The exchange keeps the head until the first part of the body.
        self._is_started = False  # The application has sent http.response.start.
        self.is_written = False  # The connection has written the head.
        self._missing_bytes: int | None = None  # of a body with Content-Length
        self._bodiless = scope["method"] == "HEAD"
        self._chunked = False
        self.keep_alive = keep_alive
        self.response_complete = False

    # --- called by the connection ------------------------------------------------------------------------------------
    @property
    def unread_bytes(self) -> int:
        """Returns the number of body bytes that the application has not taken."""
        return len(self._body)

    def start(self) -> None:
        """Runs the application."""
        self._state.start_task(self._run())

    def add_body(self, data: bytes) -> None:
        """Adds a part of the body."""
        self._expects_continue = False
        if not self.response_complete and not self._disconnected:
            self._body += data
            self._changed.set()

    def end_body(self) -> None:
        """Tells the application that the body is complete."""
        self._expects_continue = False
        self._body_is_whole = True
        self._changed.set()

    def disconnect(self) -> None:
        """Tells the application that the client has disconnected, unless the response is complete."""
        if not self.response_complete:
            self._disconnected = True
            self._changed.set()

    # --- the application ---------------------------------------------------------------------------------------------
    async def _run(self) -> None:
        try:
            await self._state.application(self._scope, self._receive, self._send)
        except asyncio.CancelledError:  # The task is cancelled because the process is ending.
            self._fail(503)
        except Exception:  # noqa: BLE001 - every error gets a response
            _log.exception("the application failed")
            self._fail(500)
        else:
            if not self.response_complete and not self._disconnected:
                _log.error("the application ended without a complete response")
                self._fail(500)

    def _fail(self, status: int) -> None:
        """Sends an error response for the failed application, or closes the connection if the response has begun."""
        if self.response_complete or self._disconnected:
            return
        self.response_complete = True
        if self.is_written:
            self._connection.close()
        else:
            self._connection.write(refusal(status, self._state.date.line or self._state.date.renew()))
            self._connection.end_response(keep_alive=False)

    async def _receive(self) -> Message:
        if self._expects_continue and not self._is_started and not self._disconnected:
            self._expects_continue = False
            self._connection.write(CONTINUE)
        if not self.response_complete and not self._disconnected:
            await self._changed.wait()
            self._changed.clear()
        if self.response_complete or self._disconnected:
            self._changed.set()
            return {"type": "http.disconnect"}
        body = bytes(self._body)
        self._body.clear()
        self._connection.update_reading()
        return {"type": "http.request", "body": body, "more_body": not self._body_is_whole}

    async def _send(self, message: Message) -> None:
        if not self._connection.is_writable and not self._disconnected:
            await self._connection.drain()
        if self._disconnected:
            return
        expected = "http.response.body" if self._is_started else "http.response.start"
        if self.response_complete or message["type"] != expected:
            raise RuntimeError(f"unexpected ASGI message {message['type']}")
        if self._is_started:
            self._send_body(message.get("body", b""), message.get("more_body", False))
        else:
            self._head = self._start_head(message["status"], message.get("headers", ()))
            self._is_started = True

    # --- the response ------------------------------------------------------------------------------------------------
    def _start_head(self, status: int, headers: Any) -> list[bytes]:
        head = [STATUS_LINES[status], self._state.date.line or self._state.date.renew()]
        for name, value in headers:
            if NOT_A_NAME.search(name) or NOT_A_VALUE.search(value):
                raise RuntimeError("a header of the response is not valid")
            lower_name = name.lower()
            if lower_name == b"connection":
                self.keep_alive = self.keep_alive and b"close" not in value.lower()
            elif lower_name != b"transfer-encoding":  # The server sets this header itself.
                head += (lower_name, b": ", value, b"\r\n")
                if lower_name == b"content-length":
                    self._missing_bytes = int(value)
        self._bodiless = self._bodiless or status in (204, 304)
        return head

    def _send_body(self, body: bytes, more: bool) -> None:
        head = b""
        if not self.is_written:
            head = self._end_head(None if more else len(body))
        part = self._frame(body, more)
        self.is_written = True
        if len(part) > LONG_BODY_BYTES:  # Separate writes avoid a copy of the body.
            self._connection.write(head, part)
        else:
            self._connection.write(head + part)
        if not more:
            self.response_complete = True
            self._body.clear()  # The client has disconnected, so the exchange drops the rest of the response.
            self._changed.set()
            self._connection.end_response(self.keep_alive)

    def _end_head(self, body_bytes: int | None) -> bytes:
        """Returns the head, with the headers that frame the body (RFC 9112, 6). If the whole body is known, the head
        contains its length. If the body's length is not known, the body is chunked or ends with the connection.
        """
        head = self._head
        if not self._bodiless and self._missing_bytes is None:
            if body_bytes is not None:
                self._missing_bytes = body_bytes
                head.append(b"content-length: %d\r\n" % body_bytes)
            elif self._scope["http_version"] == "1.1":
                self._chunked = True
                head.append(b"transfer-encoding: chunked\r\n")
        if self._expects_continue:  # The client could still send the body, so the connection must close.
            self.keep_alive = False
        if not self.keep_alive:
            head.append(CLOSE)
        return b"".join((*head, b"\r\n"))

    def _frame(self, body: bytes, more: bool) -> bytes:
        """Returns a part of the body in the response's framing. Raises RuntimeError if the body's length differs from
        Content-Length."""
        if self._bodiless:
            return b""
        if self._chunked:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return chunk if more else chunk + b"0\r\n\r\n"
        if self._missing_bytes is not None:
            self._missing_bytes -= len(body)
            if self._missing_bytes < 0 or (self._missing_bytes > 0 and not more):
                raise RuntimeError("the body of the response is not as long as its Content-Length")
        return body
