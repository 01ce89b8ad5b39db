"""Limits the memory that long requests use. If no memory is free, the data of a request stays in the socket.

    socket ─► 20 MiB to read ─► 6.25 MiB to process ─► response

While the service processes a request, memory holds up to four copies of the body. A hundred concurrent requests of a
MiB each would take half a GB. Therefore, the service processes only as many long requests as the budget allows. A slow
sender does not use the processing budget. An incomplete body has only one copy in memory.

The service cannot verify a signature before the body's end, so the memory is shared among client addresses. Addresses
take turns, and one address can use at most half of the memory. If QUEUE_ACCESS is `sigv4`, access keys take turns, and
one key can use at most half of the memory. Before the service reads the body, it looks up the key and refuses unknown
keys. Any client can use a known key without the right signature. Therefore, a key has its own share only at addresses
from which an earlier request had a correct signature. All other requests count as one caller, whose addresses take
turns, and one address can use at most half of that caller's share. The service counts a request after the request's
first 16 KiB have arrived. While other requests wait, the service answers requests that send less than 64 KiB a second
with 408. The required rate doubles with each second that the next request has waited, up to 1 MiB a second. A long
request does not wait for messages.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple, Protocol

from starlette.types import Message, Receive

from penstock.errors import RequestTimeout, ServiceUnavailable
from penstock.gateway import MAX_BODY_BYTES
from penstock.limits.response_limit import LONG_BODY_BYTES

READING_BYTES = 20 * 1_048_576
PROCESSING_BYTES = MAX_BODY_BYTES  # With a smaller budget, the longest request would wait forever.
READING_SHARE = 0.5
"""A caller can use this share of the memory, and an address can use this share of its key's memory. A caller without
other requests can always have one request.
"""
FIRST_BYTES = 16_384
"""A body gets memory when FIRST_BYTES have arrived."""
SLOW_BYTES_A_SECOND = 65_536
MAX_DOUBLINGS = 4
"""Limits how often the rate doubles while a request waits: the rate reaches 1 MiB a second after four seconds."""
SLOW_SECONDS = 1.0
"""A slow upload can lose its memory after SLOW_SECONDS."""
CHECK_SECONDS = 0.25


class Owner(NamedTuple):
    """Says whose share of the memory a request uses. `caller` is the key, or the address of a client without a key."""

    caller: str
    address: str


class Claimant(Protocol):
    """Represents a request that needs memory."""

    @property
    def size(self) -> int: ...

    @property
    def owner(self) -> Owner: ...

    def end_if_slow(self, bytes_a_second: float) -> None:
        """If the client sends fewer than `bytes_a_second`, makes the request fail, so that the request's memory is
        released."""


class MemoryBudget:
    """Grants at most `max_bytes`. A request gets ServiceUnavailable if it has waited for `timeout_seconds`.

    `share` is the largest part of the memory for one caller, and the largest part of the caller's memory for one
    address. Callers take turns, and so do the addresses of a caller. Smaller requests of other callers do not overtake
    a large request, because the large request could then wait forever.
    """

    def __init__(self, max_bytes: int, timeout_seconds: float, share: float = 1.0) -> None:
        self._timeout_seconds = timeout_seconds
        self._free = max_bytes
        self._most_of_a_caller = int(max_bytes * share)
        self._most_of_an_address = int(max_bytes * share * share)
        self._admitted: set[Claimant] = set()
        self._check_at = 0.0
        self._bytes_of_caller: Counter[str] = Counter()
        self._bytes_of: Counter[Owner] = Counter()
        # Maps callers and addresses to their waiting requests, in the order of their turns. The number in an entry is
        # the time when the request began to wait.
        self._waiters: dict[str, dict[str, deque[tuple[Claimant, asyncio.Future[None], float]]]] = {}

    async def acquire(self, request: Claimant) -> None:
        """Waits until enough bytes are free for the request. The request keeps these bytes until `release`."""
        loop = asyncio.get_running_loop()
        admitted = loop.create_future()
        caller, address = request.owner
        waiting = self._waiters.setdefault(caller, {}).setdefault(address, deque())
        waiting.append((request, admitted, loop.time()))
        self._admit_waiters()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                while not admitted.done():
                    self._end_slow_requests()
                    await asyncio.wait((admitted,), timeout=CHECK_SECONDS)
        except BaseException as error:
            if admitted.done():
                self.release(request)  # The request was admitted just before the error.
            else:
                admitted.cancel()
                self._admit_waiters()  # If this request was the first, the next request may be smaller.
            if isinstance(error, TimeoutError):
                raise ServiceUnavailable from error
            raise

    def release(self, request: Claimant) -> None:
        """Frees the request's bytes and admits waiting requests."""
        self._admitted.remove(request)
        self._count(request, -request.size)
        self._admit_waiters()

    def _count(self, request: Claimant, size: int) -> None:
        """Gives `size` bytes to a request, or takes back bytes if `size` is negative."""
        owner = request.owner
        self._free -= size
        self._bytes_of[owner] += size
        self._bytes_of_caller[owner.caller] += size
        if not self._bytes_of[owner]:
            del self._bytes_of[owner]
        if not self._bytes_of_caller[owner.caller]:
            del self._bytes_of_caller[owner.caller]

    def _end_slow_requests(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._check_at:
            self._check_at = now + CHECK_SECONDS
            owner = self._next_owner()
            waited = 0 if owner is None else int(now - self._waiters[owner.caller][owner.address][0][2])
            for holder in list(self._admitted):
                holder.end_if_slow(SLOW_BYTES_A_SECOND * 2 ** min(waited, MAX_DOUBLINGS))

    def _admit_waiters(self) -> None:
        while (owner := self._next_owner()) is not None:
            waiting = self._waiters[owner.caller][owner.address]
            request, admitted, _ = waiting[0]
            if request.size > self._free:
                break
            waiting.popleft()
            # The caller's next turn comes after all other callers, and the address's next turn comes after the caller's
            # other addresses.
            of_caller = self._waiters[owner.caller] = self._waiters.pop(owner.caller)
            of_caller[owner.address] = of_caller.pop(owner.address)
            self._count(request, request.size)
            self._admitted.add(request)
            admitted.set_result(None)

    def _next_owner(self) -> Owner | None:
        """Returns the next waiting caller that has a free share, and the address whose turn it is."""
        for caller, of_caller in list(self._waiters.items()):
            for address, waiting in list(of_caller.items()):
                while waiting and waiting[0][1].cancelled():
                    waiting.popleft()
                if not waiting:
                    del of_caller[address]
                elif self._has_share(Owner(caller, address), waiting[0][0].size):
                    return Owner(caller, address)
            if not of_caller:
                del self._waiters[caller]
        return None

    def _has_share(self, owner: Owner, size: int) -> bool:
        held, held_of_caller = self._bytes_of[owner], self._bytes_of_caller[owner.caller]
        most = self._most_of_a_caller if owner.caller == owner.address else self._most_of_an_address
        return held_of_caller == 0 or (
            held_of_caller + size <= self._most_of_a_caller and (held == 0 or held + size <= most)
        )


class LongRequest:
    """Represents a request with a long body. The service reads and processes the body when memory is free."""

    def __init__(
        self,
        reading: MemoryBudget,
        processing: MemoryBudget,
        size: int,
        find_owner: Callable[[], Awaitable[Owner]],
        receive: Receive,
    ) -> None:
        self._reading = reading
        self._processing = processing
        self.size = size
        self.owner = Owner("", "")
        self._find_owner = find_owner
        self._receive = receive
        self._acquired: list[MemoryBudget] = []
        self._received_bytes = 0
        self._is_whole = False
        self._began_at = 0.0
        self._timeout: asyncio.Timeout | None = None  # set while the request waits for a part of the body

    async def receive(self) -> Message:
        """Implements ASGI's receive. Raises ServiceUnavailable if no memory becomes free in time, RequestTimeout if the
        client sends too slowly, and the errors of `find_owner`."""
        if self._is_whole:
            return await self._receive()  # After the body's end, `receive` waits for the client's disconnect.
        message = await self._receive_next_part() if self._acquired else await self._receive_first_part()
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

    async def _receive_first_part(self) -> Message:
        """Returns the first FIRST_BYTES, or the whole body. A request uses no memory of the budget before these bytes
        arrive. If the head is refused, the service does not read the body.
        """
        self.owner = await self._find_owner()
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

    async def _receive_next_part(self) -> Message:
        try:
            async with asyncio.timeout(None) as self._timeout:
                message = await self._receive()
        except TimeoutError as error:
            raise RequestTimeout("The body arrived too slowly while other requests waited for memory.") from error
        finally:
            self._timeout = None
        self._received_bytes += len(message.get("body", b""))
        return message

    async def _acquire(self, budget: MemoryBudget) -> None:
        if budget not in self._acquired:
            await budget.acquire(self)
            self._acquired.append(budget)


def compute_bytes_to_reserve(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """Returns the largest possible number of bytes in a request's body. The result is 0 for a short body, which needs
    no part of the budget.
    """
    headers_by_name = dict(headers)
    if b"transfer-encoding" in headers_by_name:
        return MAX_BODY_BYTES
    size = min(int(headers_by_name.get(b"content-length", b"0")), MAX_BODY_BYTES)
    return 0 if size <= LONG_BODY_BYTES else size
