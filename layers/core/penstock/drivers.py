"""Runs an operation to its end on one database connection. Lambda functions and tests use this driver.

The container's driver uses `await`, and merges the effects of concurrent requests. The driver of
`lambda_runtime.polling` runs many operations at once on one connection.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from .calls import build_call
from .effects import Ask, BatchCall, Call, Compute, Effect, Operation, Pause, Receive, Transact, Wake
from .limits.message_lengths import MessageLengths
from .observing.reports import Report
from .postgres.database import LongMessageFound
from .postgres.statement import Row, Statement
from .postgres.statements.long_polls import READY_QUEUES
from .postgres.statements.messages import ReceivedRow, ReceiveHeader

FIRST_PAUSE_SECONDS = 0.05
MAX_PAUSE_SECONDS = 1.0


T = TypeVar("T")
RowT = TypeVar("RowT", bound=Row)

# Returns the number of seconds that an operation can wait, which is at most the requested number.
GrantWait: TypeAlias = Callable[[float], float]


class StatementExecutor(Protocol):
    """Executes statements on one connection: a `Database`, a `DriverConnection` or a `TransactionExecutor`.

    Arrays are lists.
    """

    def call(self, statement: Statement[RowT], arguments: Sequence[object], /) -> list[RowT]: ...


def ignore(_: Report) -> None:
    """Ignores a report."""


def allow_any_wait(seconds: float) -> float:
    """Grants every wait."""
    return seconds


def run(
    operation: Operation[T],
    database: StatementExecutor,
    on_report: Callable[[Report], None] = ignore,
    grant: GrantWait = allow_any_wait,
    lengths: MessageLengths | None = None,
) -> T:
    """Returns the operation's result. Raises the errors of the operation and of `call`.

    The driver calls `on_report` with each report of the operation, and `grant` before each wait. All operations of a
    process share `lengths`.
    """
    if lengths is None:
        lengths = MessageLengths()
    try:
        effect = next(operation)
        while True:
            while isinstance(effect, Report):
                on_report(effect)
                effect = operation.send(None)
            effect = operation.send(perform(effect, database, grant, lengths))
    except StopIteration as end:
        value: T = end.value
        return value


def perform(effect: Effect[Any], database: StatementExecutor, grant: GrantWait, lengths: MessageLengths) -> object:
    """Performs one effect and returns its result. Raises TypeError for an unknown effect."""
    if isinstance(effect, (Call, BatchCall, Transact)):
        return database.call(*build_call(effect))
    if isinstance(effect, Receive):
        return receive(effect, database, grant, lengths)
    if isinstance(effect, Pause):
        granted = grant(effect.seconds)
        time.sleep(granted)
        return granted >= effect.seconds
    if isinstance(effect, Compute | Ask):
        return effect.function()
    if isinstance(effect, Wake):
        return None  # no other receive waits in a function's process, and the database notifies other processes
    raise TypeError(effect)


def receive(
    effect: Receive[ReceivedRow], database: StatementExecutor, grant: GrantWait, lengths: MessageLengths
) -> list[ReceivedRow]:
    """Returns the rows of a receive. Polls until a message arrives or the granted wait is over.

    The pauses grow even if the queue may have a message. Other receives may have locked the message, or the message
    may be too long for the response. No transaction is open during a pause.
    """
    rows = receive_now(effect, database, lengths)
    deadline = time.monotonic() + grant(count_seconds_to_wait(effect, rows))
    pause = FIRST_PAUSE_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(pause, left))
        pause = min(pause * 2, MAX_PAUSE_SECONDS)
        if database.call(READY_QUEUES, [[effect.queue.arn]]):
            rows = receive_now(effect, database, lengths)
            if not is_empty(rows):
                return rows
    return rows


def receive_now(
    effect: Receive[ReceivedRow], database: StatementExecutor, lengths: MessageLengths
) -> list[ReceivedRow]:
    """Returns the rows of one call. If the call assumed short messages and found a long message, returns the rows of a
    second call."""
    try:
        return database.call(*build_call(effect, assume_short=lengths.are_short(effect.queue)))
    except LongMessageFound:
        lengths.note_long(effect.queue)
        return database.call(*build_call(effect))


def count_seconds_to_wait(effect: Receive[ReceivedRow], rows: Sequence[ReceivedRow]) -> float:
    """Returns the seconds that a receive waits after these rows. The wait is 0 if the rows contain messages or an
    error."""
    if not is_empty(rows):
        return 0
    header: ReceiveHeader
    (header,) = rows
    return header.wait_seconds or 0 if effect.wait_seconds is None else effect.wait_seconds


def is_empty(rows: Sequence[ReceivedRow]) -> bool:
    """Returns whether a receive found neither messages nor an error."""
    return len(rows) == 1 and rows[0].error is None
