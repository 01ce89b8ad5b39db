"""Posts requests to endpoints over reused or new connections.

A new connection goes to an address that the guard permits.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple
from weakref import WeakSet

from penstock.endpoint import Address, Endpoint, EndpointRefused

from .connection import DRAIN_SECONDS, MAX_RESPONSE_BYTES, Connection, ConnectionLost, Response
from .guard import AddressGuard, is_public
from .resolver import resolve

Resolver = Callable[[str, str], Awaitable[list[Address]]]
"""Returns the addresses of the name (first argument) for the account (second argument)."""

CONNECT_SECONDS: Final = 3.0
"""The time limit for name resolution, TCP and TLS together."""
MAX_ADDRESSES: Final = 3
"""The most addresses of a name that the sender tries."""
IDLE_SECONDS: Final = 4.0
"""The time for which the sender keeps an idle connection. Node.js closes an idle connection after five seconds, and
most other servers close it later."""
MAX_IDLE: Final = 200


KEEPALIVE_SECONDS: Final = 60
"""The pause between probes.

A function can run for 15 minutes, and NAT drops a connection that is silent for 350 seconds.
"""


def keep_alive(connection: socket.socket) -> None:
    """Makes the operating system check each minute that the endpoint is reachable."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL"):  # systems without these options probe less often
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), KEEPALIVE_SECONDS)


class Origin(NamedTuple):
    """The scheme, host and port of a URL. Requests to the same origin share connections."""

    scheme: str
    host: str
    port: int


class Sender:
    """Posts requests in one event loop. `close` closes the connections.

    `kept_bytes` is the number of bytes that the sender returns from each response's body. The sender does not return
    bodies from addresses that are not public, because subscribers must not read responses from the operator's network.
    If only this process reads the bodies, set `keeps_private`, so that the sender also returns private bodies.
    `drain_seconds` limits the time for a response's body. If `drain_seconds` is None, only the request's time limit
    applies. `dropped_bytes` limits the bytes that the sender reads and drops after the kept bytes.
    """

    def __init__(
        self,
        guard: AddressGuard,
        resolver: Resolver = resolve,
        tls: ssl.SSLContext | None = None,
        kept_bytes: int = 0,
        keeps_private: bool = False,
        drain_seconds: float | None = DRAIN_SECONDS,
        dropped_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._kept_bytes = kept_bytes
        self._keeps_private = keeps_private
        self._drain_seconds = drain_seconds
        self._dropped_bytes = dropped_bytes
        self._guard = guard
        self._resolve = resolver
        self._tls = tls
        self._idle: dict[Origin, list[Connection]] = {}
        self._timers: dict[Connection, asyncio.TimerHandle] = {}
        self._open: WeakSet[Connection] = WeakSet()

    async def post(self, endpoint: Endpoint, request: bytes, seconds: float, account_id: str) -> Response:
        """Returns the response. Raises EndpointRefused, TimeoutError and OSError (including ssl.SSLError).

        The look-up counts towards the account `account_id`. If the endpoint closes a reused connection before any byte
        of a response arrives, the sender sends the request again over a new connection.
        """
        connection = None
        try:
            async with asyncio.timeout(seconds):
                connection = self._take_kept(endpoint)
                if connection is not None:
                    try:
                        return await connection.post(request)
                    except ConnectionLost as lost:
                        if not lost.silent:
                            raise
                        connection = None
                connection = await self._connect(endpoint, account_id)
                return await connection.post(request)
        except TimeoutError:
            response = connection.partial_response if connection is not None else None
            if response is None:
                raise
            return response

    async def close(self) -> None:
        """Closes all connections, including connections that are reading a response."""
        for timer in self._timers.values():
            timer.cancel()
        for connection in list(self._open):
            connection.abort()
        self._timers.clear()
        self._idle.clear()
        await asyncio.sleep(0)  # the transports close their sockets in the loop's next round

    # --- connecting --------------------------------------------------------------------------------------------------
    async def _connect(self, endpoint: Endpoint, account_id: str) -> Connection:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                addresses = await self._resolve_addresses(endpoint, account_id)
                self._guard.check(addresses)
                return await self._dial(endpoint, addresses[:MAX_ADDRESSES])
        except TimeoutError as error:
            raise TimeoutError(f"no connection within {CONNECT_SECONDS:g} s") from error

    async def _resolve_addresses(self, endpoint: Endpoint, account_id: str) -> list[Address]:
        if endpoint.address is not None:
            return [endpoint.address]
        addresses = await self._resolve(endpoint.host, account_id)
        if not addresses:
            raise EndpointRefused(f"{endpoint.host} has no address")
        return addresses

    async def _dial(self, endpoint: Endpoint, addresses: list[Address]) -> Connection:
        failed = OSError(f"{endpoint.host} has no address")
        for address in addresses:
            try:
                return await self._dial_one(endpoint, address)
            except OSError as error:
                failed = error
        raise failed

    async def _dial_one(self, endpoint: Endpoint, address: Address) -> Connection:
        origin = Origin(endpoint.scheme, endpoint.host, endpoint.port)
        secure = endpoint.scheme == "https"
        transport, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(
                lambda idle: self._keep(origin, idle),
                self._kept_bytes if self._keeps_private or is_public(address) else 0,
                self._drain_seconds,
                self._dropped_bytes,
            ),
            str(address),  # a name would be resolved a second time
            endpoint.port,
            ssl=self._context() if secure else None,
            server_hostname=endpoint.host.removesuffix(".") if secure else None,
        )
        keep_alive(transport.get_extra_info("socket"))
        self._open.add(connection)
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    # --- idle connections --------------------------------------------------------------------------------------------
    def _take_kept(self, endpoint: Endpoint) -> Connection | None:
        origin = Origin(endpoint.scheme, endpoint.host, endpoint.port)
        idle = self._idle.get(origin, [])
        while idle:
            connection = idle.pop()
            self._timers.pop(connection).cancel()
            if connection.usable:
                return connection
        self._idle.pop(origin, None)
        return None

    def _keep(self, origin: Origin, connection: Connection) -> None:
        if len(self._timers) >= MAX_IDLE:
            connection.abort()
            return
        idle = self._idle.setdefault(origin, [])
        idle.append(connection)
        self._timers[connection] = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._forget, origin, connection)

    def _forget(self, origin: Origin, connection: Connection) -> None:
        idle = self._idle.get(origin, [])
        if connection in idle:
            idle.remove(connection)
        if not idle:
            self._idle.pop(origin, None)
        self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        timer = self._timers.pop(connection, None)
        if timer is not None:
            timer.cancel()
        connection.abort()
