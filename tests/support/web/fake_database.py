"""A database that answers when the test says so, and remembers what it was asked."""

import asyncio
from collections.abc import Callable, Sequence
from struct import unpack_from
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


def integers(array: bytes) -> list[int]:
    """The elements of a binary int4 array (PostgreSQL, array_send): 20 bytes of header, then length and value.

    Of an empty one there are 12, which count its dimensions.
    """
    count = unpack_from(">i", array, 12)[0] if len(array) > 12 else 0
    return [unpack_from(">i", array, 24 + 8 * index)[0] for index in range(count)]


def echo(statement: Statement[Row], arguments: Sequence[Any]) -> list[Row]:
    """A row (n, value) for each element of the first column, in reverse order."""
    return [(n, value) for n, value in enumerate(integers(arguments[0]), 1)][::-1]


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
        return [integers(arguments[0]) for _, arguments in self.calls]
