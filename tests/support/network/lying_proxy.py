"""Imitates faulty networks, poolers and frozen servers with a TCP proxy, which keeps connections open but forwards no
data.

A killed process sends a RST, which both sides notice. The proxy's faults are silent.
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

CHUNK = 65_536
# The time for which the target keeps a silent connection. The target then notices the loss, as it would with
# keepalives.
TARGET_NOTICES_SECONDS = 20.0
NO_LINGER = struct.pack("ii", 1, 0)


class Link:
    """Joins a client's connection with the proxy's connection to the target."""

    def __init__(self, client: asyncio.StreamWriter, target: asyncio.StreamWriter) -> None:
        self.writers = (client, target)
        self.swallows = False
        self.halves = False

    def leave_target(self) -> None:
        """Closes the connection to the target without telling the client."""
        self.swallows = True
        self.writers[1].transport.abort()

    def reset(self) -> None:
        """Closes both connections with a RST."""
        for writer in self.writers:
            with suppress(OSError):  # The connection may be closed already.
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            writer.transport.abort()


class LyingProxy:
    """Forwards the bytes sent to `port`. Unless its docstring differs, a fault affects only the connections that are
    open when the fault begins.
    """

    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self.links: set[Link] = set()
        self._lost_links: set[Link] = set()  # The proxy closes lost connections only at the end.
        self.delay_seconds = 0.0
        self._swallows_new = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    # --- faults ------------------------------------------------------------------------------------------------------
    def swallow(self, *, new_too: bool = False) -> None:
        """Acknowledges all data but forwards no data. With `new_too`, the proxy also discards the data of later
        connections.

        The target continues the client's work, with its locks, until TARGET_NOTICES_SECONDS have passed.
        """

        async def change() -> None:
            self._swallows_new = new_too
            for link in self.links:
                self._swallow(link)

        self._run(change())

    def _swallow(self, link: Link) -> None:
        link.swallows = True
        self._loop.call_later(TARGET_NOTICES_SECONDS, link.leave_target)

    def pass_new(self) -> None:
        """Ends the fault for new connections. Connections that `swallow` has silenced stay silent forever."""

        async def change() -> None:
            self._swallows_new = False

        self._run(change())

    def vanish(self) -> list[int]:
        """Returns the ports of the connected clients, whose packets the caller drops. The proxy ignores the clients'
        connections afterwards.

        The target notices the loss later, as in `swallow`.
        """

        async def change() -> list[int]:
            ports = []
            for link in self.links:
                ports.append(link.writers[0].get_extra_info("peername")[1])
                self._loop.call_later(TARGET_NOTICES_SECONDS, link.leave_target)
            self._lost_links |= self.links
            self.links.clear()
            return ports

        ports: list[int] = self._run(change())
        return ports

    def halve(self) -> None:
        """Cuts the next response on each connection in half, and then closes the connection."""

        async def change() -> None:
            for link in self.links:
                link.halves = True

        self._run(change())

    def reset(self) -> None:
        """Closes all connections with a RST."""

        async def change() -> None:
            for link in list(self.links):
                link.reset()

        self._run(change())

    def close(self) -> None:
        async def end() -> None:
            self._server.close()
            for link in self.links | self._lost_links:
                link.reset()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        self._run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # --- passing on --------------------------------------------------------------------------------------------------
    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            target_reader, target_writer = await asyncio.open_connection(*self.target)
        except OSError:
            writer.transport.abort()
            return
        link = Link(writer, target_writer)
        self.links.add(link)
        if self._swallows_new:
            self._swallow(link)
        for source, sink, responses in ((reader, target_writer, False), (target_reader, writer, True)):
            task = self._loop.create_task(self._pass(link, source, sink, responses=responses))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass(
        self, link: Link, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, responses: bool
    ) -> None:
        with suppress(OSError):
            while data := await source.read(CHUNK):
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                if link.swallows:
                    continue
                if responses and link.halves:
                    sink.write(data[: len(data) // 2])
                    await sink.drain()
                    link.reset()
                    break
                sink.write(data)
                await sink.drain()
        if not link.swallows:
            for writer in link.writers:
                writer.close()
            self.links.discard(link)
        elif not responses:  # The client has given up.
            link.writers[0].transport.abort()
            self.links.discard(link)
            self._lost_links.add(link)


@contextmanager
def lying_proxy(host: str, port: int) -> Iterator[LyingProxy]:
    proxy = LyingProxy(host, port)
    try:
        yield proxy
    finally:
        proxy.close()
