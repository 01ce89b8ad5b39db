"""The database call of an effect: its statement and arguments, before a driver encodes them."""

from collections.abc import Sequence
from typing import TypeVar

from penstock.effects import BatchCall, Call, Receive, Row, Statement, Transact

from .statements.messages import HANDLE_TYPES, MESSAGE_TYPES

SMALLEST_LEASE = 10

RowT = TypeVar("RowT", bound=Row)
DatabaseEffect = Call[RowT] | BatchCall[Row, RowT] | Transact[RowT] | Receive[RowT]


def statement_call(effect: DatabaseEffect[RowT]) -> tuple[Statement[RowT], list[object]]:
    """The statement and its arguments for one effect that is not merged; arrays are lists."""
    if isinstance(effect, BatchCall):
        return effect.statement, [
            *columns_of(effect.entries, effect.statement.width),
            *effect.options,
        ]
    if isinstance(effect, Transact):
        return effect.statement, [*transaction_columns(effect.handles, effect.messages), *effect.options]
    if isinstance(effect, Receive):
        return effect.statement, receive_arguments(effect, effect.count, effect.count)
    return effect.statement, list(effect.arguments)


def columns_of(entries: Sequence[Row], count: int) -> list[list[object]]:
    """The `count` columns of entries, as arrays; without entries these are empty."""
    return [list(column) for column in zip(*entries, strict=True)] or [[] for _ in range(count)]


def transaction_columns(handles: Sequence[Row], messages: Sequence[Row]) -> list[list[object]]:
    """The arrays of `queue.transact`: receipt handles, then messages."""
    return [*columns_of(handles, len(HANDLE_TYPES)), *columns_of(messages, len(MESSAGE_TYPES))]


def receive_arguments(
    receive: Receive[Row], count: int, lease: int, *, own_transaction: bool = True
) -> list[object]:
    """The arguments of a receive of `count` messages, of which at most `lease` expire together.

    On a FIFO queue each merged receive gets a lease: no two get messages of one group, and all ask for equally many.
    `own_transaction`: the receive has a transaction to itself, which does not wait for the disk. A crash may then lose
    the fact that messages were received, and they are received again.
    """
    lease = receive.count if receive.is_fifo else max(SMALLEST_LEASE, lease)
    return [
        receive.queue_arn,
        count,
        lease,
        receive.visibility_seconds,
        receive.in_flight_limit,
        own_transaction and receive.attempt_id is None,  # the attempt must be known after a crash
        receive.attempt_id,
    ]
