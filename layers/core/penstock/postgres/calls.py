"""The database call of an effect: its statement and arguments, before a driver encodes them."""

from typing import Any

from penstock.effects import Rows, Sql, Statement, Take

SMALLEST_LEASE = 10


def statement_call(effect: Sql | Rows | Take) -> tuple[Statement, list[Any]]:
    """The statement and its arguments for one effect that is not merged; arrays are lists."""
    if isinstance(effect, Rows):
        return effect.statement, [*effect.columns, *effect.options]
    if isinstance(effect, Take):
        return effect.statement, take_arguments(effect, effect.count, effect.count)
    return effect.statement, list(effect.arguments)


def take_arguments(take: Take, count: int, lease: int, *, own_transaction: bool = True) -> list[Any]:
    """The arguments of a receive of `count` messages, of which at most `lease` expire together.

    On a FIFO queue each merged receive gets a lease: no two get messages of one group, and all ask for equally many.
    `own_transaction`: the receive has a transaction to itself, which does not wait for the disk. A crash may then lose
    the fact that messages were received, and they are received again.
    """
    lease = take.count if take.is_fifo else max(SMALLEST_LEASE, lease)
    return [
        take.queue_arn,
        count,
        lease,
        take.visibility_seconds,
        take.in_flight_limit,
        own_transaction,
        None,
    ]
