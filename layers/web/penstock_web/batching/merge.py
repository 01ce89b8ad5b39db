"""Merges effects into one call, and splits the rows of the call among the requests, with pure functions."""

from collections.abc import Sequence
from itertools import chain
from typing import Protocol, TypeAlias, cast

from penstock.aws.named_queue import NamedQueue
from penstock.calls import build_receive_call, build_transaction_columns
from penstock.effects import BatchCall, Receive, Transact
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import (
    CHANGE_VISIBILITIES,
    ChangedRow,
    ReceivedRow,
    TransactedRow,
    VisibilityEntry,
)

Batch: TypeAlias = BatchCall[Row, Row]
Mergeable: TypeAlias = Batch | Transact[TransactedRow] | Receive[ReceivedRow]


class NumberedRow(Protocol):
    """Declares a row that contains the number of its entry in the call, counted from 1."""

    @property
    def n(self) -> int: ...


def merge_calls(
    effects: Sequence[Mergeable], *, own_transaction: bool = True, assume_short: bool = False
) -> tuple[Statement[Row], list[object]]:
    """Returns the statement and the arguments for one call that carries out all these effects. The effects must have
    the same batch key.

    If `own_transaction` is true, the call runs in a separate transaction. `assume_short` has the same meaning as in
    `build_receive_call`.
    """
    first = effects[0]
    if isinstance(first, Receive):
        counts = [effect.count for effect in cast("Sequence[Receive[ReceivedRow]]", effects)]
        statement, arguments = build_receive_call(
            first, sum(counts), max(counts), own_transaction=own_transaction, assume_short=assume_short
        )
        return cast("Statement[Row]", statement), arguments
    columns: Sequence[Sequence[object]]
    if isinstance(first, Transact):
        transactions = cast("Sequence[Transact[TransactedRow]]", effects)
        columns = build_transaction_columns(
            [handle for each in transactions for handle in each.handles],
            [message for each in transactions for message in each.messages],
        )
    else:
        batches = cast("Sequence[Batch]", effects)
        entries = first.entries if len(effects) == 1 else list(chain.from_iterable(each.entries for each in batches))
        columns = list(zip(*entries, strict=True))
    return first.statement, [*columns, *first.options]


class NotMergeable(Exception):  # noqa: N818 - nothing failed
    """One call cannot carry out these transactions together. The call has changed nothing in the database."""


def check_distinct(transactions: Sequence[Transact[TransactedRow]]) -> None:
    """Raises NotMergeable if two transactions acknowledge the same message. Only one transaction can acknowledge a
    message, but a merged call would accept both transactions.
    """
    seen: set[Row] = set()
    for each in transactions:
        handles = set(each.handles)
        if not seen.isdisjoint(handles):
            raise NotMergeable
        seen |= handles


def check_not_refused(rows: Sequence[TransactedRow]) -> None:
    """Raises NotMergeable if the database refused all transactions because of one transaction."""
    if any(row.error is not None for row in rows):
        raise NotMergeable


def group_rows_by_effect(lengths: Sequence[int], rows: Sequence[Row]) -> list[list[Row]]:
    """Returns the rows of each effect. `lengths` is the number of entries of each effect. `n` remains the number of the
    entry in the whole call.
    """
    if len(lengths) == 1:
        return [list(rows)]
    owners = [index for index, length in enumerate(lengths) for _ in range(length)]
    results: list[list[Row]] = [[] for _ in lengths]
    for row, numbered in zip(rows, cast("Sequence[NumberedRow]", rows), strict=True):
        results[owners[numbered.n - 1]].append(row)
    return results


def group_rows_by_transaction(
    transactions: Sequence[Transact[TransactedRow]], rows: Sequence[TransactedRow]
) -> list[list[TransactedRow]]:
    """Returns each transaction's rows. A row describes a message. `n` counts from 1 within the rows of each
    transaction."""
    if len(transactions) == 1:
        return [list(rows)]
    owners = [(index, n) for index, each in enumerate(transactions) for n, _ in enumerate(each.messages, 1)]
    results: list[list[TransactedRow]] = [[] for _ in transactions]
    for row in rows:
        index, n = owners[row.n - 1]
        results[index].append(row._replace(n=n))
    return results


def distribute_messages(
    receives: Sequence[Receive[ReceivedRow]], connected: Sequence[bool], rows: Sequence[ReceivedRow]
) -> tuple[list[list[ReceivedRow]], list[ReceivedRow]]:
    """Returns the rows of each request (the header, and then the messages in order), and the messages that no remaining
    request can take.

    A request whose client has disconnected gets no messages. The remaining requests get the messages of disconnected
    clients first, up to their requested numbers. On a FIFO queue, each request gets only its own messages, because two
    requests must not get messages of the same message group.
    """
    header, *messages = rows
    results: list[list[ReceivedRow]] = []
    left_over: list[ReceivedRow] = []
    start = 0
    for receive, is_connected in zip(receives, connected, strict=True):
        end = start + receive.count if is_connected or receive.queue.is_fifo else start
        results.append([header, *messages[start:end]])
        if not is_connected:
            left_over += messages[start:end]
        start = end
    return results, left_over + messages[start:]


def build_visible_effect(queue: NamedQueue, messages: Sequence[ReceivedRow]) -> BatchCall[VisibilityEntry, ChangedRow]:
    """Returns the effect that makes received messages visible again."""
    entries = [VisibilityEntry._make((*message.handle, 0)) for message in messages]
    return BatchCall(CHANGE_VISIBILITIES, entries, merge_key=queue.merge_key)
