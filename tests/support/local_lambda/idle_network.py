"""Imitates a network between functions and database that silently forgets idle connections.

    reset      A client that sends on a forgotten connection receives a RST, as behind a Network Load Balancer.
    silence    The network drops the data on a forgotten connection, like firewalls and NAT gateways.

A frozen environment sends no keepalives, so its connections are idle between two invocations. The sources are in
`limits`, and "Troubleshoot NAT gateways" (a connection that is idle for 350 seconds times out),
https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Literal, cast
from urllib.parse import parse_qs, urlsplit

from .limits import IDLE_CONNECTION_SECONDS

Loss = Literal["reset", "silence"]

HOST: Final = "127.0.0.1"
_NO_LINGER: Final = struct.pack("ii", 1, 0)
_DATABASE_PORT: Final = 5432


class Link:
    """Joins a client's connection and a connection to the database. `used_at` is the time of the last data."""

    def __init__(self, network: IdleNetwork) -> None:
        self.network = network
        self.used_at = network.clock()
        self.is_forgotten = False

    def passes(self) -> bool:
        """Returns whether the network still forwards data."""
        now = self.network.clock()
        if now - self.used_at > self.network.idle_seconds and not self.is_forgotten:
            self.is_forgotten = True
            self.network.forgotten += 1
        self.used_at = now
        return not self.is_forgotten


class End(asyncio.Protocol):
    """Handles one connection of a link. `other` is the link's other connection, or None until it exists."""

    transport: asyncio.Transport

    def __init__(self, link: Link) -> None:
        self.link = link
        self.other: End | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.link.network.ends.add(self)

    def data_received(self, data: bytes) -> None:
        if self.link.passes():
            self.pass_on(data)
        elif self.link.network.loss == "reset":
            reset(self.transport)

    def pass_on(self, data: bytes) -> None:
        if self.other is not None:
            self.other.transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.link.network.ends.discard(self)
        if self.other is not None:
            self.other.transport.close()


class ClientEnd(End):
    """Handles a client's connection. Keeps data that arrives before the connection to the database exists."""

    def __init__(self, network: IdleNetwork) -> None:
        super().__init__(Link(network))
        self._early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        network = self.link.network
        network.tasks.add(task := asyncio.ensure_future(self._connect(network)))
        task.add_done_callback(network.tasks.discard)

    def pass_on(self, data: bytes) -> None:
        if self.other is None:
            self._early.append(data)
        else:
            super().pass_on(data)

    async def _connect(self, network: IdleNetwork) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, self.other = await loop.create_connection(lambda: End(self.link), *network.target)
        except OSError:
            reset(self.transport)
            return
        self.other.other = self
        self.other.transport.writelines(self._early)
        if self.transport.is_closing():
            self.other.transport.close()


class IdleNetwork:
    """Forwards bytes between its port and the database. `target` is the database's host and port. `clock` returns
    seconds.

    `forgotten` counts the forgotten connections.
    """

    def __init__(
        self,
        target: tuple[str, int],
        loss: Loss,
        idle_seconds: float = IDLE_CONNECTION_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.target = target
        self.loss = loss
        self.idle_seconds = idle_seconds
        self.clock = clock
        self.forgotten = 0
        self.ends: set[End] = set()
        self.tasks: set[asyncio.Future[None]] = set()

    @asynccontextmanager
    async def running(self, listener: socket.socket) -> AsyncIterator[None]:
        """Serves a bound socket. Closes all connections at the end."""
        server = await asyncio.get_running_loop().create_server(lambda: ClientEnd(self), sock=listener)
        try:
            yield
        finally:
            server.close()
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)
            for end in self.ends:
                end.transport.abort()


def reset(transport: asyncio.Transport) -> None:
    """Closes a connection with a RST."""
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()


def address_of(url: str) -> tuple[str, int] | None:
    """Returns the host and port in a database's URL.

    Returns None if the URL names several hosts or none, or if sslmode checks the certificate's name.
    """
    parts = urlsplit(url)
    modes = parse_qs(parts.query).get("sslmode", [""])
    try:
        port = parts.port or _DATABASE_PORT
    except ValueError:  # several hosts
        return None
    if not parts.hostname or "," in parts.netloc or modes == ["verify-full"]:
        return None
    return parts.hostname, port


def through(url: str, port: int) -> str:
    """Returns the database's URL with this machine's `port`."""
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user}{at}{HOST}:{port}").geturl()
