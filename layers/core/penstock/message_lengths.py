"""How long the messages of each queue are, as one process has seen them: this chooses the call of a receive.

    short, as far as known     receive_messages, which the database undoes when a message is so long that the answer
                               could be over its limit (LONG_MESSAGE); the process remembers that, and calls again
    long                       receive_answer, which measures messages and receives only those that fit
    merged, in the container   for few callers where messages are long: memory is limited (decision 14)

The messages that were received last tell the length, and those that are sent here. A process takes a queue that it
has not used yet for one of long messages: its first receive is for few callers. Whatever is assumed here, the database
keeps answers within their limit (`penstock.response_limit`).
"""

from typing import Final

from penstock.aws.arn import ResolvedQueue

LARGEST_RECEIVE: Final = 250
"""Messages of one receive of short ones."""

# What a receive for many brings at most, beyond what its last caller gets.
MERGED_BYTES = 1_048_576
# What one caller gets: ten messages of 400 KB, four of a MiB. ReceiveMessage may return fewer than asked for.
LARGEST_ANSWER_BYTES = 4 * 1_048_576
UNKNOWN_BYTES = 400_000
LONG_BYTES = 200_000
# Of a queue with long messages among short ones, so that a receive is merged with few others: any may be of a MiB.
LEAST_BYTES_OF_LONG = 25_000
MOST_QUEUES = 10_000


class MessageLengths:
    """Lengths of messages by their queue's ARN, as far as they matter. `_long`: queues with some long messages."""

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}
        self._long: set[str] = set()

    def note_long(self, queue: ResolvedQueue) -> None:
        """The database has undone a receive that assumed short messages."""
        self._long.add(queue.arn)
        self._note(queue, self._bytes.get(queue.arn, UNKNOWN_BYTES))

    def are_short(self, queue: ResolvedQueue) -> bool:
        """Whether a receive may assume short messages: it would probably not be undone."""
        return queue.arn not in self._long and self._bytes.get(queue.arn, 0) <= LONG_BYTES

    def largest_receive(self, queue: ResolvedQueue) -> int:
        """How many messages one receive should bring."""
        return min(LARGEST_RECEIVE, 1 + MERGED_BYTES // (self._bytes.get(queue.arn, UNKNOWN_BYTES) + 1))

    def most_for_one(self, queue: ResolvedQueue) -> int:
        """How many messages one caller should get: at least one, and of an unknown queue as many as it asks for."""
        return 1 + LARGEST_ANSWER_BYTES // (self._bytes.get(queue.arn, 0) + 1)

    def received(self, queue: ResolvedQueue, number: int, characters: int) -> None:
        """`number` messages with `characters` in all were received. An empty queue leaves the estimate unchanged."""
        if number or queue.arn not in self._bytes:
            self._note(queue, characters // max(1, number))

    def sent(self, queue: ResolvedQueue, length: int) -> None:
        """A message of `length` bytes will be received."""
        if length > self._bytes.get(queue.arn, 0):
            self._note(queue, length)

    def _note(self, queue: ResolvedQueue, length: int) -> None:
        if len(self._bytes) >= MOST_QUEUES:
            self._bytes.clear()
            self._long.clear()
        self._bytes[queue.arn] = max(length, LEAST_BYTES_OF_LONG) if queue.arn in self._long else length
