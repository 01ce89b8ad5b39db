"""What an operation may ask of the world.

An operation is a generator: it yields one of these effects, is sent the answer, and returns its result.
It never touches a connection, a clock or a socket, so the same rules run in a Lambda function (`drivers.run`)
and in the container (`penstock_web.driver`), where effects of concurrent requests are merged.

    Sql     one call of one SQL function                       answer: its rows
    Rows    the same over a table of entries; equal calls of   answer: this caller's rows, first column `n` counted
            concurrent requests may be merged into one         from 1 within this caller's entries
    Transact  acknowledges and sends, all or nothing; those    answer: this caller's rows of `queue.transact`
            of concurrent requests may be merged into one
    Take    up to `count` messages of one queue; equal calls   answer: the header row, then at most `count` rows
            of concurrent requests may be merged into one
    Wait    until a queue may have a message                   answer: True or Woken, or False when the time is over
    Pause   for a while                                        answer: True, or False when the process ends
    Wake    tells those who wait in this process               answer: None
"""

from collections.abc import Generator
from enum import IntEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import force_setattr

Row = tuple[Any, ...]

HANDLE_COLUMNS: Final = 5
"""Parameters of `queue.delete_messages`: what a receipt handle is as columns. `postgres.statements` has the same."""


class Statement(Struct, frozen=True, eq=False):
    """A set-returning SQL function and the types of its parameters, in order."""

    name: str
    types: tuple[str, ...]
    text: str = ""  # made here

    def __post_init__(self) -> None:
        marks = ", ".join(f"${number}::{kind}" for number, kind in enumerate(self.types, 1))
        force_setattr(self, "text", f"select * from {self.name}({marks})")  # noqa: S608 - constants only


class Sql(Struct, frozen=True):
    """One call of one SQL function with plain arguments.

    `handle_queues`: the queues whose receipt handles are among them, one name a handle, for whoever counts.
    """

    statement: Statement
    arguments: tuple[object, ...]
    handle_queues: tuple[str, ...] = ()


class Rows(Struct, frozen=True):
    """One call over entries given as columns of equal length.

    `options` are arguments that hold for the whole call; only calls with equal options and an equal `merge_key` are
    merged. A lane keeps slow company apart: a FIFO queue that waits for a lock must not hold up the others.
    `queue_arn`: the queue that all entries are about, for whoever counts; empty: nobody does.
    """

    statement: Statement
    columns: tuple[list[Any], ...]
    options: tuple[object, ...] = ()
    merge_key: str = ""
    queue_arn: str = ""

    def __len__(self) -> int:
        return len(self.columns[0])


class Transact(Rows, frozen=True):
    """Messages that are acknowledged and messages that are sent, all of it or nothing: `queue.transact`.

    `columns`: those of the handles, then those of the messages, which are as many as they are. Transactions that are
    merged are one transaction, and what one of them is refused for is not done for any: then they are made one by one.
    `handle_queues`: as of `Sql`.
    """

    handle_queues: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns[0]) + len(self.messages[0])

    @property
    def handles(self) -> tuple[list[Any], ...]:
        """The columns of what is acknowledged."""
        return self.columns[:HANDLE_COLUMNS]

    @property
    def messages(self) -> tuple[list[Any], ...]:
        """The columns of what is sent."""
        return self.columns[HANDLE_COLUMNS:]


class Take(Struct, frozen=True):
    """Up to `count` messages of the queue `queue_arn`, invisible for `visibility_seconds` (None: the queue's own).

    `in_flight_limit`: about so many messages of the queue may be in flight (None: any number). `may_wait`: whoever
    asks would wait (long polling), so where others wait already there is nothing to look for: it may be answered by
    an empty header.
    """

    statement: Statement
    queue_arn: str
    count: int
    visibility_seconds: int | None
    in_flight_limit: int | None = None
    may_wait: bool = False

    @property
    def is_fifo(self) -> bool:
        """Whether messages of one group must not go to two callers at once."""
        return self.queue_arn.endswith(".fifo")


class Wait(Struct, frozen=True):
    """Until the queue may have a message, at most `seconds` (long polling). No connection is held meanwhile."""

    queue_arn: str
    seconds: float


class Pause(Struct, frozen=True):
    """`seconds` pass. No connection is held meanwhile."""

    seconds: float


class Woken(IntEnum):
    """Why a wait ended. As a truth value: whether to look again."""

    NOT = 0
    FOR_ONE = 1  # a message came, and nobody else was woken for it
    FOR_MORE = 2  # how many there are is not known: who finds one wakes others


class Wake(Struct, frozen=True):
    """`count` messages were committed to the queue: so many of those who wait in this process may look again.

    `woken`: FOR_MORE where the number is a guess.
    """

    queue_arn: str
    count: int
    woken: Woken = Woken.FOR_ONE


Effect = Sql | Rows | Take | Wait | Pause | Wake

Operation = Generator[Effect, Any, Any]
