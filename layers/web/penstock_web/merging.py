"""How the effects of several callers become one call, and how its rows are given back to them. Pure functions."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from penstock import pgarray
from penstock.calls import take_arguments
from penstock.effects import Row, Rows, Take
from penstock.statements import CHANGE_VISIBILITIES, Statement

# Messages of one call, whose size nobody knows beforehand: 1 MiB each at worst.
LARGEST_TAKE = 250

Mergeable = Rows | Take


def merged_call(effects: Sequence[Mergeable], *, alone: bool = True) -> tuple[Statement, list[Any]]:
    """The statement and arguments that serve all these effects, which are of one kind and one lane.

    `alone`: the call is a transaction of its own.
    """
    first = effects[0]
    if isinstance(first, Take):
        counts = [effect.count for effect in effects if isinstance(effect, Take)]
        return first.statement, take_arguments(first, sum(counts), max(counts), alone=alone)
    arrays = pgarray.encode_columns(first.statement.types, _columns(effects))
    return first.statement, [*arrays, *first.options]


def _columns(effects: Sequence[Mergeable]) -> list[list[Any]]:
    tables = [effect.columns for effect in effects if isinstance(effect, Rows)]
    if len(tables) == 1:
        return list(tables[0])
    return [list(chain.from_iterable(parts)) for parts in zip(*tables, strict=True)]


def rows_of_each(effects: Sequence[Rows], rows: Sequence[Row]) -> list[list[Row]]:
    """Each caller's rows, `n` (their first column) counted from 1 within the caller's own entries."""
    if len(effects) == 1:
        return [list(rows)]
    owners: list[int] = []
    starts: list[int] = []
    for index, effect in enumerate(effects):
        starts.append(len(owners))
        owners.extend([index] * len(effect))
    answers: list[list[Row]] = [[] for _ in effects]
    for row in rows:
        owner = owners[row[0] - 1]
        answers[owner].append((row[0] - starts[owner], *row[1:]))
    return answers


def deal(
    takes: Sequence[Take], present: Sequence[bool], rows: Sequence[Row]
) -> tuple[list[list[Row]], list[Row]]:
    """Each caller's answer (the header, then messages in order) and the messages that nobody is there to take.

    Who has left gets none: the messages go to the others first, as far as these asked for them. Not those of a FIFO
    queue: each share has groups of its own, and would be handed to two.
    """
    header, *messages = rows
    answers: list[list[Row]] = []
    left_over: list[Row] = []
    start = 0
    for take, here in zip(takes, present, strict=True):
        end = start + take.count if here or take.is_fifo else start
        answers.append([header, *messages[start:end]])
        if not here:
            left_over += messages[start:end]
        start = end
    return answers, left_over + messages[start:]


def give_back(queue_arn: str, messages: Sequence[Row]) -> Rows:
    """The effect that makes delivered messages visible again. Rows are those of `queue.receive_messages`."""
    handles = [list(column) for column in zip(*(row[2:7] for row in messages), strict=True)]
    lane = queue_arn if queue_arn.endswith(".fifo") else ""
    return Rows(CHANGE_VISIBILITIES, (*handles, [0] * len(messages)), lane=lane)
