"""The fast path: a request of an AWS protocol that arrived whole skips ASGI; uvicorn handles every other request.

A request is whole if one read from the socket brought head and body, as it does for nearly all. These use ASGI, which
implements all rules: requests that are pipelined, in several reads, or long, that expect 100-continue, use HTTP/1.0 or
ask for another protocol, and every request while traces are written.
"""

from typing import Any, cast

from httptools import parse_url
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from penstock.http import LONG_BODY_BYTES, HttpResponse

from .aws_protocols import AwsApplication
from .fast_path import FastPathRequest
from .protocol import CorkedProtocol


class DefaultHeaders:
    """The headers that uvicorn puts before all others, as bytes. uvicorn renews the list each second, for the date."""

    def __init__(self) -> None:
        self._header_pairs: list[tuple[bytes, bytes]] = []
        self._encoded = b""

    def encode(self, header_pairs: list[tuple[bytes, bytes]]) -> bytes:
        """The headers in the form in which they are sent."""
        if header_pairs is not self._header_pairs:
            self._header_pairs = header_pairs
            self._encoded = b"".join(b"%b: %b\r\n" % pair for pair in header_pairs)
        return self._encoded


class FastPathProtocol(CorkedProtocol):
    """uvicorn's protocol with the fast path, where the application has an `aws_application`."""

    _default_headers = DefaultHeaders()  # shared by all connections

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._application: AwsApplication | None = getattr(self.app, "aws_application", None)
        self._body: bytes | None = None  # of a request that may be whole

    # --- reading -----------------------------------------------------------------------------------------------------
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._body is not None:  # the rest has not arrived yet
            body, self._body = self._body, None
            self._use_asgi()
            if body:
                super().on_body(body)

    def on_message_begin(self) -> None:
        self.in_head = True
        self.url = b""
        self.headers = []
        self.expect_100_continue = False

    def on_headers_complete(self) -> None:
        self.in_head = False
        if self._can_use_fast_path():
            self._body = b""
        else:
            self._use_asgi()

    def on_body(self, body: bytes) -> None:
        if self._body is None:
            super().on_body(body)
        else:
            self._body += body

    def on_message_complete(self) -> None:
        if self._body is None:
            super().on_message_complete()
            return
        body, self._body = self._body, None
        if len(body) > LONG_BODY_BYTES:
            self._use_asgi()
            super().on_body(body)
            super().on_message_complete()
            return
        request = FastPathRequest(self, cast("AwsApplication", self._application))
        self.cycle = cast("Any", request)
        request.start(self._method, self._path, self._query, self.headers, body)

    def _can_use_fast_path(self) -> bool:
        """Whether the request may take the fast path, provided that its body has arrived."""
        application, parser = self._application, self.parser
        if application is None or self.expect_100_continue or parser.get_http_version() != "1.1":
            return False
        cycle: Any = self.cycle  # None before the first request
        if cycle is not None and not cycle.response_complete:
            return False
        if not parser.should_keep_alive() or parser.should_upgrade() or b"%" in self.url:
            return False
        self._method = parser.get_method().decode("ascii")
        if self.url == b"/":
            self._path, self._query = "/", b""
        else:
            parsed = parse_url(self.url)
            self._path, self._query = (parsed.path or b"").decode("ascii"), parsed.query or b""
        return application.handles(self._method, self._path)

    def _use_asgi(self) -> None:
        url, headers, expects_continue = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects_continue
        self.headers.extend(headers)  # the scope refers to this list
        super().on_headers_complete()

    # --- writing -----------------------------------------------------------------------------------------------------
    def write_response(self, response: HttpResponse, keep_alive: bool) -> None:
        """Writes a whole response. A slow client gets the next response when it has read this one."""
        parts = [
            STATUS_LINE[response.status],
            self._default_headers.encode(self.server_state.default_headers),
        ]
        for name, value in response.headers:
            parts += (name, b": ", value, b"\r\n")
        if not keep_alive:
            parts.append(b"connection: close\r\n")
        parts.append(b"content-length: %d\r\n\r\n" % len(response.body))
        if len(response.body) > LONG_BODY_BYTES:  # not copied
            self.corked.write_now(b"".join(parts))
            self.corked.write_now(response.body)
        else:
            parts.append(response.body)
            self.corked.write_now(b"".join(parts))
        if not keep_alive:
            self.transport.close()
        if self.flow.write_paused:
            self.flow.pause_reading()
            task = self.loop.create_task(self._finish_after_drain())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        else:
            self.on_response_complete()

    async def _finish_after_drain(self) -> None:
        await self.flow.drain()
        self.on_response_complete()
