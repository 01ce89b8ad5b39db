"""Answers that their clients have yet to read: receives of long messages wait for them, but not for long.

    receive ─► is little unread? ─► SQL call ─► answers ─► transports ─► clients

An answer is in memory until its client has read it, and may have MiBs. Without a limit those who receive faster than
they read would fill it. The limit is one in time, too: a slow client must not keep others from receiving. Who reads
nothing at all is hung up on, and the messages come again when their visibility ends.
"""

import asyncio
import contextlib
from typing import Protocol

HIGH_WATER_BYTES = 8 * 1_048_576
MAX_WAIT_SECONDS = 0.5
# Without a byte read: the idle timeout of AWS's load balancers ("Application Load Balancers").
STALLED_SECONDS = 60.0


class Transport(Protocol):
    """asyncio's, as far as it matters."""

    def get_write_buffer_size(self) -> int:
        """Bytes that the kernel has not taken."""

    def abort(self) -> None:
        """Closes at once."""


class WriteBackpressure:
    """The transports of a process that hold more than their clients read at once."""

    def __init__(self) -> None:
        self._bytes: dict[Transport, int] = {}  # with what has been read of them: a buffer shrinks last
        self._timers: dict[Transport, asyncio.TimerHandle] = {}
        self._decreased = asyncio.Event()

    @property
    def is_high(self) -> bool:
        """Whether receives of long messages should wait."""
        return sum(self._bytes.values()) > HIGH_WATER_BYTES

    def add(self, transport: Transport) -> None:
        """Its client does not read as fast as we write."""
        size = self._bytes[transport] = transport.get_write_buffer_size()
        self._watch(transport, size)

    def remove(self, transport: Transport) -> None:
        """Its client has read nearly everything, or has left."""
        if transport in self._bytes:
            del self._bytes[transport]
            self._timers.pop(transport).cancel()
            self._decreased.set()

    async def wait_until_low(self) -> None:
        """Returns when little is unread, or after half a second."""
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
