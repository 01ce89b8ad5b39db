"""Fakes a database whose responses a test controls. Records the calls."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast
from uuid import UUID

from penstock.aws.named_queue import NamedQueue
from penstock.effects import BatchCall, Receive
from penstock.postgres.statement import BatchStatement, Row, Statement
from penstock.postgres.statements.messages import CHANGE_VISIBILITIES, RECEIVE_MESSAGES, ReceivedRow
from penstock.settings import Settings
from penstock_web.batching.batcher import Batcher
from penstock_web.batching.merge import Batch
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
"""The rows of a call, whose columns need no names."""


class FakeDatabase:
    """If `held`, `call` waits until `release`. `reply` returns the rows or raises an error."""

    def __init__(self, reply: Reply = echo) -> None:
        self.reply = reply
        self.held = False
        self.calls: list[tuple[Statement[Row], Sequence[Any]]] = []
        self._gate = asyncio.Event()

    async def call(self, statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        self.calls.append((statement, arguments))
        if self.held:
            await self._gate.wait()
        return statement.build_rows(self.reply(statement, arguments))

    async def fetch(self, text: str, arguments: Sequence[Any] = ()) -> list[Row]:
        """Responds to the health check without rows."""
        return []

    async def is_stuck(self) -> bool:
        return False

    def explain_failure(self) -> str:
        return "the database does not answer"

    def hold(self) -> None:
        """Delays calls until `release`."""
        self.held = True
        self._gate.clear()

    def release(self) -> None:
        self.held = False
        self._gate.set()

    @property
    def values(self) -> list[list[int]]:
        """Returns the first column of each call."""
        return [list(arguments[0]) for _, arguments in self.calls]


class NoMessages:
    """Imitates a database for long polls without messages."""

    async def call(self, statement: Statement[RowT], arguments: Sequence[Any]) -> list[RowT]:
        return []


def build_resources(database: FakeDatabase) -> Resources:
    batcher = Batcher(database.call, limit=10)
    return Resources(cast("Pool", database), batcher, LongPollDispatcher(NoMessages().call), Meter(Settings.read({})))


ECHO_WITH_OPTION = BatchStatement(ECHO.name, (*ECHO.types, "bool"), EchoRow, entry=EchoEntry)
ORDERS = "arn:aws:sqs:us-east-1:000000000000:orders"


def entries(*values: int, options: tuple[object, ...] = (), merge_key: str = "") -> Batch:
    echoed = [EchoEntry(value, 0) for value in values]
    return BatchCall(ECHO_WITH_OPTION if options else ECHO, echoed, options, merge_key)


def build_receive(count: int, arn: str = ORDERS, visibility_seconds: int | None = None) -> Receive[ReceivedRow]:
    return Receive(RECEIVE_MESSAGES, NamedQueue(arn), count, visibility_seconds)


def message(number: int, body: str | None = None, visibility_ms: int = 30_000) -> ReceivedRow:
    text = f"body {number}" if body is None else body
    return ReceivedRow(
        None, None, 1, 0, number, number, 1, str(UUID(int=number)), 0, 0, text, None, None, number, visibility_ms, 1
    )  # fmt: skip


HEADER = ReceivedRow(None, 0, *[cast("Any", None)] * 14)


class FakeQueue:
    """Responds to receives with messages 1, 2, 3, … until `stored` messages were returned. Each message has the same
    `body`.
    """

    def __init__(self, stored: int, body: str | None = None) -> None:
        self.stored = stored
        self.body = body
        self.taken = 0
        self.given_back: list[int] = []

    def __call__(self, statement: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
        if statement is CHANGE_VISIBILITIES:
            assert set(arguments[7]) == {0}
            count = len(arguments[7])
            self.given_back.append(count)
            return [(n, "changed", 0) for n in range(1, count + 1)]
        wanted = min(arguments[1], self.stored - self.taken)
        rows = [message(self.taken + n + 1, self.body) for n in range(wanted)]
        self.taken += wanted
        return [HEADER, *rows]


def bodies(rows: Sequence[Row]) -> list[str]:
    """Returns the bodies from a receive, whose rows begin with a header."""
    return [row.body for row in cast("Sequence[ReceivedRow]", rows)[1:]]


def stored(_: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
    """Returns the rows of a send in which the database stores every message."""
    return [(n + 1, n, None, None, None, None) for n in range(len(arguments[3]))]


async def empty(batcher: Batcher, arn: str) -> None:
    """Makes an empty receive, after which the batcher has an entry for the queue."""
    assert len(await batcher.submit(build_receive(1, arn))) == 1
