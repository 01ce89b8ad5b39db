"""How long the messages of each queue are, so that one receive for many callers does not bring 250 of a MiB each.

Nobody knows it beforehand. Those that were received last tell, and those that are sent here. A queue that nobody has
used yet is taken for one of long messages: its first receive is for few callers, who get what they ask for.
"""

from collections.abc import Sequence

from penstock.postgres.statements.messages import ReceivedRow

from .merge import LARGEST_RECEIVE

# What a receive for many brings at most, beyond what its last caller gets.
MERGED_BYTES = 1_048_576
# What one caller gets: ten messages of 400 KB, four of a MiB. ReceiveMessage may return fewer than asked for.
LARGEST_ANSWER_BYTES = 4 * 1_048_576
UNKNOWN_BYTES = 400_000
MOST_QUEUES = 10_000


class Lengths:
    """By a queue's ARN, as far as they matter."""

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}

    def largest_receive(self, queue_arn: str) -> int:
        """How many messages one receive should bring."""
        return min(LARGEST_RECEIVE, 1 + MERGED_BYTES // (self._bytes.get(queue_arn, UNKNOWN_BYTES) + 1))

    def most_for_one(self, queue_arn: str) -> int:
        """How many messages one caller should get: at least one, and of an unknown queue as many as it asks for."""
        return 1 + LARGEST_ANSWER_BYTES // (self._bytes.get(queue_arn, 0) + 1)

    def received(self, queue_arn: str, rows: Sequence[ReceivedRow]) -> None:
        """The rows of a receive: a header, then messages. Of an empty queue nothing is expected."""
        messages = len(rows) - 1
        if messages:
            self._note(queue_arn, sum([len(row.body) for row in rows[1:]]) // messages)
        elif queue_arn not in self._bytes:
            self._note(queue_arn, 0)

    def sent(self, queue_arn: str, length: int) -> None:
        """A message so long will be received."""
        if length > self._bytes.get(queue_arn, 0):
            self._note(queue_arn, length)

    def _note(self, queue_arn: str, length: int) -> None:
        if len(self._bytes) >= MOST_QUEUES:
            self._bytes.clear()
        self._bytes[queue_arn] = length
