"""Runs an operation to its end on one database connection: the driver of Lambda functions (and of tests).

The container's driver does the same with `await`, merging the effects of concurrent requests.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from penstock.postgres.calls import statement_call
from penstock.postgres.statements.long_polls import READY_QUEUES

from .effects import (
    BatchCall,
    Call,
    Effect,
    Operation,
    Pause,
    Receive,
    Row,
    Statement,
    Transact,
    Wait,
    Wake,
    Woken,
)

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 1.0


T = TypeVar("T")
RowT = TypeVar("RowT", bound=Row)


class StatementExecutor(Protocol):
    """Executes statements on one connection: a `Database`, a `DriverConnection` or a `TransactionExecutor`.

    Arrays are lists.
    """

    def call(self, statement: Statement[RowT], arguments: Sequence[Any], /) -> list[RowT]: ...


def run(
    operation: Operation[T],
    database: StatementExecutor,
    observe: Callable[[Effect[Any], Any], None] | None = None,
) -> T:
    """The operation's result. Raises what the operation raises, and the errors of `call`.

    `observe` is called with each effect and its result.
    """
    try:
        effect = next(operation)
        while True:
            result = perform(effect, database)
            if observe is not None:
                observe(effect, result)
            effect = operation.send(result)
    except StopIteration as end:
        value: T = end.value
        return value


def perform(effect: Effect[Any], database: StatementExecutor) -> list[Row] | Woken | bool | None:
    """Performs one effect and returns its result. Raises TypeError for an effect that it does not know."""
    if isinstance(effect, (Call, BatchCall, Transact, Receive)):
        return database.call(*statement_call(effect))
    if isinstance(effect, Wait):
        return wait_for_message(effect, database)
    if isinstance(effect, Pause):
        time.sleep(effect.seconds)
        return True
    if isinstance(effect, Wake):
        return None  # no other receive waits in a function's process; the database notifies other processes
    raise TypeError(effect)


def wait_for_message(effect: Wait, database: StatementExecutor) -> Woken:
    """Polls the database until the queue may have a message or the wait time is over (then NOT).

    The pauses grow, and no transaction is open during a pause.
    """
    deadline = time.monotonic() + effect.seconds
    pause = FIRST_PAUSE_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(pause, left))
        if database.call(READY_QUEUES, [[effect.queue_arn]]):
            return Woken.FOR_ONE
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
    return Woken.NOT
