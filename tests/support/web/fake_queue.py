"""Provides effects of one queue, and a database that answers them."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from penstock.aws.resolved_queue import ResolvedQueue
from penstock.effects import BatchCall, Receive
from penstock.postgres.statement import BatchStatement, Row, Statement
from penstock.postgres.statements.messages import CHANGE_VISIBILITIES, RECEIVE_MESSAGES, ReceivedRow
from penstock_web.batching.batcher import Batcher
from penstock_web.batching.merge import Batch
from tests.support.web.fake_database import ECHO, EchoEntry, EchoRow

ECHO_WITH_OPTION = BatchStatement(ECHO.name, (*ECHO.types, "bool"), EchoRow, entry=EchoEntry)
ORDERS = "arn:aws:sqs:us-east-1:000000000000:orders"


def entries(*values: int, options: tuple[object, ...] = (), merge_key: str = "") -> Batch:
    echoed = [EchoEntry(value, 0) for value in values]
    return BatchCall(ECHO_WITH_OPTION if options else ECHO, echoed, options, merge_key)


def take(count: int, arn: str = ORDERS, visibility_seconds: int | None = None) -> Receive[ReceivedRow]:
    return Receive(RECEIVE_MESSAGES, ResolvedQueue(arn), count, visibility_seconds)


def message(number: int, body: str | None = None, visibility_ms: int = 30_000) -> ReceivedRow:
    text = f"body {number}" if body is None else body
    return ReceivedRow(
        None, None, 1, 0, number, number, 1, str(UUID(int=number)), 0, 0, text, None, None, number, visibility_ms, 1
    )  # fmt: skip


HEADER = ReceivedRow(None, 0, *[cast("Any", None)] * 14)


class FakeQueue:
    """Answers receives with messages 1, 2, 3, … until none is left. `body` is the body of each."""

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
    """Returns bodies of the messages of a receive, whose rows begin with a header."""
    return [row.body for row in cast("Sequence[ReceivedRow]", rows)[1:]]


def stored(_: Statement[Row], arguments: Sequence[Any]) -> Sequence[Row]:
    """Returns a database that stores every message."""
    return [(n + 1, n, None, None, None, None) for n in range(len(arguments[3]))]


async def empty(batcher: Batcher, arn: str) -> None:
    """Makes a receive that finds nothing, so the queue is known."""
    assert len(await batcher.submit(take(1, arn))) == 1
