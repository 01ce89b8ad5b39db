"""How long the messages of each queue are, so that one receive for many callers does not bring 250 of a MiB each.

Nobody knows it beforehand. Those that were received last tell, and those that are sent here. A queue that nobody has
used yet is taken for one of long messages: its first receive is for few callers. Whatever is assumed here, the database
keeps answers within their limit (`penstock.response_limit`); this spares it receives that it would undo.
"""

from penstock.aws.arn import ResolvedQueue

from .merge import LARGEST_RECEIVE

# What a receive for many brings at most, beyond what its last caller gets.
MERGED_BYTES = 1_048_576
# What one caller gets: ten messages of 400 KB, four of a MiB. ReceiveMessage may return fewer than asked for.
LARGEST_ANSWER_BYTES = 4 * 1_048_576
UNKNOWN_BYTES = 400_000
LONG_BYTES = 200_000
# Of a queue with long messages among short ones, so that a receive is merged with few others: any may be of a MiB.
LEAST_BYTES_OF_LONG = 25_000
MOST_QUEUES = 10_000


class Lengths:
    """By a queue's ARN, as far as they matter."""

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}
        self._long: set[str] = set()

    def note_long(self, queue: ResolvedQueue) -> None:
        """The queue has messages that are too long for a receive that assumes short ones."""
        self._long.add(queue.arn)
        self._note(queue, self._bytes.get(queue.arn, UNKNOWN_BYTES))

    def are_long(self, queue: ResolvedQueue) -> bool:
        """Whether a receive of ten that assumes short messages would be undone."""
        return self._bytes.get(queue.arn, 0) > LONG_BYTES

    def largest_receive(self, queue: ResolvedQueue) -> int:
        """How many messages one receive should bring."""
        return min(LARGEST_RECEIVE, 1 + MERGED_BYTES // (self._bytes.get(queue.arn, UNKNOWN_BYTES) + 1))

    def most_for_one(self, queue: ResolvedQueue) -> int:
        """How many messages one caller should get: at least one, and of an unknown queue as many as it asks for."""
        return 1 + LARGEST_ANSWER_BYTES // (self._bytes.get(queue.arn, 0) + 1)

    def received(self, queue: ResolvedQueue, number: int, characters: int) -> None:
        """So many messages with so many characters were received. Of an empty queue nothing is expected."""
        if number or queue.arn not in self._bytes:
            self._note(queue, characters // max(1, number))

    def sent(self, queue: ResolvedQueue, length: int) -> None:
        """A message so long will be received."""
        if length > self._bytes.get(queue.arn, 0):
            self._note(queue, length)

    def _note(self, queue: ResolvedQueue, length: int) -> None:
        if len(self._bytes) >= MOST_QUEUES:
            self._bytes.clear()
            self._long.clear()
        self._bytes[queue.arn] = max(length, LEAST_BYTES_OF_LONG) if queue.arn in self._long else length
