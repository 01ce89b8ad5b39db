"""How the effects of several callers become one call, and how its rows are given back to them. Pure functions."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from penstock.effects import Row, Rows, Statement, Take, Transact
from penstock.postgres import binary_array
from penstock.postgres.calls import take_arguments
from penstock.postgres.statements import CHANGE_VISIBILITIES

# Messages of one call; fewer of long ones (`lengths`).
LARGEST_TAKE = 250

Mergeable = Rows | Take


def merged_call(effects: Sequence[Mergeable], *, own_transaction: bool = True) -> tuple[Statement, list[Any]]:
    """The statement and arguments that serve all these effects, which are of one kind and one lane.

    `own_transaction`: the call is a transaction of its own.
    """
    first = effects[0]
    if isinstance(first, Take):
        counts = [effect.count for effect in effects if isinstance(effect, Take)]
        return first.statement, take_arguments(
            first, sum(counts), max(counts), alone=own_transaction
        )
    return first.statement, binary_array.encode_arguments(
        first.statement.types, [*_columns(effects), *first.options]
    )


def _columns(effects: Sequence[Mergeable]) -> list[list[Any]]:
    tables = [effect.columns for effect in effects if isinstance(effect, Rows)]
    if len(tables) == 1:
        return list(tables[0])
    return [list(chain.from_iterable(parts)) for parts in zip(*tables, strict=True)]


class NotMergeable(Exception):  # noqa: N818 - nothing failed
    """These transactions cannot be one; nothing was done."""


def check_distinct(transactions: Sequence[Transact]) -> None:
    """Raises Apart if two acknowledge the same message: only the first may, and one call would let both."""
    seen: set[Row] = set()
    for each in transactions:
        handles = set(zip(*each.handles, strict=True))
        if not seen.isdisjoint(handles):
            raise NotMergeable
        seen |= handles


def check_not_refused(rows: Sequence[Row]) -> None:
    """Raises Apart if merged transactions were refused, for what one of them asks."""
    if rows and rows[0][4] is not None:
        raise NotMergeable


def rows_by_effect(effects: Sequence[Rows], rows: Sequence[Row]) -> list[list[Row]]:
    """Each caller's rows, `n` counted from 1 within the caller's own entries.

    It is their first column; of transactions, whose rows are about their messages, the second.
    """
    if len(effects) == 1:
        return [list(rows)]
    number_column = 1 if isinstance(effects[0], Transact) else 0
    owners: list[int] = []
    starts: list[int] = []
    for index, effect in enumerate(effects):
        starts.append(len(owners))
        owners.extend([index] * len(effect.messages[0] if isinstance(effect, Transact) else effect))
    results: list[list[Row]] = [[] for _ in effects]
    for row in rows:
        owner = owners[row[number_column] - 1]
        results[owner].append(
            (*row[:number_column], row[number_column] - starts[owner], *row[number_column + 1 :])
        )
    return results


def distribute_messages(
    takes: Sequence[Take], connected: Sequence[bool], rows: Sequence[Row]
) -> tuple[list[list[Row]], list[Row]]:
    """Each caller's answer (the header, then messages in order) and the messages that nobody is there to take.

    Who has left gets none: the messages go to the others first, as far as these asked for them. Not those of a FIFO
    queue: each share has groups of its own, and would be handed to two.
    """
    header, *messages = rows
    results: list[list[Row]] = []
    left_over: list[Row] = []
    start = 0
    for take, is_connected in zip(takes, connected, strict=True):
        end = start + take.count if is_connected or take.is_fifo else start
        results.append([header, *messages[start:end]])
        if not is_connected:
            left_over += messages[start:end]
        start = end
    return results, left_over + messages[start:]


def make_visible_effect(queue_arn: str, messages: Sequence[Row]) -> Rows:
    """The effect that makes delivered messages visible again. Rows are those of `queue.receive_messages`."""
    handles = [list(column) for column in zip(*(row[2:7] for row in messages), strict=True)]
    lane = queue_arn if queue_arn.endswith(".fifo") else ""
    return Rows(CHANGE_VISIBILITIES, (*handles, [0] * len(messages)), lane=lane)
