"""Counts messages and database calls for each queue, from the reports of operations. A limited number of queues have
separate blocks. All other queues share the block `_other`. If the table is full, the process adds the counts of deleted
queues to `_other`, so the sum over all queues never falls.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Final

from penstock.aws.named_queue import NamedQueue
from penstock.observing.reports import Deleted, EventPublished, Received, Report, Sent, Transacted

from .families import AGE_SECONDS, BLOCKS, DATABASE_SECONDS, INVOCATION_SECONDS
from .memory import CounterMemory

OTHER: Final = "_other"
# Contains the positions of numbers in the blocks of `families`. The number of the first family is at the start of the
# block. A histogram has its sum, followed by the counts of its buckets.
SEND_SUM: Final = BLOCKS["sends"].find_slot("penstock_queue_message_send_duration_seconds")
SEND_TIMES: Final = SEND_SUM + 1
REDELIVERED: Final = BLOCKS["receives"].find_slot("penstock_queue_messages_redelivered_total")
EMPTY: Final = BLOCKS["receives"].find_slot("penstock_queue_empty_receives_total")
RECEIVE_SUM: Final = BLOCKS["receives"].find_slot("penstock_queue_message_receive_duration_seconds")
RECEIVE_TIMES: Final = RECEIVE_SUM + 1
AGE_SUM: Final = BLOCKS["receives"].find_slot("penstock_queue_message_age_at_receive_seconds")
AGES: Final = AGE_SUM + 1
DELETE_SUM: Final = BLOCKS["deletes"].find_slot("penstock_queue_message_delete_duration_seconds")
DELETE_TIMES: Final = DELETE_SUM + 1
_MAPPINGS: Final = BLOCKS["mappings"]
FAILED_INVOCATIONS: Final = _MAPPINGS.find_slot("penstock_mapping_failed_invocations_total")
POLLED: Final = _MAPPINGS.find_slot("penstock_mapping_polled_messages_total")
FILTERED: Final = _MAPPINGS.find_slot("penstock_mapping_filtered_messages_total")
INVOKED: Final = _MAPPINGS.find_slot("penstock_mapping_invoked_messages_total")
FAILED: Final = _MAPPINGS.find_slot("penstock_mapping_failed_messages_total")
HANDLED: Final = _MAPPINGS.find_slot("penstock_mapping_deleted_messages_total")
INVOCATION_SUM: Final = _MAPPINGS.find_slot("penstock_mapping_invocation_duration_seconds")
OLDEST_SUM: Final = _MAPPINGS.find_slot("penstock_mapping_oldest_message_age_seconds")


class QueueCounts:
    """Keeps the counters of queues. `counters` maps reports to counting functions, which also take the duration of the
    last database call in seconds. `own_account` is an account and a region. The label of a queue in `own_account` is
    the queue's name. The label of any other queue is the queue's ARN.
    """

    def __init__(self, memory: CounterMemory, most_queues: int, own_account: tuple[str, str]) -> None:
        self._memory = memory
        self._numbers = memory.numbers
        self._most_queues = most_queues
        self._prefix = f"arn:aws:sqs:{own_account[1]}:{own_account[0]}:"
        self.arns: set[str] = set()
        self.overflowed = False
        """Says whether `_other` has counted a queue since the last `remove_queues`."""
        self._blocks: dict[str, dict[str, int]] = {"sends": {}, "receives": {}, "deletes": {}, "mappings": {}}
        self._other = {kind: memory.allocate(kind, OTHER) for kind in self._blocks}
        self._sends, self._receives, self._deletes, _ = self._blocks.values()
        self.counters: dict[type[Report], Callable[..., None]] = {
            Sent: self._count_sent,
            Received: self._count_received,
            Deleted: self._count_deleted,
            EventPublished: self._count_event,
            Transacted: self._count_transaction,
        }

    def count_receive_call(self, queue: NamedQueue, seconds: float) -> None:
        """Counts the database call of a receive. A long poll can make several calls."""
        start = self._receives.get(queue.arn)
        if start is None:
            start = self._allocate("receives", queue.arn)
        numbers = self._numbers
        numbers[start + RECEIVE_SUM] += seconds
        numbers[start + RECEIVE_TIMES + bisect_left(DATABASE_SECONDS, seconds)] += 1.0

    # --- event source mappings ---------------------------------------------------------------------------------------
    def count_polled(self, arn: str, messages: int, filtered: int) -> None:
        """Counts messages that a mapping received, and messages that the filter of the mapping left out."""
        start = self._start("mappings", arn)
        self._numbers[start + POLLED] += messages
        self._numbers[start + FILTERED] += filtered

    def count_invocation(self, arn: str, messages: int, failed: int, seconds: float, oldest_seconds: float) -> None:
        """Counts an invocation, its messages and its failed messages. `oldest_seconds` is the age of the oldest
        message."""
        start, numbers = self._start("mappings", arn), self._numbers
        numbers[start] += 1.0
        numbers[start + FAILED_INVOCATIONS] += failed == messages
        numbers[start + INVOKED] += messages
        numbers[start + FAILED] += failed
        for at, bounds, value in (
            (INVOCATION_SUM, INVOCATION_SECONDS, seconds),
            (OLDEST_SUM, AGE_SECONDS, max(0.0, oldest_seconds)),
        ):
            numbers[start + at] += value
            numbers[start + at + 1 + bisect_left(bounds, value)] += 1.0

    def count_handled(self, arn: str, messages: int) -> None:
        """Counts messages that a function handled and the mapping deleted."""
        self._numbers[self._start("mappings", arn) + HANDLED] += messages

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
        """Returns the label of a queue."""
        return arn.removeprefix(self._prefix)

    def remove_queues(self, deleted_arns: Iterable[str]) -> None:
        """Adds the counts of deleted queues to `_other`."""
        self.overflowed = False
        for arn in deleted_arns:
            self.arns.discard(arn)
            for kind, blocks in self._blocks.items():
                if (start := blocks.pop(arn, None)) is not None:
                    self._memory.release(start, self._other[kind])

    # --- counting: the frequent counters look up their block without a further call ----------------------------------
    def _count_sent(self, sent: Sent, seconds: float) -> None:
        start = self._sends.get(sent.queue_arn)
        if start is None:
            start = self._allocate("sends", sent.queue_arn)
        numbers = self._numbers
        numbers[start] += sent.count
        numbers[start + SEND_SUM] += seconds
        numbers[start + SEND_TIMES + bisect_left(DATABASE_SECONDS, seconds)] += 1.0

    def _count_received(self, received: Received, _seconds: float) -> None:
        start = self._receives.get(received.queue_arn)
        if start is None:
            start = self._allocate("receives", received.queue_arn)
        numbers = self._numbers
        if not received.messages:
            numbers[start + EMPTY] += 1.0
            return
        numbers[start] += len(received.messages)
        for row in received.messages:
            if row.receive_count > 1:
                numbers[start + REDELIVERED] += 1.0
            else:
                age = (row.first_received_at_ms - row.sent_at_ms) / 1000
                if age < 0:  # The system clock was set back.
                    age = 0.0
                numbers[start + AGE_SUM] += age
                numbers[start + AGES + bisect_left(AGE_SECONDS, age)] += 1.0

    def _count_deleted(self, deleted: Deleted, seconds: float) -> None:
        start = self._deletes.get(deleted.queue_arn)
        if start is None:
            start = self._allocate("deletes", deleted.queue_arn)
        numbers = self._numbers
        numbers[start] += deleted.count
        numbers[start + DELETE_SUM] += seconds
        numbers[start + DELETE_TIMES + bisect_left(DATABASE_SECONDS, seconds)] += 1.0

    def _count_event(self, event: EventPublished, _seconds: float) -> None:
        self._add_sent(event.sent)

    def _count_transaction(self, transaction: Transacted, _seconds: float) -> None:
        for deleted in transaction.deleted:
            self._numbers[self._start("deletes", deleted.queue_arn)] += deleted.count
        self._add_sent(transaction.sent)

    def _add_sent(self, messages: Iterable[Sent]) -> None:
        """Counts the sent messages of a call for several queues."""
        for sent in messages:
            self._numbers[self._start("sends", sent.queue_arn)] += sent.count
