"""The statement and the arguments of an effect, in the form that is common to all drivers."""

from typing import Any

from penstock.effects import Rows, Sql, Statement, Take

SMALLEST_LEASE = 10


def statement_call(effect: Sql | Rows | Take) -> tuple[Statement, list[Any]]:
    """The statement and its arguments for one effect on its own; arrays are lists."""
    if isinstance(effect, Rows):
        return effect.statement, [*effect.columns, *effect.options]
    if isinstance(effect, Take):
        return effect.statement, take_arguments(effect, effect.count, effect.count)
    return effect.statement, list(effect.arguments)


def take_arguments(take: Take, count: int, lease: int, *, own_transaction: bool = True) -> list[Any]:
    """The arguments of a receive of `count` messages, of which at most `lease` expire together.

    For a FIFO queue a lease is each caller's share: no two callers get messages of one group, and all callers ask for
    equally many.
    A receive in its `own_transaction` does not wait for the disk: after a crash the database may have lost that the
    messages were received, and they are received again.
    """
    lease = take.count if take.is_fifo else max(SMALLEST_LEASE, lease)
    return [take.queue_arn, count, lease, take.visibility_seconds, take.in_flight_limit, own_transaction]
