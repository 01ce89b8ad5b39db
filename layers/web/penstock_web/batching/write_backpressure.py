"""Delays receives of long messages for a limited time, so that clients can read earlier responses.

    receive ─► are few bytes unread? ─► SQL call ─► responses ─► transports ─► clients

A response of several MiB stays in memory until the client has read the response. Without a limit, clients that receive
faster than they read would fill the memory. The wait is limited because a slow client must not block other clients'
receives. The service closes the connection of a client that stops reading. The client's messages become visible again
after the visibility timeout.
"""

import asyncio
import contextlib
from typing import Protocol

HIGH_WATER_BYTES = 8 * 1_048_576
MAX_WAIT_SECONDS = 0.5
# The service closes a connection if the client reads no byte for STALLED_SECONDS, which equals the idle timeout of
# AWS's load balancers ("Application Load Balancers").
STALLED_SECONDS = 60.0


class Transport(Protocol):
    """Declares the methods of an asyncio transport that this module needs."""

    def get_write_buffer_size(self) -> int:
        """Returns the number of bytes that the kernel has not taken."""

    def abort(self) -> None:
        """Closes the connection immediately."""


class WriteBackpressure:
    """Tracks the transports of a process whose clients read more slowly than the service writes."""

    def __init__(self) -> None:
        # The numbers of unread bytes can include bytes that the client has already read, because asyncio shrinks a
        # buffer late.
        self._bytes: dict[Transport, int] = {}
        self._timers: dict[Transport, asyncio.TimerHandle] = {}
        self._decreased = asyncio.Event()

    @property
    def is_high(self) -> bool:
        """Returns whether receives of long messages should wait."""
        return sum(self._bytes.values()) > HIGH_WATER_BYTES

    def add(self, transport: Transport) -> None:
        """Adds a transport whose client reads more slowly than the service writes."""
        size = self._bytes[transport] = transport.get_write_buffer_size()
        self._watch(transport, size)

    def remove(self, transport: Transport) -> None:
        """Removes a transport whose client has read nearly everything, or has disconnected."""
        if transport in self._bytes:
            del self._bytes[transport]
            self._timers.pop(transport).cancel()
            self._decreased.set()

    async def wait_until_low(self) -> None:
        """Waits at most half a second until few bytes are unread."""
        if not self.is_high:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                while self.is_high:
                    self._decreased.clear()
                    await self._decreased.wait()

    def _watch(self, transport: Transport, size: int) -> None:
        loop = asyncio.get_running_loop()
        self._timers[transport] = loop.call_later(STALLED_SECONDS, self._check_stalled, transport, size)

    def _check_stalled(self, transport: Transport, previous_size: int) -> None:
        size = transport.get_write_buffer_size()
        if size < previous_size:
            self._watch(transport, size)
        else:
            transport.abort()
