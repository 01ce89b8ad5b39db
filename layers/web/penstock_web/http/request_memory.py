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
from penstock_web.deadlines import Message as Part
from penstock_web.deadlines import Receive

READ_BYTES = 20 * 1_048_576
WORKED_ON_BYTES = MAXIMUM_BODY_BYTES  # or the longest would wait forever


class Room:
    """At most `most_bytes`. Who waits for longer than `timeout_seconds` gets ServiceUnavailable."""

    def __init__(self, most_bytes: int, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._free = most_bytes
        self._line: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def enter(self, size: int) -> None:
        """Returns when there is room, which the caller then has until it leaves."""
        if not self._line and size <= self._free:
            self._free -= size
            return
        place = asyncio.get_running_loop().create_future()
        self._line.append((size, place))
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await place
        except BaseException as error:
            if place.cancelled():
                self._admit()  # maybe it was the first, and the next is smaller
            else:
                self.leave(size)  # it had just been let in
            if isinstance(error, TimeoutError):
                raise ServiceUnavailable from error
            raise

    def leave(self, size: int) -> None:
        """Makes room for who comes next."""
        self._free += size
        self._admit()

    def _admit(self) -> None:
        while self._line:
            size, place = self._line[0]
            if not place.cancelled():
                if size > self._free:
                    break
                self._free -= size
                place.set_result(None)
            self._line.popleft()


class Guest:
    """A request with a long body, which is read, and then worked on, once there is room for it."""

    def __init__(self, reading: Room, working: Room, size: int, receive: Receive) -> None:
        self._reading = reading
        self._working = working
        self._size = size
        self._receive = receive
        self._inside: list[Room] = []

    async def receive(self) -> Part:
        """ASGI's. Raises ServiceUnavailable when there is no room for too long."""
        await self._enter(self._reading)
        part = await self._receive()
        if part["type"] == "http.request" and not part.get("more_body", False):
            await self._enter(self._working)
        return part

    def leave(self) -> None:
        """The request has been answered."""
        while self._inside:
            self._inside.pop().leave(self._size)

    async def _enter(self, room: Room) -> None:
        if room not in self._inside:
            await room.enter(self._size)
            self._inside.append(room)


def room_for(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """The bytes that a request's body may take; 0 for a short one, which needs no room."""
    given = dict(headers)
    if b"transfer-encoding" in given:
        return MAXIMUM_BODY_BYTES
    size = min(int(given.get(b"content-length", b"0")), MAXIMUM_BODY_BYTES)
    return 0 if size <= LONG_BODY_BYTES else size
