"""Controls one connection's reads and writes. The server pauses reads or writes while the receiving side is slower. If
a server closes a socket with unread bytes, the connection is reset. After the reset, the client's write fails, and the
client cannot read the response that explains that the request is too long. An SDK that cannot read the response sends
the request again. Therefore, the server shuts down its write side, reads and drops data for a while, and closes the
socket after the client has closed it (RFC 9112, 9.6).
"""

import asyncio
from collections.abc import Callable

from penstock_web.batching.write_backpressure import WriteBackpressure

from .limits import HttpLimits


class FlowControl:
    """Records whether the server reads from a connection, and whether the client reads the responses."""

    __slots__ = ("_transport", "_writable", "_write_backpressure", "read_paused", "write_paused")

    def __init__(self, transport: asyncio.Transport, write_backpressure: WriteBackpressure) -> None:
        self._transport = transport
        self._write_backpressure = write_backpressure
        self._writable = asyncio.Event()
        self.read_paused = False
        self.write_paused = False

    def read(self, wanted: bool) -> bool:
        """Starts or pauses reads from the socket. Returns whether the state has changed."""
        if wanted is not self.read_paused or self._transport.is_closing():
            return False
        self.read_paused = not wanted
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()
        return True

    def pause_writing(self) -> None:
        """Records that the client reads more slowly than the server writes."""
        self.write_paused = True
        self._writable.clear()
        self._write_backpressure.add(self._transport)

    def resume_writing(self) -> None:
        """Records that the client is ready again. A client is ready again when it has read nearly everything or has
        disconnected."""
        self.write_paused = False
        self._writable.set()
        self._write_backpressure.remove(self._transport)

    async def drain(self) -> None:
        """Waits until the client has read nearly everything, or has disconnected."""
        while self.write_paused:
            await self._writable.wait()


class LingeringClose(asyncio.Protocol):
    """Implements the protocol of a connection that is closing. `on_lost` is the `connection_lost` method of the
    previous protocol."""

    def __init__(
        self, transport: asyncio.Transport, limits: HttpLimits, on_lost: Callable[[Exception | None], None]
    ) -> None:
        self._transport = transport
        self._limits = limits
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.call_later(limits.linger_seconds, transport.close)
        self._silence = self._loop.call_later(limits.linger_idle_seconds, transport.close)
        transport.set_protocol(self)
        transport.resume_reading()
        transport.write_eof()

    def data_received(self, data: bytes) -> None:  # noqa: ARG002 - asyncio's signature
        self._silence.cancel()
        self._silence = self._loop.call_later(self._limits.linger_idle_seconds, self._transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end.cancel()
        self._silence.cancel()
        self._on_lost(exc)
