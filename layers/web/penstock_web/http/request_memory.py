"""Bounds the memory of long requests: the rest waits in its socket.

    socket ─► 20 MiB that are being read ─► 6 MiB that are being processed ─► response

The service holds a body of a MiB up to four times while it checks it, merges it and writes it to the database; for a
hundred requests at once that would be half a GB. So it processes long requests in the order in which they arrived
whole, as far as the budget allows, and a client that sends slowly takes no part of this budget. A body that is still
being read is held once.
"""

import asyncio
from collections import deque
from collections.abc import Iterable

from penstock.errors import ServiceUnavailable
from penstock.gateway import MAXIMUM_BODY_BYTES
from penstock.http import LONG_BODY_BYTES
from penstock_web.deadlines import AsgiMessage, Receive

READING_BYTES = 20 * 1_048_576
PROCESSING_BYTES = MAXIMUM_BODY_BYTES  # less would make the longest request wait forever


class MemoryBudget:
    """At most `max_bytes`. A request that waits for longer than `timeout_seconds` gets ServiceUnavailable."""

    def __init__(self, max_bytes: int, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._free = max_bytes
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def acquire(self, size: int) -> None:
        """Returns when so many bytes are free. The caller has them until it releases them."""
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
                self._admit_waiters()  # it may have been the first, and the next one may be smaller
            else:
                self.release(size)  # it had just been admitted
            if isinstance(error, TimeoutError):
                raise ServiceUnavailable from error
            raise

    def release(self, size: int) -> None:
        """Frees the bytes, and admits the requests that waited for them."""
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
    """A request with a long body, which is read, and then processed, when there is memory for it."""

    def __init__(self, reading: MemoryBudget, processing: MemoryBudget, size: int, receive: Receive) -> None:
        self._reading = reading
        self._processing = processing
        self._size = size
        self._receive = receive
        self._acquired: list[MemoryBudget] = []

    async def receive(self) -> AsgiMessage:
        """ASGI's receive. Raises ServiceUnavailable when the budget is used up for too long."""
        await self._acquire(self._reading)
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            await self._acquire(self._processing)
        return message

    def release(self) -> None:
        """Frees the memory of the request, which has been answered."""
        while self._acquired:
            self._acquired.pop().release(self._size)

    async def _acquire(self, budget: MemoryBudget) -> None:
        if budget not in self._acquired:
            await budget.acquire(self._size)
            self._acquired.append(budget)


def bytes_to_reserve(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """The bytes that a request's body may take; 0 for a short body, which needs no budget."""
    headers_by_name = dict(headers)
    if b"transfer-encoding" in headers_by_name:
        return MAXIMUM_BODY_BYTES
    size = min(int(headers_by_name.get(b"content-length", b"0")), MAXIMUM_BODY_BYTES)
    return 0 if size <= LONG_BODY_BYTES else size
