"""The short way in: a request of SQS or SNS that arrived whole skips ASGI; everything else is left to uvicorn.

Whole means that one read from the socket brought head and body, as it does for nearly all. Requests that are pipelined,
chunked over several reads, long, expect 100-continue, speak HTTP/1.0 or want another protocol go the long way, which
has all the rules. So does every request while traces are written.
"""

from typing import Any, cast

from httptools import parse_url
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from penstock.http import LONG_BODY_BYTES, HttpResponse

from .aws_protocols import HotPath
from .fast_path import Exchange
from .protocol import OneWriteProtocol


class CommonHeaders:
    """The headers that uvicorn puts before all others, as text. It makes the list anew each second, for the date."""

    def __init__(self) -> None:
        self._pairs: list[tuple[bytes, bytes]] = []
        self._text = b""

    def text(self, pairs: list[tuple[bytes, bytes]]) -> bytes:
        """Ready to be sent."""
        if pairs is not self._pairs:
            self._pairs = pairs
            self._text = b"".join(b"%b: %b\r\n" % pair for pair in pairs)
        return self._text


class ShortcutProtocol(OneWriteProtocol):
    """uvicorn's protocol with the short way in, where the application has a `hot_path`."""

    _common = CommonHeaders()  # of all connections

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._paths: HotPath | None = getattr(self.app, "hot_path", None)
        self._body: bytes | None = None  # of a request that may be whole

    # --- reading -----------------------------------------------------------------------------------------------------
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._body is not None:  # the rest is yet to come
            body, self._body = self._body, None
            self._go_the_long_way()
            if body:
                super().on_body(body)

    def on_message_begin(self) -> None:
        self.in_head = True
        self.url = b""
        self.headers = []
        self.expect_100_continue = False

    def on_headers_complete(self) -> None:
        self.in_head = False
        if self._is_short():
            self._body = b""
        else:
            self._go_the_long_way()

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
            self._go_the_long_way()
            super().on_body(body)
            super().on_message_complete()
            return
        exchange = Exchange(self, cast("HotPath", self._paths))
        self.cycle = cast("Any", exchange)
        exchange.start(self._method, self._path, self._query, self.headers, body)

    def _is_short(self) -> bool:
        """Whether the request may take the short way, if its body is there."""
        paths, parser = self._paths, self.parser
        if paths is None or self.expect_100_continue or parser.get_http_version() != "1.1":
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
        return paths.answers(self._method, self._path)

    def _go_the_long_way(self) -> None:
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)  # the scope has this list
        super().on_headers_complete()

    # --- writing -----------------------------------------------------------------------------------------------------
    def write_response(self, response: HttpResponse, keep_alive: bool) -> None:
        """Writes a whole answer. A slow reader gets the next one when it has read this one."""
        parts = [STATUS_LINE[response.status], self._common.text(self.server_state.default_headers)]
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
            task = self.loop.create_task(self._drained())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        else:
            self.on_response_complete()

    async def _drained(self) -> None:
        await self.flow.drain()
        self.on_response_complete()
