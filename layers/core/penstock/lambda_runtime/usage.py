"""What a request did to queues, as Amazon SQS counts it: read from the effects of its operation and their results.

Source: Amazon SQS Developer Guide, "Available CloudWatch metrics for Amazon SQS".
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from penstock.effects import BatchCall, Call, Effect, Receive
from penstock.postgres.statements.messages import (
    DELETE_MESSAGES,
    RECEIVE_MESSAGES,
    SEND_MESSAGES,
    DeletedRow,
    ReceivedRow,
    SendEntry,
    SentRow,
)


class QueueUsage(Struct):
    """The usage of one queue. `sizes`: bytes of each added message. `empty`: the last receive found nothing."""

    sizes: list[int] = field(default_factory=list)
    received: int = 0
    deleted: int = 0
    empty: bool = False


class Usage:
    """The usage of one request, by the queue's ARN."""

    def __init__(self) -> None:
        self.queues: dict[str, QueueUsage] = {}

    def observe(self, effect: Effect[Any], answer: Any) -> None:
        """Counts an effect, given its result."""
        if isinstance(effect, Receive):
            self._count_received(effect.queue_arn, answer)
        elif isinstance(effect, Call) and effect.statement is RECEIVE_MESSAGES:
            self._count_received(str(effect.arguments[0]), answer)
        elif isinstance(effect, BatchCall) and effect.statement is SEND_MESSAGES:
            self._count_sent(effect.queue_arn, effect.entries, answer)
        elif isinstance(effect, BatchCall) and effect.statement is DELETE_MESSAGES:
            self._count_deleted(effect.queue_arn, answer)

    def _count_sent(self, arn: str, entries: Sequence[SendEntry], rows: Sequence[SentRow]) -> None:
        new = [entries[row.n - 1].size_bytes for row in rows if row.is_new]
        if new:
            self._of(arn).sizes += new

    def _count_deleted(self, arn: str, rows: Sequence[DeletedRow]) -> None:
        deleted = sum(row.outcome == "deleted" for row in rows)
        if deleted:
            self._of(arn).deleted += deleted

    def _count_received(self, arn: str, rows: Sequence[ReceivedRow]) -> None:
        header, *messages = rows
        if header.error is None:
            queue = self._of(arn)
            queue.received += len(messages)
            queue.empty = not messages

    def _of(self, arn: str) -> QueueUsage:
        return self.queues.setdefault(arn, QueueUsage())
