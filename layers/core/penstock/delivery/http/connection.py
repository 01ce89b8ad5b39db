"""One HTTP/1.1 connection to an endpoint. The connection sends a POST and returns the response's status.

The outcome of a delivery depends only on the response's status. The connection reads the body up to a limit and drops
the body undecoded, so that the next request can use the connection. If the log shows responses, the connection keeps
the first bytes of the body. The connection does not support redirects, cookies, proxies and content codings. The parser
is llhttp (httptools), in its strict mode.
"""

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, cast

import httptools

MAX_RESPONSE_BYTES: Final = 65_536
"""The most bytes of a response that the worker reads in addition to the kept bytes. The worker closes the connection if
the response is longer."""
DRAIN_SECONDS: Final = 1.0
"""The time limit for the body. After this time the worker closes the connection, but the status still counts."""


class Response(NamedTuple):
    """An endpoint's response. `start` contains the first bytes of the body, or is None if the caller does not want the
    body.

    The names in `headers` are in lower case. `headers` is empty if the caller does not want the body. `is_complete`
    means that the whole body arrived. `challenges` contains the values of WWW-Authenticate in a response with status
    401. `retry_after` is the value of Retry-After.
    """

    status: int
    start: bytes | None
    headers: Mapping[bytes, bytes] = MappingProxyType({})
    is_complete: bool = False
    challenges: tuple[str, ...] = ()
    retry_after: str | None = None


class ConnectionLost(OSError):  # noqa: N818 - named for the event
    """The endpoint closed the connection or broke the protocol. `silent` means that no byte of a response had
    arrived."""

    def __init__(self, text: str, silent: bool = False) -> None:
        super().__init__(text)
        self.silent = silent


class Connection(asyncio.Protocol):
    """A connection that carries one request at a time. Calls `on_idle` when the next request can be sent.

    `kept_bytes` is the number of bytes that the connection keeps of each response's body. If `kept_bytes` is 0, the
    connection does not wait for the body. `drain_seconds` limits the time for the body. If `drain_seconds` is None,
    only the caller's time limit applies. `dropped_bytes` limits the bytes that the connection reads and drops after the
    kept bytes.
    """

    def __init__(
        self,
        on_idle: Callable[["Connection"], None],
        kept_bytes: int = 0,
        drain_seconds: float | None = DRAIN_SECONDS,
        dropped_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._on_idle = on_idle
        self._kept_bytes = kept_bytes
        self._drain_seconds = drain_seconds
        self._most_bytes = dropped_bytes + kept_bytes
        self._start = b""
        self._headers: dict[bytes, bytes] = {}
        self._challenges: tuple[str, ...] = ()
        self._retry_after: str | None = None
        self._status = 0  # the current response's status, or 0 before the response's head
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._response: asyncio.Future[Response] | None = None
        self._received = 0
        self._drain: asyncio.TimerHandle | None = None
        self._complete = True

    # --- called by the sender ----------------------------------------------------------------------------------------
    async def post(self, request: bytes) -> Response:
        """Returns the response to `request`, a whole HTTP request. Raises ConnectionLost."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionLost("the endpoint closed the connection", silent=True)
        self._response = asyncio.get_running_loop().create_future()
        self._received = 0
        self._start = b""
        self._headers = {}
        self._challenges = ()
        self._retry_after = None
        self._status = 0
        self._complete = False
        self._transport.write(request)
        try:
            return await self._response
        except asyncio.CancelledError:
            self.abort()
            raise

    @property
    def partial_response(self) -> Response | None:
        """Returns the received part of the response if the status has arrived. The status counts even after the
        deadline."""
        return self._build_response() if self._status else None

    @property
    def usable(self) -> bool:
        """Returns whether the connection can send another request."""
        return self._complete and self._transport is not None and not self._transport.is_closing()

    def abort(self) -> None:
        """Closes the connection immediately and drops unsent bytes."""
        if self._drain is not None:
            self._drain.cancel()
        if self._transport is not None:
            self._transport.abort()

    # --- called by asyncio -------------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport is not a subclass

    def data_received(self, data: bytes) -> None:
        if self._complete:
            self.abort()  # the endpoint sent a response without a request
            return
        capacity = self._most_bytes - self._received
        self._received += len(data)
        try:
            self._parser.feed_data(data[:capacity])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail("the response is not HTTP/1.1")
        if self._received > self._most_bytes:
            self._fail("the response is too long")

    def connection_lost(self, error: Exception | None) -> None:
        # A body without a length ends when the connection closes (RFC 9112, section 6.3).
        has_length = b"content-length" in self._headers or b"transfer-encoding" in self._headers
        self._fail("the endpoint closed the connection", is_complete=error is None and not has_length)

    # --- called by the parser ----------------------------------------------------------------------------------------
    def on_header(self, name: bytes, value: bytes) -> None:
        if self._kept_bytes:
            self._headers[name.lower()] = value
        if name.lower() == b"www-authenticate":
            self._challenges += (value.decode("latin-1"),)
        elif name.lower() == b"retry-after":
            self._retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Stores the status, which is the outcome even if the body never arrives."""
        status = self._parser.get_status_code()
        if self._complete:
            self.abort()  # a second response
        elif status >= 200 and self._response is not None and not self._response.done():
            self._status = status
            if not self._kept_bytes:
                result = Response(status, None, challenges=self._challenges, retry_after=self._retry_after)
                self._response.set_result(result)
            if self._drain_seconds is not None:
                self._drain = asyncio.get_running_loop().call_later(self._drain_seconds, self._end_drain)

    def on_body(self, data: bytes) -> None:
        if len(self._start) < self._kept_bytes:
            self._start = (self._start + data)[: self._kept_bytes]

    def on_message_complete(self) -> None:
        """Frees the connection, unless the endpoint closes the connection or did not read the whole request."""
        if self._complete or self._parser.get_status_code() < 200:
            return  # 1xx: the final response follows
        if self._drain is not None:
            self._drain.cancel()
        self._give_response(is_complete=True)
        self._complete = True
        transport = self._transport
        if transport is None or not self._parser.should_keep_alive() or transport.get_write_buffer_size():
            self.abort()
        else:
            self._on_idle(self)

    def _end_drain(self) -> None:
        self._give_response()
        self.abort()

    def _give_response(self, *, is_complete: bool = False) -> None:
        """Returns the response with the received part of the body."""
        if self._status and self._response is not None and not self._response.done():
            self._response.set_result(self._build_response(is_complete))

    def _build_response(self, is_complete: bool = False) -> Response:
        return Response(self._status, self._start, self._headers, is_complete, self._challenges, self._retry_after)

    def _fail(self, text: str, *, is_complete: bool = False) -> None:
        self._give_response(is_complete=is_complete)
        self.abort()
        if self._response is not None and not self._response.done():
            self._response.set_exception(ConnectionLost(text, silent=self._received == 0))
