"""How much of long requests may be in memory at once: what comes beyond waits in its socket.

A request of a MiB is there up to four times while it is read, checked, merged and written to the database. A hundred at
once would be half a GB; so they are read one after another, in the order in which they came, as far as there is room.
"""

import asyncio
from collections import deque
from collections.abc import Iterable

from penstock.errors import ServiceUnavailable
from penstock.gateway import MAXIMUM_BODY_BYTES

from .attendance import Message as Part
from .attendance import Receive

# uvicorn reads so much before anybody asks for it.
SHORT_BODY_BYTES = 65_536
ROOM_BYTES = 8 * 1_048_576


class Room:
    """At most `ROOM_BYTES`. Who waits for longer than `timeout_seconds` gets ServiceUnavailable."""

    def __init__(self, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._free = ROOM_BYTES
        self._line: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def enter(self, size: int) -> None:
        """Returns when there is room, which the caller then has until it leaves."""
        if not self._line and size <= self._free:
            self._free -= size
            return
        place = (size, asyncio.get_running_loop().create_future())
        self._line.append(place)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await place[1]
        except BaseException as error:
            if place in self._line:
                self._line.remove(place)
                self._admit()
            else:  # it had just been let in
                self.leave(size)
            if isinstance(error, TimeoutError):
                raise ServiceUnavailable from error
            raise

    def leave(self, size: int) -> None:
        """Makes room for who comes next."""
        self._free += size
        self._admit()

    def _admit(self) -> None:
        while self._line and self._line[0][0] <= self._free:
            size, place = self._line.popleft()
            if place.cancelled():
                continue
            self._free -= size
            place.set_result(None)


class Guest:
    """A request with a long body, which is read once there is room for it."""

    def __init__(self, room: Room, size: int, receive: Receive) -> None:
        self._room = room
        self._size = size
        self._receive = receive
        self._inside = False

    async def receive(self) -> Part:
        """ASGI's. Raises ServiceUnavailable when there is no room for too long."""
        if not self._inside:
            await self._room.enter(self._size)
            self._inside = True
        return await self._receive()

    def leave(self) -> None:
        """The request has been answered."""
        if self._inside:
            self._inside = False
            self._room.leave(self._size)


def room_for(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """The bytes that a request's body may take; 0 for a short one, which needs no room."""
    given = dict(headers)
    if b"transfer-encoding" in given:
        return MAXIMUM_BODY_BYTES
    size = min(int(given.get(b"content-length", b"0")), MAXIMUM_BODY_BYTES)
    return 0 if size <= SHORT_BODY_BYTES else size
