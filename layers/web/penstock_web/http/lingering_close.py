"""Ends a connection whose client is still sending. Otherwise a reset of the connection would lose the answer.

Closing a socket with unread bytes resets the connection. The client's write then fails, and the client never reads that
its request is too long. SDKs then send the request again. The server therefore ends its side, reads and drops data for
a while, and closes when the client has closed its side (RFC 9112, 9.6).
"""

import asyncio
from collections.abc import Callable

from .limits import HttpLimits


class LingeringClose(asyncio.Protocol):
    """Represents the protocol of a connection from then on. `on_lost` is the `connection_lost` of the former
    protocol."""

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
