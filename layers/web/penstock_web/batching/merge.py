"""How effects of several requests become one call, and how its rows are split among them. Pure functions."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from penstock.effects import BatchCall, Receive, Row, Statement, Transact
from penstock.postgres import binary_array
from penstock.postgres.calls import take_arguments
from penstock.postgres.statements.messages import CHANGE_VISIBILITIES
from penstock.sqs.handles import handle_columns
from penstock.sqs.receive import DeliveryRow

# Messages of one receive call; fewer of long ones (`lengths`).
LARGEST_TAKE = 250

Mergeable = BatchCall | Receive


def merged_call(effects: Sequence[Mergeable], *, own_transaction: bool = True) -> tuple[Statement, list[Any]]:
    """The statement and arguments that serve all these effects, which have the same batch key.

    `own_transaction`: the call is a transaction of its own.
    """
    first = effects[0]
    if isinstance(first, Receive):
        counts = [effect.count for effect in effects if isinstance(effect, Receive)]
        return first.statement, take_arguments(
            first, sum(counts), max(counts), own_transaction=own_transaction
        )
    return first.statement, binary_array.encode_arguments(
        first.statement.types, [*_columns(effects), *first.options]
    )


def _columns(effects: Sequence[Mergeable]) -> list[list[Any]]:
    tables = [effect.columns for effect in effects if isinstance(effect, BatchCall)]
    if len(tables) == 1:
        return list(tables[0])
    return [list(chain.from_iterable(parts)) for parts in zip(*tables, strict=True)]


class NotMergeable(Exception):  # noqa: N818 - nothing failed
    """These transactions cannot be one; nothing was done."""


def check_distinct(transactions: Sequence[Transact]) -> None:
    """Raises NotMergeable if two acknowledge the same message: only the first may, and one call would let both."""
    seen: set[Row] = set()
    for each in transactions:
        handles = set(zip(*each.handles, strict=True))
        if not seen.isdisjoint(handles):
            raise NotMergeable
        seen |= handles


def check_not_refused(rows: Sequence[Row]) -> None:
    """Raises NotMergeable if the database refused the merged transactions because of one of them."""
    if rows and rows[0][4] is not None:
        raise NotMergeable


def rows_by_effect(effects: Sequence[BatchCall], rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each effect, with `n` counted from 1 within the effect's own entries.

    `n` is the first column; in rows of transactions, which are about their messages, it is the second.
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
    takes: Sequence[Receive], connected: Sequence[bool], rows: Sequence[Row]
) -> tuple[list[list[Row]], list[Row]]:
    """Each request's rows (the header, then messages in order) and the messages that no request is left to take.

    A request whose client has disconnected gets no messages: the other requests get them first, up to their counts.
    On a FIFO queue they stay apart: each request's share has message groups of its own, and another request's share
    may not hold messages of the same group.
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


def make_visible_effect(queue_arn: str, messages: Sequence[Row]) -> BatchCall:
    """The effect that makes received messages visible again. Rows are those of `queue.receive_messages`."""
    handles = handle_columns([DeliveryRow(*row).handle for row in messages])
    merge_key = queue_arn if queue_arn.endswith(".fifo") else ""
    return BatchCall(CHANGE_VISIBILITIES, (*handles, [0] * len(messages)), merge_key=merge_key)
