"""What an effect asks of the database: a statement and its arguments, as no driver has them yet."""

from typing import Any

from .effects import Rows, Sql, Take
from .statements import Statement

LEAST_LEASE = 10


def call_of(effect: Sql | Rows | Take) -> tuple[Statement, list[Any]]:
    """The statement and its arguments for one effect on its own; arrays are lists."""
    if isinstance(effect, Rows):
        return effect.statement, [*effect.columns, *effect.options]
    if isinstance(effect, Take):
        lease = max(LEAST_LEASE, effect.count)
        options = [effect.visibility_seconds, effect.in_flight_limit]
        return effect.statement, [effect.queue_arn, effect.count, lease, *options]
    return effect.statement, list(effect.arguments)
