"""The effects that an operation yields.

An operation is a generator. The generator yields effects, and a driver sends each effect's result back to the
generator. Operations never use a connection or a socket, and wait only with an effect, so the same code runs in a
Lambda function (`drivers.run`), in the function that polls for mappings (`lambda_runtime.polling`) and in the container
(`penstock_web.runtime.driver`). The container merges the effects of concurrent requests. Operations can read the clock
of their process, for deadlines and for times such as the expiry of a key, because reading the clock blocks no driver.

A driver never raises an effect's error inside the operation. The driver drops the operation and raises the error to the
driver's caller. Therefore an operation cannot handle a failed effect, and code after a `yield` runs only if the effect
succeeded.

`Call`, `BatchCall`, `Transact` and `Receive` call the database and return rows. `BatchCall`, `Transact` and `Receive`
can share a call with effects of concurrent requests. Other effects wait (`Pause`), compute (`Compute`), call another
server (`Ask`), wake receives of the same process (`Wake`), or report what the operation has done
(`penstock.observing.reports`).

`rows = yield from Call(DESCRIBE_QUEUE, (arn, False))` returns typed rows. The result of `yield` has no type.
"""

from collections.abc import Callable, Generator, Hashable, Sequence
from enum import IntEnum
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from .aws.named_queue import NamedQueue
from .limits.response_limit import ReceiveLimit
from .postgres.statement import BatchStatement, EntryT_co, Row, RowT_co, Statement

Result_co = TypeVar("Result_co", covariant=True)


class Effect(Struct, Generic[Result_co], frozen=True):
    """Base class of effects, which a driver performs for an operation."""

    def __iter__(self) -> "Generator[Effect[Any], Any, Result_co]":
        result: Result_co = yield self
        return result


class Call(Effect[list[RowT_co]], Generic[RowT_co], frozen=True):
    """Calls one SQL function with plain arguments. Returns the function's rows."""

    statement: Statement[RowT_co]
    arguments: tuple[object, ...]


class BatchCall(Effect[list[RowT_co]], Generic[EntryT_co, RowT_co], frozen=True):
    """Calls a SQL function for a list of entries.

    `options` are arguments of the whole call. The container merges only calls with equal options and an equal
    `merge_key`. A separate key prevents a FIFO queue that waits for a lock from delaying other queues. `queue_arn` is
    the queue to which all entries are sent. `size_bytes` is the size of the entries' contents, if the contents can be
    long. The container merges a long call with fewer other calls.

    Returns the rows of this effect, in the order of the entries. The column `n` numbers the entries of the whole call,
    so only the order of the values is useful.
    """

    statement: BatchStatement[EntryT_co, RowT_co]
    entries: Sequence[EntryT_co]
    options: tuple[object, ...] = ()
    merge_key: str = ""
    queue_arn: str = ""
    size_bytes: int = 0

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def batch_key(self) -> Hashable:
        return self.statement, self.options, self.merge_key


class Transact(Effect[list[RowT_co]], Generic[RowT_co], frozen=True):
    """Acknowledges some messages and sends others in one transaction (`queue.transact`).

    `handles` and `messages` are entries of DELETE_MESSAGES and SEND_MESSAGES. Merged effects share one transaction. If
    the function refuses a merged effect, the function changes no rows, and the driver performs each effect in a
    separate transaction. `size_bytes` has the same meaning as in a BatchCall. Returns this effect's rows of
    `queue.transact`.
    """

    statement: Statement[RowT_co]
    handles: Sequence[Row]
    messages: Sequence[Row]
    options: tuple[object, ...] = ()
    merge_key: str = ""
    size_bytes: int = 0

    def __len__(self) -> int:
        return len(self.handles) + len(self.messages)

    @property
    def batch_key(self) -> Hashable:
        return self.statement, self.options, self.merge_key


class Receive(Effect[list[RowT_co]], Generic[RowT_co], frozen=True):
    """Receives up to `count` messages of `queue`. The messages are invisible for `visibility_seconds` (None means the
    queue's value).

    If the queue is empty, the receive waits without a connection for the first message, for at most `wait_seconds`
    (None means the queue's value). The receive does not wait if the header row contains an error. About
    `in_flight_limit` messages of the queue can be in flight (None means any number). `limit` is the maximum length of
    all messages together (None means no limit). A receive with an `attempt_id` is not merged with other receives.

    Returns the header row, and then at most `count` rows with one message each.
    """

    statement: Statement[RowT_co]
    queue: NamedQueue
    count: int
    visibility_seconds: int | None
    in_flight_limit: int | None = None
    wait_seconds: float | None = 0
    attempt_id: str | None = None
    limit: ReceiveLimit | None = None

    @property
    def batch_key(self) -> Hashable:
        """Returns a key. Effects with equal keys can share a call.

        On a FIFO queue, SQL returns a separate share to each request, and the shares must have equal counts.
        """
        share = self.count if self.queue.is_fifo else None
        return self.statement, self.queue, self.visibility_seconds, share, self.limit


class Pause(Effect[bool], frozen=True):
    """Waits `seconds` without a connection. Returns False if the process stops, and True otherwise."""

    seconds: float


class Compute(Effect[Result_co], Generic[Result_co], frozen=True):
    """Calls a function that uses no shared state, and returns its result. The container calls the function in a
    separate thread, one function at a time.

    Other requests continue while the function runs, except during a single step in C, such as decoding a text.
    """

    function: Callable[[], Result_co]


class Ask(Effect[Result_co], Generic[Result_co], frozen=True):
    """Calls a function that waits for another server, for a few seconds at most. Returns the function's result. The
    container calls the function in a thread."""

    function: Callable[[], Result_co]


LONG_COMPUTATION_BYTES = 32_768
"""The size in bytes of a text that takes at most a few milliseconds to check and decode, even in the worst case."""


LONG_DIGEST_BYTES = 131_072
"""The size in bytes of a text that takes half a millisecond to hash and encode."""


def compute(
    function: Callable[[], Result_co], size_bytes: int, at_once: int = LONG_COMPUTATION_BYTES
) -> "Operation[Result_co]":
    """Calls a function on a text of `size_bytes` bytes. A text of at most `at_once` bytes is cheap and needs no
    thread."""
    if size_bytes <= at_once:
        return function()
    return (yield from Compute(function))


class Woken(IntEnum):
    """The reason why a receive's wait ended. The value is true if the receive should query the database again."""

    NOT = 0
    FOR_ONE = 1  # a message arrived, and only this receive was woken
    FOR_MORE = 2  # the number of messages is unknown, so a receive that finds a message wakes other receives


class Wake(Effect[None], frozen=True):
    """Wakes `count` waiting receives of this process, because `count` messages were committed to the queue.

    `woken` is FOR_MORE if `count` is a guess.
    """

    queue_arn: str
    count: int
    woken: Woken = Woken.FOR_ONE


Operation: TypeAlias = Generator[Effect[Any], Any, Result_co]
