"""Counts messages and database calls by queue, from the effects of operations and the rows that answer them.

A limited number of queues have a block of their own; the others share one, `_other`. When the table is full, deleted
queues are removed: their counts are added to `_other`, so the sum over all queues never falls.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from penstock.effects import BatchCall, Call, Receive, Row, Statement, Transact
from penstock.postgres.calls import DatabaseEffect
from penstock.postgres.statements.events import PUBLISH_EVENTS, PublishedEventRow
from penstock.postgres.statements.messages import (
    DELETE_MESSAGES,
    RECEIVE_MESSAGES,
    SEND_MESSAGES,
    TRANSACT,
    DeletedRow,
    ReceiptHandle,
    ReceivedRow,
    SendEntry,
    SentRow,
    TransactedRow,
)
from penstock.postgres.statements.native_messages import DELETE_BY_ID, DeletedIdRow

from .families import AGE_SECONDS, DATABASE_SECONDS
from .memory import CounterMemory

OTHER: Final = "_other"
# Positions in the blocks of `families`: a counter is one slot; a histogram its sum, then its buckets and the rest.
SEND_SUM: Final = 1
SEND_TIMES: Final = SEND_SUM + 1
REDELIVERED, EMPTY, RECEIVE_SUM = 1, 2, 3
RECEIVE_TIMES: Final = RECEIVE_SUM + 1
AGE_SUM: Final = RECEIVE_SUM + len(DATABASE_SECONDS) + 2
AGES: Final = AGE_SUM + 1
DELETE_SUM: Final = 1
DELETE_TIMES: Final = DELETE_SUM + 1


class QueueCounts:
    """Counters by queue.

    `own_account`: the account and region whose queues have their name as label; other queues have their ARN.
    """

    def __init__(self, memory: CounterMemory, most_queues: int, own_account: tuple[str, str]) -> None:
        self._memory = memory
        self._numbers = memory.numbers
        self._most_queues = most_queues
        self._prefix = f"arn:aws:sqs:{own_account[1]}:{own_account[0]}:"
        self.arns: set[str] = set()
        self.overflowed = False
        """Whether a queue was counted as `_other` since the last `remove_queues`."""
        self._blocks: dict[str, dict[str, int]] = {"sends": {}, "receives": {}, "deletes": {}}
        self._other = {kind: memory.allocate(kind, OTHER) for kind in self._blocks}
        self._sends, self._receives, self._deletes = self._blocks.values()
        self._counters: dict[Statement[Row], Callable[..., None]] = {
            SEND_MESSAGES: self._count_send,
            RECEIVE_MESSAGES: self._count_receive,
            DELETE_MESSAGES: self._count_delete,
            DELETE_BY_ID: self._count_delete_by_id,
            TRANSACT: self._count_transaction,
            PUBLISH_EVENTS: self._count_publish,
        }

    def observe(self, effect: DatabaseEffect[Row], rows: Sequence[Row], seconds: float) -> None:
        """Counts an effect that the database answered with these rows after `seconds`."""
        counter = self._counters.get(effect.statement)
        if counter is not None:
            counter(effect, rows, seconds)

    def count_empty_receive(self, arn: str) -> None:
        """Counts a receive request that ended without a message."""
        self._numbers[self._start("receives", arn) + EMPTY] += 1

    # --- the table ---------------------------------------------------------------------------------------------------
    def _start(self, kind: str, arn: str) -> int:
        start = self._blocks[kind].get(arn)
        return self._allocate(kind, arn) if start is None else start

    def _allocate(self, kind: str, arn: str) -> int:
        if arn not in self.arns:
            if len(self.arns) >= self._most_queues:
                self.overflowed = True
                return self._other[kind]
            self.arns.add(arn)
        start = self._memory.allocate(kind, self.label(arn))
        self._blocks[kind][arn] = start
        return start

    def label(self, arn: str) -> str:
        """The label of a queue."""
        return arn.removeprefix(self._prefix)

    def remove_queues(self, deleted_arns: Iterable[str]) -> None:
        """Removes deleted queues from the table."""
        self.overflowed = False
        for arn in deleted_arns:
            self.arns.discard(arn)
            for kind, blocks in self._blocks.items():
                if (start := blocks.pop(arn, None)) is not None:
                    self._memory.release(start, self._other[kind])

    # --- counting: the frequent counters look up their block without a further call ----------------------------------
    def _count_send(
        self, effect: BatchCall[SendEntry, SentRow], rows: Sequence[SentRow], seconds: float
    ) -> None:
        count = 0.0  # a number of `numbers`: adding an int to one takes longer
        for row in rows:
            if row.error is None and row.message_id is None:  # `is_new`, without the call of a property
                count += 1.0
        if not count and any(row.error == "QueueDoesNotExist" for row in rows):
            return
        start = self._sends.get(effect.queue_arn)
        if start is None:
            start = self._allocate("sends", effect.queue_arn)
        numbers = self._numbers
        numbers[start] += count
        numbers[start + SEND_SUM] += seconds
        numbers[start + SEND_TIMES + bisect_left(DATABASE_SECONDS, seconds)] += 1.0

    def _count_receive(
        self, effect: Receive[ReceivedRow] | Call[ReceivedRow], rows: Sequence[ReceivedRow], seconds: float
    ) -> None:
        if rows[0].error is not None:  # no such queue, or too many in flight
            return
        arn = effect.queue_arn if isinstance(effect, Receive) else str(effect.arguments[0])
        start = self._receives.get(arn)
        if start is None:
            start = self._allocate("receives", arn)
        numbers = self._numbers
        numbers[start + RECEIVE_SUM] += seconds
        numbers[start + RECEIVE_TIMES + bisect_left(DATABASE_SECONDS, seconds)] += 1.0
        if len(rows) > 1:
            numbers[start] += len(rows) - 1
            self._add_ages(start, rows)

    def _add_ages(self, start: int, rows: Sequence[ReceivedRow]) -> None:
        numbers = self._numbers
        for row in rows[1:]:
            if row.receive_count > 1:
                numbers[start + REDELIVERED] += 1.0
            else:
                age = (row.first_received_at_ms - row.sent_at_ms) / 1000
                if age < 0:  # the clock went back
                    age = 0.0
                numbers[start + AGE_SUM] += age
                numbers[start + AGES + bisect_left(AGE_SECONDS, age)] += 1.0

    def _count_delete(
        self, effect: BatchCall[ReceiptHandle, DeletedRow], rows: Sequence[DeletedRow], seconds: float
    ) -> None:
        count = 0.0
        for row in rows:
            if row.outcome == "deleted":
                count += 1.0
        if count or not any(row.outcome == "no_queue" for row in rows):
            self._add_deletions(effect.queue_arn, count, seconds)

    def _add_deletions(self, arn: str, count: float, seconds: float) -> None:
        start = self._deletes.get(arn)
        if start is None:
            start = self._allocate("deletes", arn)
        numbers = self._numbers
        numbers[start] += count
        numbers[start + DELETE_SUM] += seconds
        numbers[start + DELETE_TIMES + bisect_left(DATABASE_SECONDS, seconds)] += 1.0

    def _count_delete_by_id(
        self, effect: Call[DeletedIdRow], rows: Sequence[DeletedIdRow], seconds: float
    ) -> None:
        if rows:
            arn, *_ = effect.arguments
            self._add_deletions(str(arn), len(rows), seconds)

    def _count_transaction(
        self,
        effect: Call[TransactedRow] | Transact[TransactedRow],
        rows: Sequence[TransactedRow],
        _seconds: float,
    ) -> None:
        if any(row.error is not None for row in rows):
            return  # the transaction was refused
        for arn in effect.handle_queues:
            self._numbers[self._start("deletes", arn)] += 1
        self._count_published(rows)

    def _count_publish(
        self, _effect: Call[PublishedEventRow], rows: Sequence[PublishedEventRow], _seconds: float
    ) -> None:
        self._count_published(rows)

    def _count_published(self, rows: Sequence[TransactedRow | PublishedEventRow]) -> None:
        """Counts a message for each queue that has no error; the row of webhooks has no ARN."""
        for row in rows:
            if row.arn is not None and row.error is None:
                self._numbers[self._start("sends", row.arn)] += 1
