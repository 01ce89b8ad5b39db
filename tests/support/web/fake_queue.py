"""Effects of one queue, and a database that answers them."""

from typing import Any
from uuid import UUID

from penstock.effects import BatchCall, Receive, Row, Statement
from penstock.postgres.statements.messages import CHANGE_VISIBILITIES, RECEIVE_MESSAGES
from penstock_web.batching.batcher import Batcher
from tests.support.web.fake_database import ECHO, integers

ECHO_WITH_OPTION = Statement(ECHO.name, (*ECHO.types, "bool"))
ORDERS = "arn:aws:sqs:us-east-1:000000000000:orders"


def entries(*values: int, options: tuple[object, ...] = (), merge_key: str = "") -> BatchCall:
    return BatchCall(ECHO_WITH_OPTION if options else ECHO, (list(values), [0] * len(values)), options, merge_key)


def take(count: int, arn: str = ORDERS, visibility_seconds: int | None = None) -> Receive:
    return Receive(RECEIVE_MESSAGES, arn, count, visibility_seconds)


def message(number: int, body: str | None = None) -> Row:
    return (
        None,
        None,
        1,
        0,
        number,
        number,
        1,
        str(UUID(int=number)),
        0,
        0,
        f"body {number}" if body is None else body,
        None,
        None,
        number,
        0,
        1,
    )


HEADER: Row = (None, 0, *[None] * 14)


class Queue:
    """Answers receives with messages 1, 2, 3, … as long as there are any. `body`: of each of them."""

    def __init__(self, stored: int, body: str | None = None) -> None:
        self.stored = stored
        self.body = body
        self.taken = 0
        self.given_back: list[int] = []

    def __call__(self, statement: Statement, arguments: list[Any]) -> list[Row]:
        if statement is CHANGE_VISIBILITIES:
            assert set(integers(arguments[7])) == {0}
            count = len(integers(arguments[7]))
            self.given_back.append(count)
            return [(n, "changed", 0) for n in range(1, count + 1)]
        wanted = min(arguments[1], self.stored - self.taken)
        rows = [message(self.taken + n + 1, self.body) for n in range(wanted)]
        self.taken += wanted
        return [HEADER, *rows]


def bodies(rows: list[Row]) -> list[str]:
    return [row[10] for row in rows[1:]]


def stored(_: Statement, arguments: list[Any]) -> list[Row]:
    """A database that stores whatever is sent."""
    return [(n + 1, n, None, None, None, None) for n in range(len(integers(arguments[3])))]


async def empty(batcher: Batcher, arn: str) -> None:
    """A receive that finds nothing: so the queue is not unknown."""
    assert len(await batcher.submit(take(1, arn))) == 1
