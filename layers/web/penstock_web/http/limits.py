"""Defines the HTTP server's limits on sizes, numbers and times, and the connections' timer.

Other modules limit the length of a body (`penstock.gateway`), the duration of a request (`deadlines.py`), the memory of
long requests (`request_memory.py`), and unread responses (`batching/write_backpressure.py`).
"""

import asyncio
import resource
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.limits.response_limit import LONG_BODY_BYTES

# A process needs RESERVED_FILES files besides client connections, for database connections, deliveries and logs.
RESERVED_FILES = 64
# More idle connections would need more than about 500 MB of memory.
MAX_CONNECTIONS = 65_536


def count_process_connections() -> int:
    """Returns the process's limit on open files (`ulimit -n`), minus the files that the process itself needs."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, files - RESERVED_FILES))


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Defines the limits of one server."""

    max_head_bytes: int = 65_536
    """Limits the bytes of the request line and the headers. A longer head gets 431 (RFC 6585). AWS's load balancers
    accept heads of up to this length ("Quotas for your Application Load Balancers"). The limit also applies to
    consecutive bytes that are not part of a body, such as chunk extensions and trailers.
    """
    max_headers: int = 1_000
    """Limits the number of headers of a request. More headers get 431."""
    head_seconds: float = 60.0
    """Limits the time from the first byte of a head to the last byte. A slower head gets 408."""
    body_seconds: float = 60.0
    """Limits the time that the server waits for the next byte of a body. A slower body gets 408. A separate limit
    applies to the whole request."""
    idle_seconds: float = 75.0
    """Limits the time that a connection can be idle. The idle limit is longer than the idle timeout of load balancers
    (60 s on an ALB), because a load balancer must close the connection first.
    """
    linger_seconds: float = 30.0
    """If a client is still sending after the response, the server reads and drops data for `linger_seconds`."""
    linger_idle_seconds: float = 5.0
    """The server stops dropping data earlier if no byte arrives for `linger_idle_seconds`."""
    max_waiting_requests: int = 100
    """Limits the pipelined requests that wait for the current request. The server does not read further requests."""
    max_unread_body_bytes: int = LONG_BODY_BYTES
    """Limits the bytes of a body that the server reads before the application requests them, except for one read from
    the socket."""
    max_connections: int = field(default_factory=count_process_connections)
    """Limits the number of concurrent connections. Further connections get 503."""
    max_share_of_an_address: float = 0.75
    """Limits the share of these connections that one address can have (a load balancer has several addresses). Further
    connections of the address get 503, so one client cannot take all connections.
    """
    backlog: int = 2_048
    """Limits the connections that wait to be accepted."""


class ConnectionTimer:
    """A connection's timer. Runs the timer of a connection."""

    __slots__ = ("_expires_at", "_fires_at", "_handle", "_loop", "_on_expired")

    def __init__(self, loop: asyncio.AbstractEventLoop, on_expired: Callable[[], None]) -> None:
        self._loop = loop
        self._on_expired: Callable[[], None] | None = on_expired
        self._handle: asyncio.TimerHandle | None = None
        self._fires_at = 0.0
        self._expires_at: float | None = None

    def start(self, seconds: float) -> None:
        """Calls `on_expired` after `seconds`, unless the caller restarts or stops the timer."""
        expires_at = self._expires_at = self._loop.time() + seconds
        if self._handle is None:
            self._schedule(expires_at)
        elif expires_at < self._fires_at:
            self._handle.cancel()
            self._schedule(expires_at)

    def stop(self) -> None:
        """Stops the timer. `start` can start the timer again."""
        self._expires_at = None

    def close(self) -> None:
        """Stops the timer permanently."""
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
