"""Limits the memory of long requests. Requests that get no memory wait in their sockets.

    socket ─► 20 MiB that are being read ─► 6.25 MiB that are being processed ─► response

The service holds a body of a MiB up to four times while it checks it, merges it and writes it to the database. A
hundred such requests at once would take half a GB. The service therefore processes only as many whole long requests as
the budget allows, and a client that sends slowly takes no part of this budget. The service holds only one copy of a
body that is still arriving.

The service cannot verify a signature before the body has arrived, so addresses share the memory. Addresses take
turns, and one address has at most half of the memory. With QUEUE_ACCESS=sigv4 a key counts instead of the address. The
service looks the key up before it reads the body, and refuses an unknown key. Callers that need no key share one turn.
A request counts when its first 16 KiB have arrived. While other requests wait, a request that arrives slower than 64
KiB a second is refused with 408. This rate doubles with each second that the next request has waited, up to 1 MiB a
second. A request that has memory does not wait for messages.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from starlette.types import Message, Receive

from penstock.errors import RequestTimeout, ServiceUnavailable
from penstock.gateway import MAXIMUM_BODY_BYTES
from penstock.http import LONG_BODY_BYTES

READING_BYTES = 20 * 1_048_576
PROCESSING_BYTES = MAXIMUM_BODY_BYTES  # The longest request would wait forever with a smaller budget.
READING_SHARE = 0.5
"""The share of one address. An address may always have one request."""
FIRST_BYTES = 16_384
"""A body gets memory after this many bytes have arrived."""
SLOW_BYTES_A_SECOND = 65_536
MOST_DOUBLINGS = 4
"""How often the rate doubles while a request waits: up to 1 MiB a second after four seconds."""
SLOW_SECONDS = 1.0
"""A slow upload loses its memory after this grace period."""
CHECK_SECONDS = 0.25


class Claimant(Protocol):
    """A request that needs memory. `address` names the address whose share it takes."""

    @property
    def size(self) -> int: ...

    @property
    def address(self) -> str: ...

    def end_if_slow(self, bytes_a_second: float) -> None:
        """Releases its memory if the client sends more slowly than this."""


class MemoryBudget:
    """Grants at most `max_bytes`. A request that waits for longer than `timeout_seconds` gets ServiceUnavailable.

    `share` limits the part for one address. Addresses take turns. Smaller requests of other addresses do not overtake a
    large request, because it might then wait forever.
    """

    def __init__(self, max_bytes: int, timeout_seconds: float, share: float = 1.0) -> None:
        self._timeout_seconds = timeout_seconds
        self._free = max_bytes
        self._most_of_an_address = int(max_bytes * share)
        self._admitted: set[Claimant] = set()
        self._check_at = 0.0
        self._bytes_of: Counter[str] = Counter()  # The keys are addresses.
        self._waiters: dict[
            str, deque[tuple[Claimant, asyncio.Future[None], float]]
        ] = {}  # The requests are in the order of their turns. The number is the time since when a request waits.

    async def acquire(self, request: Claimant) -> None:
        """Returns when the request's bytes are free. The request keeps these bytes until it releases them."""
        loop = asyncio.get_running_loop()
        admitted = loop.create_future()
        self._waiters.setdefault(request.address, deque()).append((request, admitted, loop.time()))
        self._admit_waiters()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                while not admitted.done():
                    self._end_slow_requests()
                    await asyncio.wait((admitted,), timeout=CHECK_SECONDS)
        except BaseException as error:
            if admitted.done():
                self.release(request)  # The request had just been admitted.
            else:
                admitted.cancel()
                self._admit_waiters()  # The request may have been the first, and the next request may be smaller.
            if isinstance(error, TimeoutError):
                raise ServiceUnavailable from error
            raise

    def release(self, request: Claimant) -> None:
        """Frees the request's bytes and admits the requests that waited for them."""
        self._admitted.remove(request)
        self._free += request.size
        self._bytes_of[request.address] -= request.size
        if not self._bytes_of[request.address]:
            del self._bytes_of[request.address]
        self._admit_waiters()

    def _end_slow_requests(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._check_at:
            self._check_at = now + CHECK_SECONDS
            address = self._next_address()
            waited = 0 if address is None else int(now - self._waiters[address][0][2])
            for holder in list(self._admitted):
                holder.end_if_slow(SLOW_BYTES_A_SECOND * 2 ** min(waited, MOST_DOUBLINGS))

    def _admit_waiters(self) -> None:
        while (address := self._next_address()) is not None:
            waiting = self._waiters[address]
            request, admitted, _ = waiting[0]
            if request.size > self._free:
                break
            waiting.popleft()
            # The address gets its next turn after all other addresses.
            self._waiters[address] = self._waiters.pop(address)
            self._free -= request.size
            self._bytes_of[address] += request.size
            self._admitted.add(request)
            admitted.set_result(None)

    def _next_address(self) -> str | None:
        """Returns the address whose turn it is, among the addresses that wait and have not used up their share."""
        for address, waiting in list(self._waiters.items()):
            while waiting and waiting[0][1].cancelled():
                waiting.popleft()
            if not waiting:
                del self._waiters[address]
                continue
            held = self._bytes_of[address]
            if held == 0 or held + waiting[0][0].size <= self._most_of_an_address:
                return address
        return None


class LongRequest:
    """A request with a long body. The service reads and then processes the body when there is memory."""

    def __init__(
        self,
        reading: MemoryBudget,
        processing: MemoryBudget,
        size: int,
        find_caller: Callable[[], Awaitable[str]],
        receive: Receive,
    ) -> None:
        self._reading = reading
        self._processing = processing
        self.size = size
        self.address = ""
        self._find_caller = find_caller
        self._receive = receive
        self._acquired: list[MemoryBudget] = []
        self._received_bytes = 0
        self._is_whole = False
        self._began_at = 0.0
        self._timeout: asyncio.Timeout | None = None  # while a part of the body is awaited

    async def receive(self) -> Message:
        """Implements ASGI's receive. Raises ServiceUnavailable if the budget is used up for too long, RequestTimeout,
        and the errors of `find_caller`."""
        if self._is_whole:
            return await self._receive()  # This call watches for the client's disconnect.
        message = await self._next_part() if self._acquired else await self._first_part()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._is_whole = True
            if self._received_bytes > LONG_BODY_BYTES:
                await self._acquire(self._processing)
            else:
                self.release()  # The length of the body was unknown until now.
        return message

    def release(self) -> None:
        """Frees the memory of the answered request."""
        while self._acquired:
            self._acquired.pop().release(self)

    def end_if_slow(self, bytes_a_second: float) -> None:
        """Makes `receive` raise RequestTimeout if the client sends too slowly."""
        loop = asyncio.get_running_loop()
        seconds = loop.time() - self._began_at
        is_slow = seconds >= SLOW_SECONDS and self._received_bytes < seconds * bytes_a_second
        if is_slow and not self._is_whole and self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(loop.time())

    async def _first_part(self) -> Message:
        """Returns the first FIRST_BYTES, or the whole body. A client that does not send even these takes no memory, and
        nothing is read of a request whose head is refused.
        """
        self.address = await self._find_caller()
        message = await self._receive()
        parts = [message.get("body", b"")]
        while message.get("more_body", False) and sum(map(len, parts)) < FIRST_BYTES:
            message = await self._receive()
            parts.append(message.get("body", b""))
        if message["type"] == "http.request":
            await self._acquire(self._reading)
            self._began_at = asyncio.get_running_loop().time()
            self._received_bytes = sum(map(len, parts))
            message["body"] = b"".join(parts)
        return message

    async def _next_part(self) -> Message:
        try:
            async with asyncio.timeout(None) as self._timeout:
                message = await self._receive()
        except TimeoutError as error:
            raise RequestTimeout("The body arrived too slowly while others waited for memory.") from error
        finally:
            self._timeout = None
        self._received_bytes += len(message.get("body", b""))
        return message

    async def _acquire(self, budget: MemoryBudget) -> None:
        if budget not in self._acquired:
            await budget.acquire(self)
            self._acquired.append(budget)


def bytes_to_reserve(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """Returns the bytes that a request's body may take. A short body needs no memory of the budget, so the result is
    0.
    """
    headers_by_name = dict(headers)
    if b"transfer-encoding" in headers_by_name:
        return MAXIMUM_BODY_BYTES
    size = min(int(headers_by_name.get(b"content-length", b"0")), MAXIMUM_BODY_BYTES)
    return 0 if size <= LONG_BODY_BYTES else size
