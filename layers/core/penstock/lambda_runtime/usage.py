"""Counts a request's use of queues as Amazon SQS does, from the operation's reports.

Source: Amazon SQS Developer Guide, "Available CloudWatch metrics for Amazon SQS".
"""

from msgspec import Struct, field

from penstock.observing.reports import Deleted, Received, Report, Sent


class QueueUsage(Struct):
    """The usage of one queue. `sizes` are the added messages' sizes. `empty` means that the last receive found no
    message."""

    sizes: list[int] = field(default_factory=list)
    received: int = 0
    deleted: int = 0
    empty: bool = False


class Usage:
    """The usage of one request, by the queue's ARN."""

    def __init__(self) -> None:
        self.queues: dict[str, QueueUsage] = {}

    def count(self, report: Report) -> None:
        """Counts a report of the operation. A call that changed nothing does not count."""
        match report:
            case Sent(queue_arn=arn, count=count, sizes=sizes) if count:
                self._of(arn).sizes += sizes
            case Deleted(queue_arn=arn, count=count) if count:
                self._of(arn).deleted += count
            case Received(queue_arn=arn, messages=messages):
                queue = self._of(arn)
                queue.received += len(messages)
                queue.empty = not messages

    def _of(self, arn: str) -> QueueUsage:
        return self.queues.setdefault(arn, QueueUsage())
