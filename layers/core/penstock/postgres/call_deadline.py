"""Defines the parameters and the deadlines of blocking and asynchronous psycopg connections. `network` explains the
deadlines."""

from collections.abc import Generator
from time import monotonic
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq.abc import PGconn

from .network import LIBPQ_LIMITS


class CallOverdue(psycopg.OperationalError):
    """The database did not respond to a call before its deadline. The call may have taken effect."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the database did not answer within {seconds:g} s")


def build_connection_parameters(url: str) -> dict[str, Any]:
    """Returns an address's parameters, with defaults for the limits that the address does not set.

    The client's encoding is always UTF8. The address, PGCLIENTENCODING, the role and the database cannot change the
    encoding. The client sends the encoding when it connects, and PgBouncer keeps it for the client.
    """
    return {**LIBPQ_LIMITS, **conninfo_to_dict(url), "client_encoding": "UTF8"}


def limit_call(steps: Generator[Any, Any, Any], seconds: float, pgconn: PGconn) -> Generator[Any, Any, Any]:
    """Yields a call's steps to a connection's `wait`, which resumes this generator at least ten times a second.

    Closes the connection and raises CallOverdue after `seconds`.
    """
    deadline = monotonic() + seconds
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and monotonic() > deadline:
                pgconn.finish()
                raise CallOverdue(seconds)
            wanted = steps.send(ready)
    except StopIteration as end:
        return end.value
