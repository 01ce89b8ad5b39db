"""Implements a database that answers when the test says so, and remembers its calls."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from penstock.postgres.statement import BatchStatement, Row, Statement
from penstock.settings import Settings
from penstock_web.batching.batcher import Batcher
from penstock_web.database.pool import Pool
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from penstock_web.metrics.meter import Meter
from penstock_web.runtime.driver import Resources

RowT = TypeVar("RowT", bound=Row)


class EchoEntry(NamedTuple):
    value: int
    other: int


class EchoRow(NamedTuple):
    n: int
    value: int


ECHO = BatchStatement("test.echo", ("int4[]", "int4[]"), EchoRow, entry=EchoEntry)


def echo(statement: Statement[Row], arguments: Sequence[Any]) -> list[Row]:
    """Returns a row (n, value) for each element of the first column, in reverse order."""
    return [(n, value) for n, value in enumerate(arguments[0], 1)][::-1]


Reply = Callable[[Statement[Row], Sequence[Any]], Sequence[Row]]
"""Holds the rows of a call, whose columns need no names."""


class FakeDatabase:
    """`call` waits until `release` if `held`. `reply` makes the rows or raises."""

    def __init__(self, reply: Reply = echo) -> None:
        self.reply = reply
        self.held = False
        self.calls: list[tuple[Statement[Row], Sequence[Any]]] = []
        self._gate = asyncio.Event()

    async def call(self, statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        self.calls.append((statement, arguments))
        if self.held:
            await self._gate.wait()
        return statement.make_rows(self.reply(statement, arguments))

    async def fetch(self, text: str, arguments: Sequence[Any] = ()) -> list[Row]:
        """Answers the health check with no rows."""
        return []

    async def is_stuck(self) -> bool:
        """Returns the pool's answer: never."""
        return False

    def hold(self) -> None:
        """Keeps calls under way until `release`."""
        self.held = True
        self._gate.clear()

    def release(self) -> None:
        """Lets all calls continue."""
        self.held = False
        self._gate.set()

    @property
    def values(self) -> list[list[int]]:
        """Returns the first column of each call."""
        return [list(arguments[0]) for _, arguments in self.calls]


class NoMessages:
    """A database of long polls without any messages."""

    async def call(self, statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        return []


def make_resources(database: FakeDatabase) -> Resources:
    batcher = Batcher(database.call, limit=10)
    return Resources(
        cast("Pool", database), batcher, LongPollDispatcher(NoMessages().call), Meter(Settings.read({}))
    )
