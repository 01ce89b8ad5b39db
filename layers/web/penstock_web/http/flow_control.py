"""Controls reading and writing of one connection. Each is paused while the other side is slower."""

import asyncio

from penstock_web.batching.write_backpressure import WriteBackpressure


class FlowControl:
    """Records whether a connection is read and whether its client reads."""

    __slots__ = ("_transport", "_writable", "_write_backpressure", "read_paused", "write_paused")

    def __init__(self, transport: asyncio.Transport, write_backpressure: WriteBackpressure) -> None:
        self._transport = transport
        self._write_backpressure = write_backpressure
        self._writable = asyncio.Event()
        self.read_paused = False
        self.write_paused = False

    def read(self, wanted: bool) -> bool:
        """Reads from the socket, or leaves new data in it. Returns whether this is a change."""
        if wanted is not self.read_paused or self._transport.is_closing():
            return False
        self.read_paused = not wanted
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()
        return True

    def pause_writing(self) -> None:
        """Notes that the client reads slower than the server writes."""
        self.write_paused = True
        self._writable.clear()
        self._write_backpressure.add(self._transport)

    def resume_writing(self) -> None:
        """Notes that the client has read nearly everything, or has disconnected."""
        self.write_paused = False
        self._writable.set()
        self._write_backpressure.remove(self._transport)

    async def drain(self) -> None:
        """Returns when the client has read nearly everything, or has disconnected."""
        while self.write_paused:
            await self._writable.wait()
