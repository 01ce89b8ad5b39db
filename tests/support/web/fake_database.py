"""A database that answers when the test says so, and remembers what it was asked."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from penstock.effects import BatchStatement, Row, Statement

RowT = TypeVar("RowT", bound=Row)


class EchoEntry(NamedTuple):
    value: int
    other: int


class EchoRow(NamedTuple):
    n: int
    value: int


ECHO = BatchStatement("test.echo", ("int4[]", "int4[]"), EchoRow, entry=EchoEntry)


def echo(statement: Statement[Row], arguments: Sequence[Any]) -> list[Row]:
    """A row (n, value) for each element of the first column, in reverse order."""
    return [(n, value) for n, value in enumerate(arguments[0], 1)][::-1]


Reply = Callable[[Statement[Row], Sequence[Any]], Sequence[Row]]
"""The rows of a call, whose columns need no names."""


class FakeDatabase:
    """`call` waits until `release` when `held`; `reply` makes the rows or raises."""

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
        """What the page of health asks: no rows."""
        return []

    async def is_stuck(self) -> bool:
        """As the pool's: never."""
        return False

    def hold(self) -> None:
        """Calls are under way until `release`."""
        self.held = True
        self._gate.clear()

    def release(self) -> None:
        """Everything goes on."""
        self.held = False
        self._gate.set()

    @property
    def values(self) -> list[list[int]]:
        """The first column of each call."""
        return [list(arguments[0]) for _, arguments in self.calls]
