"""What a request did to queues, as Amazon SQS counts it: read from the effects of its operation and their results.

Source: Amazon SQS Developer Guide, "Available CloudWatch metrics for Amazon SQS".
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from penstock.effects import BatchCall, Call, Effect, Receive, Row
from penstock.postgres.statements.messages import DELETE_MESSAGES, RECEIVE_MESSAGES, SEND_MESSAGES

_SIZES = 3
"""The column of `queue.send_messages` that has a message's size."""


def added_messages(rows: Sequence[Row]) -> int:
    """The number of messages added to a queue, from the rows of `queue.send_messages`; duplicates do not count."""
    return sum(is_added(row) for row in rows)


def is_added(row: Row) -> bool:
    """Whether a row is a message that was added: it has no error, and not the id of an earlier message."""
    return row[4] is None and row[2] is None


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

    def observe(self, effect: Effect, answer: Any) -> None:
        """Counts an effect, given its result."""
        if isinstance(effect, Receive):
            self._count_received(effect.queue_arn, answer)
        elif isinstance(effect, Call) and effect.statement is RECEIVE_MESSAGES:
            self._count_received(str(effect.arguments[0]), answer)
        elif isinstance(effect, BatchCall) and effect.statement is SEND_MESSAGES:
            sizes = effect.columns[_SIZES]
            new = [sizes[row[0] - 1] for row in answer if is_added(row)]
            if new:
                self._of(effect.queue_arn).sizes += new
        elif isinstance(effect, BatchCall) and effect.statement is DELETE_MESSAGES:
            deleted = sum(row[1] == "deleted" for row in answer)
            if deleted:
                self._of(effect.queue_arn).deleted += deleted

    def _count_received(self, arn: str, rows: Sequence[Row]) -> None:
        if rows[0][0] is None:
            queue = self._of(arn)
            queue.received += len(rows) - 1
            queue.empty = len(rows) == 1

    def _of(self, arn: str) -> QueueUsage:
        return self.queues.setdefault(arn, QueueUsage())
