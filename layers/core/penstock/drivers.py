"""Runs an operation to its end on one database connection: the driver of Lambda functions (and of tests).

The container's driver does the same with `await`, merging the effects of concurrent requests.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from penstock.postgres.calls import statement_call
from penstock.postgres.statements import READY_QUEUES

from .effects import Effect, Operation, Pause, Row, Sql, Statement, Wait, Wake

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 1.0


class StatementExecutor(Protocol):
    """Executes statements on one connection: a `Database`, a `DriverConnection` or a `TransactionExecutor`.

    Arrays are lists.
    """

    def call(self, statement: Statement, arguments: Sequence[Any], /) -> list[Row]: ...


def run(
    operation: Operation, database: StatementExecutor, observe: Callable[[Effect, Any], None] | None = None
) -> Any:
    """The operation's result. Raises what the operation raises, and the errors of `call`.

    `observe` is called with each effect and its answer.
    """
    try:
        effect = next(operation)
        while True:
            result = perform(effect, database)
            if observe is not None:
                observe(effect, result)
            effect = operation.send(result)
    except StopIteration as end:
        return end.value


def perform(effect: Effect, database: StatementExecutor) -> list[Row] | bool | None:
    """Performs one effect and returns its answer."""
    if isinstance(effect, Wait):
        return wait_for_message(effect, database)
    if isinstance(effect, Pause):
        time.sleep(effect.seconds)
        return True
    if isinstance(effect, Wake):
        return None  # no other receive waits in a function's process; the database notifies other processes
    return database.call(*statement_call(effect))


def wait_for_message(effect: Wait, database: StatementExecutor) -> bool:
    """Polls the database until the queue may have a message or the wait time is over (then False).

    The pauses grow, and no transaction is open during a pause.
    """
    deadline = time.monotonic() + effect.seconds
    pause = FIRST_PAUSE_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(pause, left))
        if database.call(*statement_call(Sql(READY_QUEUES, ([effect.queue_arn],)))):
            return True
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
    return False
