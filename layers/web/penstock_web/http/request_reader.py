"""Reads the requests of one connection (RFC 9112) with llhttp, and decides which requests take the fast path.

The fast path takes AWS requests that arrive in one read from the socket. Nearly all AWS requests take the fast path.
Other requests take ASGI because they are pipelined, arrive in several reads, are long, have over 1,000 parameters,
expect 100-continue, use HTTP/1.0 or end the connection. The same code (`aws_request.py`) answers AWS requests on both
paths.
"""

import logging
import re
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import unquote

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpRequestParser, parse_url
from starlette.types import Scope

from penstock.http import MAX_PARAMETERS_AT_ONCE
from penstock.limits.response_limit import LONG_BODY_BYTES

from .asgi_exchange import AsgiExchange
from .aws_request import AwsRequest
from .limits import ConnectionTimer
from .server_state import ServerState

_END_OF_AUTHORITY = re.compile(rb"[/?#]")
_log = logging.getLogger(__name__)


class RefusedRequestError(Exception):
    """Refuses a request because of its head."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class RequestTaker(Protocol):
    """Declares the methods of the connection that the reader uses."""

    @property
    def is_free(self) -> bool:
        """Returns whether no request is running or waiting."""

    @property
    def is_read(self) -> bool:
        """Returns whether the server reads data from the client."""

    def add_fast_path_request(self) -> AwsRequest:
        """Adds a complete AWS request. The reader starts the request immediately."""

    def add_exchange(self, scope: Scope, keep_alive: bool, expects_continue: bool) -> AsgiExchange:
        """Queues a request for ASGI. Raises RefusedRequestError if too many requests wait."""

    def end_read(self) -> None:
        """Handles the end of one read."""

    def update_reading(self) -> None:
        """Continues to read, or pauses until the application has taken earlier bytes."""

    def end_request(self, exchange: AsgiExchange) -> None:
        """Handles the end of a request's body."""

    def refuse(self, status: int, broken: AsgiExchange | None) -> None:
        """Refuses unreadable data after the earlier requests have been answered. `broken` is the request whose body
        cannot be read."""


class RequestReader:
    """Reads the requests of one connection. `accepts` says whether the reader takes another request. If `exchange` is
    set, the reader is reading the body of that exchange.
    """

    __slots__ = (
        "_aws_application", "_body", "_connection", "_expects_continue", "_headers", "_hosts", "_in_head",
        "_keep_alive", "_limits", "_method", "_parser", "_path", "_query", "_read_bytes", "_request_headers",
        "_stalled_bytes", "_timer", "_upgrades", "_url", "_version", "accepts", "exchange",
    )  # fmt: skip

    def __init__(self, connection: RequestTaker, state: ServerState, timer: ConnectionTimer) -> None:
        self._connection = connection
        self._aws_application = state.aws_application
        self._limits = state.limits
        self._timer = timer
        self._parser: HttpRequestParser | None = HttpRequestParser(self)
        self._in_head = self._upgrades = False
        self._headers: list[tuple[bytes, bytes]] = []
        self._request_headers = self._headers
        self._body: bytes | bytearray | None = None  # Contains the received bytes of a request that may be complete.
        self._read_bytes = 0  # Counts the bytes of this read that can belong to the current head or trailers.
        # Counts the bytes before this read, since the start of the head or since the last part of a body.
        self._stalled_bytes = 0
        self.accepts = True
        self.exchange: AsgiExchange | None = None

    @property
    def request_headers(self) -> Sequence[tuple[bytes, bytes]]:
        """Returns the headers of the last request. If the reader has refused a head, returns the headers before the
        refusal."""
        return self._request_headers

    @property
    def in_request(self) -> bool:
        """Returns whether a request is incomplete."""
        return self._in_head or self.exchange is not None

    def data_received(self, data: bytes) -> None:
        """Takes the data from one read."""
        if self._parser is None or not (self.accepts or self.exchange is not None):
            return
        self._read_bytes = len(data)
        try:
            rest = None
            try:
                self._parser.feed_data(data)
            except HttpParserUpgrade as upgrade:
                rest = memoryview(data)[upgrade.args[0] :]
            if rest is not None:
                self._ignore_upgrade(rest)
        except HttpParserError as error:
            if self.accepts or self.exchange is not None:  # The reader ignores data after the last request.
                self._refuse(choose_status(error))
        if self._body is not None:  # The rest of the request has not arrived yet.
            self._use_asgi()
        if self._in_head or self.exchange is not None:
            self._expect_rest()
        self._connection.end_read()

    def close(self) -> None:
        """Stops reading."""
        self.accepts = self._in_head = False
        self.exchange = self._body = None

    def release(self) -> None:
        """Breaks the reference cycle between the reader and the parser."""
        self.close()
        self._parser = None

    def start_timer(self) -> None:
        """Starts the timer for the rest of a request."""
        if self.in_request:
            self._timer.start(self._limits.head_seconds if self._in_head else self._limits.body_seconds)

    def time_out(self) -> None:
        """Refuses a request that is still incomplete when the time limit passes."""
        self._refuse(408)

    # --- called by the parser ----------------------------------------------------------------------------------------
    def on_message_begin(self) -> None:
        self._in_head = self.accepts
        self._expects_continue = False
        self._hosts = 0
        self._url = b""
        self._headers = []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"host":
            self._hosts += 1
        elif name == b"expect" and value.lower() == b"100-continue":
            self._expects_continue = True
        self._headers.append((name, value.rstrip()))  # The parser strips only leading white space.

    def on_headers_complete(self) -> None:
        parser, headers, limits = self._parser, self._headers, self._limits
        self._in_head = False
        if parser is None or not self.accepts:
            # The client never sees this status, because the connection is being closed.
            raise RefusedRequestError(503)
        self._request_headers, self._headers = (
            headers,
            [],
        )  # Trailers are not headers (RFC 9110, 6.5.1).
        self._method = parser.get_method().decode("ascii")
        self._version = parser.get_http_version()
        if self._hosts != 1 or self._version != "1.1" or len(headers) > limits.max_headers:
            self._check_head()
        if self._read_bytes + self._stalled_bytes > limits.max_head_bytes:
            self._check_length()
        self._stalled_bytes = self._read_bytes = 0
        self._upgrades = parser.should_upgrade()
        if self._upgrades:
            return
        self._keep_alive = self._version == "1.1" and parser.should_keep_alive()
        if self._url == b"/":
            self._path, self._query = "/", b""
        else:
            self._path, self._query, host = split_target(self._url)
            if host:
                self._request_headers = [field for field in headers if field[0] != b"host"] + [(b"host", host)]
        self._body = b""
        if not self._can_use_fast_path():
            self._use_asgi()

    def on_body(self, body: bytes) -> None:
        self._stalled_bytes = self._read_bytes = 0
        if self._body is None:
            if self.exchange is not None:
                self.exchange.add_body(body)
                if self.exchange.unread_bytes > self._limits.max_unread_body_bytes:
                    self._connection.update_reading()
        elif self._body:  # Another chunk begins.
            self._body = bytearray(self._body) if isinstance(self._body, bytes) else self._body
            self._body += body
        else:
            self._body = body

    def on_message_complete(self) -> None:
        self._stalled_bytes = self._read_bytes = 0
        if self._upgrades:
            return
        if not self._keep_alive:
            self.accepts = False
        body = self._body
        if (
            body is not None
            and len(body) <= LONG_BODY_BYTES
            and body.count(b"&") + self._query.count(b"&") <= MAX_PARAMETERS_AT_ONCE
        ):
            self._body = None
            request = self._connection.add_fast_path_request()
            request.start(self._method, self._path, self._query, self._request_headers, bytes(body))
            return
        if body is not None:
            self._use_asgi()
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            exchange.end_body()
            self._connection.end_request(exchange)

    # --- a head ------------------------------------------------------------------------------------------------------
    def _check_head(self) -> None:
        """Refuses a head that has too many headers, has another HTTP version, or does not have exactly one Host header
        (RFC 9112, 3.2)."""
        if self._version not in ("1.0", "1.1"):
            raise RefusedRequestError(505)
        if len(self._request_headers) > self._limits.max_headers:
            raise RefusedRequestError(431)
        if self._hosts > 1 or (self._hosts == 0 and self._version == "1.1"):
            raise RefusedRequestError(400)

    def _check_length(self) -> None:
        lines = sum(len(name) + len(value) + 4 for name, value in self._request_headers)
        if len(self._url) + lines > self._limits.max_head_bytes:
            raise RefusedRequestError(431)

    def _can_use_fast_path(self) -> bool:
        """Returns whether the request can take the fast path if its body is complete."""
        application = self._aws_application
        if application is None or self._expects_continue or not self._keep_alive or "%" in self._path:
            return False
        # Browsers first request this path. No client sends messages to this path.
        if self._method == "GET" and self._path == "/":
            return False
        return self._connection.is_free and application.handles(self._method, self._path)

    def _use_asgi(self) -> None:
        """Gives the request and the received part of the body to ASGI."""
        body, self._body = self._body, None
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": self._version,
            "scheme": "http",
            "method": self._method,
            "root_path": "",
            "path": unquote(self._path) if "%" in self._path else self._path,
            "raw_path": self._path.encode("ascii"),
            "query_string": self._query,
            "headers": self._request_headers,
            "state": {},
        }
        expects_continue = self._expects_continue and self._version == "1.1"
        self.exchange = self._connection.add_exchange(scope, self._keep_alive, expects_continue)
        if body:
            self.on_body(bytes(body))

    def _ignore_upgrade(self, rest: memoryview) -> None:
        """Parses a request again without the upgrade header (RFC 9110, 7.8), and then parses the data after the
        request."""
        while self._upgrades and self._method != "CONNECT":
            lines = [f"{self._method} {self._url.decode('ascii')} HTTP/{self._version}".encode("ascii")]
            lines += [b"%b: %b" % pair for pair in self._request_headers if pair[0] != b"upgrade"]
            parser = self._parser = HttpRequestParser(self)
            parser.feed_data(b"\r\n".join((*lines, b"", b"")))
            try:
                parser.feed_data(rest)
            except HttpParserUpgrade as upgrade:
                rest = rest[upgrade.args[0] :]
        if self._upgrades:
            self._refuse(400)

    # --- what is missing ---------------------------------------------------------------------------------------------
    def _expect_rest(self) -> None:
        """Limits the time for the rest of a request, and the number of consecutive bytes that are not part of a
        body."""
        if self._stalled_bytes == 0 and self._connection.is_read:
            self.start_timer()
        self._stalled_bytes += self._read_bytes or 1
        if self._stalled_bytes > self._limits.max_head_bytes:
            self._refuse(431)

    def _refuse(self, status: int) -> None:
        exchange = self.exchange
        if self._in_head:
            self._request_headers = self._headers
        self.close()
        self._connection.refuse(status, exchange)


def split_target(url: bytes) -> tuple[str, bytes, bytes]:
    """Returns the path, query and host of a request target (RFC 9112, 3.2). Raises HttpParserInvalidURLError.

    The host, which includes the port, is present only in an absolute URL. The host of an absolute URL replaces the
    value of the Host header (RFC 9112, 3.2.2).
    """
    parsed = parse_url(url)
    host = b"" if url[:1] in (b"/", b"*") else url.partition(b"://")[2]
    host = _END_OF_AUTHORITY.split(host, maxsplit=1)[0].rpartition(b"@")[2]
    return (parsed.path or b"/").decode("ascii"), parsed.query or b"", host


def choose_status(error: HttpParserError) -> int:
    """Returns the status for a refused request. Logs the reason."""
    cause = error.__context__ if isinstance(error, HttpParserCallbackError) else error
    if isinstance(cause, RefusedRequestError):
        return cause.status
    if isinstance(cause, HttpParserError):
        _log.warning("a client sent data that is not HTTP", extra={"cause": str(cause)})
        return 400
    _log.error("a request could not be read", exc_info=cause)
    return 500
