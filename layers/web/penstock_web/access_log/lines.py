"""Defines a line of the access log. A line does not contain bodies, keys, signatures, query strings or paths. The
route's template replaces the path.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from penstock.context import Context
from penstock.observing.telemetry import SERVICE, as_timestamp

WRITE_BYTES: Final = 4_096
"""Limits the size of one write. If several processes write to one pipe, lines up to WRITE_BYTES do not mix (POSIX,
PIPE_BUF)."""
MAX_METHOD_LENGTH: Final = 20
MAX_ADDRESS_LENGTH: Final = 64


class Answered(NamedTuple):
    """A finished request. `action` is an AWS action or a route's template. `status` is None if the client disconnected
    early.

    `request_bytes` and `response_bytes` are the lengths of the bodies.
    """

    method: str
    action: str
    request_id: str | None
    status: int | None
    seconds: float
    request_bytes: int
    response_bytes: int
    client_address: str


class AnsweredRequest(NamedTuple):
    """Holds the values of a line that waits in the writer's queue. `ended_at` is in seconds since 1970."""

    ended_at: float
    answered: Answered
    account: str | None
    user: str | None
    trace_id: str | None


class LogLine(msgspec.Struct, omit_defaults=True):
    """Represents an entry as the log shows it. All log lines of the service begin with the same keys."""

    timestamp: str
    level: str
    message: str
    service: str
    request_id: str | None
    method: str
    action: str
    account: str | None
    user: str | None
    status: int | None
    duration_ms: float
    request_bytes: int
    response_bytes: int
    client_address: str | None
    trace_id: str | None = None


def read_caller(context: Context | None) -> tuple[str | None, str | None]:
    """Returns the account and the user's name. If QUEUE_ACCESS is `sigv4`, both are None unless the signature has been
    verified."""
    if context is None or (context.user is None and context.environment.settings.queue_access == "sigv4"):
        return None, None
    return context.account_id, context.caller.principal.user_name


def encode(entry: AnsweredRequest) -> bytes:
    """Returns an entry's line."""
    answered = entry.answered
    line = LogLine(
        timestamp=as_timestamp(entry.ended_at),
        level="INFO",
        message="request",
        service=SERVICE,
        request_id=answered.request_id,
        method=answered.method[:MAX_METHOD_LENGTH],
        action=answered.action,
        account=entry.account,
        user=entry.user,
        status=answered.status,
        duration_ms=round(answered.seconds * 1000, 3),
        request_bytes=answered.request_bytes,
        response_bytes=answered.response_bytes,
        client_address=answered.client_address[:MAX_ADDRESS_LENGTH] or None,
        trace_id=entry.trace_id,
    )
    return msgspec.json.encode(line) + b"\n"


def join_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yields blocks of lines, which the writer writes one by one."""
    joined = b""
    for line in lines:
        if joined and len(joined) + len(line) > WRITE_BYTES:
            yield joined
            joined = b""
        joined += line
    if joined:
        yield joined
