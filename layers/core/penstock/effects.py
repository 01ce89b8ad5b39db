"""The effects that an operation may yield.

An operation is a generator: it yields effects, its driver sends it the answer to each, and it returns its result.
It never touches a connection, a clock or a socket, so the same rules run in a Lambda function (`drivers.run`)
and in the container (`penstock_web.driver`), where effects of concurrent requests are merged.

    Sql     one call of one SQL function                       answer: its rows
    Rows    the same over a table of entries; equal calls of   answer: the rows of this effect, first column `n`
            concurrent requests may be merged into one         counted from 1 within its entries
    Transact  acknowledges and sends, all or nothing; those    answer: this effect's rows of `queue.transact`
            of concurrent requests may be merged into one
    Take    up to `count` messages of one queue; equal calls   answer: the header row, then at most `count` rows
            of concurrent requests may be merged into one
    Wait    waits until a queue may have a message             answer: True or Woken, or False when the time is over
    Pause   waits for a while                                  answer: True, or False when the process ends
    Wake    wakes receives that wait in this process           answer: None
"""

from collections.abc import Generator
from enum import IntEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import force_setattr

Row = tuple[Any, ...]

HANDLE_COLUMNS: Final = 7
"""A receipt handle has so many columns: the parameters of `queue.delete_messages` (`postgres.statements`)."""


class Statement(Struct, frozen=True, eq=False):
    """A set-returning SQL function and the types of its parameters, in order."""

    name: str
    types: tuple[str, ...]
    text: str = ""  # computed: the query that calls the function

    def __post_init__(self) -> None:
        marks = ", ".join(f"${number}::{kind}" for number, kind in enumerate(self.types, 1))
        force_setattr(self, "text", f"select * from {self.name}({marks})")  # noqa: S608 - constants only


class Sql(Struct, frozen=True):
    """One call of one SQL function with plain arguments.

    `handle_queues`: for the metrics, the ARN of the queue of each receipt handle among the arguments.
    """

    statement: Statement
    arguments: tuple[object, ...]
    handle_queues: tuple[str, ...] = ()


class Rows(Struct, frozen=True):
    """One call over entries given as columns of equal length.

    `options` are arguments that hold for the whole call; only calls with equal options and an equal `merge_key` are
    merged. A key of its own keeps a FIFO queue that waits for a lock from delaying other queues.
    `queue_arn`: for the metrics, the queue of all entries; may be empty where no metric needs it.
    """

    statement: Statement
    columns: tuple[list[Any], ...]
    options: tuple[object, ...] = ()
    merge_key: str = ""
    queue_arn: str = ""

    def __len__(self) -> int:
        return len(self.columns[0])


class Transact(Rows, frozen=True):
    """Acknowledges some messages and sends others, all or nothing: `queue.transact`.

    `columns`: HANDLE_COLUMNS columns of receipt handles, then the columns of the messages. Merged effects share one
    transaction; when the function refuses one of them, nothing is done and each effect gets its own transaction.
    `handle_queues`: as in `Sql`.
    """

    handle_queues: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns[0]) + len(self.messages[0])

    @property
    def handles(self) -> tuple[list[Any], ...]:
        """The columns of the receipt handles to acknowledge."""
        return self.columns[:HANDLE_COLUMNS]

    @property
    def messages(self) -> tuple[list[Any], ...]:
        """The columns of the messages to send."""
        return self.columns[HANDLE_COLUMNS:]


class Take(Struct, frozen=True):
    """Up to `count` messages of the queue `queue_arn`, invisible for `visibility_seconds` (None: the queue's own).

    `in_flight_limit`: about so many messages of the queue may be in flight (None: any number). `may_wait`: the
    receive is a long poll. Where other receives wait for the queue already it has no message, so the driver may answer
    with an empty header instead of a query.
    """

    statement: Statement
    queue_arn: str
    count: int
    visibility_seconds: int | None
    in_flight_limit: int | None = None
    may_wait: bool = False

    @property
    def is_fifo(self) -> bool:
        """Whether the queue is FIFO: messages of one group must not go to two receives at once."""
        return self.queue_arn.endswith(".fifo")


class Wait(Struct, frozen=True):
    """Waits until the queue may have a message, at most `seconds` (long polling). No connection is held meanwhile."""

    queue_arn: str
    seconds: float


class Pause(Struct, frozen=True):
    """Waits `seconds`. No connection is held meanwhile."""

    seconds: float


class Woken(IntEnum):
    """Why a wait ended. Its truth value: whether the receive should query again."""

    NOT = 0
    FOR_ONE = 1  # a message came, and no other receive was woken for it
    FOR_MORE = 2  # the number of messages is not known: a receive that finds one wakes others


class Wake(Struct, frozen=True):
    """`count` messages were committed to the queue: the driver wakes so many receives that wait in this process.

    `woken`: FOR_MORE when the number is a guess.
    """

    queue_arn: str
    count: int
    woken: Woken = Woken.FOR_ONE


Effect = Sql | Rows | Take | Wait | Pause | Wake

Operation = Generator[Effect, Any, Any]
