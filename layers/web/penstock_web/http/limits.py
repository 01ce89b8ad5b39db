"""What a client may take of a connection: every limit of size, number and time of the HTTP server, and its timer.

Other limits are elsewhere: the length of a body (`penstock.gateway`), the time that a request may take
(`deadlines.py`), the memory of long requests (`request_memory.py`), responses that clients leave unread
(`batching/write_backpressure.py`).
"""

import asyncio
import resource
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.http import LONG_BODY_BYTES

# Files that a process needs besides its clients' connections: databases, deliveries, logs.
RESERVED_FILES = 64
# More would take more than some 500 MB, though they do nothing.
MOST_CONNECTIONS = 65_536


def connections_of_process() -> int:
    """As many connections as the process may open files (`ulimit -n`), less those that it needs itself."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(1, min(MOST_CONNECTIONS, files - RESERVED_FILES))


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The limits of one server."""

    max_head_bytes: int = 65_536
    """Request line and headers; then 431 (RFC 6585). AWS's load balancers pass on as many ("Quotas for your Application
    Load Balancers"). As many bytes may come in a row without a byte of a body: extensions of chunks, trailers."""
    max_headers: int = 1_000
    """Headers of a request; then 431."""
    head_seconds: float = 60.0
    """From the first byte of a head to its last; then 408."""
    body_seconds: float = 60.0
    """Without a further byte of a body while the server reads; then 408. A request has less time in all."""
    idle_seconds: float = 75.0
    """Without a request. Longer than that of load balancers (60 s on an ALB), which must be the ones that close."""
    linger_seconds: float = 30.0
    """After an answer to a request whose client is still sending: for so long the rest is read, and not used."""
    linger_idle_seconds: float = 5.0
    """Likewise, without a further byte."""
    max_waiting_requests: int = 100
    """Pipelined requests that may wait for the current one; further ones are not read."""
    max_unread_body_bytes: int = LONG_BODY_BYTES
    """Bytes of a body that are read before the application asks for them, besides one read from the socket."""
    max_connections: int = field(default_factory=connections_of_process)
    """Connections at once; further ones get 503."""
    max_share_of_an_address: float = 0.75
    """Of these connections, what those from one address may be (a load balancer has several): one client cannot take
    all; its further ones get 503."""
    backlog: int = 2_048
    """Connections that wait to be accepted."""


class ConnectionTimer:
    """The timer of a connection. It is moved when it fires: to start it anew, as each response does, costs little."""

    __slots__ = ("_expires_at", "_fires_at", "_handle", "_loop", "_on_expired")

    def __init__(self, loop: asyncio.AbstractEventLoop, on_expired: Callable[[], None]) -> None:
        self._loop = loop
        self._on_expired: Callable[[], None] | None = on_expired
        self._handle: asyncio.TimerHandle | None = None
        self._fires_at = 0.0
        self._expires_at: float | None = None

    def start(self, seconds: float) -> None:
        """Calls `on_expired` in so many seconds, unless it is started again or stopped."""
        expires_at = self._expires_at = self._loop.time() + seconds
        if self._handle is None:
            self._schedule(expires_at)
        elif expires_at < self._fires_at:
            self._handle.cancel()
            self._schedule(expires_at)

    def stop(self) -> None:
        """Forgets the time."""
        self._expires_at = None

    def close(self) -> None:
        """Stops for good."""
        self._on_expired = None
        if self._handle is not None:
            self._handle.cancel()

    def _schedule(self, at: float) -> None:
        self._fires_at = at
        self._handle = self._loop.call_at(at, self._fire)

    def _fire(self) -> None:
        self._handle = None
        if self._expires_at is None or self._on_expired is None:
            return
        if self._loop.time() < self._expires_at:
            self._schedule(self._expires_at)
        else:
            self._expires_at = None
            self._on_expired()
