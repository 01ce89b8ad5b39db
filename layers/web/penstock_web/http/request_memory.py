"""How much of long requests may be in memory at once: what comes beyond waits in its socket.

    socket ─► 20 MiB that are read ─► 6 MiB that are worked on ─► answer

A request of a MiB is there up to four times while it is checked, merged and written to the database; a hundred at once
would be half a GB. So they are worked on in the order in which they came whole, as far as there is room, and nobody who
sends slowly takes room from those. Who is being read is there once.
"""

import asyncio
from collections import deque
from collections.abc import Iterable

from penstock.errors import ServiceUnavailable
from penstock.gateway import MAXIMUM_BODY_BYTES
from penstock.http import LONG_BODY_BYTES
from penstock_web.deadlines import AsgiMessage, Receive

READING_BYTES = 20 * 1_048_576
PROCESSING_BYTES = MAXIMUM_BODY_BYTES  # or the longest would wait forever


class MemoryBudget:
    """At most `max_bytes`. Who waits for longer than `timeout_seconds` gets ServiceUnavailable."""

    def __init__(self, max_bytes: int, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._free = max_bytes
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def acquire(self, size: int) -> None:
        """Returns when there is room, which the caller then has until it leaves."""
        if not self._waiters and size <= self._free:
            self._free -= size
            return
        admitted = asyncio.get_running_loop().create_future()
        self._waiters.append((size, admitted))
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await admitted
        except BaseException as error:
            if admitted.cancelled():
                self._admit_waiters()  # maybe it was the first, and the next is smaller
            else:
                self.release(size)  # it had just been let in
            if isinstance(error, TimeoutError):
                raise ServiceUnavailable from error
            raise

    def release(self, size: int) -> None:
        """Makes room for who comes next."""
        self._free += size
        self._admit_waiters()

    def _admit_waiters(self) -> None:
        while self._waiters:
            size, admitted = self._waiters[0]
            if not admitted.cancelled():
                if size > self._free:
                    break
                self._free -= size
                admitted.set_result(None)
            self._waiters.popleft()


class LongRequest:
    """A request with a long body, which is read, and then worked on, once there is room for it."""

    def __init__(self, reading: MemoryBudget, processing: MemoryBudget, size: int, receive: Receive) -> None:
        self._reading = reading
        self._processing = processing
        self._size = size
        self._receive = receive
        self._acquired: list[MemoryBudget] = []

    async def receive(self) -> AsgiMessage:
        """ASGI's. Raises ServiceUnavailable when there is no room for too long."""
        await self._acquire(self._reading)
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            await self._acquire(self._processing)
        return message

    def release(self) -> None:
        """The request has been answered."""
        while self._acquired:
            self._acquired.pop().release(self._size)

    async def _acquire(self, budget: MemoryBudget) -> None:
        if budget not in self._acquired:
            await budget.acquire(self._size)
            self._acquired.append(budget)


def bytes_to_reserve(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """The bytes that a request's body may take; 0 for a short one, which needs no room."""
    headers_by_name = dict(headers)
    if b"transfer-encoding" in headers_by_name:
        return MAXIMUM_BODY_BYTES
    size = min(int(headers_by_name.get(b"content-length", b"0")), MAXIMUM_BODY_BYTES)
    return 0 if size <= LONG_BODY_BYTES else size
