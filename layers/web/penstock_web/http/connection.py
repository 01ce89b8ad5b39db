"""Serves one client connection with the callbacks of asyncio. The connection answers requests one at a time and in
order.

data_received ─► RequestReader ─┬─ an AWS request that arrived whole ─► AwsRequest ─┬─► write
                                └─ any other ─► wait for its turn ─► AsgiExchange ──┘
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

from starlette.types import Scope

from penstock.http import HttpResponse
from penstock.limits.response_limit import LONG_BODY_BYTES

from .asgi_exchange import AsgiExchange
from .aws_protocols import AwsApplication
from .aws_request import AwsRequest
from .flow_control import FlowControl, LingeringClose
from .limits import ConnectionTimer
from .request_reader import RefusedRequestError, RequestReader
from .responses import CLOSE, STATUS_LINES, refusal
from .server_state import ServerState


class HttpConnection(asyncio.Protocol):
    """Represents a connection, with methods for asyncio, the reader, the requests and the server."""

    _flow: FlowControl
    _transport: asyncio.Transport
    peer = ""  # the client's address

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._timer = ConnectionTimer(asyncio.get_running_loop(), self._on_time_out)
        self._reader = RequestReader(self, state, self._timer)
        self._request: AwsRequest | AsgiExchange | None = None  # the last request that began
        self._waiting: deque[AsgiExchange] = deque()
        self._refusal = 0  # If set, the server sends this status after all responses, and closes.
        self._held = False  # true until the client has read the last response
        self._lingers = False  # If true, the server reads and drops data, so that the client can read the response.

    # --- called by asyncio -------------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport does not inherit from it.
        self.peer, _ = self._address("peername") or ("", 0)
        self._flow = FlowControl(self._transport, self._state.write_backpressure)
        if self._state.admit(self):
            self._timer.start(self._state.limits.idle_seconds)
        else:
            self._transport.write(refusal(503, self._state.date.line or self._state.date.renew()))
            self.close()  # Too many connections are open.

    @property
    def data_received(self) -> Callable[[bytes], None]:
        """Returns the reader's method that takes the client's data."""
        return self._reader.data_received

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._timer.close()
        self._reader.release()
        self._waiting.clear()
        self._flow.resume_writing()
        self._state.forget(self)
        request, self._request = self._request, None
        if request is not None:
            request.disconnect()

    def pause_writing(self) -> None:
        self._flow.pause_writing()

    def resume_writing(self) -> None:
        self._flow.resume_writing()
        if self._held:
            self._held = False
            self.update_reading()
            self._go_on()

    # --- called by the server ----------------------------------------------------------------------------------------
    def stop(self) -> None:
        """Closes the connection after the response to the current request."""
        request = self._request
        if self._lingers:
            self._transport.close()
        elif request is None or request.response_complete:
            self.close()
        else:
            request.keep_alive = False

    # --- called by the reader ----------------------------------------------------------------------------------------
    @property
    def is_free(self) -> bool:
        """Returns whether no request is running or waiting."""
        request = self._request
        return (request is None or request.response_complete) and not self._waiting and not self._held

    @property
    def is_read(self) -> bool:
        """Returns whether the server reads data from the client."""
        return not self._flow.read_paused

    def add_fast_path_request(self) -> AwsRequest:
        """Adds a complete AWS request. The reader starts the request immediately."""
        request = AwsRequest(self, cast("AwsApplication", self._state.aws_application))
        self._request = request
        return request

    def add_exchange(self, scope: Scope, keep_alive: bool, expects_continue: bool) -> AsgiExchange:
        """Queues a request for ASGI. Raises RefusedRequestError if too many requests wait."""
        if len(self._waiting) > self._state.limits.max_waiting_requests:
            raise RefusedRequestError(503)
        scope["server"], scope["client"] = self._address("sockname"), self._address("peername")
        exchange = AsgiExchange(self, self._state, scope, keep_alive, expects_continue)
        self._waiting.append(exchange)
        return exchange

    def end_read(self) -> None:
        """Starts the first waiting request. The reader calls this method after each read."""
        if self._waiting:
            self._start_next()

    def update_reading(self) -> None:
        """Continues to read, or pauses until the application or the client has taken earlier bytes."""
        exchange = self._reader.exchange
        unread = 0 if exchange is None else exchange.unread_bytes
        wanted = not self._held and unread <= self._state.limits.max_unread_body_bytes
        if not self._flow.read(wanted):
            return
        if wanted:
            self._reader.start_timer()
        else:
            self._timer.stop()

    def end_request(self, exchange: AsgiExchange) -> None:
        """Handles the end of a request's body. The response may already be complete."""
        if exchange.response_complete:
            self._go_on()

    def refuse(self, status: int, broken: AsgiExchange | None) -> None:
        """Refuses unreadable data after the earlier requests have been answered. `broken` is the request whose body
        cannot be read."""
        if broken is not None and broken is self._request:
            is_written = broken.is_written
            broken.disconnect()
            if is_written:
                self.close()
            else:
                self._write_refusal(status)
            return
        if broken is not None:
            self._waiting.remove(broken)
        self._refusal = status
        self._go_on()

    # --- called by requests ------------------------------------------------------------------------------------------
    @property
    def is_writable(self) -> bool:
        """Returns whether the client reads as fast as the server writes."""
        return not self._flow.write_paused

    async def drain(self) -> None:
        """Waits until the connection is writable or lost."""
        await self._flow.drain()

    def write(self, *parts: bytes) -> None:
        """Writes bytes to the client."""
        for part in parts:
            if part:
                self._transport.write(part)

    def write_response(self, response: HttpResponse, keep_alive: bool) -> None:
        """Writes a whole response, and continues with the next request. A slow client must read this response before
        the connection serves the next request."""
        date = self._state.date
        parts = [STATUS_LINES[response.status], date.line or date.renew()]
        for name, value in response.headers:
            parts += (name, b": ", value, b"\r\n")
        if not keep_alive:
            parts.append(CLOSE)
        parts.append(b"content-length: %d\r\n\r\n" % len(response.body))
        if len(response.body) > LONG_BODY_BYTES:  # Separate writes avoid a copy of the body.
            self._transport.write(b"".join(parts))
            self._transport.write(response.body)
        else:
            parts.append(response.body)
            self._transport.write(b"".join(parts))
        self.end_response(keep_alive)

    def end_response(self, keep_alive: bool) -> None:
        """Ends the response. Begins the next request, or closes the connection."""
        if not keep_alive:
            self.close()
        elif self._flow.write_paused:
            self._held = True
            self.update_reading()
        else:
            if self._flow.read_paused:
                self.update_reading()
            self._go_on()

    def close(self) -> None:
        """Sends the remaining bytes and closes the connection. Ignores later data from the client."""
        still_sends = self._reader.in_request
        self._reader.close()
        self._waiting.clear()
        if still_sends:
            self._linger()
        else:
            self._transport.close()

    def _linger(self) -> None:
        if self._lingers or self._transport.is_closing():
            return
        self._lingers = True
        self._timer.stop()
        LingeringClose(self._transport, self._state.limits, self.connection_lost)

    # --- order -------------------------------------------------------------------------------------------------------
    def _go_on(self) -> None:
        """Begins the next request. If no request waits, the connection closes or becomes idle."""
        if self._waiting:
            self._start_next()
        elif self._refusal and self.is_free:
            self._write_refusal(self._refusal)
        elif not self._reader.in_request:
            self._timer.start(self._state.limits.idle_seconds)

    def _start_next(self) -> None:
        request = self._request
        if self._held or (request is not None and not request.response_complete):
            return
        exchange = self._request = self._waiting.popleft()
        exchange.start()

    def _write_refusal(self, status: int) -> None:
        """Writes the refusal. The reader has stopped reading an incomplete request."""
        date = self._state.date
        self._transport.write(refusal(status, date.line or date.renew(), self._reader.request_headers))
        self._reader.close()
        self._waiting.clear()
        self._linger()

    def _on_time_out(self) -> None:
        if self._reader.in_request:
            self._reader.time_out()
        elif self.is_free:
            self.close()

    def _address(self, name: str) -> tuple[str, int] | None:
        """Returns the host and port of one side, in the format of ASGI's scope."""
        address = self._transport.get_extra_info(name)
        return (str(address[0]), int(address[1])) if isinstance(address, tuple) else None
